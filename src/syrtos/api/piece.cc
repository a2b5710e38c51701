#include "syrtos/api/piece.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <new>
#include <nlohmann/json.hpp>

#include "syrtos/api/resume.h"
#include "syrtos/api/task.h"
#include "syrtos/api/train.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/log.h"
#include "syrtos/job/record.h"
#include "syrtos/run/directory.h"
#include "syrtos/run/progress.h"

namespace syrtos::api {

using nlohmann::json;
using search::News;
using search::PieceEnd;

namespace {

News news_of(const run::EpochMetrics& metrics, const std::string& metric) {
  return {.kind = News::Kind::epoch,
          .epoch = metrics.epoch,
          .value = metrics.evaluated ? std::optional(metrics.test_value(metric)) : std::nullopt};
}

class Teller final : public train::TrainObserver {
 public:
  Teller(const search::Piece& piece, const TellNews& tell)
      : until_(piece.until), metric_(piece.job.metric), tell_(tell) {}

  void started(const train::StartInfo&) override {}
  void step(const train::StepProgress&) override {}
  void epoch(const run::EpochMetrics& metrics) override {
    tell_(news_of(metrics, metric_));
    if (until_ > 0 && metrics.epoch >= until_) is_there_ = true;
  }
  bool is_there() const { return is_there_; }

