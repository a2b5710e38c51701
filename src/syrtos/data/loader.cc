#include "syrtos/data/loader.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/permutation.h"

namespace syrtos::data {

namespace {

constexpr auto kDeadline = std::chrono::seconds(60);

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Chunks of some 50 microseconds: small next to a step, large next to taking one.
int64_t grain_for(const Transform& transform, int64_t batch) {
  constexpr int64_t kElements = 32768;
  return std::clamp<int64_t>(kElements / transform.elements(), 1, std::max<int64_t>(1, batch / 2));
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
      slots_(static_cast<size_t>(options.prefetch)) {
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
  for (Slot* slot : ring_) free_.push_back(slot);
  ring_.clear();
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

bool Loader::take(Slot& slot, Work& work) const {
  const int64_t left = slot.batch.slice.count - slot.taken;
  if (left <= 0) return false;
  work = {&slot, slot.taken, slot.taken + std::min(grain_, left)};
  slot.taken = work.end;
  return true;
}

bool Loader::take_any(Work& work) {
  for (Slot* slot : ring_) {
    if (take(*slot, work)) return true;
  }
  if (free_.empty()) return false;
  Slot* slot = free_.front();
  free_.pop_front();
  slot->batch = plan_next();
  slot->taken = slot->done = 0;
  slot->error = nullptr;
  ring_.push_back(slot);
  return take(*slot, work);
}

Loader::Times Loader::prepare(const Batch& batch, int64_t begin, int64_t end, void* images,
                              int32_t* labels, Scratch& scratch) const {
  const Permutation order(data_.size(), options_.seed, batch.epoch);
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
  return times;
}

void Loader::do_work(const Work& work, Scratch& scratch) {
  Slot& slot = *work.slot;
  Times times;
  std::exception_ptr error;
  try {
    times =
        prepare(slot.batch, work.begin, work.end, slot.images.data(), slot.labels.data(), scratch);
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  stats_.read_s += times.read_s;
  stats_.transform_s += times.transform_s;
  if (error) slot.error = error;
  slot.done += work.end - work.begin;
  if (slot.done == slot.batch.slice.count) work_done_.notify_all();
}

void Loader::prefetch_thread() {
  // Only when a core has nothing else to do. Where that is refused, the threads are ordinary ones.
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
  Scratch scratch;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Work work;
    if (!take_any(work)) {
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
  const int threads = options_.threads > 0 ? options_.threads : thread_count();
  for (int n = 0; n < threads; ++n) threads_.emplace_back([this] { prefetch_thread(); });
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

// Works on what nobody has taken of the batch that is needed now.
void Loader::help(Slot& slot) {
  parallel([&](int thread, int /*threads*/) {
    for (;;) {
      Work work;
      {
        const std::lock_guard lock(mutex_);
        if (!take(slot, work)) return;
        helped_ += work.end - work.begin;
      }
      do_work(work, scratch_[static_cast<size_t>(thread)]);
    }
  });
}

Batch Loader::next_from_ring(const BatchView& to) {
  if (threads_.empty()) start_threads();
  Slot* slot = nullptr;
  bool help_needed = false;
  {
    const std::lock_guard lock(mutex_);
    Work first;
    if (ring_.empty() && take_any(first)) first.slot->taken = 0;  // planned; nobody works on it yet
    slot = ring_.front();
    queued_ += std::count_if(ring_.begin(), ring_.end(),
                             [](const Slot* s) { return s->done == s->batch.slice.count; });
    help_needed = slot->taken < slot->batch.slice.count;
  }
  if (help_needed) help(*slot);
  {
    std::unique_lock lock(mutex_);
    const bool ready =
        work_done_.wait_for(lock, kDeadline, [&] { return slot->done == slot->batch.slice.count; });
    if (!ready) {
      fail_run(
          "{}: reading a batch took longer than {} s ({} of {} samples are there): is the "
          "disk or the network file system gone?",
          data_.info().name, kDeadline.count(), slot->done, slot->batch.slice.count);
    }
  }
  if (slot->error) std::rethrow_exception(slot->error);
  const Batch batch = slot->batch;
  check_room(to, batch);
  const int64_t bytes = batch.slice.count * static_cast<int64_t>(transform_.bytes());
  constexpr int64_t kSerialBelow = int64_t{1} << 17;
  parallel_for(bytes, 64, kSerialBelow, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte*>(to.images) + begin, slot->images.bytes() + begin,
                static_cast<size_t>(end - begin));
  });
  std::copy_n(slot->labels.begin(), batch.slice.count, to.labels.begin());
  {
    const std::lock_guard lock(mutex_);
    ring_.pop_front();
    free_.push_back(slot);
  }
  work_added_.notify_all();
  return batch;
}

Batch Loader::next_without_prefetch(const BatchView& to) {
  const Batch batch = plan_next();
  check_room(to, batch);
  std::mutex guard;
  std::exception_ptr error;
  parallel([&](int thread, int threads) {
    const Range range = share_of(batch.slice.count, thread, threads);
    Times times;
    std::exception_ptr mine;
    try {
      times = prepare(batch, range.begin, range.end, to.images, to.labels.data(),
                      scratch_[static_cast<size_t>(thread)]);
    } catch (...) {
      mine = std::current_exception();
    }
    const std::lock_guard lock(guard);
    stats_.read_s += times.read_s;
    stats_.transform_s += times.transform_s;
    if (mine) error = mine;
  });
  if (error) std::rethrow_exception(error);
  helped_ += batch.slice.count;
  return batch;
}

Batch Loader::next(const BatchView& to) {
  SYRTOS_CHECK(to.dtype == transform_.dtype(), "{}", to_string(to.dtype));
  const auto start = Clock::now();
  const Batch batch = options_.prefetch > 0 ? next_from_ring(to) : next_without_prefetch(to);
  const std::lock_guard lock(mutex_);
  stats_.wait_s += seconds_since(start);
  stats_.batches += 1;
  stats_.samples += batch.slice.count;
  return batch;
}

LoaderStats Loader::take_stats() {
  const std::lock_guard lock(mutex_);
  LoaderStats stats = stats_;
  stats.helped =
      static_cast<double>(helped_) / static_cast<double>(std::max<int64_t>(1, stats.samples));
  stats.queue =
      static_cast<double>(queued_) / static_cast<double>(std::max<int64_t>(1, stats.batches));
  stats_ = {};
  helped_ = queued_ = 0;
  return stats;
}

}  // namespace syrtos::data
