#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "syrtos/trace/division.h"
#include "syrtos/trace/recorder.h"
#include "syrtos/world/world.h"

namespace syrtos::strategy {

using trace::Part;
using world::World;

/// Seconds of a world's clock.
struct Stretch {
  double start = 0;
  double end = 0;
};

/// Where the time since the last one was taken went.
struct Measured {
  double start = 0;
  trace::StepDivision division;
  std::vector<Stretch> exposed;  ///< that it was network
};

/// Stretches of time, in order and apart from each other.
class Stretches {
 public:
  /// Ends are added in order, starts need not be.
  void add(Stretch stretch);
  void forget_before(double time);
  double overlap(const Stretch& stretch) const;

 private:
  std::vector<Stretch> stretches_;
};

/// Where a worker's time goes. Every moment belongs to one part: what is computed comes first, and
/// of several pieces of work the one that was asked for first, since the pool runs one after the
/// other; then what is waited for; the rest is `other`: counting what the batch came to, passing
/// work from thread to thread, writing down. So the parts add up to the time that passed.
///
/// Belongs to its world's thread. A change costs two looks at the clock.
class Meter {
 public:
  /// Measures from now on, on this world's clock.
  explicit Meter(const World& world) : world_(world), start_(world.now()), last_(start_) {}
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  /// The worker does this from here to the end of the block. It waits for network, wait and
  /// bubble, and computes all else.
  class Doing {
   public:
    Doing(Meter& meter, Part part);
    ~Doing();
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;
    /// Part of a pass, known afterwards: this share of it was forward, the rest is backward. Of
    /// which micro-batch, where there are several: traces say it.
    void divide(double forward_share, std::optional<int> micro = {}) {
      forward_ = forward_share;
      divided_ = true;
      micro_ = micro;
    }

   private:
    friend class Meter;
    void flush();
    Meter& meter_;
    const Part part_;
    double spent_ = 0;
    double forward_ = 0;
    bool divided_ = false;
    std::optional<int> micro_ = {};
    int64_t began_ = 0;  // of the recorder
  };

  /// Something of this bucket is on its way from here to the end of the block.
  class Crossing {
   public:
    Crossing(Meter& meter, int bucket);
    ~Crossing();
    Crossing(const Crossing&) = delete;
    Crossing& operator=(const Crossing&) = delete;

   private:
    Meter& meter_;
    const int bucket_;
    int64_t began_ = 0;
  };

  /// Sums over steps, in seconds; the first two since the start of the step.
  struct Bucket {
    double ready = 0;
    double arrived = 0;
    double exposed = 0;
    int64_t times = 0;
    int64_t arrivals = 0;
  };

  /// The bucket's exchange begins.
  void bucket_ready(int bucket);
  /// Waiting that ended now was for this bucket.
  void bucket_exposed(int bucket, double seconds);
  const std::vector<Bucket>& buckets() const { return buckets_; }

  /// The pass is over.
  void computed() { computed_ = world_.now(); }
  double computed_at() const { return computed_; }

  /// Another rank was waited for then: who has the gradients of others says so.
  void waited_for_others(Stretch when) {
    if (when.end > when.start) others_.add(when);
  }
  /// Network that was waiting for others becomes that.
  void divide_network(Measured& measured) const;
  /// Nobody asks about the time before any more.
  void forget_before(double time) { others_.forget_before(time); }

  /// What was measured since the last call; the next step begins.
  Measured take();
  /// What was measured since the last call, while the step goes on.
  Measured take_more();
  /// How often it has looked at the clock.
  int64_t looks() const { return looks_; }
  /// Seconds of network so far.
  double network() const { return network_; }

  /// Records what is done on tracks of its own, the first one of this name; `none` ends it.
  void record(trace::Recorder* recorder, const char* track = "worker");

 private:
  void tick();
  Bucket& bucket(int number);
  trace::Name bucket_name(int number);
  trace::Name pass_name(Part part, std::optional<int> micro);

  const World& world_;
  double start_;  // of what is measured
  double last_;   // look at the clock
  double step_ = 0;
  std::vector<Doing*> computing_;
  std::vector<Doing*> waiting_;
  int crossing_ = 0;
  int64_t looks_ = 0;
  double network_ = 0;
  double computed_ = 0;
  Measured measured_;
  Stretches others_;
  std::vector<Bucket> buckets_;
  struct Started {
    double step = 0;
    double arrived = 0;
  };
  std::vector<Started> started_;

  trace::Track* doing_track_ = nullptr;
  trace::Track* crossing_track_ = nullptr;
  std::array<trace::Name, trace::kParts> part_names_ = {};
  trace::Recorder* recorder_ = nullptr;
  std::vector<trace::Name> bucket_names_;
  std::map<std::pair<Part, int>, trace::Name> micro_names_;
  trace::Name bucket_key_ = {};
};

}  // namespace syrtos::strategy
