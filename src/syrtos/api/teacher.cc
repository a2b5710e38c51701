#include "syrtos/api/teacher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "syrtos/api/ensemble.h"
#include "syrtos/api/run_network.h"
#include "syrtos/base/checksum.h"
#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/format.h"
#include "syrtos/base/log.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/sets/taught.h"
#include "syrtos/job/networks.h"
#include "syrtos/run/directory.h"
#include "syrtos/train/network/teacher_networks.h"

namespace syrtos::api {

namespace fs = std::filesystem;

namespace {

/// Whom to ask, and how several become one.
struct Asked {
  std::vector<train::TeacherMember> members;
  Ensemble ensemble;
};

train::TeacherMember member_of(const fs::path& path) {
  const fs::path file = run::find_checkpoint(path);
  return {network_of_checkpoint(file, train::describe(train::CheckpointReader(file)).network),
          file};
}

Asked asked_for(const fs::path& from) {
  Asked asked;
  std::error_code error;
  if (!fs::exists(from, error)) {
    fail_request(
        "--teacher {}: expected a run, an ensemble, a checkpoint or an ONNX file, found nothing "
        "there",
        from.string());
  }
  if (is_ensemble(from)) {
    asked.ensemble = read_ensemble(from);
    if (asked.ensemble.combine == Combine::weights && asked.ensemble.weights.empty()) {
      fail_request("--teacher {}: its members' weights are not learnt yet: let it be trained first",
                   from.string());
    }
    for (const fs::path& one : asked.ensemble.members) asked.members.push_back(member_of(one));
  } else if (from.extension() == ".onnx") {
    asked.members.push_back({job::find_network(from.string()), from});
  } else {
    asked.members.push_back(member_of(from));
  }
  return asked;
}

/// What the answers are a function of: members, how they are joined, and the samples, of which some
/// stand for all.
std::string key_of(const Asked& asked, const job::Job& job) {
  Checksum sum(Checksum::Kind::sha256);
  const auto add = [&](const std::string& text) { sum.add(text.data(), text.size() + 1); };
  for (const train::TeacherMember& one : asked.members)
    add(file_checksum(Checksum::Kind::sha256, one.file));
  add(to_string(asked.ensemble.combine));
  for (const double weight : asked.ensemble.weights) add(fmt::format("{}", weight));
  const data::Dataset& data = *job.data.train;
  add(fmt::format("{} {} {} {}", data.info().name, data.size(), to_string(data.info().shape()),
                  to_string(job.precision.dtype)));
  add(fmt::format("{} {} {}", job.teaching.unlabelled, job.teaching.synthetic, job.seed));
  constexpr int64_t kLooked = 256;
  data::Scratch scratch;
  for (int64_t i = 0; i < std::min(kLooked, data.size()); ++i) {
    const int64_t index = i * data.size() / std::min(kLooked, data.size());
    const data::Sample sample = data.read(index, scratch);
    sum.add(sample.values, static_cast<size_t>(sample.elements()) * size_of(sample.dtype));
  }
  return sum.finish();
}

/// Empty: they are not there, or of another size.
std::vector<float> kept_answers(const fs::path& file, size_t count) {
  const FileText found = read_text(file);
  std::vector<float> answers(count);
  if (found.error != 0 || found.text.size() != count * sizeof(float)) return {};
  std::memcpy(answers.data(), found.text.data(), found.text.size());
  return answers;
}

void keep_answers(const fs::path& file, const std::vector<float>& answers) {
  try {
    fs::create_directories(file.parent_path());
    AtomicFile out(file);
    out.write(answers.data(), answers.size() * sizeof(float));
    out.commit();
  } catch (const std::exception& error) {  // the next one asks again
    log_info("teacher: its answers are not kept: {}", error.what());
  }
}

/// How many labels the teacher would have got right, for people.
std::string right_share(const std::vector<float>& answers, const job::Job& job) {
  const data::Dataset& data = *job.data.train;
  if (data.info().asks_samples) return {};
  const auto classes = static_cast<size_t>(job.classes);
  int64_t right = 0;
  int64_t known = 0;
  for (int64_t n = 0; n < data.size(); ++n) {
    const int32_t label = data.label(n);
    if (label < 0) continue;
    const auto row =
        answers.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(n) * classes);
    ++known;
    right += std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row == label;
  }
  return fmt::format(", {:.2f} % of the training data right",
                     100.0 * static_cast<double>(right) / static_cast<double>(known));
}

void ask_once(const Asked& asked, train::TeacherNetworks& networks,
              const Surroundings& surroundings, job::Job& job) {
  const auto begun = Clock::now();
  const auto count = static_cast<size_t>(job.data.train->size() * job.classes);
  const fs::path file = surroundings.cache_home.empty()
                            ? fs::path()
                            : surroundings.cache_home / "syrtos" / "answers" / key_of(asked, job);
  std::vector<float> answers;
  if (!file.empty()) answers = kept_answers(file, count);
  const bool kept = !answers.empty();
  if (!kept) {
    answers = networks.ask(job, surroundings.should_stop);
    if (!file.empty()) keep_answers(file, answers);
  }
  const size_t members = asked.members.size();
  job.notes.push_back(fmt::format(
      "the teacher {}{} has said what {} samples are{}{}", job.teaching.from.string(),
      members > 1 ? fmt::format(" ({} networks)", members) : "",
      format_count(job.data.train->size()), right_share(answers, job),
      kept ? ", earlier" : fmt::format(", in {}", format_duration(seconds_since(begun)))));
  train::soften(job.task.teaching.temperature, static_cast<size_t>(job.classes), answers);
  job.data.train = std::make_shared<data::Answered>(job.data.train, std::move(answers));
}

}  // namespace

void load_teacher(const Surroundings& surroundings, job::Job& job) {
  if (!job.task.has_teacher()) return;
  const ThreadScope threads(job.threads);
  const Asked asked = asked_for(job.teaching.from);
  const auto join = [ensemble = asked.ensemble](const std::vector<std::vector<float>>& rows,
                                                size_t classes) {
    return combine(rows, classes, ensemble.combine, ensemble.weights);
  };
  auto networks = std::make_shared<train::TeacherNetworks>(job, asked.members, join);
  if (job.teaching.in_steps) {
    job.teacher = std::move(networks);
  } else {
    ask_once(asked, *networks, surroundings, job);
  }
}

}  // namespace syrtos::api
