#include "syrtos/strategy/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::strategy {

namespace {

/// "ssp:3" -> "ssp" and "3".
struct Words {
  std::string_view name;
  std::optional<std::string_view> number;
};

Words split(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

template <typename Number>
Number number_of(const Words& words, const char* option, const char* example, Number least) {
  Number value{};
  const std::string_view text = words.number.value_or("");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least)) {
    fail_request("{}: expected {} such as {} with a number of at least {}, found '{}'", option,
                 words.name, example, least, text);
  }
  return value;
}

void expect_no_number(const Words& words, const char* option) {
  if (words.number) {
    fail_request("{}: {} takes no number, found ':{}'", option, words.name, *words.number);
  }
}

collective::Algorithm algorithm_of(const Words& words) {
  try {
    return collective::parse_algorithm(words.number.value_or("auto"));
  } catch (const RequestError& error) {
    fail_request("--exchange: {}", error.what());
  }
}

bool is_algorithm(std::string_view name) {
  try {
    collective::parse_algorithm(name);
    return true;
  } catch (const RequestError&) {
    return false;
  }
}

}  // namespace

Exchange parse_exchange(std::string_view text) {
  const Words words = split(text);
  Exchange exchange;
  if (words.name == "allreduce") {
    exchange.algorithm = algorithm_of(words);
  } else if (words.name == "ps-sharded") {
    exchange.kind = Exchange::Kind::servers;
    exchange.servers = number_of<int>(words, "--exchange", "ps-sharded:2", 1);
  } else {
    if (words.name == "ps") {
      exchange.kind = Exchange::Kind::servers;
      exchange.servers = 1;
    } else if (words.name == "ps-colocated") {
      exchange.kind = Exchange::Kind::colocated;
    } else if (words.name == "shared") {
      exchange.kind = Exchange::Kind::shared;
    } else {
      if (is_algorithm(words.name)) {
        fail_request("--exchange: '{}' is a way of all-reducing: use allreduce:{}", text, text);
      }
      fail_request(
          "--exchange: unknown '{}'{}", text,
          suggestion(words.name, {"allreduce", "ps", "ps-sharded:K", "ps-colocated", "shared"}));
    }
    expect_no_number(words, "--exchange");
  }
  return exchange;
}

std::string to_string(const Exchange& exchange) {
  switch (exchange.kind) {
    case Exchange::Kind::all_reduce:
      return fmt::format("allreduce:{}", collective::to_string(exchange.algorithm));
    case Exchange::Kind::servers:
      return exchange.servers == 1 ? "ps" : fmt::format("ps-sharded:{}", exchange.servers);
    case Exchange::Kind::colocated:
      return "ps-colocated";
    case Exchange::Kind::shared:
      return "shared";
  }
  return "?";
}

Sync parse_sync(std::string_view text) {
  using Kind = Sync::Kind;
  const Words words = split(text);
  for (const auto& [name, kind] :
       {std::pair{"join", Kind::join}, {"split", Kind::split}, {"async", Kind::async}}) {
    if (words.name != name) continue;
    expect_no_number(words, "--sync");
    return {kind, 0};
  }
  if (words.name == "ssp") return {Kind::ssp, number_of<int64_t>(words, "--sync", "ssp:3", 0)};
  if (words.name == "backup") {
    return {Kind::backup, number_of<int64_t>(words, "--sync", "backup:1", 1)};
  }
  if (words.name == "local")
    return {Kind::local, number_of<int64_t>(words, "--sync", "local:8", 1)};
  fail_request("--sync: unknown '{}'{}", text,
               suggestion(words.name, {"join", "split", "async", "ssp:S", "backup:B", "local:H"}));
}

std::string to_string(const Sync& sync) {
  switch (sync.kind) {
    case Sync::Kind::join:
      return "join";
    case Sync::Kind::split:
      return "split";
    case Sync::Kind::async:
      return "async";
    case Sync::Kind::ssp:
      return fmt::format("ssp:{}", sync.number);
    case Sync::Kind::backup:
      return fmt::format("backup:{}", sync.number);
    case Sync::Kind::local:
      return fmt::format("local:{}", sync.number);
  }
  return "?";
}

