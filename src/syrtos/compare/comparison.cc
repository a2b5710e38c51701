#include "syrtos/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"
#include "syrtos/compare/environments.h"
#include "syrtos/job/image_size.h"
#include "syrtos/job/networks.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/ops/recurrence.h"

namespace syrtos::compare {

using nlohmann::json;

namespace {

struct Subject {
  nn::Network network;
  nn::ModelOptions options;
};

/// Images of 32x32, or the network's own size where it cannot take them.
nn::ModelOptions options_for(const nn::Network& network, const ComparisonRequest& request) {
  nn::ModelOptions options = network.default_options();
  options.classes = request.classes;
  options.batch = request.batch;
  const Shape own = network.info().image();
  const bool small = request.input == "auto" && own[1] > 32 && own[2] > 32;
  for (const int64_t side : {32, 64, 0}) {
    const Shape image = small && side > 0
                            ? Shape{own[0], side, side}
                            : job::parse_image_size(request.input).shape_for(network.info());
    options.channels = image[0];
    options.height = image[1];
    options.width = image[2];
    try {
      network.build(options);
      return options;
    } catch (const RequestError&) {
      if (!small || side == 0) throw;
    }
  }
  return options;
}

/// Layers of sequences cannot be described to others yet.
bool has_sequences(const nn::Model& model) {
  const auto& nodes = model.graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const graph::Node& node) {
    return dynamic_cast<const ops::Recurrence*>(node.op.get()) != nullptr;
  });
}

std::vector<Subject> subjects(const ComparisonRequest& request) {
  std::vector<Subject> result;
  for (const std::string& name : request.networks) {
    if (name == "all") {
      for (const nn::Network& network : nn::zoo::networks()) {
        const nn::ModelOptions options = options_for(network, request);
        if (!has_sequences(network.build(options))) result.push_back({network, options});
      }
    } else {
      const nn::Network network = job::find_network(name);
      result.push_back({network, options_for(network, request)});
    }
  }
  return result;
}

void check(const ComparisonRequest& request) {
  if (request.networks.empty()) {
    fail_request("--network: expected a network, such as resnet18, or all; found none");
  }
  if (request.peers.empty()) {
    fail_request("--with: expected peers, such as pytorch,tensorflow; found none");
  }
  std::vector<std::string> names;
  for (const std::string& peer : request.peers) names.push_back(peer_name(peer));
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) fail_request("--with: {} is there twice", *twice);
  if (request.steps.empty() || request.steps.front() != 1 ||
      !std::is_sorted(request.steps.begin(), request.steps.end())) {
    fail_request("--steps: expected numbers of steps in order that begin with 1, such as 1,10,100");
  }
  for (const int64_t phase : request.phases) {
    if (phase < 0 || phase > 3) {
      fail_request(
          "--phases: expected some of 0 (equality), 1 (together), 2 (alone) and 3 "
          "(operators), found {}",
          phase);
    }
  }
  for (const std::string& mode : request.timing.modes) {
    if (mode != "sync" && mode != "async") {
      fail_request("--modes: expected sync, async or both, found {}", mode);
    }
  }
}

Equality failed(const std::string& network, const std::string& peer, const std::string& why) {
  Equality result;
  result.network = network;
  result.peer = peer;
  result.failed = why;
  return result;
}

}  // namespace

bool Comparison::holds() const {
  const bool measured = std::all_of(times.begin(), times.end(), [](const NetworkTimes& one) {
    return std::all_of(one.sides.begin(), one.sides.end(),
                       [](const auto& side) { return side.second.failed.empty(); });
  });
  return measured && std::all_of(equality.begin(), equality.end(),
                                 [](const Equality& one) { return one.holds(); });
}

