#include "syrtos/compare/timing.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/clock.h"
#include "syrtos/base/format.h"
#include "syrtos/base/statistics.h"
#include "syrtos/compare/description.h"
#include "syrtos/compare/our_times.h"

namespace syrtos::compare {

using nlohmann::json;

namespace {

constexpr int kFirstPort = 29400;
constexpr int kProfiledSteps = 5;
constexpr const char* kParts[] = {"load", "forward", "backward", "update"};

json to_json(const Rule& rule) {
  return {{"lr", rule.lr}, {"momentum", rule.momentum}, {"weight_decay", rule.weight_decay}};
}

/// The median of what was measured of each step.
double median_of(const std::vector<double>& steps) {
  if (steps.empty()) fail_run("expected the times of some steps, found none");
  return median(steps);
}

/// Adds what one rank of a peer says of a job to what all of them come to.
void add_rank(const json& answer, const std::string& host, json& result) {
  result["step_s"] = std::max(result.value("step_s", 0.0),
                              median_of(answer.at("steps").get<std::vector<double>>()));
  result["cpu_s"] = result.value("cpu_s", 0.0) + answer.at("cpu").get<double>();
  result["memory"] = std::max(result.value("memory", 0.0), answer.at("memory").get<double>());
  const double taken = answer.at("steps_taken");
  if (!(taken > 0)) fail_run("expected steps that were taken, found {}", taken);
  for (const auto& [name, bytes] : answer.at("wire").items()) {
    result["wire"][fmt::format("{} {}", host, name)] = bytes.get<double>() / taken;
  }
}

/// What is kept of a profile.
json operators_of(const json& profile) {
  json operators = json::array();
  for (const json& one : profile.at("operators")) {
    operators.push_back({{"name", one.at("name").get<std::string>()},
                         {"kind", one.at("kind").get<std::string>()},
                         {"seconds", one.at("seconds").get<double>()}});
  }
  return operators;
}

}  // namespace

/// A network as all sides get it.
struct Timing::Subject {
  nn::Network network;
  nn::ModelOptions options;
  json description;
  std::string weights;  ///< files
  std::string batch;
  json setting;
};

double Repeated::median() const { return syrtos::median(values); }

double Repeated::spread() const {
  if (values.size() < 2) return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double middle = median();
  return middle > 0 ? (*most - *least) / 2 / middle : 0;
}

double SideTimes::local_s() const {
  double sum = 0;
  for (const auto& [part, times] : parts) sum += times.median();
  return sum;
}

Timing::Timing(TimingRequest request, std::vector<PeerProgram> peers)
    : request_(std::move(request)),
      peers_(std::move(peers)),
      cells_(request_.directory / "cells.jsonl") {}

std::vector<Timing::Cell> Timing::cells_of() const {
  std::vector<Cell> cells;
  for (int repetition = 0; repetition < request_.repetitions; ++repetition) {
    for (const int phase : request_.phases) {
      if (phase < 1 || (phase == 3 && repetition > 0)) continue;
      const std::vector<std::string> modes =
          phase == 1 ? request_.modes : std::vector<std::string>{"sync"};
      for (const std::string& mode : modes) {
        cells.push_back({phase, repetition, {"syrtos", mode}, nullptr});
        for (const PeerProgram& peer : peers_) {
          cells.push_back({phase, repetition, {peer.name, mode}, &peer});
        }
      }
    }
  }
  return cells;
}

NetworkTimes Timing::measure(const nn::Network& network, const nn::ModelOptions& options) {
  nn::ModelOptions built = options;
  built.batch = request_.batch;
  const nn::Model model = network.build(built);
  const std::filesystem::path where = std::filesystem::absolute(request_.directory);
  Subject subject = {.network = network,
                     .options = built,
                     .description = describe(model),
                     .weights = (where / "timed-weights.npz").string(),
                     .batch = (where / "timed-batch.npz").string(),
                     .setting = {}};
  subject.setting = {{"network", network.name()},
                     {"batch", request_.batch},
                     {"image", subject.description["image"]},
                     {"classes", built.classes},
                     {"threads", request_.threads},
                     {"workers", request_.workers},
                     {"hosts", request_.hosts.size()},
                     {"steps", request_.steps},
                     {"seconds", request_.seconds}};
  write_npz(subject.weights, starting_weights(network, built, 1), Precision::f32);
  Batch batch = random_batch(model, 1);
  Arrays arrays = {{"images", std::move(batch.images)}};
  ops::RefTensor labels({built.batch});
  labels.values.assign(batch.labels.begin(), batch.labels.end());
  arrays["labels"] = std::move(labels);
  write_npz(subject.batch, arrays, Precision::f32);

  NetworkTimes result = {.network = network.name(), .setting = subject.setting, .sides = {}};
  const std::vector<Cell> cells = cells_of();
  size_t left = cells.size();
  for (const Cell& cell : cells) {
    --left;
    SideTimes& times = result.sides[cell.side];
    if (times.failed.contains(cell.phase) || times.absent.contains(cell.phase)) continue;
    try {
      add(cell, run(cell, subject), subject, left, times);
    } catch (const PeerCannot& error) {
      times.absent[cell.phase] = error.what();
    } catch (const PeerFailed& error) {
      if (request_.should_stop()) throw;
      times.failed[cell.phase] = error.what();
      request_.say(error.what());
    }
  }
  if (networks_left_ > 0) --networks_left_;
  return result;
}

json Timing::run(const Cell& cell, const Subject& subject) {
  const std::string name = fmt::format("{} {} phase {} repetition {}", cell.side.name,
                                       cell.side.mode, cell.phase, cell.repetition);
  if (const json* known = cells_.find(name, subject.setting)) return *known;
  const Clock::time_point start = Clock::now();
  json result = cell.peer == nullptr ? run_ours(cell, subject)
                : cell.phase == 1    ? run_peers(cell, subject)
                                     : run_peer_alone(cell, subject);
  measured_s_ += std::chrono::duration<double>(Clock::now() - start).count();
  ++measured_;
  cells_.put(name, subject.setting, result);
  return result;
}

/// Adds one cell to what is known of its side, and says it.
void Timing::add(const Cell& cell, const json& result, const Subject& subject, size_t left,
                 SideTimes& times) {
  std::string what;
  if (cell.phase == 1) {
    const double step = result.at("step_s");
    times.step_s.values.push_back(step);
    times.images_per_s =
        static_cast<double>(request_.workers * request_.batch) / times.step_s.median();
    times.cpu_s = result.at("cpu_s");
    times.memory = result.at("memory");
    times.wire = result.at("wire").get<std::map<std::string, double>>();
    what = fmt::format("{:.1f} ms per step on {} workers", 1e3 * step, request_.workers);
  } else if (cell.phase == 2) {
    double sum = 0;
    for (const char* part : kParts) {
      times.parts[part].values.push_back(result.at(part));
      sum += result.at(part).get<double>();
    }
    what = fmt::format("{:.1f} ms per step alone", 1e3 * sum);
  } else {
    for (const json& one : result.at("operators")) {
      times.operators.push_back({one.at("name"), one.at("kind"), one.at("seconds")});
    }
    what = fmt::format("{} operators", times.operators.size());
  }
  std::string rest;
  if (measured_ > 0) {
    const size_t cells = left + (networks_left_ > 0 ? networks_left_ - 1 : 0) * cells_of().size();
    rest = fmt::format(", about {} left", format_duration(static_cast<double>(cells) * measured_s_ /
                                                          static_cast<double>(measured_)));
  }
  request_.say(fmt::format("{}, {} {}: {}{}", subject.network.name(), cell.side.name,
                           cell.side.mode, what, rest));
}

json Timing::run_peer_alone(const Cell& cell, const Subject& subject) {
  Peer peer(*cell.peer, request_.directory / (cell.peer->name + ".log"),
            {.seconds = request_.patience_s, .should_stop = request_.should_stop});
  peer.ask({{"do", "build"},
            {"description", subject.description},
            {"dtype", "f32"},
            {"threads", request_.threads}});
  peer.ask({{"do", "set"}, {"file", subject.weights}});
  json result;
  if (cell.phase == 3) {
    const json profile = peer.ask({{"do", "profile"},
                                   {"batch", subject.batch},
                                   {"rule", to_json(request_.rule)},
                                   {"steps", kProfiledSteps}});
    peer.understand([&] { result = {{"operators", operators_of(profile)}}; });
    return result;
  }
  const json answer = peer.ask({{"do", "time"},
                                {"batch", subject.batch},
                                {"rule", to_json(request_.rule)},
                                {"seconds", request_.seconds}});
  peer.understand([&] {
    for (const char* part : kParts) {
      std::vector<double> seconds;
      for (const json& step : answer.at("steps")) seconds.push_back(step.at(part));
      result[part] = median_of(seconds);
    }
    result["memory"] = answer.at("memory").get<double>();
  });
  return result;
}

std::vector<std::string> Timing::command_on(size_t rank,
                                            const std::vector<std::string>& command) const {
  if (request_.hosts.empty()) return command;
  return launch::remote_command({.command = request_.remote_shell, .directory = {}},
                                request_.hosts[rank], command);
}

std::string Timing::address_of(size_t rank) const {
  return request_.hosts.empty() ? "127.0.0.1" : request_.hosts[rank].address;
}

json Timing::run_peers(const Cell& cell, const Subject& subject) {
  const auto workers = static_cast<size_t>(request_.workers);
  std::vector<std::unique_ptr<Peer>> ranks;
  std::vector<std::string> addresses;
  for (size_t rank = 0; rank < workers; ++rank) {
    const std::string name =
        request_.hosts.empty()
            ? fmt::format("{} (rank {})", cell.peer->name, rank)
            : fmt::format("{} on {}", cell.peer->name, request_.hosts[rank].name);
    ranks.push_back(std::make_unique<Peer>(
        name, command_on(rank, peer_command(*cell.peer)),
        request_.directory / (cell.peer->name + ".log"),
        Peer::Limits{.seconds = request_.patience_s, .should_stop = request_.should_stop}));
    addresses.push_back(address_of(rank));
  }
  const auto all = [&](const auto& request_of) {
    for (size_t rank = 0; rank < workers; ++rank) ranks[rank]->send(request_of(rank));
    std::vector<json> answers;
    for (const auto& rank : ranks) answers.push_back(rank->receive());
    return answers;
  };
  all([&](size_t) {
    return json{{"do", "build"},
                {"description", subject.description},
                {"dtype", "f32"},
                {"threads", request_.threads}};
  });
  all([&](size_t) { return json{{"do", "set"}, {"file", subject.weights}}; });
  const int port = kFirstPort + port_++ % 500;
  const std::vector<json> answers = all([&](size_t rank) {
    return json{{"do", "train"},
                {"batch", subject.batch},
                {"rule", to_json(request_.rule)},
                {"steps", request_.steps},
                {"place",
                 {{"rank", rank},
                  {"ranks", workers},
                  {"hosts", addresses},
                  {"port", port},
                  {"mode", cell.side.mode}}}};
  });
  json result = {{"wire", json::object()}};
  for (size_t rank = 0; rank < workers; ++rank) {
    const std::string host = request_.hosts.empty() ? "this machine" : request_.hosts[rank].name;
    ranks[rank]->understand([&] { add_rank(answers[rank], host, result); });
  }
  return result;
}

json Timing::run_ours(const Cell& cell, const Subject& subject) {
  const bool together = cell.phase == 1;
  const std::filesystem::path run = std::filesystem::absolute(request_.directory) /
                                    fmt::format("syrtos-{}-{}", cell.phase, port_++);
  OurRun ours = {
      .program = request_.program,
      .run = run,
      .network = subject.network.name(),
      .image = subject.options.channels == 0
                   ? Shape{}
                   : Shape{subject.options.channels, subject.options.height, subject.options.width},
      .classes = subject.options.classes,
      .batch = request_.batch,
      .threads = request_.threads,
      .workers = together ? request_.workers : 1,
      .asynchronous = cell.side.mode == "async",
      .steps = together ? request_.steps : request_.steps * 2,
      .rule = request_.rule,
      .hosts = together ? request_.hosts : std::vector<launch::Host>{},
      .remote_shell = request_.remote_shell,
      .patience_s = request_.patience_s,
      .should_stop = request_.should_stop};
  if (together) return our_cluster_times(ours);
  return cell.phase == 2 ? our_parts(ours) : our_operators(ours);
}

}  // namespace syrtos::compare
