#include "syrtos/base/parallel.h"
#include "syrtos/cli/command.h"

int main(int argc, char** argv) {
  syrtos::restart_with_short_waits(argv);
  return syrtos::cli::run(argc, argv);
}