namespace {

/// Peers by what people call them; those that are not there with the reason.
struct Peers {
  std::map<std::string, PeerProgram> programs;
  std::map<std::string, std::string> missing;
};

Peers find_peers(const ComparisonRequest& request) {
  Peers peers;
  for (const std::string& text : request.peers) {
    try {
      peers.programs[text] = find_peer(text, request.home);
    } catch (const PeerFailed& error) {
      peers.missing[text] = error.what();
      request.say(error.what());
    }
  }
  return peers;
}

void compare_equality(const ComparisonRequest& request, const std::vector<Subject>& all,
                      const Peers& peers, Comparison& result) {
  const EqualityOptions how = {.threads = request.threads > 0 ? request.threads : cpu_info().cores,
                               .rule = {},
                               .seed = 1,
                               .steps = request.steps,
                               .reference_seconds = 60,
                               .scratch = std::filesystem::absolute(request.directory),
                               .should_stop = request.should_stop,
                               .say = request.say};
  for (const Subject& subject : all) {
    const std::string name = subject.network.name();
    EqualityTest test(subject.network, subject.options, how);
    for (const std::string& text : request.peers) {
      const std::string peer = peer_name(text);
      if (peers.missing.contains(text)) {
        result.equality.push_back(failed(name, peer, peers.missing.at(text)));
        continue;
      }
      request.say(fmt::format("{} in {}", name, peer));
      try {
        Peer running(peers.programs.at(text), request.directory / (peer + ".log"),
                     {.seconds = request.patience_s, .should_stop = request.should_stop});
        result.equality.push_back(test.compare(running));
      } catch (const PeerFailed& failure) {
        if (request.should_stop()) throw;
        result.equality.push_back(failed(name, peer, failure.what()));
      }
    }
  }
}

TimingRequest timing_of(const ComparisonRequest& request) {
  TimingRequest timing = request.timing;
  for (const int64_t phase : request.phases) {
    if (phase > 0) timing.phases.push_back(static_cast<int>(phase));
  }
  if (!request.hosts.empty()) {
    timing.hosts = launch::read_hosts(request.hosts);
    timing.workers = static_cast<int>(timing.hosts.size());
  }
  const int cores = request.threads > 0 ? request.threads : cpu_info().cores;
  timing.threads = request.threads > 0    ? request.threads
                   : timing.hosts.empty() ? std::max(1, cores / timing.workers)
                                          : cores;
  timing.patience_s = request.patience_s;
  timing.directory = request.directory;
  timing.should_stop = request.should_stop;
  timing.say = request.say;
  return timing;
}

void compare_times(const ComparisonRequest& request, const std::vector<Subject>& all,
                   const Peers& peers, Comparison& result) {
  std::vector<PeerProgram> programs;
  for (const std::string& text : request.peers) {
    if (peers.programs.contains(text)) programs.push_back(peers.programs.at(text));
  }
  const TimingRequest how = timing_of(request);
  if (how.phases.empty()) return;
  Timing timing(how, programs);
  timing.expect(all.size());
  for (const Subject& subject : all) {
    NetworkTimes times = timing.measure(subject.network, subject.options);
    for (const auto& [text, why] : peers.missing) {
      times.sides[{peer_name(text), "sync"}].failed[how.phases.front()] = why;
    }
    result.times.push_back(std::move(times));
  }
}

}  // namespace

Comparison compare(const ComparisonRequest& request) {
  check(request);
  const std::vector<Subject> all = subjects(request);
  if (!request.hosts.empty()) launch::read_hosts(request.hosts);  // mistakes first
  const Peers peers = find_peers(request);
  std::error_code error;
  std::filesystem::create_directories(request.directory, error);
  if (error) fail_run("cannot make {}: {}", request.directory.string(), error.message());
  Comparison result;
  if (std::find(request.phases.begin(), request.phases.end(), 0) != request.phases.end()) {
    compare_equality(request, all, peers, result);
  }
  compare_times(request, all, peers, result);
  return result;
}

json to_json(const Comparison& comparison) {
  json equality = json::array();
  for (const Equality& one : comparison.equality) equality.push_back(to_json(one));
  json times = json::array();
  for (const NetworkTimes& one : comparison.times) times.push_back(to_json(one));
  return {{"holds", comparison.holds()}, {"equality", equality}, {"times", times}};
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = equality_text(comparison.equality);
  for (const NetworkTimes& one : comparison.times) text += times_text(one);
  return text;
}

}  // namespace syrtos::compare
