#include "syrtos/data/loader.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/permutation.h"

namespace syrtos::data {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Chunks of some 50 microseconds: small next to a step, large next to taking one.
int64_t grain_for(const Transform& transform, int64_t batch) {
  constexpr int64_t kElements = 32768;
  return std::clamp<int64_t>(kElements / transform.elements(), 1, std::max<int64_t>(1, batch / 2));
}

int threads_of(const LoaderOptions& options) {
  return options.threads > 0 ? options.threads : thread_count();
}

void check_room(const BatchView& to, const Batch& batch) {
  SYRTOS_CHECK(static_cast<int64_t>(to.labels.size()) >= batch.slice.count, "{} for {}",
               to.labels.size(), batch.slice.count);
}

}  // namespace

Loader::Loader(const Dataset& data, const Transform& transform, const LoaderOptions& options)
    : data_(data),
      transform_(transform),
      options_(options),
      grain_(grain_for(transform, options.batch)),
      scratch_(static_cast<size_t>(thread_count())),
      // Each thread may keep one batch from being used again while it has no core.
      slots_(options.prefetch > 0 ? static_cast<size_t>(options.prefetch + threads_of(options))
                                  : 0) {
  SYRTOS_CHECK(data.size() > 0 && options.batch > 0, "{} {}", data.size(), options.batch);
  for (Slot& slot : slots_) {
    slot.images = Buffer(transform.bytes() * static_cast<size_t>(options.batch), "batches");
    slot.labels.resize(static_cast<size_t>(options.batch));
    free_.push_back(&slot);
  }
}

Loader::~Loader() { stop_threads(); }

void Loader::seek(int64_t epoch, int64_t used) {
  stop_threads();
  ring_.clear();
  free_.clear();
  for (Slot& slot : slots_) free_.push_back(&slot);
  epoch_ = epoch;
  used_ = used;
}

Batch Loader::plan_next() {
  if (steps_left(data_.size(), used_, options_.batch, options_.shard.workers, options_.remainder) ==
      0) {
    ++epoch_;
    used_ = 0;
  }
  const Batch batch = {
      epoch_, slice_of(data_.size(), used_, options_.batch, options_.shard, options_.remainder)};
  used_ = batch.slice.used;
  return batch;
}

bool Loader::plan_slot() {
  if (static_cast<int>(ring_.size()) == options_.prefetch) return false;
  SYRTOS_CHECK(!free_.empty(), "more batches are abandoned than there are threads");
  Slot* slot = free_.front();
  free_.pop_front();
  slot->batch = plan_next();
  slot->chunks = (slot->batch.slice.count + grain_ - 1) / grain_;
  slot->taken = slot->done = 0;
  slot->is_done.assign(static_cast<size_t>(slot->chunks), 0);
  slot->abandoned = false;
  slot->error = nullptr;
  ring_.push_back(slot);
  return true;
}

bool Loader::take(Slot& slot, Work& work) {
  if (slot.taken == slot.chunks) return false;
  work = {&slot, slot.taken++};
  return true;
}

bool Loader::take_any(Work& work) {
  for (Slot* slot : ring_) {
    if (take(*slot, work)) return true;
  }
  while (plan_slot()) {  // a worker's share of a step may be empty
    if (take(*ring_.back(), work)) return true;
  }
  return false;
}

Loader::Times Loader::prepare(const Batch& batch, int64_t chunk, void* images, int32_t* labels,
                              Scratch& scratch) const {
  const Permutation order(data_.size(), options_.seed, batch.epoch);
  const int64_t begin = chunk * grain_;
  const int64_t end = std::min(begin + grain_, batch.slice.count);
  Times times;
  for (int64_t n = begin; n < end; ++n) {
    const auto start = Clock::now();
    const int64_t position = (batch.slice.first + n) % data_.size();
    const int64_t index = options_.training ? order[position] : position;
    const Sample sample = data_.read(index, scratch);
    const auto middle = Clock::now();
    void* to = static_cast<std::byte*>(images) + static_cast<size_t>(n) * transform_.bytes();
    if (options_.training) {
      transform_.apply(sample, SampleKey{options_.seed, batch.epoch, index}, to, scratch);
    } else {
      transform_.apply(sample, options_.view, to, scratch);
    }
    labels[n] = sample.label;
    times.read_s += std::chrono::duration<double>(middle - start).count();
    times.transform_s += seconds_since(middle);
  }
  data_.check();
  return times;
}

void Loader::do_work(const Work& work, Scratch& scratch) {
  Slot& slot = *work.slot;
  Times times;
  std::exception_ptr error;
  try {
    times = prepare(slot.batch, work.chunk, slot.images.data(), slot.labels.data(), scratch);
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  stats_.read_s += times.read_s;
  stats_.transform_s += times.transform_s;
  ++chunks_done_;
  if (error) slot.error = error;
  slot.is_done[static_cast<size_t>(work.chunk)] = 1;
  ++slot.done;
  if (slot.done < slot.taken) return;
  if (slot.abandoned) {
    free_.push_back(&slot);
  } else {
    work_done_.notify_all();
  }
}

void Loader::prefetch_thread() {
  // Only when a core has nothing else to do. Where that is refused, the threads are ordinary ones.
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
  Scratch scratch;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Work work;
    bool found = false;
    try {
      found = take_any(work);
    } catch (...) {
      failure_ = std::current_exception();  // next() says it
      return;
    }
    if (!found) {
      work_added_.wait(lock);
      continue;
    }
    lock.unlock();
    do_work(work, scratch);
    lock.lock();
  }
}

