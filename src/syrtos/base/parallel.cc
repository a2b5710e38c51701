#include "syrtos/base/parallel.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "syrtos/base/error.h"

// The OpenMP runtime is not instrumented, so ThreadSanitizer does not see that a region's threads
// start after the fork and end before the join; these calls tell it.
#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#define SYRTOS_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define SYRTOS_TSAN_RELEASE(address) __tsan_release(address)
#else
#define SYRTOS_TSAN_ACQUIRE(address) (void)(address)
#define SYRTOS_TSAN_RELEASE(address) (void)(address)
#endif

namespace syrtos {

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int n) {
  SYRTOS_CHECK(n >= 1, "n = {}", n);
  omp_set_dynamic(0);
  omp_set_num_threads(std::min(n, omp_get_thread_limit()));
}

void restart_with_short_waits(char** arguments) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "2000", 0);
  // By its own name, which process lists show. Returns only if it fails; then all goes on as it
  // was.
  std::array<char, 4096> path{};
  if (readlink("/proc/self/exe", path.data(), path.size() - 1) > 0) execv(path.data(), arguments);
}

namespace {

struct Region {
  void (*body)(void*, int, int);
  void* context;
  char fork = 0;
  char join = 0;
};

}  // namespace

void parallel_run(void (*body)(void* context, int thread, int threads), void* context) {
  const int threads = omp_in_parallel() != 0 ? 1 : omp_get_max_threads();
  if (threads == 1) {
    body(context, 0, 1);
    return;
  }
  Region region{body, context};
  Region* r = &region;
  SYRTOS_TSAN_RELEASE(&r->fork);
#pragma omp parallel num_threads(threads) firstprivate(r)
  {
    SYRTOS_TSAN_ACQUIRE(&r->fork);
    r->body(r->context, omp_get_thread_num(), omp_get_num_threads());
    SYRTOS_TSAN_RELEASE(&r->join);
  }
  SYRTOS_TSAN_ACQUIRE(&r->join);
}

}  // namespace syrtos
