#include "syrtos/planner/probe_schedule.h"

#include <algorithm>
#include <numeric>

#include "syrtos/base/statistics.h"

namespace syrtos::planner {

namespace {

size_t index(Rank rank) { return static_cast<size_t>(rank); }

bool meets(const Turn& turn, const Meeting& meeting) {
  return std::ranges::any_of(turn, [&](const Meeting& other) {
    return other.has(meeting.centre) ||
           std::ranges::any_of(meeting.partners, [&](Rank rank) { return other.has(rank); });
  });
}

/// Bytes/s in the slower direction.
double reached(const Meeting& meeting, const Figures& figures, size_t turn) {
  double outwards = 0;
  for (const Rank partner : meeting.partners) outwards += figures[index(partner)][turn].value;
  return std::min(figures[index(meeting.centre)][turn].value, outwards);
}

}  // namespace

bool Meeting::has(Rank rank) const {
  return centre == rank || std::ranges::find(partners, rank) != partners.end();
}

std::vector<Turn> turns_of(const std::vector<Meeting>& meetings, size_t most_turns) {
  const size_t at_once = (meetings.size() + most_turns - 1) / most_turns;
  std::vector<Turn> turns;
  for (const Meeting& meeting : meetings) {
    const auto free = std::ranges::find_if(
        turns, [&](const Turn& turn) { return turn.size() < at_once && !meets(turn, meeting); });
    if (free != turns.end()) {
      free->push_back(meeting);
    } else {
      turns.push_back({meeting});
    }
  }
  return turns;
}

std::vector<Meeting> everybody_alone(int ranks) {
  std::vector<Meeting> meetings;
  for (Rank rank = 0; rank < ranks; ++rank) meetings.push_back({rank});
  return meetings;
}

std::vector<Meeting> pairs_in_ring(int ranks, int most) {
  std::vector<Meeting> pairs;
  for (int distance = 1; distance <= std::min(most, ranks / 2); ++distance) {
    // Halfway around, both see each other at this distance.
    const int first = 2 * distance == ranks ? ranks / 2 : ranks;
    for (Rank rank = 0; rank < first; ++rank) pairs.push_back({rank, {(rank + distance) % ranks}});
  }
  return pairs;
}

std::vector<Meeting> fans(const std::vector<double>& bandwidth, int most) {
  std::vector<Meeting> meetings;
  const auto ranks = static_cast<int>(bandwidth.size());
  for (Rank centre = 0; centre < ranks; ++centre) {
    std::vector<Rank> others;
    for (int distance = 1; distance < ranks; ++distance) {
      others.push_back((centre + distance) % ranks);
    }
    std::ranges::stable_sort(
        others, [&](Rank a, Rank b) { return bandwidth[index(a)] > bandwidth[index(b)]; });
    if (others.size() > static_cast<size_t>(most)) others.resize(static_cast<size_t>(most));
    meetings.push_back({centre, std::move(others)});
  }
  return meetings;
}

std::vector<double> latencies(const std::vector<Turn>& turns, const Figures& figures) {
  std::vector<std::vector<double>> seen(figures.size());
  for (size_t turn = 0; turn < turns.size(); ++turn) {
    for (const Meeting& meeting : turns[turn]) {
      const double both = figures[index(meeting.centre)][turn].value;
      seen[index(meeting.centre)].push_back(both);
      for (const Rank partner : meeting.partners) seen[index(partner)].push_back(both);
    }
  }
  std::vector<double> result;
  for (std::vector<double>& values : seen) result.push_back(median(std::move(values)));
  return result;
}

std::vector<double> bandwidths(const std::vector<Turn>& turns, const Figures& figures,
                               std::vector<double> so_far, double clearly) {
  so_far.resize(figures.size(), 0);
  const std::vector<double> before = so_far;
  const auto raise = [&](Rank rank, double value) {
    if (value > before[index(rank)] * clearly)
      so_far[index(rank)] = std::max(so_far[index(rank)], value);
  };
  for (size_t turn = 0; turn < turns.size(); ++turn) {
    for (const Meeting& meeting : turns[turn]) {
      const double value = reached(meeting, figures, turn);
      raise(meeting.centre, value);
      if (meeting.partners.size() == 1) raise(meeting.partners.front(), value);
    }
  }
  return so_far;
}

}  // namespace syrtos::planner