void Loader::start_threads() {
  stopping_ = false;
  for (int n = 0; n < threads_of(options_); ++n)
    threads_.emplace_back([this] { prefetch_thread(); });
}

void Loader::stop_threads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_added_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Loader::Slot& Loader::oldest() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  if (ring_.empty()) plan_slot();
  queued_ += std::count_if(ring_.begin(), ring_.end(),
                           [](const Slot* slot) { return slot->done == slot->chunks; });
  return *ring_.front();
}

// Leaves to the threads what they have begun; the rest of the batch is for next().
int64_t Loader::claim_rest(Slot& slot) {
  const std::lock_guard lock(mutex_);
  const int64_t all = slot.chunks;
  slot.chunks = slot.taken;
  helped_ += all - slot.taken;
  finished_ = slot.is_done;
  return all;
}

// Gives threads that are about to finish their chunk the time to do so. Whether they have.
bool Loader::wait_a_little(const Slot& slot) {
  std::unique_lock lock(mutex_);
  const double chunk_s = (stats_.read_s + stats_.transform_s) /
                         static_cast<double>(std::max<int64_t>(1, chunks_done_));
  const std::chrono::duration<double> patience(0.0002 + 2 * std::min(chunk_s, 0.01));
  return work_done_.wait_for(lock, patience, [&] { return slot.done == slot.chunks; });
}

void Loader::copy_chunk(const Slot& slot, int64_t chunk, const BatchView& to) const {
  const int64_t begin = chunk * grain_;
  const int64_t count = std::min(grain_, slot.batch.slice.count - begin);
  const auto sample = static_cast<int64_t>(transform_.bytes());
  std::memcpy(static_cast<std::byte*>(to.images) + begin * sample,
              slot.images.bytes() + begin * sample, static_cast<size_t>(count * sample));
  std::copy_n(slot.labels.begin() + begin, count, to.labels.begin() + begin);
}

template <typename Use>
void Loader::for_each_chunk(int64_t chunks, const Use& use) {
  std::atomic<int64_t> next = 0;
  std::exception_ptr error;
  parallel([&](int thread, int /*threads*/) {
    Times times;
    std::exception_ptr mine;
    try {
      for (int64_t chunk = next++; chunk < chunks; chunk = next++) {
        times += use(chunk, scratch_[static_cast<size_t>(thread)]);
      }
    } catch (...) {
      mine = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    stats_.read_s += times.read_s;
    stats_.transform_s += times.transform_s;
    if (mine) error = mine;
  });
  if (error) std::rethrow_exception(error);
}

void Loader::release(Slot& slot) {
  {
    const std::lock_guard lock(mutex_);
    ring_.pop_front();
    if (slot.done == slot.chunks) {
      free_.push_back(&slot);
    } else {
      slot.abandoned = true;  // whoever finishes its last chunk frees it
    }
  }
  work_added_.notify_all();
}

Batch Loader::next_from_ring(const BatchView& to) {
  if (threads_.empty()) start_threads();
  Slot& slot = oldest();
  const Batch batch = slot.batch;
  check_room(to, batch);
  const int64_t chunks = claim_rest(slot);
  // First what is ready and what nobody has begun; then what threads were working on.
  for_each_chunk(chunks, [&](int64_t chunk, Scratch& scratch) -> Times {
    if (chunk >= slot.chunks) return prepare(batch, chunk, to.images, to.labels.data(), scratch);
    if (finished_[static_cast<size_t>(chunk)] != 0) copy_chunk(slot, chunk, to);
    return {};
  });
  const bool in_time = wait_a_little(slot);
  {
    const std::lock_guard lock(mutex_);
    chunks_done_ += chunks - slot.chunks;
    if (slot.error) std::rethrow_exception(slot.error);
  }
  for (int64_t chunk = 0; chunk < slot.chunks; ++chunk) {
    if (finished_[static_cast<size_t>(chunk)] != 0) continue;
    if (in_time) {
      copy_chunk(slot, chunk, to);
    } else {
      prepare(batch, chunk, to.images, to.labels.data(), scratch_[0]);
    }
  }
  release(slot);
  return batch;
}

Batch Loader::next_without_prefetch(const BatchView& to) {
  const Batch batch = plan_next();
  check_room(to, batch);
  const int64_t chunks = (batch.slice.count + grain_ - 1) / grain_;
  for_each_chunk(chunks, [&](int64_t chunk, Scratch& scratch) {
    return prepare(batch, chunk, to.images, to.labels.data(), scratch);
  });
  helped_ += chunks;
  chunks_done_ += chunks;
  return batch;
}

Batch Loader::next(const BatchView& to) {
  SYRTOS_CHECK(to.dtype == transform_.dtype(), "{}", to_string(to.dtype));
  const Batch batch = options_.prefetch > 0 ? next_from_ring(to) : next_without_prefetch(to);
  const std::lock_guard lock(mutex_);
  stats_.batches += 1;
  stats_.samples += batch.slice.count;
  return batch;
}

int64_t Loader::bytes() const {
  int64_t total = 0;
  for (const Slot& slot : slots_) total += static_cast<int64_t>(slot.images.size());
  return total;
}

LoaderStats Loader::take_stats() {
  const std::lock_guard lock(mutex_);
  LoaderStats stats = stats_;
  stats.helped =
      static_cast<double>(helped_) / static_cast<double>(std::max<int64_t>(1, chunks_done_));
  stats.queue =
      static_cast<double>(queued_) / static_cast<double>(std::max<int64_t>(1, stats.batches));
  stats_ = {};
  chunks_done_ = helped_ = queued_ = 0;
  return stats;
}

}  // namespace syrtos::data
