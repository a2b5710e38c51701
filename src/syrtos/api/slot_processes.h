#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "syrtos/api/slot_choice.h"
#include "syrtos/base/clock.h"
#include "syrtos/job/resolve.h"
#include "syrtos/launch/process.h"
#include "syrtos/launch/remote.h"
#include "syrtos/search/slots.h"

namespace syrtos::api {

/// A host and how trials use it.
struct SlotHost {
  launch::Host host;
  SlotWay way = {};
};

struct SlotProcessOptions {
  std::vector<std::string> command;  ///< a program that calls serve_slot()
  std::vector<SlotHost> hosts;
  std::optional<launch::RemoteShell> remote = {};  ///< none: processes of this machine
  std::filesystem::path search = {};               ///< its directory
  std::string token = {};                          ///< of its owner
  job::Own own = {};                               ///< a network of a file, which travels
};

/// Slots that are processes, of this machine or of hosts: what happens to one does not happen to
/// the others. One that ends is started again; a host that cannot be reached is tried again and
/// again.
class SlotProcesses final : public search::Slots {
 public:
  explicit SlotProcesses(SlotProcessOptions options);
  ~SlotProcesses() override;

  double now() override { return seconds_since(begun_); }
  std::vector<search::News> wait(double seconds) override;
  void start(int slot, const search::Piece& piece) override;
  void stop(int slot) override;
  const std::string& host(int slot) const override;
  bool shares(int slot, const std::string& host) const override;
  std::string none_left() const override;

 private:
  class Slot;
  const SlotProcessOptions options_;
  const Clock::time_point begun_ = Clock::now();
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace syrtos::api
