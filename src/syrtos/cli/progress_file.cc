#include "syrtos/cli/progress_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <fstream>

#include "syrtos/base/clock.h"

namespace syrtos::cli {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr auto kEvery = std::chrono::seconds(1);
constexpr int kPoints = 2000;  // of a run; a longer one has only a few times as many
constexpr const char* kHeader = "step,time,loss,accuracy,images_per_s\n";

/// Readers see the old or the new one. Not brought to disk: after a crash nobody watches.
void replace(const fs::path& directory, const json& state) {
  const fs::path beside = directory / "progress.json.part";
  std::error_code error;
  std::ofstream out(beside, std::ios::binary);
  out << state.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  out.close();
  if (out) fs::rename(beside, directory / "progress.json", error);
  if (!out || error) fs::remove(beside, error);
}

std::string without_colours(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// What a run that goes on had written beyond its checkpoint is forgotten.
void begin_curve(const fs::path& file, int64_t first_step) {
  std::string kept = kHeader;
  std::ifstream in(file, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    int64_t step = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
    if (error == std::errc() && *end == ',' && step <= first_step) kept += line + '\n';
  }
  in.close();
  std::ofstream(file, std::ios::binary) << kept;
}

}  // namespace

void ProgressFile::begin(const train::StartInfo& info) {
  directory_ = info.directory.path();
  state_ = {{"state", "training"},
            {"step", info.first_step},
            {"steps", info.total_steps},
            {"epoch", info.steps_per_epoch > 0 ? 1 + info.first_step / info.steps_per_epoch : 1},
            {"epochs", info.job.job.epochs}};
  begun_ = point_ = std::chrono::steady_clock::now();
  begin_curve(directory_ / "curve.csv", info.first_step);
  write();
}

void ProgressFile::step(const train::StepInfo& info) {
  if (directory_.empty()) return;
  const auto samples = static_cast<double>(info.samples);
  if (info.epoch != now_.epoch) add_point();  // what is left of the epoch before
  const bool first = now_.epoch == 0;
  now_ = {info.epoch,
          info.loss * samples,
          info.accuracy * samples,
          info.samples,
          info.images_per_s * info.seconds,
          info.seconds};
  // A run that goes on within an epoch has sums of before.
  if (first && info.step_in_epoch > 1) noted_ = now_;
  state_["step"] = info.step;
  const auto now = std::chrono::steady_clock::now();
  if (now - point_ >= std::max<std::chrono::nanoseconds>(kEvery, (now - begun_) / kPoints)) {
    add_point();
  }
  if (std::chrono::steady_clock::now() - written_ < kEvery) return;
  state_["steps"] = info.total_steps;
  state_["epoch"] = info.epoch;
  state_["epochs"] = info.epochs;
  state_["loss"] = info.loss;
  state_["accuracy"] = info.accuracy;
  state_["images_per_s"] = info.images_per_s;
  write();
}

void ProgressFile::log(const std::string& line) {
  if (directory_.empty()) return;
  std::ofstream(directory_ / "log.txt", std::ios::binary | std::ios::app)
      << without_colours(line) << '\n';
}

void ProgressFile::end() {
  if (directory_.empty()) return;
  add_point();
  const bool all = state_.value("step", int64_t{0}) >= state_.value("steps", int64_t{1});
  state_["state"] = std::uncaught_exceptions() > 0 ? "failed" : all ? "complete" : "ended";
  write();
  directory_.clear();
}

/// Sums begin at 0 in each epoch.
void ProgressFile::add_point() {
  const auto now = std::chrono::steady_clock::now();
  const Sums before = now_.epoch == noted_.epoch ? noted_ : Sums{};
  const int64_t samples = now_.samples - before.samples;
  const double seconds = now_.seconds - before.seconds;
  // Of those that were lost meanwhile nothing counts any more.
  if (samples <= 0 || seconds <= 0 || now_.images < before.images) return;
  const auto n = static_cast<double>(samples);
  std::ofstream(directory_ / "curve.csv", std::ios::binary | std::ios::app)
      << fmt::format("{},{:.3f},{:.6g},{:.6g},{:.6g}\n", state_.value("step", int64_t{0}),
                     wall_clock(), (now_.loss - before.loss) / n,
                     (now_.correct - before.correct) / n, (now_.images - before.images) / seconds);
  noted_ = now_;
  point_ = now;
}

void ProgressFile::write() {
  written_ = std::chrono::steady_clock::now();
  state_["time"] = wall_clock();
  replace(directory_, state_);
}

void note_failure(const fs::path& run, const std::string& message) {
  std::ifstream in(run / "progress.json", std::ios::binary);
  json state = in ? json::parse(in, nullptr, false) : json::object();
  if (!state.is_object()) state = json::object();
  std::error_code ignored;
  if (!fs::is_directory(run, ignored)) return;
  state["state"] = "failed";
  state["message"] = message;
  state["time"] = wall_clock();
  replace(run, state);
}

}  // namespace syrtos::cli