 private:
  const int64_t until_;
  const std::string metric_;
  const TellNews& tell_;
  std::atomic<bool> is_there_ = false;
};

/// Tells what the run has come to before; how it ended, if there is no more to be done.
std::optional<PieceEnd> tell_before(const search::Piece& piece, const run::Directory& directory,
                                    const TellNews& tell) {
  run::Notes ignored;
  const std::vector<run::EpochMetrics> epochs = run::read_metrics(directory, ignored);
  const int64_t last = epochs.empty() ? 0 : epochs.back().epoch;
  tell({.kind = News::Kind::begin, .epoch = last});
  for (const run::EpochMetrics& metrics : epochs) tell(news_of(metrics, piece.job.metric));
  const std::optional<run::Progress> progress = run::read_progress(directory, ignored);
  if (progress && progress->state == run::State::complete) return PieceEnd::complete;
  if (progress && progress->state == run::State::stopped_early) return PieceEnd::stopped_early;
  if (piece.until > 0 && last >= piece.until) return PieceEnd::paused;
  return std::nullopt;
}

/// A field in which a run was trained as another trial than was asked for; nullptr: there is none.
/// What was left open was decided then, and not in the same way on every machine.
const job::JobField* other_field(const job::JobRequest& asked, const job::JobRequest& decided,
                                 const job::JobRequest& recorded) {
  const job::JobRequest untouched;
  for (const job::JobField& field : job::job_fields()) {
    if (!field.recorded || field.may_differ) continue;
    const std::string own = job::field_text(asked, field);
    const bool open = !field.open.empty() && own == job::field_text(untouched, field);
    if (!open && job::field_text(decided, field) != job::field_text(recorded, field)) return &field;
  }
  return nullptr;
}

/// A name beside the trial's place that nothing has.
std::filesystem::path place_aside(const search::Piece& piece, const char* word) {
  std::filesystem::path aside = piece.run;
  for (int number = 1; std::filesystem::exists(aside); ++number) {
    aside = fmt::format("{}.{}-{}", piece.run.string(), word, number);
  }
  return aside;
}

/// Epochs were trained, and what they came to was lost before it was on disk: there was no room for
/// it. Nothing is there to go on from, so the trial begins anew.
void put_aside_if_lost(const search::Piece& piece, const run::Directory& directory) {
  run::Notes ignored;
  const bool is_saved =
      directory.has(run::File::last_checkpoint) || directory.has(run::File::previous_checkpoint);
  if (is_saved || run::read_metrics(directory, ignored).empty()) return;
  const std::filesystem::path aside = place_aside(piece, "lost");
  std::error_code error;
  std::filesystem::rename(piece.run, aside, error);
  if (error) {
    fail_run("{} has no checkpoint, and cannot be renamed ({}): move it away", piece.run.string(),
             error.message());
  }
  log_info("{} has no checkpoint: it begins anew, and that is now {}", piece.run.string(),
           aside.string());
}

/// The run in the trial's place is of another job: of this search, when a machine without power had
/// it and not yet the line that says what the trial is, or of whoever put it there. It gets another
/// name, so that nothing of it is taken for this trial's.
void put_aside_if_other(const search::Piece& piece, const run::Directory& directory,
                        const Surroundings& surroundings, const job::Own& own) {
  const job::Record record = job::read_record(directory.file(run::File::job));
  // What cannot be read is for whoever goes on with the run: a checkpoint knows the job too.
  if (!record.request || !other_field(piece.job, piece.job, *record.request)) return;
  // The same may be said in several ways; deciding takes opening the data.
  const job::JobRequest decided =
      to_request(job::resolve(piece.job, surroundings.cpu, surroundings.cache_home, own));
  const job::JobField* field = other_field(piece.job, decided, *record.request);
  if (field == nullptr) return;
  const std::filesystem::path aside = place_aside(piece, "other");
  std::error_code error;
  std::filesystem::rename(piece.run, aside, error);
  const std::string found = fmt::format(
      "{} has the run of another job: expected {} = {}, found {}", piece.run.string(), field->key,
      job::field_text(decided, *field), job::field_text(*record.request, *field));
  if (error) {
    fail_run("{}; it cannot be renamed ({}): move it away", found, error.message());
  }
  log_info("{}; it is now {}", found, aside.string());
}

PieceEnd train_on(const search::Piece& piece, const Surroundings& surroundings, const job::Own& own,
                  const TellNews& tell) {
  const auto directory = run::Directory::at(piece.run);
  if (directory.has(run::File::job)) put_aside_if_other(piece, directory, surroundings, own);
  if (directory.has(run::File::job)) put_aside_if_lost(piece, directory);
  const bool is_there = directory.has(run::File::job);
  if (is_there) {
    if (const auto ended = tell_before(piece, directory, tell)) return *ended;
  } else {
    tell({.kind = News::Kind::begin});
  }
  TrainRequest request{.job = piece.job, .own = own, .claim = {.force = piece.force}};
  if (is_there) {
    request.resume = piece.run;
    request.job = request_to_resume(
        piece.run, {{job::find_field("threads"), std::to_string(piece.job.threads)}});
  } else {
    request.job.run = piece.run.string();
  }
  Teller teller(piece, tell);
  Surroundings until = surroundings;
  until.should_stop = [&] { return teller.is_there() || surroundings.should_stop(); };
  const Trained trained = train(request, until, teller);
  switch (trained.outcome.end) {
    case train::Outcome::End::complete:
      return PieceEnd::complete;
    case train::Outcome::End::stopped_early:
      return PieceEnd::stopped_early;
    case train::Outcome::End::interrupted:
      break;
  }
  return teller.is_there() ? PieceEnd::paused : PieceEnd::interrupted;
}

constexpr std::array<std::pair<News::Kind, const char*>, 5> kKinds = {{{News::Kind::free, "free"},
                                                                       {News::Kind::begin, "begin"},
                                                                       {News::Kind::epoch, "epoch"},
                                                                       {News::Kind::end, "end"},
                                                                       {News::Kind::gone, "gone"}}};

}  // namespace

void train_piece(const search::Piece& piece, const Surroundings& surroundings, const job::Own& own,
                 const TellNews& tell) {
  News end{.kind = News::Kind::end};
  try {
    end.end = train_on(piece, surroundings, own, tell);
  } catch (const run::TakenOver& error) {
    end.end = PieceEnd::lost;
    end.message = error.what();
  } catch (const NoRoom& error) {
    end.end = PieceEnd::interrupted;
    end.message = error.what();
  } catch (const std::bad_alloc&) {
    end.end = PieceEnd::lost;
    end.message = "out of memory; use fewer --slots";
  } catch (const std::exception& error) {
    end.end = PieceEnd::failed;
    end.message = error.what();
  }
  tell(end);
}

std::string to_line(const search::Piece& piece, const job::Own& own) {
  TrainRequest request{.job = piece.job, .own = own};
  request.job.run = piece.run.string();
  return json{{"do", "train"},
              {"trial", piece.trial},
              {"until", piece.until},
              {"force", piece.force},
              {"task", to_task(request)}}
             .dump() +
         "\n";
}

TravelledPiece parse_piece(const json& message) {
  try {
    TrainRequest request = parse_task(message.at("task").get<std::string>());
    TravelledPiece travelled;
    travelled.own = request.own;
    travelled.piece = {.trial = message.at("trial").get<int>(),
                       .job = std::move(request.job),
                       .run = {},
                       .until = message.at("until").get<int64_t>(),
                       .force = message.at("force").get<bool>()};
    travelled.piece.run = std::exchange(travelled.piece.job.run, "");
    return travelled;
  } catch (const json::exception& error) {
    fail_request("expected a trial from the search, found: {}", error.what());
  }
}

json to_json(const News& news) {
  json text = {{"epoch", news.epoch}, {"message", news.message}};
  for (const auto& [kind, word] : kKinds) {
    if (kind == news.kind) text["is"] = word;
  }
  if (news.value) text["value"] = *news.value;
  if (news.kind == News::Kind::end) text["end"] = to_string(news.end);
  return text;
}

News parse_news(const json& message) {
  try {
    News news;
    const std::string is = message.at("is").get<std::string>();
    for (const auto& [kind, word] : kKinds) {
      if (is != word) continue;
      news.kind = kind;
      news.epoch = message.at("epoch").get<int64_t>();
      news.message = message.at("message").get<std::string>();
      if (message.contains("value")) news.value = message.at("value").get<double>();
      if (kind == News::Kind::end) {
        news.end = search::parse_piece_end(message.at("end").get<std::string>())
                       .value_or(PieceEnd::failed);
      }
      return news;
    }
    fail_request("expected news of a trial, found '{}'", is);
  } catch (const json::exception& error) {
    fail_request("expected news of a trial, found: {}", error.what());
  }
}

}  // namespace syrtos::api
