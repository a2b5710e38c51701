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
  const std::string data_home = variable("XDG_DATA_HOME");
  environment.data_home = !data_home.empty()
                              ? std::filesystem::path(data_home)
                              : std::filesystem::path(variable("HOME")) / ".local" / "share";
  environment.colour = variable("NO_COLOR").empty();
  return environment;
}

}  // namespace syrtos
