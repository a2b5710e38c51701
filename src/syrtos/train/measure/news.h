#pragma once

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "syrtos/run/directory.h"
#include "syrtos/run/live.h"
#include "syrtos/train/measure/accounting.h"
#include "syrtos/train/measure/measures.h"
#include "syrtos/train/measure/notebook.h"
#include "syrtos/train/team/team_work.h"
#include "syrtos/world/started.h"

namespace syrtos::train {

/// Within an epoch workers tell worker 0 about once in a second where their time went and how their
/// hosts are, so that whoever watches the run sees it. Nobody waits for it and nothing depends on
/// it. Worker 0 writes what it heard, but never for more than a five-hundredth of the time:
/// run/live.h, a record for the steps of about a second, of long runs for more, which goes when the
/// table of all steps is complete; and run/hosts.h.
class News {
 public:
  /// All outlive it. `notebook` and `directory`: worker 0's.
  News(TeamWork& team, Measures& measures, Accounting& accounting, Notebook* notebook,
       const run::Directory* directory);

  /// A step is over, and nothing is computed. Quick but for once in a second.
  void step();
  /// Worker 0: adds what the others told since the last time. What cannot be read is left out.
  void add_received();
  /// All workers: what was told has been heard.
  Task<> end();
  /// Worker 0: the final files are there.
  void forget();

 private:
  nlohmann::json own();
  Task<> tell(std::string text);
  Task<> listen(world::Rank worker);
  void add(const nlohmann::json& text);
  void write();

  TeamWork& team_;
  Measures& measures_;
  Accounting& accounting_;
  Notebook* notebook_;
  const run::Directory* directory_;
  double last_ = 0;   // when it told or wrote
  double again_ = 0;  // seconds until the next time
  uint32_t round_ = 0;
  world::Started telling_;

  // At worker 0.
  std::vector<world::Started> listening_;
  std::vector<std::string> received_;  // since the last step: files may be written meanwhile
  std::vector<run::LiveRank> tellers_;
  std::shared_ptr<std::atomic<double>> writing_ =
      std::make_shared<std::atomic<double>>(0);  // seconds that it took the last time
};

}  // namespace syrtos::train
