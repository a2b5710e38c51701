#include "syrtos/compare/equality.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "syrtos/base/clock.h"
#include "syrtos/compare/description.h"
#include "syrtos/compare/verdict.h"

namespace syrtos::compare {

using nlohmann::json;

namespace {

// Relative. In f32, sums of many numbers differ with their order; differences grow with the steps.
struct Tolerance {
  double values, loss, gradients, one_step, ten_steps, many_steps;
};
constexpr Tolerance kSingle = {1e-7, 1e-5, 1e-3, 1e-5, 1e-4, 1e-2};
constexpr Tolerance kDouble = {1e-15, 1e-12, 1e-9, 1e-11, 1e-10, 1e-8};

double after(const Tolerance& tolerance, int64_t steps) {
  if (steps <= 1) return tolerance.one_step;
  return steps <= 10 ? tolerance.ten_steps : tolerance.many_steps;
}

const Tolerance& tolerance_of(Precision precision) {
  return precision == Precision::f32 ? kSingle : kDouble;
}

json to_json(const Rule& rule) {
  return {{"lr", rule.lr}, {"momentum", rule.momentum}, {"weight_decay", rule.weight_decay}};
}

std::string shape_text(const json& shape) { return shape.dump(); }

}  // namespace

/// What we computed from the same weights and batch.
struct EqualityTest::Expected {
  double loss = 0;
  Arrays gradients;
  std::map<int64_t, Arrays> weights;  ///< after so many steps
  double loss_at_end = 0;
};

/// One comparison while it goes on.
struct EqualityTest::Talk {
  Peer& peer;
  Equality result;
  bool shapes_fit = true;
  /// The first row of each kind that does not hold decides what is looked for.
  std::optional<Precision> forward, backward, update;
  Arrays their_gradients;
  Arrays their_first_step;

