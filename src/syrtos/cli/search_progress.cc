#include "syrtos/cli/search_progress.h"

#include <fmt/format.h>

#include "syrtos/base/counted.h"

namespace syrtos::cli {

void SearchProgress::begin(const search::Plan& plan) {
  metric_ = &plan.metric();
  trials_ = plan.settings.trials;
}

void SearchProgress::happened(const search::Event& event, const search::Ledger& ledger) {
  if (event.kind == search::Event::Kind::end) tell_end(event, ledger);
  const search::Trial* best = ledger.best();
  std::string text = fmt::format(
      "{}{} trial{}, {} running, {}{}", ledger.trials().size(),
      trials_ > 0 ? fmt::format(" of {}", trials_) : "",
      (trials_ > 0 ? static_cast<size_t>(trials_) : ledger.trials().size()) == 1 ? "" : "s",
      ledger.running(), counted(ledger.epochs(), "epoch"),
      best == nullptr ? ""
                      : fmt::format(", best {} (trial {})",
                                    metric_->text(ledger.best_of(*best)->value), best->number));
  scribe_.post_newest(0, [this, text = std::move(text)] { line_.show(text); });
}

void SearchProgress::slots(int /*count*/, const std::string& note) {
  if (!note.empty()) say(fmt::format("note: {}", note));
}

void SearchProgress::tell_end(const search::Event& event, const search::Ledger& ledger) {
  const search::Trial& trial = ledger.trial(event.trial);
  const auto best = ledger.best_of(trial);
  const search::Trial* winner = ledger.best();
  std::string text = fmt::format("trial {}", trial.number);
  if (best) {
    text += fmt::format(": {} after {} epoch{}", metric_->named_text(best->value), trial.epoch,
                        trial.epoch == 1 ? "" : "s");
  }
  switch (event.end) {
    case search::PieceEnd::failed:
      text += ", failed: " + event.message;
      break;
    case search::PieceEnd::lost:
      text += ", to be tried again: " + event.message;
      break;
    case search::PieceEnd::complete:
    case search::PieceEnd::paused:
      break;
    default:
      text += fmt::format(", {}", search::to_string(event.end));
  }
  text += fmt::format(" ({}){}", search::to_string(trial.point),
                      winner == &trial && best ? ", the best so far" : "");
  say(text);
}

void SearchProgress::say(const std::string& text) {
  scribe_.post([this, text] {
    line_.clear();
    fmt::print(out_, "{}\n", text);
    std::fflush(out_);
  });
}

void SearchProgress::clear() {
  scribe_.post([this] { line_.clear(); });
  scribe_.drain();
}

}  // namespace syrtos::cli
