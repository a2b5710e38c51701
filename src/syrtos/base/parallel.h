#pragma once

#include <cstdint>
#include <type_traits>

namespace syrtos {

/// Threads that parallel regions and oneDNN use when this thread starts them: one pool, so that
/// nothing is oversubscribed. As many as there are cores unless a ThreadScope says otherwise.
int thread_count();

/// Gives the calling thread another thread_count() while it lives, within what OMP_THREAD_LIMIT
/// allows. Programs keep to the count that they were compiled under: the scope is around both.
/// It must end on the thread that it began on.
class ThreadScope {
 public:
  /// threads >= 1.
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

/// Gives the calling thread that count for the rest of its life: for threads that were made for one
/// piece of work. All others use a ThreadScope.
void set_thread_count(int threads);

/// Calls body(context, thread, threads) once on each thread of the pool and waits for all.
void parallel_run(void (*body)(void* context, int thread, int threads), void* context);

/// The same for any callable body(thread, threads). It allocates nothing.
template <typename Body>
void parallel(Body&& body) {
  using Callable = std::remove_reference_t<Body>;
  parallel_run([](void* context, int thread,
                  int threads) { (*static_cast<Callable*>(context))(thread, threads); },
               const_cast<void*>(static_cast<const void*>(&body)));
}

/// The share [begin, end) of n items that belongs to one of several threads, in multiples of grain.
struct Range {
  int64_t begin;
  int64_t end;
};
inline Range share_of(int64_t n, int thread, int threads, int64_t grain = 1) {
  const int64_t grains = (n + grain - 1) / grain;
  const int64_t begin = grains * thread / threads * grain;
  const int64_t end = grains * (thread + 1) / threads * grain;
  return {begin < n ? begin : n, end < n ? end : n};
}

/// Splits n items over the pool and calls body(begin, end) on each share; below `serial_below`
/// items it runs on the calling thread alone.
template <typename Body>
void parallel_for(int64_t n, int64_t grain, int64_t serial_below, Body&& body) {
  if (n < serial_below || thread_count() == 1) {
    if (n > 0) body(int64_t{0}, n);
    return;
  }
  parallel([&](int thread, int threads) {
    const Range range = share_of(n, thread, threads, grain);
    if (range.begin < range.end) body(range.begin, range.end);
  });
}

}  // namespace syrtos
