// One rank of one side of the exchange benchmark: exchange.py starts it and says what to do.
//   exchange_bench SIDE SOCKET [RANK HOST ADDRESS]

#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "bench/exchange/sides.h"
#include "syrtos/base/error.h"

int main(int count, char** words) {
  using namespace syrtos;
  try {
    if (count < 3) fail_request("expected: exchange_bench SIDE SOCKET [RANK HOST ADDRESS]");
    const std::string side = words[1];
    bench::Control control(words[2]);
    control.say({{"side", side}});
    bench::Place place;
    if (count >= 6) place = {std::atoi(words[3]), words[4], words[5], side == "tls"};
    if (side == "tcp" || side == "tls") bench::serve_tcp(control, place);
    if (side == "mpi") bench::serve_mpi_world(control);
    if (side == "open-mpi") bench::serve_open_mpi(control);
    if (side == "raw") bench::serve_raw(control, place);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exchange_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
