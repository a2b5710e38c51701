#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "syrtos/api/slot_choice.h"
#include "syrtos/api/surroundings.h"
#include "syrtos/base/clock.h"
#include "syrtos/job/resolve.h"
#include "syrtos/search/slots.h"

namespace syrtos::api {

/// Slots that are threads of this process: for networks and data that the caller brings along.
class SlotThreads final : public search::Slots {
 public:
  SlotThreads(const SlotWay& way, job::Own own, const Surroundings& surroundings);
  /// Ends what runs in good order.
  ~SlotThreads() override;

  double now() override { return seconds_since(begun_); }
  std::vector<search::News> wait(double seconds) override;
  void start(int slot, const search::Piece& piece) override;
  void stop(int slot) override;
  const std::string& host(int /*slot*/) const override { return host_; }
  bool shares(int /*slot*/, const std::string& /*host*/) const override { return true; }
  std::string none_left() const override { return {}; }

 private:
  struct Slot {
    std::atomic<bool> stops = false;
    std::thread thread;
  };
  void put(search::News news, int slot);

  const SlotWay way_;
  const job::Own own_;
  const Surroundings surroundings_;
  const Clock::time_point begun_ = Clock::now();
  const std::string host_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<search::News> news_;
};

}  // namespace syrtos::api
