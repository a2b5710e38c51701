#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "syrtos/data/dataset.h"
#include "syrtos/data/pipeline/order.h"
#include "syrtos/data/pipeline/sharding.h"
#include "syrtos/data/pipeline/teacher.h"
#include "syrtos/data/pipeline/transform.h"
#include "syrtos/tensor/buffer.h"

namespace syrtos::data {

struct LoaderOptions {
  int64_t batch = 64;    ///< samples of all workers in a step
  uint64_t seed = 1;     ///< of order and augmentation
  bool training = true;  ///< in random order and varied; otherwise in order and as `view` says
  Placement view = {};
  Shard shard = {};
  Sharding sharding = {};
  Remainder remainder = Remainder::short_batch;
  int prefetch = 4;            ///< batches that are prepared ahead; 0: each when it is asked for
  int threads = 0;             ///< that prepare them; 0: as many as the pool has
  Normalization targets = {};  ///< of values that samples have; none: as they are
  bool images = true;          ///< false: targets alone are wanted
  int64_t shares_of = 0;       ///< targets are shares of so many classes; 0: the number of one
  /// Behind those shares stand as many probabilities that a teacher gives the sample: those of its
  /// target, or what this teacher says of each batch.
  bool taught = false;
  std::shared_ptr<Teacher> teacher = nullptr;
};

/// One batch: which part of the epoch it is, and its samples, one after the other in the type and
/// layout that the first layer reads, with what is to be found out about each: the number of its
/// class, its values, or its shares of all classes and what a teacher says of them. The memory is
/// the loader's.
struct Batch {
  int64_t epoch = 0;
  Slice slice;
  void* images = nullptr;
  std::span<const float> targets;  ///< as many for each sample
  int64_t ready = 0;               ///< batches that were prepared when this one was asked for
};

/// Where the pipeline's time went since it was last asked.
struct LoaderStats {
  int64_t batches = 0;
  int64_t samples = 0;
  double read_s = 0;       ///< reading and decoding, on whatever thread
  double transform_s = 0;  ///< augmentation, normalisation, conversion
  double helped = 0;       ///< share of the samples that next() had to prepare itself
  double queue = 0;        ///< batches that were ready, on average, when one was asked for
};

/// The input pipeline: order -> read and decode -> transform -> batch, some batches ahead.
///
///   positions   slice_of() and EpochOrder say which samples come next: plain functions
///   samples     threads take a few samples at a time, oldest batch first, and put each straight
///               into its place in a batch
///   batches     a ring of them, allocated once; when it is full, the threads sleep; a step reads
///               its batch where it is
///
/// The threads run at idle priority: they use cores that computing leaves alone and never slow it
/// down. What they did not get done by the time a batch is asked for is done by next() itself on
/// all threads of the pool, also what a thread began but has no core to finish: nobody waits for
/// it. Of data to measure with that is no more than what would be prepared ahead, next() prepares
/// all, without threads.
class Loader {
 public:
  /// All must outlive the loader. Throws RunError when memory is short.
  Loader(const Dataset& data, const Transform& transform, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Goes to a place in the run; what was prepared for another is thrown away.
  void seek(int64_t epoch, int64_t used);
  /// The next batch, there until the following call. The last one of an epoch may be shorter than
  /// the others; epochs follow each other without end. Blocks; throws RunError when a sample cannot
  /// be read.
  Batch next();
  /// Whether next() would return so many samples, or throw, at once. To be called by the thread
  /// that calls next().
  bool ready(int64_t samples);

  LoaderStats take_stats();
  /// Bytes of memory that the ring takes.
  int64_t bytes() const;

 private:
  /// A batch of the ring.
  struct Slot {
    Buffer images;
    std::vector<float> targets;
    int64_t epoch = 0;
    Slice slice;
    int64_t position = 0;  // of its first sample in the order
    int64_t chunks = 0;    // that are for the threads: all, until the batch is needed
    int64_t taken = 0;     // chunks that somebody works on or has done
    int64_t done = 0;
    std::vector<char> is_done;  // by chunk
    bool abandoned = false;     // next() did not wait for the last chunks
    std::exception_ptr error;
  };
  /// A chunk of a batch: a few samples.
  struct Work {
    Slot* slot = nullptr;
    int64_t chunk = 0;
  };
  struct Times {
    double read_s = 0;
    double transform_s = 0;
    Times& operator+=(const Times& other) {
      read_s += other.read_s;
      transform_s += other.transform_s;
      return *this;
    }
  };

  bool plan_slot();
  static bool take(Slot& slot, Work& work);
  bool take_any(Work& work);
  void do_work(const Work& work, Scratch& scratch);
  Slot& oldest();
  void finish(Slot& slot);
  bool wait_a_little(const Slot& slot);
  Slot& rescue(Slot& slot);
  /// Calls use(chunk, scratch) -> Times for chunks begin .. end - 1, on all threads of the pool.
  template <typename Use>
  void for_each_chunk(int64_t begin, int64_t end, const Use& use);
  void put_target(const Target& target, float* to) const;
  void put_target_of(int64_t index, float* to, Scratch& scratch) const;
  void ask_teacher(Slot& slot) const;
  void mix_in(const SampleKey& key, int64_t other, void* to, float* targets,
              Scratch& scratch) const;
  Times prepare(Slot& slot, int64_t chunk, Scratch& scratch) const;
  void prefetch_thread();
  void start_threads();
  void stop_threads();

  const Dataset& data_;
  const Transform& transform_;
  LoaderOptions options_;
  Holding holding_;
  size_t target_values_;          // of a sample
  int64_t share_;                 // most samples of a batch here
  int64_t grain_;                 // samples that are taken at once
  std::vector<Scratch> scratch_;  // of the pool's threads

  std::mutex mutex_;  // guards everything below
  std::condition_variable work_added_;
  std::condition_variable work_done_;
  int64_t epoch_ = 0;  // of the next batch to plan
  int64_t used_ = 0;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  std::vector<Slot*> ring_;  // oldest first
  Slot* lent_ = nullptr;     // what next() returned last
  bool stopping_ = false;
  std::exception_ptr failure_;  // of a thread, other than with a sample
  LoaderStats stats_;
  int64_t chunks_done_ = 0;
  int64_t helped_ = 0;  // chunks
  int64_t queued_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace syrtos::data
