#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "syrtos/cli/command.h"
#include "syrtos/data/files/mapped_file.h"

namespace {

/// Makes idle threads sleep after some 0.1 ms instead of spinning for much longer, which costs
/// nothing on an idle machine and keeps steps from slowing down a hundredfold when another program
/// wants the same cores. The OpenMP runtime only looks at its environment while it is loaded, so
/// the program starts once more, in the same process. What the user has set stays.
void restart_with_short_waits(char** arguments) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "2000", 0);
  // By its own name, which process lists show. This returns only if it fails; then everything goes
  // on as it was.
  std::array<char, 4096> path{};
  if (readlink("/proc/self/exe", path.data(), path.size() - 1) > 0) execv(path.data(), arguments);
}

}  // namespace

int main(int argc, char** argv) {
  restart_with_short_waits(argv);
  prctl(PR_SET_NAME, "syrtos");  // process lists would show the loader's name in a package
  const syrtos::data::CutFileGuard guard;
  return syrtos::cli::run(argc, argv);
}
