#include "syrtos/cli/progress_file.h"

#include <exception>
#include <fstream>

namespace syrtos::cli {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr auto kEvery = std::chrono::seconds(1);

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

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

}  // namespace

void ProgressFile::begin(const train::StartInfo& info) {
  directory_ = info.directory.path();
  state_ = {{"state", "training"},
            {"step", info.first_step},
            {"steps", info.total_steps},
            {"epoch", info.steps_per_epoch > 0 ? 1 + info.first_step / info.steps_per_epoch : 1},
            {"epochs", info.job.job.epochs}};
  write();
}

void ProgressFile::step(const train::StepInfo& info) {
  if (directory_.empty()) return;
  state_["step"] = info.step;
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
  const bool all = state_.value("step", int64_t{0}) >= state_.value("steps", int64_t{1});
  state_["state"] = std::uncaught_exceptions() > 0 ? "failed" : all ? "complete" : "ended";
  write();
  directory_.clear();
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
