#include "syrtos/data/pipeline/loader.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "syrtos/base/clock.h"
#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"

namespace syrtos::data {

namespace {

// Chunks of some 10 microseconds: small next to a step, large next to taking one.
int64_t grain_for(const Transform& transform, int64_t batch) {
  constexpr int64_t kElements = 16384;
  return std::clamp<int64_t>(kElements / transform.elements(), 1, std::max<int64_t>(1, batch / 2));
}

/// None for the few batches of a small set to measure with: there is nothing to prepare ahead, and
/// a thread that only gets a core nobody needs can take seconds to end. No more than there are
/// cores: others would only stand in the way of each other and of who needs a batch.
int threads_of(const Dataset& data, const LoaderOptions& options) {
  if (options.prefetch == 0) return 0;
  if (!options.training && data.size() <= options.prefetch * options.batch) return 0;
  return options.threads > 0 ? options.threads : std::min(thread_count(), cpu_info().cores);
}

/// May be refused.
void set_policy(std::thread& thread, int policy) {
  const sched_param none{};
  pthread_setschedparam(thread.native_handle(), policy, &none);
}

}  // namespace

Loader::Loader(const Dataset& data, const Transform& transform, const LoaderOptions& options)
    : data_(data),
      transform_(transform),
      options_(options),
      holding_(options.training ? options.sharding : Sharding{}, data, options.shard, options.seed),
      target_values_(static_cast<size_t>(
          std::max({int64_t{1}, data.info().targets.values,
                    options.taught ? 2 * options.shares_of : options.shares_of}))),
      share_(largest_share(options.batch, options.shard.workers)),
      grain_(grain_for(transform, share_)),
      scratch_(static_cast<size_t>(thread_count())),
      // One is lent, and each thread may keep one from being used again while it has no core.
      slots_(static_cast<size_t>(std::max(1, options.prefetch) + threads_of(data, options) + 1)) {
  SYRTOS_CHECK(data.size() > 0 && options.batch > 0, "{} {}", data.size(), options.batch);
  free_.reserve(slots_.size());
  ring_.reserve(slots_.size());
  for (Slot& slot : slots_) {
    slot.is_done.reserve(static_cast<size_t>((share_ + grain_ - 1) / grain_));
    const size_t bytes = options.images ? transform.bytes() : 0;
    slot.images = Buffer(bytes * static_cast<size_t>(share_), "batches");
    slot.targets.resize(static_cast<size_t>(share_) * target_values_);
    free_.push_back(&slot);
  }
}

Loader::~Loader() { stop_threads(); }

void Loader::seek(int64_t epoch, int64_t used) {
  stop_threads();
  ring_.clear();
  lent_ = nullptr;
  free_.clear();
  for (Slot& slot : slots_) free_.push_back(&slot);
  epoch_ = epoch;
  used_ = used;
}

bool Loader::plan_slot() {
  if (static_cast<int>(ring_.size()) == std::max(1, options_.prefetch)) return false;
  SYRTOS_CHECK(!free_.empty(), "more batches are abandoned than there are threads");
  if (steps_left(data_.size(), used_, options_.batch, options_.remainder) == 0) {
    ++epoch_;
    used_ = 0;
  }
  Slot* slot = free_.back();
  free_.pop_back();
  slot->epoch = epoch_;
  slot->slice = slice_of(data_.size(), used_, options_.batch, options_.shard, options_.remainder);
  slot->position = holding_.begin(used_, options_.batch, slot->slice);
  used_ = slot->slice.used;
  slot->chunks = (slot->slice.count + grain_ - 1) / grain_;
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

void Loader::put_target(const Target& target, float* to) const {
  if (target.values.empty()) {
    if (options_.shares_of == 0) {
      *to = static_cast<float>(target.label);
      return;
    }
    std::fill_n(to, target_values_, 0.0F);
    if (target.label >= 0) to[target.label] = 1;
    std::copy(target.taught.begin(), target.taught.end(), to + options_.shares_of);
    return;
  }
  const Normalization& scale = options_.targets;
  for (size_t k = 0; k < target_values_; ++k) {
    to[k] = scale.mean.empty() ? target.values[k]
                               : (target.values[k] - scale.mean[k]) / scale.deviation[k];
  }
}

void Loader::put_target_of(int64_t index, float* to, Scratch& scratch) const {
  const bool asks = data_.info().asks_samples;
  put_target(asks ? data_.read(index, scratch).target : data_.target(index), to);
}

// The other one is varied as on its own turn.
void Loader::mix_in(const SampleKey& key, int64_t other, void* to, float* targets,
                    Scratch& scratch) const {
  const MixedShape shape = transform_.shape();
  const Mix how = place_mix(transform_.augment(), key, shape.height, shape.width);
  scratch.targets.resize(target_values_);
  if (to == nullptr) {
    put_target_of(other, scratch.targets.data(), scratch);
  } else {
    const Sample sample = data_.read(other, scratch);
    scratch.other.resize(transform_.bytes());
    transform_.apply(sample, {key.seed, key.epoch, other}, scratch.other.data(), scratch);
    put_target(sample.target, scratch.targets.data());
    mix(how, shape, scratch.other.data(), to);
  }
  mix(how, scratch.targets, {targets, target_values_});
}

Loader::Times Loader::prepare(Slot& slot, int64_t chunk, Scratch& scratch) const {
  const EpochOrder order(holding_, slot.epoch);
  const bool mixes = options_.training && transform_.augment().mixes();
  const int64_t begin = chunk * grain_;
  const int64_t end = std::min(begin + grain_, slot.slice.count);
  Times times;
  for (int64_t n = begin; n < end; ++n) {
    const auto start = Clock::now();
    const int64_t position = slot.position + n;
    const int64_t index = options_.training ? order[position] : position % data_.size();
    // The next one of the epoch: whoever asks, for whatever batch.
    const int64_t other = mixes ? order[position + 1] : index;
    float* targets = &slot.targets[static_cast<size_t>(n) * target_values_];
    if (!options_.images) {
      put_target_of(index, targets, scratch);
      if (mixes) mix_in({options_.seed, slot.epoch, index}, other, nullptr, targets, scratch);
      continue;
    }
    const Sample sample = data_.read(index, scratch);
    const auto middle = Clock::now();
    void* to = slot.images.bytes() + static_cast<size_t>(n) * transform_.bytes();
    if (options_.training) {
      transform_.apply(sample, SampleKey{options_.seed, slot.epoch, index}, to, scratch);
    } else {
      transform_.apply(sample, options_.view, to, scratch);
    }
    put_target(sample.target, targets);
    if (mixes) mix_in({options_.seed, slot.epoch, index}, other, to, targets, scratch);
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
    times = prepare(slot, work.chunk, scratch);
  } catch (...) {
    error = std::current_exception();
  }
  {
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
      return;
    }
  }
  // Who wakes takes the core from this idle thread at once: it must not have the lock then.
  work_done_.notify_all();
}

void Loader::prefetch_thread() {
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
  for (int n = 0; n < threads_of(data_, options_); ++n) {
    threads_.emplace_back([this] { prefetch_thread(); });
    // Only when a core has nothing else to do. Where that is refused, the threads are ordinary.
    set_policy(threads_.back(), SCHED_IDLE);
  }
}

void Loader::stop_threads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_added_.notify_all();
  // To end, they need a core as well: they are as important as whoever waits for them now, where
  // the kernel allows that (RLIMIT_NICE).
  for (std::thread& thread : threads_) set_policy(thread, SCHED_OTHER);
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

template <typename Use>
void Loader::for_each_chunk(int64_t begin, int64_t end, const Use& use) {
  std::exception_ptr error;
  parallel([&](int thread, int threads) {
    Times times;
    std::exception_ptr mine;
    try {
      for (int64_t chunk = begin + thread; chunk < end; chunk += threads) {
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

// Leaves to the threads what they have begun of the batch that is needed now, and does the rest.
void Loader::finish(Slot& slot) {
  int64_t all = 0;
  {
    const std::lock_guard lock(mutex_);
    all = slot.chunks;
    slot.chunks = slot.taken;
    helped_ += all - slot.taken;
    chunks_done_ += all - slot.taken;
  }
  if (slot.chunks == all) return;
  try {
    for_each_chunk(slot.chunks, all,
                   [&](int64_t chunk, Scratch& scratch) { return prepare(slot, chunk, scratch); });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    slot.error = std::current_exception();  // also for whoever asks again
    throw;
  }
}

// Gives threads that are about to finish their chunk the time to do so, and returns whether they
// have.
bool Loader::wait_a_little(const Slot& slot) {
  std::unique_lock lock(mutex_);
  const double chunk_s = (stats_.read_s + stats_.transform_s) /
                         static_cast<double>(std::max<int64_t>(1, chunks_done_));
  const std::chrono::duration<double> patience(0.0001 + 2 * std::min(chunk_s, 0.01));
  const bool done = work_done_.wait_for(lock, patience, [&] { return slot.done == slot.chunks; });
  if (slot.error) std::rethrow_exception(slot.error);
  return done;
}

// The same batch in another place, without what threads have begun and do not get to finish.
Loader::Slot& Loader::rescue(Slot& slot) {
  Slot* other = nullptr;
  std::vector<char> is_done;
  {
    const std::lock_guard lock(mutex_);
    other = free_.back();
    free_.pop_back();
    is_done = slot.is_done;
  }
  other->epoch = slot.epoch;
  other->slice = slot.slice;
  other->position = slot.position;
  const auto all = static_cast<int64_t>(is_done.size());
  for_each_chunk(0, all, [&](int64_t chunk, Scratch& scratch) -> Times {
    // What next() did itself is not noted as done, but it is.
    if (chunk < slot.chunks && is_done[static_cast<size_t>(chunk)] == 0) {
      return prepare(*other, chunk, scratch);
    }
    const int64_t begin = chunk * grain_;
    const int64_t count = std::min(grain_, slot.slice.count - begin);
    if (options_.images) {
      const auto sample = static_cast<int64_t>(transform_.bytes());
      std::memcpy(other->images.bytes() + begin * sample, slot.images.bytes() + begin * sample,
                  static_cast<size_t>(count * sample));
    }
    const auto values = static_cast<int64_t>(target_values_);
    std::copy_n(slot.targets.begin() + begin * values, count * values,
                other->targets.begin() + begin * values);
    return {};
  });
  const std::lock_guard lock(mutex_);
  if (slot.done == slot.chunks) {
    free_.push_back(&slot);
  } else {
    slot.abandoned = true;  // whoever finishes its last chunk frees it
  }
  return *other;
}

// What a sample became, not what it was, is what the teacher is asked about.
void Loader::ask_teacher(Slot& slot) const {
  const auto count = static_cast<size_t>(slot.slice.count);
  if (!options_.teacher || count == 0) return;
  const auto classes = static_cast<size_t>(options_.shares_of);
  std::vector<float> said(count * classes);
  options_.teacher->answer({.images = slot.images.data(),
                            .shape = transform_.shape(),
                            .count = slot.slice.count,
                            .room = share_},
                           said);
  for (size_t n = 0; n < count; ++n) {
    std::copy_n(&said[n * classes], classes, &slot.targets[n * target_values_ + classes]);
  }
}

Batch Loader::next() {
  if (threads_.empty() && options_.prefetch > 0) start_threads();
  if (lent_ != nullptr) {
    const std::lock_guard lock(mutex_);
    free_.push_back(lent_);
    lent_ = nullptr;
  }
  const int64_t queued = queued_;
  Slot& slot = oldest();
  const int64_t ready = queued_ - queued;
  finish(slot);
  Slot& whole = wait_a_little(slot) ? slot : rescue(slot);
  ask_teacher(whole);
  {
    const std::lock_guard lock(mutex_);
    ring_.erase(ring_.begin());
    lent_ = &whole;
    stats_.batches += 1;
    stats_.samples += whole.slice.count;
  }
  work_added_.notify_all();  // the ring has room again, and a step begins
  return {whole.epoch, whole.slice, whole.images.data(),
          std::span(whole.targets).first(static_cast<size_t>(whole.slice.count) * target_values_),
          ready};
}

bool Loader::ready(int64_t samples) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || failure_ || ring_.empty()) return false;
  const Slot& slot = *ring_.front();
  return slot.done == slot.chunks && slot.slice.count == samples;
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
