#include "syrtos/job/notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "syrtos/base/counted.h"

namespace syrtos::job {

namespace {

using optim::Method;
using optim::ScheduleKind;

class Notes {
 public:
  Notes(const JobRequest& request, const Job& job)
      : request_(request), job_(job), total_(job.total_steps()) {}

  std::vector<std::string> all(const CpuInfo& cpu) {
    notes_ = job_.data.train->info().notes;
    look_at_threads(cpu);
    look_at_batch();
    look_at_length();
    look_at_optimizer();
    look_at_schedule();
    look_at_distribution();
    look_at_classes();
    look_at_teacher();
    look_at_losses();
    return std::move(notes_);
  }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> text, Values&&... values) {
    notes_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  /// A field that was set and is not used; `why` ends the sentence.
  void unused(std::string_view key, bool used, const std::string& why) {
    const bool kept =
        std::find(request_.kept.begin(), request_.kept.end(), key) != request_.kept.end();
    if (!used && !kept && request_.gives(key))
      add("{} has no effect {}", find_field(key)->option, why);
  }

  void look_at_threads(const CpuInfo& cpu) {
    if (job_.threads <= cpu.cores) return;
    add("--threads {} on {} core{}: threads that wait for each other share cores, which is many "
        "times slower than --threads {}",
        job_.threads, cpu.cores, cpu.cores == 1 ? "" : "s", cpu.cores);
  }

  void look_at_losses() {
    if (!job_.wants_to_survive()) return;
    const std::string why = job_.needs_all_workers();
    if (!why.empty()) add("the run ends when a worker is lost: {}", why);
  }

  void look_at_batch() {
    if (job_.batch == request_.batch) return;
    if (job_.data.train->size() >= request_.batch * job_.replicas()) {
      add("batches of {}: {} micro-batches do not divide the usual {}", job_.batch, job_.accumulate,
          request_.batch);
      return;
    }
    add("batches of {}: the training data has {}, too few for the usual {}", job_.batch,
        counted(job_.data.train->size(), "sample"), request_.batch);
  }

  void look_at_length() {
    if (job_.steps > total_) {
      add("--steps {}: the run ends after {}, with --epochs {}; give --epochs {}, or leave it "
          "out",
          job_.steps, counted(total_, "step"), job_.epochs,
          (job_.steps + job_.steps_per_epoch() - 1) / job_.steps_per_epoch());
    }
    if (job_.evaluate_every > job_.epochs) {
      add("--evaluate-every {}: of {} epoch{} only the last one is evaluated", job_.evaluate_every,
          job_.epochs, job_.epochs == 1 ? "" : "s");
    }
    if (job_.early_stop.patience >= job_.epochs) {
      add("--early-stop {}: {} epoch{} cannot be stopped early", job_.early_stop.patience,
          job_.epochs, job_.epochs == 1 ? "" : "s");
    }
    if (job_.checkpoint_every >= job_.steps_per_epoch()) {
      add("--checkpoint-every {} has no effect: an epoch has {} step{}, and each is saved",
          job_.checkpoint_every, job_.steps_per_epoch(), job_.steps_per_epoch() == 1 ? "" : "s");
    }
    if (job_.trace.any() && job_.trace.first > total_) {
      add("--trace {} has no effect: the run has {}", to_string(job_.trace),
          counted(total_, "step"));
    }
    const std::string_view name = job_.data_name;
    const bool is_file = name.ends_with(".csv") || name.ends_with(".tsv");
    unused("data.label_column", is_file || name.find('/') != std::string_view::npos,
           "without a CSV file");
    const std::string loss = fmt::format("with --loss {}", nn::loss_name(job_.task));
    unused("data.target_scale", job_.task.has_values(), loss);
    unused("label_smoothing", job_.task.has_classes(), loss);
    constexpr int64_t kFewToChoose = 20;
    if (job_.open.validation > 0 && job_.data.test->size() < kFewToChoose) {
      add("--validation {}: {} sample{} are kept, too few to tell which epoch is the best",
          job_.open.validation, job_.data.test->size(), job_.data.test->size() == 1 ? "" : "s");
    }
    unused("data.validation", !job_.random_data, "with --data random");
    if (job_.image[1] == 1 && job_.augment.flip != data::Flip::none) {
      add("--augment flip turns signals around, the last value first; of a table that mixes "
          "columns");
    }
    unused("data.samples", job_.random_data, "without --data random");
  }

  void look_at_teacher() {
    const bool taught = job_.task.has_teacher();
    for (const char* key : {"teacher.temperature", "teacher.share", "teacher.answers"}) {
      unused(key, taught, "without --teacher");
    }
    if (taught && !job_.teaching.in_steps && !job_.augment.empty()) {
      add("--teacher-answers once: the teacher has seen samples as they are, and the network sees "
          "them varied ({}): it learns more of --teacher-answers steps",
          to_string(job_.augment));
    }
  }

  void look_at_optimizer() {
    const Method method = job_.optimizer.method;
    const auto is_one_of = [&](std::initializer_list<Method> methods) {
      return std::find(methods.begin(), methods.end(), method) != methods.end();
    };
    const std::string with = fmt::format("with --optimizer {}", to_string(method));
    const bool adam = is_one_of({Method::adam, Method::adamw});
    unused("optimizer.momentum", is_one_of({Method::momentum, Method::nesterov}), with);
    unused("optimizer.beta1", adam, with);
    unused("optimizer.beta2", adam, with);
    unused("optimizer.rho", is_one_of({Method::adadelta}), with);
    unused("optimizer.epsilon", adam || is_one_of({Method::adagrad, Method::adadelta}), with);
    if (job_.lookahead > total_) {
      add("--lookahead {} has no effect: the run has {}", job_.lookahead, counted(total_, "step"));
    }
  }

  void look_at_schedule() {
    const ScheduleKind kind = job_.schedule.kind;
    const std::string with = fmt::format("with --schedule {}", to_string(kind));
    const bool triangle = kind == ScheduleKind::triangle;
    const bool triangular = kind == ScheduleKind::triangular;
    const bool step = kind == ScheduleKind::step;
    unused("schedule.every", step || triangular, with);
    unused("schedule.factor", step, with);
    unused("schedule.floor", kind == ScheduleKind::cosine || triangular, with);
    unused("schedule.peak", kind == ScheduleKind::one_cycle || triangle, with);
    unused("schedule.start", triangle, with);
    unused("schedule.end", triangle, with);
    if (job_.schedule.warmup_steps >= total_) {
      add("--warmup {}: the run has {}, so the learning rate only gets to {:.3g} of {:.3g}",
          job_.schedule.warmup_steps, counted(total_, "step"),
          job_.schedule.rate * static_cast<double>(total_) /
              static_cast<double>(job_.schedule.warmup_steps),
          job_.schedule.rate);
    } else if (step && job_.schedule.every >= total_) {
      add("--schedule-every {}: the run has {}, so the learning rate does not change",
          job_.schedule.every, counted(total_, "step"));
    }
  }

  void look_at_distribution() {
    const bool servers = job_.strategy.exchange.uses_servers();
    const bool several = job_.workers > 1 || servers;
    for (const char* key : {"distribute.exchange", "distribute.sync", "distribute.wire",
                            "distribute.update", "distribute.bucket_mb", "distribute.links",
                            "distribute.batch_norm", "distribute.split"}) {
      unused(key, several, "with one worker");
    }
    unused("distribute.pipeline", job_.strategy.split.parts > 1,
           "without parts (--split layers:N)");
    if (job_.strategy.split.parts > 1 &&
        !(strategy::parse_pipeline(request_.pipeline) == job_.strategy.pipeline)) {
      add("parts of --split {} need each other in turn, so --pipeline is {}", request_.split,
          to_string(job_.strategy.pipeline));
    }
    unused("distribute.encryption", several, "with one worker");
    if (several && !job_.encrypted) {
      add("--encryption none: whoever is in the network between the hosts can read and change "
          "weights and gradients");
    }
    unused("distribute.permits", servers, "without servers (--exchange ps, ...)");
  }

  static std::vector<int64_t> per_class(const data::Dataset& data, size_t classes) {
    std::vector<int64_t> counts(classes);
    for (int64_t i = 0; i < data.size(); ++i) {
      const auto label = static_cast<size_t>(data.label(i));
      if (label < classes) ++counts[label];
    }
    return counts;
  }

  void look_at_classes() {
    if (job_.random_data || !job_.task.has_classes()) return;
    if (job_.data.train->info().asks_samples) return;
    // What is learnt of text is every character, not those after windows alone.
    if (job_.data.train->info().numbers) return;
    const std::vector<std::string>& names = job_.data.train->info().classes;
    const std::vector<int64_t> train = per_class(*job_.data.train, names.size());
    const std::vector<int64_t> test = per_class(*job_.data.test, names.size());
    std::vector<std::string> untrained;
    std::vector<std::string> untested;
    std::vector<std::string> few;
    constexpr int64_t kFew = 10;
    for (size_t k = 0; k < names.size(); ++k) {
      if (train[k] == 0) untrained.push_back(names[k]);
      if (train[k] > 0 && train[k] < kFew) {
        few.push_back(fmt::format("{} ({})", names[k], train[k]));
      }
      if (train[k] > 0 && test[k] == 0) {
        untested.push_back(fmt::format("{} ({} to train)", names[k], train[k]));
      }
    }
    say_classes("no training samples", untrained, names.size());
    say_classes(
        fmt::format("no {0} samples, of which the {0} accuracy says nothing", job_.measured_word()),
        untested, names.size());
    say_classes(fmt::format("fewer than {} training samples, too few to learn much from", kFew),
                few, names.size());
    if (job_.classes > static_cast<int64_t>(names.size())) {
      add("--classes {}: the data has {}, so the others are never the answer", job_.classes,
          names.size());
    }
  }

  void say_classes(const std::string& have, const std::vector<std::string>& some, size_t all) {
    constexpr size_t kShown = 5;
    if (some.empty()) return;
    const std::vector<std::string> shown(some.begin(),
                                         some.begin() + std::min(some.size(), kShown));
    add("{} of {} classes {} {}: {}{}", some.size(), all, some.size() == 1 ? "has" : "have", have,
        fmt::join(shown, ", "), some.size() > kShown ? ", ..." : "");
  }

  const JobRequest& request_;
  const Job& job_;
  const int64_t total_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> notes_of(const JobRequest& request, const Job& job, const CpuInfo& cpu) {
  return Notes(request, job).all(cpu);
}

}  // namespace syrtos::job
