#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/progress.h"
#include "syrtos/train/job_file.h"
#include "syrtos/train/trainer.h"

namespace syrtos::cli {

namespace {

using train::Outcome;

struct Options {
  std::string job_file;
  std::string resume;
  std::vector<std::pair<const train::JobField*, std::string>> fields;
  bool json = false;
};

// What may change when a run goes on; anything else would make it another run.
bool may_change(const train::JobField& field) {
  return field.key == "epochs" || field.key == "steps" || field.key == "threads";
}

train::Job read_job(const Options& options) {
  train::Job job;
  if (!options.resume.empty()) {
    const auto run = train::RunDirectory::open(options.resume);
    if (!options.job_file.empty()) {
      fail_request("--resume goes on with the job of {}: leave {} out", options.resume,
                   options.job_file);
    }
    train::read_job_file(job, run.job_file());
  } else if (!options.job_file.empty()) {
    train::read_job_file(job, options.job_file);
  }
  for (const auto& [field, text] : options.fields) {
    if (!options.resume.empty() && !may_change(*field)) {
      fail_request("{} cannot change when a run goes on: only --epochs, --steps and --threads can",
                   field->option);
    }
    train::set_field(job, *field, text, field->option);
  }
  return job;
}

nlohmann::json to_json(const Outcome& outcome, const train::RunDirectory& directory) {
  nlohmann::json epochs = nlohmann::json::array();
  for (const train::EpochMetrics& metrics : outcome.epochs) epochs.push_back(to_json(metrics));
  const char* end = outcome.end == Outcome::End::complete        ? "complete"
                    : outcome.end == Outcome::End::stopped_early ? "stopped early"
                                                                 : "interrupted";
  return {{"run", directory.path().string()},
          {"end", end},
          {"step", outcome.position.step},
          {"seconds", outcome.seconds},
          {"epochs", epochs}};
}

int report(const Outcome& outcome, const train::RunDirectory& directory) {
  const std::string run = directory.path().string();
  if (outcome.end == Outcome::End::interrupted) {
    fmt::print(stderr,
               "interrupted after step {} (epoch {}), the position is saved; go on with:\n"
               "  syrtos train --resume {}\n",
               outcome.position.step, outcome.position.epoch + 1, run);
    return kExitFailed;
  }
  const train::EpochMetrics& last = outcome.epochs.back();
  train::PartSeconds parts;
  for (const train::EpochMetrics& epoch : outcome.epochs) parts += epoch.seconds;
  const double all = parts.training() + parts.evaluate;
  fmt::print(
      "time: load {:.1f} %, forward {:.1f} %, backward {:.1f} %, update {:.1f} %, evaluation "
      "{:.1f} %\n",
      100 * parts.load / all, 100 * parts.forward / all, 100 * parts.backward / all,
      100 * parts.update / all, 100 * parts.evaluate / all);
  fmt::print("{} in {}: test accuracy {:.2f} %; {}\n",
             outcome.end == Outcome::End::stopped_early ? "stopped early" : "done",
             format_duration(outcome.seconds), 100 * last.test_accuracy, directory.best().string());
  return kExitDone;
}

int run_train(const Options& options, const Context& context) {
  train::Trainer trainer(
      train::resolve(read_job(options), context.cpu, context.environment.cache_home));
  if (options.resume.empty()) {
    trainer.begin();
  } else {
    trainer.resume(options.resume);
  }
  Progress progress(options.json ? stderr : stdout, context.environment.colour);
  const Outcome outcome = trainer.run_alone(progress, context.interrupted);
  progress.clear();
  if (!options.json) return report(outcome, trainer.directory());
  fmt::print("{}\n", to_json(outcome, trainer.directory()).dump());
  return outcome.end == Outcome::End::interrupted ? kExitFailed : kExitDone;
}

}  // namespace

void add_train(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("train", "Train a network");
  command->add_option("JOB", options->job_file, "job file (TOML); options override it")
      ->type_name("");
  command->add_option("--resume", options->resume, "go on with this run")->type_name("RUN");
  for (const train::JobField& field : train::job_fields()) {
    const train::JobField* at = &field;
    command
        ->add_option_function<std::string>(
            field.option,
            [options, at](const std::string& text) { options->fields.emplace_back(at, text); },
            field.help)
        ->type_name(std::holds_alternative<std::string train::Job::*>(field.member) ? "TEXT"
                                                                                    : "NUMBER");
  }
  command->add_flag("--json", options->json, "print the result as JSON");
  command->footer(
      "Examples:\n"
      "  syrtos train examples/mnist-lenet5.toml --epochs 2\n"
      "  syrtos train --network mnist-cnn --optimizer adam --lr 0.001 --schedule cosine\n"
      "  syrtos train --network resnet18 --input 32 --data random --steps 20 --precision f32\n"
      "  syrtos train --network lenet5 --data cifar10 --augment crop:4,flip --epochs 20\n"
      "  syrtos train --resume runs/lenet5-20260101-120000");
  command->callback([options, &run] {
    run = [options](const Context& context) { return run_train(*options, context); };
  });
}

}  // namespace syrtos::cli
