#include "syrtos/base/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "syrtos/base/error.h"

namespace syrtos {

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int threads) {
  SYRTOS_CHECK(threads >= 1, "threads = {}", threads);
  omp_set_dynamic(0);
  omp_set_num_threads(std::min(threads, omp_get_thread_limit()));
}

ThreadScope::ThreadScope(int threads) : before_(omp_get_max_threads()) {
  set_thread_count(threads);
}

ThreadScope::~ThreadScope() { omp_set_num_threads(before_); }

namespace {

struct Region {
  void (*body)(void*, int, int);
  void* context;

  void run() const { body(context, omp_get_thread_num(), omp_get_num_threads()); }
};

#if defined(__SANITIZE_THREAD__)

// The OpenMP runtime is not instrumented: ThreadSanitizer does not see that a region's threads
// start after the fork and end before the join. Here both go through atomics, which it does see.
std::mutex one_region_at_a_time;
std::atomic<const Region*> forked{nullptr};
std::atomic<int> joined{0};

void fork(const Region& region, int threads) {
  const std::lock_guard lock(one_region_at_a_time);
  forked.store(&region, std::memory_order_release);
#pragma omp parallel num_threads(threads)
  {
    forked.load(std::memory_order_acquire)->run();
    joined.fetch_add(1, std::memory_order_acq_rel);
  }
  joined.load(std::memory_order_acquire);
}

#else

void fork(const Region& region, int threads) {
#pragma omp parallel num_threads(threads)
  region.run();
}

#endif

}  // namespace

void parallel_run(void (*body)(void* context, int thread, int threads), void* context) {
  const int threads = omp_in_parallel() != 0 ? 1 : omp_get_max_threads();
  if (threads == 1) {
    body(context, 0, 1);
  } else {
    fork({body, context}, threads);
  }
}

}  // namespace syrtos
