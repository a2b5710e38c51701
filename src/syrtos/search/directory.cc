#include "syrtos/search/directory.h"

#include <fmt/format.h>

#include <fstream>

#include "syrtos/base/error.h"
#include "syrtos/base/secret.h"
#include "syrtos/job/file.h"
#include "syrtos/run/directory.h"
#include "syrtos/run/text_file.h"

namespace syrtos::search {

namespace fs = std::filesystem;

namespace {
constexpr const char* kPlan = "search.toml";
constexpr const char* kTrials = "trials.jsonl";

/// What a process that was killed has left of its last line must not begin another one.
void cut_to_lines(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t end = text.rfind('\n');
  const size_t size = end == std::string::npos ? 0 : end + 1;
  std::error_code error;
  if (size != text.size()) fs::resize_file(file, size, error);
  if (error) fail_run("cannot write {}: {}", file.string(), error.message());
}
}  // namespace

Directory::Directory(fs::path path, Plan plan)
    : path_(std::move(path)), plan_(std::move(plan)), ledger_(plan_.metric().higher_is_better) {}

Directory Directory::create(const fs::path& wanted, const Plan& plan) {
  const std::string network = fs::path(plan.job.network).stem().string();
  Directory directory(run::Directory::reserve(wanted, "search-" + network), plan);
  directory.own(false);
  run::write_text(directory.path_ / kPlan, to_toml(plan));
  directory.trials_ = LineFile(directory.path_ / kTrials);
  return directory;
}

bool Directory::is_search(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path / kPlan, error);
}

Directory Directory::open(const fs::path& path) {
  if (!is_search(path)) {
    fail_request("{} is not a search: expected {} in it, found none", path.string(), kPlan);
  }
  Directory directory(fs::absolute(path), read_plan(path / kPlan));
  directory.read_trials();
  return directory;
}

Directory Directory::open_to_resume(const fs::path& path, bool force) {
  Directory directory = open(path);
  directory.own(force);
  // Others may have added to it until now. What is cut away has not happened, whatever it says.
  cut_to_lines(directory.path_ / kTrials);
  directory.ledger_ = Ledger(directory.plan_.metric().higher_is_better);
  directory.read_trials();
  directory.trials_ = LineFile(directory.path_ / kTrials);
  return directory;
}

void Directory::own(bool force) {
  token_ = random_token();
  owner_ = std::make_unique<const run::Owner>(path_, run::Claim{.token = token_, .force = force});
}

void Directory::read_trials() {
  std::ifstream in(path_ / kTrials, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    // A last line that was cut is what had not happened yet.
    if (const std::optional<Event> event = parse_event(line)) ledger_.add(*event);
  }
}

fs::path Directory::trial(int number) const {
  return path_ / "trials" / fmt::format("{:04}", number);
}

void Directory::change(const Settings& settings) {
  if (settings == plan_.settings) return;
  plan_.settings = settings;
  owner_->check();
  run::write_text(path_ / kPlan, to_toml(plan_));
}

void Directory::add(const Event& event) {
  owner_->check();
  trials_.append(to_line(event));
  // A run directory is on disk when it is there: what it is the run of must be so before.
  if (event.kind == Event::Kind::trial) trials_.sync();
  ledger_.add(event);
}

void Directory::write_best() const {
  const Trial* best = ledger_.best();
  if (best == nullptr) return;
  owner_->check();
  const Score score = *ledger_.best_of(*best);
  run::write_text(best_job(),
                  fmt::format("# Trial {} of {}: {} after {} epoch{}, with {}.\n{}", best->number,
                              path_.filename().string(), plan_.metric().named_text(score.value),
                              score.epoch, score.epoch == 1 ? "" : "s", to_string(best->point),
                              job::to_toml(plan_.job_at(best->point))));
}

}  // namespace syrtos::search