Wire parse_wire(std::string_view text) {
  const Words words = split(text);
  if (words.name == "threshold") {
    Wire wire{Wire::Kind::threshold, number_of<float>(words, "--wire", "threshold:0.001", 0)};
    if (wire.threshold == 0 || !std::isfinite(wire.threshold)) {
      fail_request("--wire: expected a threshold above 0 such as threshold:0.001, found '{}'",
                   text);
    }
    return wire;
  }
  if (words.name != "f32" && words.name != "bf16") {
    fail_request("--wire: unknown '{}'{}", text,
                 suggestion(words.name, {"f32", "bf16", "threshold:T"}));
  }
  expect_no_number(words, "--wire");
  return {words.name == "f32" ? Wire::Kind::f32 : Wire::Kind::bf16, 0};
}

std::string to_string(const Wire& wire) {
  switch (wire.kind) {
    case Wire::Kind::f32:
      return "f32";
    case Wire::Kind::bf16:
      return "bf16";
    case Wire::Kind::threshold:
      return fmt::format("threshold:{}", wire.threshold);
  }
  return "?";
}

const char* to_string(UpdateAt update) { return update == UpdateAt::server ? "server" : "worker"; }

std::string to_string(const Split& split) {
  switch (split.kind) {
    case Split::Kind::none:
      return "none";
    case Split::Kind::columns:
      return "columns";
    case Split::Kind::layers:
      return fmt::format("layers:{}", split.parts);
    case Split::Kind::branches:
      return "branches";
    case Split::Kind::names:
      return fmt::format("{}", fmt::join(split.names, ","));
    case Split::Kind::automatic:
      return "auto";
  }
  return "?";
}

Split parse_split(std::string_view text) {
  const Words words = split(text);
  if (words.name == "layers") {
    return Split::layers(number_of<int>(words, "--split", "layers:4", 1));
  }
  for (const auto& [name, kind] : {std::pair{"none", Split::Kind::none},
                                   {"columns", Split::Kind::columns},
                                   {"branches", Split::Kind::branches},
                                   {"auto", Split::Kind::automatic}}) {
    if (words.name != name) continue;
    expect_no_number(words, "--split");
    return {kind, 1, {}};
  }
  Split result{Split::Kind::names, 1, {}};
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end == at) {
      fail_request(
          "--split: expected none, columns, layers:N, branches, auto or layers that begin the "
          "parts, such as conv3,fc1; found '{}'",
          text);
    }
    result.names.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

UpdateAt default_update(const Exchange& exchange) {
  return exchange.uses_servers() ? UpdateAt::server : UpdateAt::worker;
}

UpdateAt parse_update(std::string_view text, const Exchange& exchange) {
  if (text == "auto") return default_update(exchange);
  if (text == "server") return UpdateAt::server;
  if (text == "worker") return UpdateAt::worker;
  fail_request("--update: expected auto, server or worker, found '{}'{}", text,
               suggestion(text, {"auto", "server", "worker"}));
}

std::string effect_of(const Options& options, int workers) {
  if (options.same_result_as_alone(workers)) return "same result";
  workers = options.replicas(workers);
  const int64_t number = options.sync.number;
  switch (options.sync.kind) {
    case Sync::Kind::split:
      return "same result, rounded";
    case Sync::Kind::join:
      return fmt::format("batch x {}", workers);
    case Sync::Kind::async:
      return "stale gradients";
    case Sync::Kind::ssp:
      return fmt::format("stale by {} at most", number);
    case Sync::Kind::backup:
      return fmt::format("batch x {}", workers - number);
    case Sync::Kind::local:
      return fmt::format("averaged every {}", number);
  }
  return "";
}

