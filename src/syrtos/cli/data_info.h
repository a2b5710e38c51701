#pragma once

#include <cstdint>
#include <string>

#include "syrtos/cli/command.h"

namespace syrtos::cli {

struct InfoOptions {
  std::string data;          ///< name or path
  std::string preview;       ///< PNG file to draw; empty: none
  std::string label_column;  ///< of CSV files
  int64_t limit = 100'000;
  bool json = false;
};

/// `syrtos data info`: counts, sizes, classes, mean and deviation. Returns the exit code.
int print_info(const InfoOptions& options, const Context& context);

}  // namespace syrtos::cli
