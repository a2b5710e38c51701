#include "syrtos/base/process_age.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace syrtos {

double process_age() {
  constexpr int kStartField = 20;  // of /proc/self/stat behind the name: see proc(5)
  std::ifstream stat("/proc/self/stat"), uptime("/proc/uptime");
  std::string text;
  double now = 0;
  if (!std::getline(stat, text) || !(uptime >> now)) return 0;
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 0; i < kStartField; ++i) rest >> field;
  const double ticks = std::strtod(field.c_str(), nullptr);
  return std::max(0.0, now - ticks / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

}  // namespace syrtos