void check_parts(const Options& options, int workers) {
  const Split& split = options.split;
  const std::string text = to_string(split);
  if (!options.exchange.among_workers() || !options.sync.sees_all_gradients()) {
    fail_request(
        "--split {}: workers wait for each other's activations in every step: use --exchange "
        "allreduce with --sync join or split, found {} with {}",
        text, to_string(options.exchange), to_string(options.sync));
  }
  if (workers % split.parts != 0) {
    const int more = (workers / split.parts + 1) * split.parts;
    fail_request(
        "--split {}: {} parts are for {} workers, or a multiple; found {}: use --workers {}, or "
        "--split none",
        text, split.parts, split.parts, workers, more);
  }
  const int replicas = options.replicas(workers);
  if (options.exchange.needs_mpi() && split.parts > 1 && replicas > 1) {
    fail_request(
        "--exchange allreduce:mpi is for all ranks at once, and with --split {} each part has its "
        "own: use another all-reduce",
        text);
  }
}

void check(const Options& options, int workers, int64_t batch, bool clips) {
  const Exchange& exchange = options.exchange;
  const Sync& sync = options.sync;
  const std::string sync_text = to_string(sync);
  if (options.split.cuts()) check_parts(options, workers);
  workers = options.replicas(workers);
  if (sync.splits_batch() && workers > batch) {
    fail_request("--sync split: a batch of {} cannot be split over {} workers: use at most {}",
                 batch, workers, batch);
  }
  if (sync.left_out() >= workers) {
    fail_request("--sync {}: with {} workers at most {} can be left out", sync_text, workers,
                 workers - 1);
  }
  if (exchange.shares_memory() && !sync.nobody_waits()) {
    fail_request("--exchange shared is asynchronous: use it with --sync async, found {}",
                 sync_text);
  }
  if (exchange.shares_memory() && (!options.wire.exact() || options.bucket_mb > 0)) {
    fail_request("--exchange shared sends nothing: leave --wire and --bucket-mb out");
  }
  if (exchange.among_workers() && !sync.in_step()) {
    fail_request(
        "--sync {} needs someone who holds the weights: use --exchange ps, ps-sharded:K or "
        "ps-colocated instead of {}",
        sync_text, to_string(exchange));
  }
  if (exchange.needs_mpi() && options.wire.halves()) {
    fail_request("--exchange allreduce:mpi: MPI sums f32: use --wire f32 or another all-reduce");
  }
  if (exchange.uses_servers() && sync.average_every() > 0) {
    fail_request(
        "--sync {}: workers average their weights among themselves: use --exchange "
        "allreduce instead of {}",
        sync_text, to_string(exchange));
  }
  if (exchange.uses_servers() && !sync.in_step() && !options.updates_at_servers()) {
    fail_request(
        "--update worker: with --sync {} only servers know the weights: use --update "
        "server",
        sync_text);
  }
  if (!exchange.uses_servers() && options.updates_at_servers()) {
    fail_request(
        "--update server: {} has no servers: use --exchange ps, ps-sharded:K or "
        "ps-colocated",
        to_string(exchange));
  }
  if (!exchange.uses_servers() && options.permits > 0) {
    fail_request("--permits: {} has no servers that could give them", to_string(exchange));
  }
  if (options.permits < 0) fail_request("--permits: expected 0 (any) or more");
  if (options.bucket_mb < 0) fail_request("--bucket-mb: expected 0 (chosen) or more");
  if (options.updates_at_servers() && clips) {
    fail_request(
        "--clip: a server sees one part of the gradient, not its norm: use --update "
        "worker");
  }
  if (options.splits_columns() && workers > 1 &&
      !(exchange.among_workers() && sync.sees_all_gradients())) {
    fail_request(
        "--split columns: workers wait for each other's activations in every step: use --exchange "
        "allreduce with --sync join or split, found {} with {}",
        to_string(exchange), sync_text);
  }
  if (options.splits_columns() && clips) {
    fail_request(
        "--clip: with --split columns a worker sees its columns of the gradient, not its norm: "
        "leave one of them out");
  }
  if (options.wire.sparse() && sync.average_every() > 0) {
    fail_request("--wire {}: --sync {} sends weights, not gradients: use f32 or bf16",
                 to_string(options.wire), sync_text);
  }
}

}  // namespace syrtos::strategy
