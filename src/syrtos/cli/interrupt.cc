#include "syrtos/cli/interrupt.h"

#include <csignal>

namespace syrtos::cli {

namespace {
volatile std::sig_atomic_t interrupt_flag = 0;
void set_flag(int /*signal*/) { interrupt_flag = 1; }
}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = set_flag;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return interrupt_flag != 0; }

}  // namespace syrtos::cli
