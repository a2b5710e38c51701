#include "searching.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aside.h"
#include "syrtos/api/resume.h"
#include "syrtos/api/search.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/report/search_report.h"

namespace syrtos::python {

namespace nb = nanobind;

namespace {

void change(search::Settings& settings, const Keywords& changes) {
  const std::vector<search::SettingField> fields = search::setting_fields();
  for (const auto& change : changes) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const auto& one) { return one.key == change.first; });
    SYRTOS_CHECK(field != fields.end(), "{}", change.first);
    search::set(settings, *field, change.second);
  }
}

/// Tells Python of every trial that has ended or pauses.
class Teller final : public search::Observer {
 public:
  Teller(const nb::object& function, Aside& aside) : function_(function), aside_(aside) {}

  void happened(const search::Event& event, const search::Ledger& ledger) override {
    if (function_.is_none() || event.kind != search::Event::Kind::end) return;
    const search::Trial& trial = ledger.trial(event.trial);
    nlohmann::json text = {{"trial", trial.number},
                           {"values", trial.point},
                           {"epochs", trial.epoch},
                           {"end", search::to_string(event.end)},
                           {"message", event.message}};
    if (const auto best = ledger.best_of(trial)) text["best"] = best->value;
    const std::string line = text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    aside_.call([&] {
      if (const nb::object answer = function_(line); answer.ptr() == Py_False) aside_.stop();
    });
  }

 private:
  const nb::object& function_;
  Aside& aside_;
};

}  // namespace

std::string search(const SearchCall& call) {
  api::SearchRequest request;
  request.resume = call.resume;
  request.run = call.run;
  request.slots = call.slots;
  if (call.resume.empty()) {
    request.plan =
        call.file.empty() ? search::parse_plan(call.space, "space") : search::read_plan(call.file);
    std::vector<api::Change> changes;
    for (const auto& [keyword, text] : call.keywords)
      changes.emplace_back(&field_of(keyword), text);
    api::apply(changes, request.plan.job);
    change(request.plan.settings, call.settings);
  } else {
    request.change = [&](search::Settings& settings) { change(settings, call.settings); };
  }
  if (call.network != nullptr) request.own.network = *call.network;
  if (call.train != nullptr) request.own.data = job_data(*call.train, call.test);
  Aside aside;
  Teller teller(call.on_trial, aside);
  api::Searched searched;
  aside.run([&] {
    searched = api::run_search(request, std::nullopt, surroundings(aside.should_stop()), teller);
    using End = search::Outcome::End;
    if (searched.outcome.end == End::hopeless || searched.outcome.end == End::no_room) {
      fail_run("{}", searched.outcome.message);
    }
  });
  return search_json(searched.directory.string());
}

std::string search_json(const std::string& directory) {
  return report::search_json(search::Directory::open(directory))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace syrtos::python
