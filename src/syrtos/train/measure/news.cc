#include "syrtos/train/measure/news.h"

#include <algorithm>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/strategy/text.h"

namespace syrtos::train {

using nlohmann::json;
using trace::DivisionRecord;
using world::Rank;
using world::Started;

namespace {

constexpr double kEvery = 1;                // seconds
constexpr double kShareOfNews = 0.002;      // that writing may take
constexpr size_t kMostRecordsOfNews = 240;  // of a worker
constexpr int kLive = 0;                    // kind of what the notebook replaces

/// Takes two items, as texts do.
world::Tag tag_of(uint32_t round) { return {world::Purpose::news, 0, round}; }

json to_json(const DivisionRecord& record) {
  return {{"step", record.step},
          {"steps", record.steps},
          {"seconds", record.seconds},
          {"hidden", record.hidden_network}};
}

DivisionRecord record_of(const json& text) {
  DivisionRecord record;
  record.step = text.at("step");
  record.steps = text.at("steps");
  record.seconds = text.at("seconds");
  record.hidden_network = text.at("hidden");
  return record;
}

/// The first step stays alone: it is not like the others.
void halve(std::vector<DivisionRecord>& records) {
  size_t kept = 1;
  for (size_t i = 1; i < records.size(); i += 2) {
    DivisionRecord sum = records[i];
    if (i + 1 < records.size()) sum += records[i + 1];
    records[kept++] = sum;
  }
  records.resize(kept);
}

}  // namespace

News::News(TeamWork& team, Measures& measures, Accounting& accounting, Notebook* notebook,
           const run::Directory* directory)
    : team_(team),
      measures_(measures),
      accounting_(accounting),
      notebook_(notebook),
      directory_(directory) {
  if (directory_ == nullptr) return;
  forget();  // what a run that was killed left
  for (Rank worker = 0; worker < team.workers(); ++worker) tellers_.push_back({worker, {}, {}});
  for (Rank worker = 1; worker < team.workers(); ++worker) {
    listening_.emplace_back(team.world(), listen(worker));
  }
}

void News::step() {
  const double now = team_.world().now();
  if (now - last_ < again_) return;
  if (directory_ == nullptr && telling_.valid() && !telling_.done()) return;
  const json news = own();
  if (news.is_null()) return;
  last_ = now;
  again_ = kEvery;
  if (directory_ == nullptr) {
    telling_ = Started(team_.world(), tell(news.dump()));
    return;
  }
  measures_.begin(accounting_.log());
  if (measures_.goes_on() && tellers_[0].records.empty()) {
    measures_.write_parts(*directory_, accounting_.log().records().back().step);
  }
  add(news);
  add_received();
  write();
  const double spent = team_.world().now() - now + *writing_;
  measures_.spent(spent);
  again_ = std::max(kEvery, spent / kShareOfNews);
}

void News::add_received() {
  if (received_.empty()) return;
  measures_.begin(accounting_.log());
  for (const std::string& one : received_) {
    try {
      add(json::parse(one));
    } catch (const json::exception&) {
      // Only who watches misses something.
    } catch (const RequestError&) {
      // The same.
    }
  }
  received_.clear();
}

/// Null: there is nothing new.
json News::own() {
  const std::optional<DivisionRecord> record = accounting_.take_recent();
  if (!record) return {};
  const world::World& world = team_.world();
  return {{"rank", world.rank()},
          {"host", world.host(world.rank())},
          {"samples", train::to_json(measures_.own().new_samples())},
          {"record", to_json(*record)}};
}

Task<> News::tell(std::string text) {
  try {
    co_await strategy::send_text(team_.world(), 0, tag_of(round_++), text);
  } catch (const RunError&) {
    // Whoever needs worker 0 for more than this says that it is lost.
  }
}

/// To the worker's last text, which is empty. Steps and evaluations may take as long as they wish.
Task<> News::listen(Rank worker) {
  try {
    for (uint32_t round = 0;; ++round) {
      std::string text = co_await strategy::receive_text(team_.world(), worker, tag_of(round),
                                                         {.silence = world::Patience::kForever});
      if (text.empty()) co_return;
      received_.push_back(std::move(text));
    }
  } catch (const RunError&) {
    // Whoever needs this worker for more says that it is lost.
  }
}

void News::add(const json& text) {
  const auto rank = text.at("rank").get<size_t>();
  if (rank >= tellers_.size()) return;
  run::LiveRank& teller = tellers_[rank];
  teller.host = text.at("host");
  measures_.add_samples(teller.host, samples_of(text.at("samples")));
  teller.records.push_back(record_of(text.at("record")));
  if (teller.records.size() > kMostRecordsOfNews) halve(teller.records);
}

void News::write() {
  notebook_->replace(
      kLive, run::name_of(run::File::live),
      [directory = *directory_, tellers = tellers_, hosts = measures_.hosts(), writing = writing_] {
        const auto begun = Clock::now();
        run::replace(directory, tellers);
        if (!hosts.empty()) run::replace(directory, hosts);
        *writing = seconds_since(begun);
      });
}

Task<> News::end() {
  if (directory_ == nullptr) {
    if (telling_.valid()) co_await telling_.join();
    const std::string last;
    co_await tell(last);
    co_return;
  }
  co_await world::join_all(team_.world(), listening_);
  add_received();
}

void News::forget() {
  notebook_->replace(kLive, run::name_of(run::File::live),
                     [directory = *directory_] { run::forget_live(directory); });
}

}  // namespace syrtos::train
