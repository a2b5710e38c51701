#include "syrtos/cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <string_view>

namespace syrtos::cli {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr unsigned kDeadline = 75;  // seconds; longer than a launcher waits for its ranks

// Several threads ask, and all that a handler does must be allowed in one.
std::atomic<int> first_signal{0};
std::atomic<int64_t> first_at{0};  // ms; set before first_signal
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

[[noreturn]] void end_at_once(std::string_view why) {
  (void)!write(STDERR_FILENO, why.data(), why.size());
  _exit(128 + first_signal);
}

void ask_for_the_end(int signal) {
  constexpr int64_t kTwins = 1000;  // ms: 'timeout' sends to a process and to its group
  const int64_t now = now_ms();
  int64_t before = 0;
  if (first_at.compare_exchange_strong(before, now)) {
    first_signal = signal;
    if (signal != SIGINT) alarm(kDeadline);
    return;
  }
  if (now - before < kTwins) return;
  end_at_once("\nended at once: what came after the last checkpoint is lost\n");
}

void end_overdue(int /*signal*/) {
  end_at_once(
      "\nnot ended within 75 s of being asked to: what came after the last checkpoint is lost\n");
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = ask_for_the_end;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  for (const int signal : kSignals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (signal == SIGHUP && before.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
  }
  action.sa_handler = end_overdue;
  sigaction(SIGALRM, &action, nullptr);
}

bool interrupted() { return first_signal != 0; }

int interrupt_code() { return 128 + first_signal; }

void outlive_readers() { std::signal(SIGPIPE, SIG_IGN); }

}  // namespace syrtos::cli
