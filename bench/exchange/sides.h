#pragma once

#include <string>

#include "bench/exchange/control.h"

namespace syrtos::bench {

/// Where this process is; of ranks that MPI starts, MPI says it.
struct Place {
  int rank = 0;
  std::string host;
  std::string address;
  bool encrypted = false;
};

// Each serves the driver's requests until it ends.
void serve_tcp(Control& control, const Place& place);
void serve_mpi_world(Control& control);
void serve_open_mpi(Control& control);
/// Not an all-reduce: as many bytes as one between two ranks sends, each way, by plain sockets.
void serve_raw(Control& control, const Place& place);

}  // namespace syrtos::bench
