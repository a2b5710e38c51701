#include "syrtos/search/ledger.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"

namespace syrtos::search {

using nlohmann::json;

namespace {

template <typename Kind>
struct Word {
  Kind kind;
  std::string_view word;
};

constexpr std::array<Word<PieceEnd>, 7> kEnds = {{{PieceEnd::paused, "paused"},
                                                  {PieceEnd::complete, "complete"},
                                                  {PieceEnd::stopped_early, "stopped early"},
                                                  {PieceEnd::hopeless, "hopeless"},
                                                  {PieceEnd::failed, "failed"},
                                                  {PieceEnd::lost, "lost"},
                                                  {PieceEnd::interrupted, "interrupted"}}};
constexpr std::array<Word<Event::Kind>, 6> kEvents = {{{Event::Kind::session, "session"},
                                                       {Event::Kind::trial, "trial"},
                                                       {Event::Kind::start, "start"},
                                                       {Event::Kind::begin, "begin"},
                                                       {Event::Kind::epoch, "epoch"},
                                                       {Event::Kind::end, "end"}}};

template <typename Words, typename Kind>
std::string_view word_of(const Words& words, Kind kind) {
  for (const auto& [known, word] : words) {
    if (known == kind) return word;
  }
  return "?";
}

template <typename Kind, typename Words>
std::optional<Kind> kind_of(const Words& words, std::string_view text) {
  for (const auto& [kind, word] : words) {
    if (word == text) return kind;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(TrialState state) {
  switch (state) {
    case TrialState::waiting:
      return "waiting";
    case TrialState::running:
      return "running";
    case TrialState::paused:
      return "paused";
    case TrialState::done:
      return "done";
    case TrialState::failed:
      return "failed";
  }
  return "?";
}

std::string_view to_string(PieceEnd end) { return word_of(kEnds, end); }
std::optional<PieceEnd> parse_piece_end(std::string_view word) {
  return kind_of<PieceEnd>(kEnds, word);
}

std::string to_line(const Event& event) {
  json text = {{"event", word_of(kEvents, event.kind)}, {"at", event.at}};
  if (event.trial > 0) text["trial"] = event.trial;
  if (event.kind == Event::Kind::trial) text["values"] = event.point;
  if (!event.host.empty()) text["host"] = event.host;
  if (event.kind == Event::Kind::session) text["slots"] = event.slots;
  if (event.kind == Event::Kind::start) text["until"] = event.epoch;
  if (event.kind == Event::Kind::begin || event.kind == Event::Kind::epoch) {
    text["epoch"] = event.epoch;
  }
  if (event.value) text["value"] = *event.value;
  if (event.kind == Event::Kind::end) text["end"] = to_string(event.end);
  if (!event.message.empty()) text["message"] = event.message;
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Event> parse_event(const std::string& line) {
  const json text = json::parse(line, nullptr, false);
  if (!text.is_object()) return std::nullopt;
  try {
    Event event;
    const auto kind = kind_of<Event::Kind>(kEvents, text.at("event").get<std::string>());
    if (!kind) return std::nullopt;
    event.kind = *kind;
    event.at = text.at("at").get<double>();
    event.trial = text.value("trial", 0);
    if (text.contains("values")) event.point = text.at("values").get<Point>();
    event.host = text.value("host", "");
    event.slots = text.value("slots", 0);
    event.epoch = text.value("epoch", text.value("until", int64_t{0}));
    if (text.contains("value")) event.value = text.at("value").get<double>();
    if (event.kind == Event::Kind::end) {
      const auto end = parse_piece_end(text.at("end").get<std::string>());
      if (!end) return std::nullopt;
      event.end = *end;
    }
    event.message = text.value("message", "");
    return event;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

void Ledger::add(const Event& event) {
  last_at_ = std::max(last_at_, event.at);
  if (event.kind == Event::Kind::session) {
    for (Trial& trial : trials_) {
      if (trial.state != TrialState::running) continue;
      trial.state = TrialState::waiting;
      trial.end = PieceEnd::interrupted;
    }
    running_ = 0;
    return;
  }
  if (event.kind == Event::Kind::trial) {
    trials_.push_back({.number = static_cast<int>(trials_.size()) + 1, .point = event.point});
    return;
  }
  if (event.trial < 1 || static_cast<size_t>(event.trial) > trials_.size()) return;
  Trial& trial = trials_[static_cast<size_t>(event.trial) - 1];
  switch (event.kind) {
    case Event::Kind::start:
      if (trial.state != TrialState::running) ++running_;
      trial.state = TrialState::running;
      trial.until = event.epoch;
      trial.host = event.host;
      trial.begun = event.at;
      break;
    case Event::Kind::begin:  // what came after is trained again, what is not known is told now
      trial.epoch = std::min(trial.epoch, event.epoch);
      std::erase_if(trial.scores, [&](const Score& one) { return one.epoch > event.epoch; });
      break;
    case Event::Kind::epoch:
      if (event.epoch <= trial.epoch) break;  // told twice
      trial.epoch = event.epoch;
      if (event.value) trial.scores.push_back({event.epoch, *event.value, event.at});
      break;
    case Event::Kind::end: {
      if (trial.state == TrialState::running) {
        --running_;
        trial.seconds += event.at - trial.begun;
      }
      trial.end = event.end;
      trial.message = event.message;
      if (event.end == PieceEnd::lost) ++trial.lost;
      const bool again = event.end == PieceEnd::lost || event.end == PieceEnd::interrupted;
      trial.state = again                           ? TrialState::waiting
                    : event.end == PieceEnd::paused ? TrialState::paused
                    : event.end == PieceEnd::failed ? TrialState::failed
                                                    : TrialState::done;
      break;
    }
    default:
      break;
  }
}

int Ledger::count(TrialState state) const {
  return static_cast<int>(std::count_if(trials_.begin(), trials_.end(),
                                        [&](const Trial& one) { return one.state == state; }));
}

int64_t Ledger::epochs() const {
  int64_t sum = 0;
  for (const Trial& trial : trials_) sum += trial.epoch;
  return sum;
}

std::optional<Score> Ledger::best_of(const Trial& trial, int64_t until) const {
  std::optional<Score> best;
  for (const Score& score : trial.scores) {
    if (until > 0 && score.epoch > until) break;
    if (!best || is_better(score.value, best->value)) best = score;
  }
  return best;
}

const Trial* Ledger::best() const {
  const Trial* best = nullptr;
  double value = 0;
  for (const Trial& trial : trials_) {
    const std::optional<Score> own = best_of(trial);
    if (!own || (best != nullptr && !is_better(own->value, value))) continue;
    best = &trial;
    value = own->value;
  }
  return best;
}

bool Ledger::was_tried(const Point& point) const {
  return std::any_of(trials_.begin(), trials_.end(),
                     [&](const Trial& one) { return one.point == point; });
}

}  // namespace syrtos::search
