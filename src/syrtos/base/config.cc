#include "syrtos/base/config.h"

#include <cstdlib>
#include <string>

namespace syrtos {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

Environment read_environment() {
  Environment environment;
  const std::string cache_home = variable("XDG_CACHE_HOME");
  const std::string home = variable("HOME");
  if (!cache_home.empty()) {
    environment.cache_home = cache_home;
  } else if (!home.empty()) {
    environment.cache_home = std::filesystem::path(home) / ".cache";
  }
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    environment.mpi_job = environment.mpi_job || !variable(name).empty();
  }
  environment.colour = variable("NO_COLOR").empty();
  return environment;
}

}  // namespace syrtos
