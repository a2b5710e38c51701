#include "syrtos/strategy/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::strategy {

namespace {

constexpr std::string_view kInterleaved = "interleaved:";
constexpr int kMostPieces = 64;
constexpr int kOneHop = 2;  // in the next part, and on the wire to it or back

std::vector<Turn> fill_drain(int micros, int pieces) {
  std::vector<Turn> turns;
  for (int piece = 0; piece < pieces; ++piece) {
    for (int micro = 0; micro < micros; ++micro) turns.push_back({false, micro, piece});
  }
  for (int piece = pieces - 1; piece >= 0; --piece) {
    for (int micro = 0; micro < micros; ++micro) turns.push_back({true, micro, piece});
  }
  return turns;
}

std::vector<Turn> one_by_one(int micros, int ahead) {
  std::vector<Turn> turns;
  const int before = std::min(ahead, micros) - 1;  // that are under way when the first comes back
  for (int micro = 0; micro < micros; ++micro) {
    turns.push_back({false, micro});
    if (micro >= before) turns.push_back({true, micro - before});
  }
  for (int micro = micros - before; micro < micros; ++micro) turns.push_back({true, micro});
  return turns;
}

/// As many micro-batches as there are parts go through one piece after the other, then the next.
Turn interleaved_turn(bool backward, int index, int parts, int pieces) {
  const int round = index / (parts * pieces);
  const int piece = index / parts % pieces;
  return {backward, round * parts + index % parts, backward ? pieces - 1 - piece : piece};
}

std::vector<Turn> interleaved(int micros, const Station& station, int pieces) {
  const int all = micros * pieces;
  const int before =
      std::min(all, 2 * (station.parts - 1 - station.part) + (pieces - 1) * station.parts);
  std::vector<Turn> turns;
  for (int index = 0; index < all + before; ++index) {
    if (index < all) turns.push_back(interleaved_turn(false, index, station.parts, pieces));
    if (index >= before) {
      turns.push_back(interleaved_turn(true, index - before, station.parts, pieces));
    }
  }
  return turns;
}

}  // namespace

Pipeline parse_pipeline(std::string_view text) {
  if (text == "fill-drain") return {Pipeline::Kind::fill_drain, 1};
  if (text == "1f1b") return {Pipeline::Kind::one_by_one, 1};
  if (text.starts_with(kInterleaved)) {
    const std::string_view number = text.substr(kInterleaved.size());
    int pieces = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), pieces);
    if (error != std::errc() || end != number.data() + number.size() || pieces < 2 ||
        pieces > kMostPieces) {
      fail_request("--pipeline: expected interleaved:2 to interleaved:{}, found '{}'", kMostPieces,
                   text);
    }
    return {Pipeline::Kind::interleaved, pieces};
  }
  fail_request("--pipeline: unknown '{}'{}", text,
               suggestion(text, {"fill-drain", "1f1b", "interleaved:V"}));
}

std::string to_string(const Pipeline& pipeline) {
  switch (pipeline.kind) {
    case Pipeline::Kind::fill_drain:
      return "fill-drain";
    case Pipeline::Kind::one_by_one:
      return "1f1b";
    case Pipeline::Kind::interleaved:
      return fmt::format("{}{}", kInterleaved, pipeline.pieces);
  }
  return "?";
}

std::vector<Turn> turns_of(const Pipeline& pipeline, const Station& station, int micros) {
  switch (pipeline.kind) {
    case Pipeline::Kind::fill_drain:
      return fill_drain(micros, pipeline.pieces);
    case Pipeline::Kind::one_by_one:
      return one_by_one(micros, station.ahead);
    case Pipeline::Kind::interleaved:
      // The short last step of an epoch may have another number of micro-batches.
      if (micros % station.parts != 0) return fill_drain(micros, pipeline.pieces);
      return interleaved(micros, station, pipeline.pieces);
  }
  return {};
}

int most_in_flight(const std::vector<Turn>& turns, int piece) {
  int now = 0;
  int most = 0;
  for (const Turn& turn : turns) {
    if (turn.piece != piece) continue;
    now += turn.backward ? -1 : 1;
    most = std::max(most, now);
  }
  return most;
}

std::vector<int> stations_ahead(const std::vector<std::vector<int>>& needs) {
  const size_t parts = needs.size();
  std::vector<int> ahead(parts, 1);
  // The longest way is found after as many rounds as there are parts, or never.
  for (size_t round = 0; round <= parts; ++round) {
    bool changed = false;
    for (size_t part = 0; part < parts; ++part) {
      for (const int from : needs[part]) {
        int& before = ahead[static_cast<size_t>(from)];
        if (before >= ahead[part] + kOneHop) continue;
        before = ahead[part] + kOneHop;
        changed = true;
      }
    }
    if (!changed) return ahead;
  }
  return {};
}

}  // namespace syrtos::strategy
