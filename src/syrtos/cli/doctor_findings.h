#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "syrtos/launch/hosts.h"
#include "syrtos/launch/visit.h"

namespace syrtos::cli {

/// What a host said of itself.
struct HostFacts {
  std::string program;  ///< version and checksum
  std::string cpu;
  std::string precision;
  int cores = 0;
  int64_t memory_bytes = 0;
  int64_t disk_bytes = 0;   ///< free where the command runs
  int64_t cache_bytes = 0;  ///< free where programs and data are kept
  int mtu = 0;
  int mbit = 0;
  std::vector<std::string> leftovers;
};

HostFacts facts_of(const std::string& json);

/// One line each: what is wrong, and what to do. `own_program`: as HostFacts has it.
std::vector<std::string> findings_of(const std::vector<launch::Host>& hosts,
                                     const std::vector<launch::Visit>& visits,
                                     const std::string& own_program);

}  // namespace syrtos::cli
