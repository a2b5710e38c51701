#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace syrtos::job {

/// No number that a user can mean.
constexpr int64_t kUnset = std::numeric_limits<int64_t>::min();

/// A training as it was asked for: options and job files fill the same fields, as texts and
/// numbers. What they leave open is unset or "auto"; resolve() decides it and makes a Job of this.
struct JobRequest {
  std::string network = "lenet5";  ///< a name of the zoo, or the path of an ONNX file
  std::string weights = "auto";    ///< none, or a file to start from; auto: the network's file
  std::string freeze = "none";     ///< patterns of parameters that stay as they are
  int64_t classes = kUnset;        ///< unset: the data's
  std::string input =
      "auto";  ///< "32", "48x64", "3x48x64"; auto: the data's images, or the network's default

  std::string data = "mnist";     ///< a data set's name, random, or a path
  std::string label_column = {};  ///< of a CSV file or table; empty: found out
  std::string target_scale =
      "auto";                       ///< values are learnt in deviations (standard), or as they are
  double validation = 0;            ///< share of the training data to measure with
  int64_t samples = 1024;           ///< of random data
  std::string augment = "none";     ///< how training samples are varied, see data/augment.h
  std::string unlabelled = {};      ///< samples that a teacher alone knows about; empty: none
  int64_t synthetic = 0;            ///< the same, made up near the training data
  std::string remainder = "short";  ///< of an epoch: short, drop or pad
  std::string shard = "shuffled";   ///< which samples each worker has, see data/sharding.h
  int64_t prefetch = 4;             ///< batches prepared ahead
  std::string cache = "auto";       ///< of decoded pictures: auto, none, memory or disk

  int64_t batch = 64;
  int64_t accumulate = 0;   ///< micro-batches of each worker in a step; 0: chosen
  int64_t epochs = kUnset;  ///< unset: as many as `steps` needs, or 1
  int64_t steps = 0;        ///< ends the run after so many steps; 0: no limit
  std::string precision = "auto";
  int64_t threads = 0;  ///< 0: all cores
  int64_t seed = 1;
  std::string run = {};       ///< empty: runs/<network>-<date>-<time>
  double clip = 0;            ///< largest norm of the gradient; 0: any
  std::string loss = "auto";  ///< see nn/task.h; auto: what fits the data
  std::string class_weights = "none";
  double label_smoothing = 0;

  std::string teacher = {};  ///< a run, an ensemble, a checkpoint or an ONNX file; empty: none
  double temperature = 3;
  double teacher_share = 0.7;            ///< of the loss
  std::string teacher_answers = "auto";  ///< once for each sample, in each step, or auto

  std::string optimizer = "momentum";
  double learning_rate =
      std::numeric_limits<double>::quiet_NaN();  ///< NaN, unset: the optimizer's own
  double momentum = 0.9;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double rho = 0.9;
  double epsilon = 0;
  double weight_decay = 0;
  int64_t lookahead = 0;  ///< steps after which slow and fast weights meet; 0: none

  std::string schedule = "constant";
  int64_t cycles = 1;  ///< times that the run goes through the schedule; each leaves a member
  int64_t warmup = 0;  ///< in steps, as `every`
  int64_t every = 0;   ///< 0: a third of the run
  double factor = 0.1;
  double floor = 0;
  double peak = 0.3;
  double start = 0.2;
  double end = 0.07;

  std::string views = "none";    ///< of each test sample: none, flip or flip+shift
  int64_t evaluate_every = 1;    ///< epochs; the last one is always evaluated; 0: none is
  int64_t checkpoint_every = 0;  ///< steps; 0: after each epoch only

  int64_t workers = 1;
  std::string exchange = "allreduce";  ///< see strategy/options.h, as the next three
  std::string sync = "join";
  std::string wire = "f32";
  std::string update = "auto";
  std::string split = "none";     ///< what of the network each worker has
  std::string pipeline = "1f1b";  ///< in which order micro-batches go through its parts
  int64_t permits = 0;   ///< transfers at a time that a server allows in each direction; 0: any
  double bucket_mb = 0;  ///< of gradients that are exchanged at once; 0: chosen
  std::string trace = "none";     ///< steps that are recorded event by event: none, all, steps=A..B
  double sample_seconds = 1;      ///< between two looks at the hosts; 0: none
  std::string links = "auto";     ///< between hosts: "60us,117MB/s"; auto: measured
  int64_t min_workers = 1;        ///< that must be left when others are lost
  int64_t network_patience = 10;  ///< seconds that the network may be cut without any loss
  std::string encryption = "tls";    ///< of what crosses between hosts
  std::string batch_norm = "local";  ///< statistics of each worker's samples, or synchronised
  std::string replay = {};           ///< file of computing times that are slept instead of computed

  int64_t patience = 0;  ///< epochs without improvement after which the run ends; 0: never
  std::string metric = "auto";
  double min_delta = 0;

  /// Keys of the fields that somebody has set, for notes about those that have no effect.
  std::vector<std::string_view> given = {};
  /// Those that a run which goes on has from its own record: nobody has to be told of them again.
  std::vector<std::string_view> kept = {};
  bool gives(std::string_view key) const;  ///< Set there, or to another value than it has here.
};

/// One field of a request: its key in a job file, its command-line option, and what it means. Help,
/// reference page and the reading of both are made from these.
struct JobField {
  std::string_view key;     ///< "optimizer.momentum".
  std::string_view option;  ///< "--momentum".
  std::string_view type;    ///< For people: "number", "text", "one of auto, f32, bf16".
  std::string_view help;
  std::variant<std::string JobRequest::*, int64_t JobRequest::*, double JobRequest::*> member;
  std::string_view open = {};  ///< What is taken when it is left out, if that is not a fixed value.
  bool may_change = false;     ///< A run that goes on may have another value.
  bool plans = false;          ///< 'syrtos plan' takes the option too.
  bool recorded = true;        ///< It is part of a run's job file.
  bool may_differ = false;     ///< Workers of one run may have different values.

  /// "optimizer"; empty for the keys at the top of a job file.
  std::string_view section() const;
  /// "momentum".
  std::string_view name() const;
  /// The value that is taken when it is left out, in words where it is not a fixed one.
  std::string default_text() const;
};

/// All fields, those of a section together.
std::span<const JobField> job_fields();
/// nullptr when there is none.
const JobField* find_field(std::string_view key);

/// Sets a field from an option's text. Throws RequestError when it is not a number where one is
/// expected; `where` begins the message.
void set_field(JobRequest& request, const JobField& field, const std::string& text,
               std::string_view where);
/// The field's value as set_field() takes it; empty when it is unset.
std::string field_text(const JobRequest& request, const JobField& field);

}  // namespace syrtos::job
