#include "syrtos/api/slot_threads.h"

#include "syrtos/api/piece.h"
#include "syrtos/base/host_name.h"

namespace syrtos::api {

using search::News;

SlotThreads::SlotThreads(const SlotWay& way, job::Own own, const Surroundings& surroundings)
    : way_(way), own_(std::move(own)), surroundings_(surroundings), host_(host_name()) {
  for (int slot = 0; slot < way_.slots; ++slot) {
    slots_.push_back(std::make_unique<Slot>());
    put({.kind = News::Kind::free}, slot);
  }
}

SlotThreads::~SlotThreads() {
  for (const auto& slot : slots_) slot->stops = true;
  for (const auto& slot : slots_) {
    if (slot->thread.joinable()) slot->thread.join();
  }
}

void SlotThreads::put(News news, int slot) {
  news.slot = slot;
  const std::lock_guard lock(mutex_);
  news_.push_back(std::move(news));
  changed_.notify_one();
}

std::vector<News> SlotThreads::wait(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !news_.empty(); });
  return std::exchange(news_, {});
}

void SlotThreads::start(int number, const search::Piece& piece) {
  Slot& slot = *slots_[static_cast<size_t>(number)];
  if (slot.thread.joinable()) slot.thread.join();  // it has said that its piece has ended
  slot.stops = false;
  slot.thread = std::thread([this, number, &slot, piece] {
    search::Piece own = piece;
    own.job.threads = way_.threads;
    Surroundings surroundings = surroundings_;
    surroundings.should_stop = [&slot] { return slot.stops.load(); };
    train_piece(own, surroundings, own_, [&](const News& news) { put(news, number); });
  });
}

void SlotThreads::stop(int slot) { slots_[static_cast<size_t>(slot)]->stops = true; }

}  // namespace syrtos::api
