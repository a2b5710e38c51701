// What hosts compute, each alone and all at once.

#include <algorithm>

#include "syrtos/base/statistics.h"
#include "syrtos/planner/network_prober.h"
#include "syrtos/planner/probe_work.h"

namespace syrtos::planner {

namespace {

constexpr double kPiece = 0.01;  // seconds of computing at a time
constexpr size_t kLeastPieces = 6;
constexpr double kQuick = 0.25;     // of the pieces
constexpr int kMostDoublings = 20;  // of what is found to be too short

}  // namespace

Task<double> NetworkProber::piece() {
  const int64_t repeats = repeats_;
  std::function<void()> work = [repeats] { compute_piece(repeats); };
  const double begin = world_.now();
  co_await world_.compute(kPiece, std::move(work));
  co_return world_.now() - begin;
}

Task<Figure> NetworkProber::compute_for(double seconds, double part) {
  std::vector<double> pieces;
  const double until = world_.now() + seconds;
  while (pieces.size() < kLeastPieces || world_.now() < until) {
    const double one = co_await piece();
    pieces.push_back(one);
  }
  pieces.erase(pieces.begin());  // threads wake up
  co_return Figure{percentile(pieces, part), relative_spread(pieces)};
}

Task<Figure> NetworkProber::compute_alone(const Meeting&) {
  return compute_for(times_.computing, kQuick);
}

Task<> NetworkProber::agree_on_piece() {
  double seconds = 0;
  for (int i = 0; world_.rank() == 0 && i < kMostDoublings && seconds < kPiece / 2; ++i) {
    repeats_ *= 2;
    seconds = co_await piece();
  }
  if (seconds > 0) {
    repeats_ = std::max<int64_t>(
        1, static_cast<int64_t>(static_cast<double>(repeats_) * kPiece / seconds));
  }
  std::vector<double> mine = {static_cast<double>(repeats_)};
  const std::vector<std::vector<double>> all = co_await share(std::move(mine));
  repeats_ = static_cast<int64_t>(all[0][0]);
}

Task<> NetworkProber::measure_computing() {
  co_await step("measuring computing");
  co_await agree_on_piece();
  const std::vector<Turn> turns = turns_of(everybody_alone(world_.size()), kMostTurns);
  const Figures alone =
      co_await take_turns(turns, "measuring computing", &NetworkProber::compute_alone);
  co_await step("measuring computing on all hosts");
  const Figure mine = co_await compute_for(times_.ring, 0.5);
  std::vector<Figure> figures = {mine};
  const Figures together = co_await share_figures(std::move(figures));
  for (size_t rank = 0; rank < hosts(); ++rank) {
    for (const Figure& figure : alone[rank]) {
      if (figure.value == 0) continue;
      result_.findings[rank].piece_s = figure.value;
      profile(rank).jitter = std::min(figure.spread, kMostSpread);
    }
    result_.findings[rank].together = together[rank][0].value / result_.findings[rank].piece_s;
    profile(rank).speed = result_.findings[0].piece_s / result_.findings[rank].piece_s;
  }
}

}  // namespace syrtos::planner
