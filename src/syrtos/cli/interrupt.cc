#include "syrtos/cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace syrtos::cli {

namespace {
std::atomic<bool> interrupt_flag{false};  // several threads ask
static_assert(std::atomic<bool>::is_always_lock_free);
void set_flag(int /*signal*/) { interrupt_flag = true; }
}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = set_flag;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return interrupt_flag; }

}  // namespace syrtos::cli