  EqualityRow& add(EqualityRow row) {
    if (row.holds && row.verdict.empty()) row.verdict = "equal";
    return result.rows.emplace_back(std::move(row));
  }
};

bool Equality::holds() const {
  return failed.empty() &&
         std::all_of(rows.begin(), rows.end(), [](const EqualityRow& row) { return row.holds; });
}

EqualityTest::EqualityTest(const nn::Network& network, const nn::ModelOptions& options,
                           EqualityOptions how)
    : network_(network), options_(options), how_(std::move(how)), model_(network.build(options)) {
  description_ = std::make_unique<json>(describe(model_));
  batch_ = random_batch(model_, how_.seed);
  start_ = starting_weights(network_, options_, how_.seed);
}

EqualityTest::~EqualityTest() = default;

const EqualityTest::Expected& EqualityTest::expected(Precision precision) {
  auto& known = expected_[precision];
  if (known != nullptr) return *known;
  auto made = std::make_unique<Expected>();
  std::unique_ptr<OurSide> side;
  if (precision == Precision::f32) {
    side = compiled_side(network_, options_, how_.threads);
  } else {
    how_.say(fmt::format("{}: computing in double precision", network_.name()));
    side = std::make_unique<ReferenceSide>(model_);
  }
  side->set_weights(start_);
  const Clock::time_point start = Clock::now();
  made->loss = side->gradients(batch_, made->gradients);
  const double pass_s = std::chrono::duration<double>(Clock::now() - start).count();
  side->set_weights(start_);
  int64_t taken = 0;
  for (const int64_t steps : how_.steps) {
    const bool slow = static_cast<double>(steps) * pass_s > how_.reference_seconds;
    if (precision == Precision::f64 && steps > 1 && slow) break;
    while (taken < steps) {
      if (how_.should_stop()) fail_run("interrupted");
      made->loss_at_end = side->step(batch_, how_.rule);
      ++taken;
    }
    made->weights[steps] = side->weights();
  }
  known = std::move(made);
  return *known;
}

namespace {

/// Weights that drift apart in single precision although the gradients agree and, in double
/// precision, the same number of steps gives the same weights: rounding that has grown, as it does
/// where batch norm sees few values.
void forgive_rounding(std::vector<EqualityRow>& rows) {
  const auto find = [&](const std::string& what, Precision precision) -> EqualityRow* {
    for (EqualityRow& row : rows) {
      if (row.what == what && row.precision == precision) return &row;
    }
    return nullptr;
  };
  const EqualityRow* gradients = find("gradients", Precision::f32);
  if (gradients == nullptr || !gradients->holds) return;
  for (EqualityRow& row : rows) {
    if (row.holds || row.precision != Precision::f32 || !row.what.starts_with("weights")) continue;
    const EqualityRow* exact = find(row.what, Precision::f64);
    if (exact == nullptr || !exact->holds) continue;
    row.holds = true;
    row.verdict = "rounding has grown; equal in double precision";
  }
}

}  // namespace

Equality EqualityTest::compare(Peer& peer) {
  Talk talk = {.peer = peer,
               .result = {},
               .shapes_fit = true,
               .forward = {},
               .backward = {},
               .update = {},
               .their_gradients = {},
               .their_first_step = {}};
  talk.result.network = network_.name();
  talk.result.peer = peer.name();
  talk.result.version = peer.facts().version;
  try {
    compare_in(Precision::f32, talk);
    if (talk.shapes_fit && peer.facts().computes_doubles) compare_in(Precision::f64, talk);
    forgive_rounding(talk.result.rows);
    if (talk.shapes_fit && !talk.result.holds()) explain(talk);
  } catch (const PeerFailed& error) {
    if (how_.should_stop()) throw;
    talk.result.failed = error.what();
  }
  return talk.result;
}

namespace {

/// Whether a peer has all tensors in our shapes; otherwise what it has.
std::string wrong_shape(const json& description, const json& shapes) {
  for (const char* kind : {"parameters", "states"}) {
    for (const json& one : description[kind]) {
      const std::string name = one["name"];
      if (!shapes.contains(name)) return fmt::format("{} is missing", name);
      if (shapes[name] == one["shape"]) continue;
      std::vector<int64_t> ours = one["shape"];
      std::vector<int64_t> theirs = shapes[name];
      std::sort(ours.begin(), ours.end());
      std::sort(theirs.begin(), theirs.end());
      return fmt::format("{} is {}, ours is {}{}", name, shape_text(shapes[name]),
                         shape_text(one["shape"]),
                         ours == theirs ? ": its axes are in another order" : "");
    }
  }
  return {};
}

/// What the peer wrote into the file.
Arrays read_from(const Peer& peer, const std::string& file) {
  Arrays arrays;
  peer.understand([&] { arrays = read_npz(file); });
  return arrays;
}

/// The same; of it there must be the tensors that we have too, in our shapes.
Arrays read_as(const Arrays& ours, const Peer& peer, const std::string& file,
               const std::string& what) {
  Arrays theirs = read_from(peer, file);
  for (const auto& [name, values] : ours) {
    const auto found = theirs.find(name);
    if (found == theirs.end()) {
      throw PeerFailed(fmt::format("{}: {}: {} is missing", peer.name(), what, name));
    }
    if (found->second.shape != values.shape) {
      throw PeerFailed(fmt::format("{}: {}: {} is {}, expected {}", peer.name(), what, name,
                                   syrtos::to_string(found->second.shape),
                                   syrtos::to_string(values.shape)));
    }
  }
  return theirs;
}

EqualityRow row_of(const std::string& what, Precision precision, const Arrays& ours,
                   const Arrays& theirs, double tolerance) {
  const LargestDifference most = largest_difference(ours, theirs);
  return {.what = what,
          .precision = precision,
          .largest = most.relative,
          .where = most.name,
          .tolerance = tolerance,
          .holds = most.relative <= tolerance,
          .verdict = ""};
}

Arrays batch_arrays(const Batch& batch) {
  Arrays arrays = batch.masks;
  arrays["images"] = batch.images;
  ops::RefTensor labels({static_cast<int64_t>(batch.labels.size())});
  labels.values.assign(batch.labels.begin(), batch.labels.end());
  arrays["labels"] = std::move(labels);
  return arrays;
}

}  // namespace

void EqualityTest::compare_in(Precision precision, Talk& talk) {
  const Tolerance& tolerance = tolerance_of(precision);
  const auto file = [&](const char* what) {
    return (how_.scratch / fmt::format("{}-{}.npz", what, to_string(precision))).string();
  };
  const std::string weights = file("weights");
  const std::string batch = file("batch");
  const std::string back = file("back");
  const json built = talk.peer.ask({{"do", "build"},
                                    {"description", *description_},
                                    {"dtype", to_string(precision)},
                                    {"threads", how_.threads}});
  std::string wrong;
  talk.peer.understand([&] { wrong = wrong_shape(*description_, built.at("shapes")); });
  talk.add({.what = "shapes",
            .precision = precision,
            .largest = 0,
            .where = "",
            .tolerance = 0,
            .holds = wrong.empty(),
            .verdict = wrong});
  talk.shapes_fit = wrong.empty();
  if (!wrong.empty()) {
    talk.result.cause = wrong;
    return;
  }
  write_npz(weights, start_, precision);
  write_npz(batch, batch_arrays(batch_), precision);
  const auto set = [&] { talk.peer.ask({{"do", "set"}, {"file", weights}}); };
  const auto get = [&](const char* what) {
    talk.peer.ask({{"do", "get"}, {"file", back}});
    return read_as(start_, talk.peer, back, what);
  };
  set();
  talk.add(row_of("values", precision, start_, get("weights"), tolerance.values));

  const Expected& ours = expected(precision);
  const json passed = talk.peer.ask({{"do", "gradients"}, {"batch", batch}, {"file", back}});
  const Arrays gradients = read_as(ours.gradients, talk.peer, back, "gradients");
  const ops::RefTensor one({1});
  Arrays our_loss = {{"loss", one}};
  Arrays their_loss = our_loss;
  our_loss["loss"][0] = ours.loss;
  talk.peer.understand([&] { their_loss["loss"][0] = passed.at("loss"); });
  if (!talk.add(row_of("loss", precision, our_loss, their_loss, tolerance.loss)).holds &&
      !talk.forward) {
    talk.forward = precision;
  }
  if (!talk.add(row_of("gradients", precision, ours.gradients, gradients, tolerance.gradients))
           .holds) {
    talk.backward = precision;
    talk.their_gradients = gradients;
  }
  set();
  int64_t taken = 0;
  for (const auto& [steps, expected_weights] : ours.weights) {
    talk.peer.ask(
        {{"do", "step"}, {"batch", batch}, {"steps", steps - taken}, {"rule", to_json(how_.rule)}});
    taken = steps;
    const Arrays got = get("weights after steps");
    const std::string what = fmt::format("weights after {} step{}", steps, steps == 1 ? "" : "s");
    const bool holds =
        talk.add(row_of(what, precision, expected_weights, got, after(tolerance, steps))).holds;
    if (steps == 1) talk.their_first_step = got;
    if (!holds && !talk.update) talk.update = precision;
  }
}

// In the order in which a step goes; in double precision where the peer has it, since there nothing
// but a real difference shows.
void EqualityTest::explain(Talk& talk) {
  const Precision precision = talk.peer.facts().computes_doubles ? Precision::f64 : Precision::f32;
  const double tolerance = precision == Precision::f64 ? 1e-8 : 1e-4;
  const std::string weights =
      (how_.scratch / fmt::format("weights-{}.npz", to_string(precision))).string();
  const std::string batch =
      (how_.scratch / fmt::format("batch-{}.npz", to_string(precision))).string();
  const std::string back = (how_.scratch / "outputs.npz").string();
  ReferenceSide reference(model_);
  reference.set_weights(start_);
  Cause cause;
  try {
    talk.peer.ask({{"do", "set"}, {"file", weights}});
    talk.peer.ask({{"do", "outputs"}, {"batch", batch}, {"file", back}});
    cause = forward_cause(*description_, reference.outputs(batch_), read_from(talk.peer, back),
                          tolerance);
  } catch (const PeerCannot&) {  // gradients say something, too
  }
  if (cause.layer.empty() && !talk.their_gradients.empty()) {
    cause = gradient_cause(*description_, expected(precision).gradients, talk.their_gradients,
                           tolerance);
  }
  const Expected& ours = expected(precision);
  if (cause.layer.empty() && talk.update && !talk.their_first_step.empty()) {
    cause = update_cause(
        *description_,
        {start_, ours.weights.at(how_.steps.front()), talk.their_first_step, how_.rule}, tolerance);
    if (cause.layer.empty()) {
      cause = {"",
               "the first step is equal and later ones are not: what the optimiser keeps "
               "(momentum) differs, or rounding has grown"};
    }
  }
  if (!cause.how.empty()) {
    talk.result.cause = cause.layer.empty() ? cause.how : cause.layer + ": " + cause.how;
  }
  bool first = true;
  for (EqualityRow& row : talk.result.rows) {
    if (row.holds) continue;
    row.verdict = !first                      ? "follows from that"
                  : talk.result.cause.empty() ? fmt::format("differs most in {}", row.where)
                                              : talk.result.cause;
    first = false;
  }
}

}  // namespace syrtos::compare
