// Ways to cut a network into pieces.

#include "syrtos/graph/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/graph/node_work.h"
#include "syrtos/graph/partition.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/concat.h"
#include "tests/support/make_ops.h"
#include "tests/support/random_network.h"

namespace syrtos::test {
namespace {

using graph::Graph;
using graph::Placement;
using graph::ValueId;
using testing::ElementsAre;
using testing::HasSubstr;

TensorType f32(Shape shape) { return {DType::f32, shape}; }

/// Rows through dense layers.
class Rows {
 public:
  ValueId input(int64_t features) { return graph.add_input("x", f32({8, features})); }

  ValueId dense(const std::string& name, ValueId x, int64_t units) {
    graph.set_scope(name);
    const ValueId weight =
        graph.add_parameter(name + ".weight", f32({units, graph.type(x).shape[1]}), 1);
    x = graph.add_one(matmul(false, true), {x, weight});
    graph.set_scope("relu");
    return graph.add_one(std::make_shared<ops::Activation>(ops::ActivationKind::relu), {x});
  }

  ValueId concat(const std::vector<ValueId>& values) {
    graph.set_scope("concat");
    auto op = std::make_shared<ops::Concat>();
    op->axis = 1;
    return graph.add(std::move(op), values)[0];
  }

  Graph graph;
};

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

/// Layers 1 to n, of these numbers of units.
Graph chain(const std::vector<int64_t>& units) {
  Rows rows;
  ValueId x = rows.input(64);
  for (size_t i = 0; i < units.size(); ++i) {
    x = rows.dense("fc" + std::to_string(i + 1), x, units[i]);
  }
  rows.graph.set_output("y", x);
  return rows.graph;
}

std::vector<std::string> begins(const Placement& placement) {
  std::vector<std::string> names;
  for (const graph::PieceMark& mark : placement.marks) names.push_back(mark.layer);
  return names;
}

TEST(Placement, OfConsecutivePiecesHasAboutEqualWork) {
  const Graph graph = chain({64, 64, 64, 64});
  EXPECT_THAT(begins(place_consecutively(graph, 2)), ElementsAre("fc3"));
  EXPECT_THAT(begins(place_consecutively(graph, 4)), ElementsAre("fc2", "fc3", "fc4"));
  EXPECT_THAT(place_consecutively(graph, 1).marks, ElementsAre());
  EXPECT_EQ(layers_text(graph, place_consecutively(graph, 2)), "fc1 to fc2, fc3 to fc4");
  EXPECT_EQ(layers_text(graph, place_consecutively(graph, 4)), "fc1, fc2, fc3, fc4");
  EXPECT_THAT(error_of([&] { place_consecutively(graph, 5); }),
              HasSubstr("5 parts of a network that can be cut into 4 at most"));
}

/// Whatever the graph, the parts that are found can be made.
TEST(Placement, OfAnyNetworkGivesPartsThatGoOneWay) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomNetwork network(seed);
    const auto units = graph::units_of(network.whole);
    const int most = std::min<int>(5, static_cast<int>(units.size()));
    for (int pieces = 1; pieces <= most; ++pieces) {
      const Placement placement = place_consecutively(network.whole, pieces);
      EXPECT_EQ(placement.marks.size(), static_cast<size_t>(pieces) - 1);
      const std::vector<int> piece_of = pieces_of(network.whole, placement);
      for (int piece = 0; piece < pieces; ++piece) {
        EXPECT_NE(std::find(piece_of.begin(), piece_of.end(), piece), piece_of.end());
      }
      const auto needs = needs_of_pieces(network.whole, piece_of, pieces);
      for (int piece = 0; piece < pieces; ++piece) {
        for (const int from : needs[static_cast<size_t>(piece)]) EXPECT_LT(from, piece);
      }
      graph::partition(network.whole, piece_of, pieces);
    }
  }
}

TEST(Placement, CutsWhereLittleCrosses) {
  // Twice the same work; one layer has a narrow result.
  const Graph graph = chain({512, 16, 512, 64});
  EXPECT_THAT(begins(place_consecutively(graph, 2)), ElementsAre("fc3"));
}

TEST(Placement, ByNamesBeginsPiecesThere) {
  const Graph graph = chain({64, 64, 64, 64});
  const auto by = [&](std::vector<std::string> names) { return place_by_names(graph, names); };
  EXPECT_THAT(begins(by({"fc2", "fc4"})), ElementsAre("fc2", "fc4"));
  EXPECT_EQ(by({"fc4", "fc2"}), by({"fc2", "fc4"}));
  EXPECT_EQ(by({"fc2", "fc4"}).pieces, 3);
  EXPECT_EQ(by({"fc2=2", "fc4=1"}).pieces, 2);
  EXPECT_EQ(layers_text(graph, by({"fc2=2", "fc3=1"})), "fc1 to fc4, fc2");
  EXPECT_EQ(by({"fc1=2", "fc3=1"}).marks[0], (graph::PieceMark{"fc1", 1}));
}

TEST(Placement, ByNamesRefusesWhatIsWrong) {
  const Graph graph = chain({64, 64, 64, 64});
  const auto error = [&](std::vector<std::string> names) {
    return error_of([&] { place_by_names(graph, names); });
  };
  EXPECT_EQ(error({"fc2"}), "");
  EXPECT_THAT(error({"fc22"}), HasSubstr("no layer 'fc22'"));
  EXPECT_THAT(error({"fc22"}), HasSubstr("did you mean 'fc2'"));
  EXPECT_THAT(error({"relu"}), HasSubstr("no layer 'relu' with weights"));
  EXPECT_THAT(error({"fc3", "fc3"}), HasSubstr("layer fc3 begins two parts"));
  EXPECT_THAT(error({"fc1", "fc3"}), HasSubstr("the first part begins with fc1"));
  EXPECT_THAT(error({"fc2=3"}), HasSubstr("part 2 of 3 has no layers"));
  EXPECT_THAT(error({"fc2=2", "fc3"}), HasSubstr("found none for fc3"));
  EXPECT_THAT(error({"fc2=two"}), HasSubstr("such as conv3=2, found 'fc2=two'"));
  EXPECT_THAT(error({"fc2=0"}), HasSubstr("found 'fc2=0'"));
}

TEST(Placement, FindsTheFirstLayerOfABlock) {
  Rows rows;
  ValueId x = rows.input(32);
  for (const char* name : {"layer1.0", "layer1.1", "layer10.0", "layer2.0"}) {
    x = rows.dense(name, x, 32);
  }
  rows.graph.set_output("y", x);
  EXPECT_THAT(begins(place_by_names(rows.graph, std::vector<std::string>{"layer10"})),
              ElementsAre("layer10.0"));
  EXPECT_THAT(error_of([&] { place_by_names(rows.graph, std::vector<std::string>{"layer1"}); }),
              HasSubstr("begins with layer1.0"));
}

/// Two branches from one input, and a head.
Rows two_branches(int64_t head) {
  Rows rows;
  const ValueId x = rows.input(64);
  ValueId a = rows.dense("stem", x, 16);
  const ValueId stem = a;
  for (const char* name : {"a1", "a2"}) a = rows.dense(name, a, 160);
  ValueId b = stem;
  for (const char* name : {"b1", "b2"}) b = rows.dense(name, b, 128);
  rows.graph.set_output("y", rows.dense("head", rows.concat({a, b}), head));
  return rows;
}

TEST(Placement, OfBranchesHasAPieceForEach) {
  const Rows rows = two_branches(4);
  const Placement placement = place_branches(rows.graph);
  EXPECT_EQ(placement.pieces, 2);
  EXPECT_EQ(layers_text(rows.graph, placement), "stem to a2, b1 to head");
}

TEST(Placement, OfBranchesHasOneMoreForAHeadThatIsMuch) {
  const Rows rows = two_branches(256);
  const Placement placement = place_branches(rows.graph);
  EXPECT_EQ(placement.pieces, 3);
  EXPECT_EQ(layers_text(rows.graph, placement), "stem to a2, b1 to b2, head");
  // What joins the branches is where its result is used: each crosses once.
  const std::vector<int> piece_of = pieces_of(rows.graph, placement);
  for (size_t n = 0; n < piece_of.size(); ++n) {
    if (rows.graph.nodes()[n].name != "concat") continue;
    EXPECT_EQ(piece_of[n], 2);
  }
}

/// Columns that meet in between, as in the first AlexNet.
TEST(Placement, OfColumnsThatMeetFollowsEach) {
  Rows rows;
  const ValueId x = rows.input(64);
  ValueId a = rows.dense("a1", x, 128);
  ValueId b = rows.dense("b1", x, 128);
  const ValueId both_a = rows.concat({a, b});
  const ValueId a2 = rows.dense("a2", both_a, 128);
  const ValueId both_b = rows.concat({a, b});
  const ValueId b2 = rows.dense("b2", both_b, 128);
  a = rows.dense("a3", a2, 128);
  b = rows.dense("b3", b2, 128);
  rows.graph.set_output("y", rows.dense("head", rows.concat({a, b}), 4));
  const Placement placement = place_branches(rows.graph);
  EXPECT_EQ(placement.pieces, 2);
  const std::vector<int> piece_of = pieces_of(rows.graph, placement);
  for (size_t n = 0; n < piece_of.size(); ++n) {
    const std::string& name = rows.graph.nodes()[n].name;
    if (name[0] != 'a' && name[0] != 'b') continue;
    EXPECT_EQ(piece_of[n], name[0] == 'a' ? 0 : 1) << name;
  }
  EXPECT_THAT(needs_of_pieces(rows.graph, piece_of, 2),
              ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TEST(Placement, OfBranchesRefusesANetworkWithoutThem) {
  EXPECT_THAT(error_of([] {
                place_branches(chain({64, 64}));
              }),
              HasSubstr("the network has none worth a part"));
  Rows rows;  // a shortcut is no branch
  const ValueId x = rows.dense("fc1", rows.input(64), 64);
  const ValueId y = rows.dense("fc2", x, 64);
  rows.graph.set_output("y", rows.graph.add_one(std::make_shared<ops::Add>(), {x, y}));
  EXPECT_THAT(error_of([&] { place_branches(rows.graph); }), HasSubstr("none worth a part"));
}

TEST(Placement, DoesNotCutBetweenLayersThatShareAWeight) {
  Rows rows;
  ValueId x = rows.input(64);
  x = rows.dense("fc1", x, 64);
  const ValueId tied = rows.graph.add_parameter("tied", f32({64, 64}), 1);
  for (const char* name : {"fc2", "fc3"}) {
    rows.graph.set_scope(name);
    x = rows.graph.add_one(matmul(false, true), {x, tied});
  }
  x = rows.dense("fc4", x, 64);
  rows.graph.set_output("y", x);
  EXPECT_THAT(begins(place_consecutively(rows.graph, 3)), ElementsAre("fc2", "fc4"));
  EXPECT_THAT(error_of([&] { place_consecutively(rows.graph, 4); }), HasSubstr("3 at most"));
  const Placement through = place_by_names(rows.graph, std::vector<std::string>{"fc3"});
  EXPECT_THAT(error_of([&] { graph::partition(rows.graph, pieces_of(rows.graph, through), 2); }),
              HasSubstr("tied is used by layers fc2 and fc3, which are in parts 1 and 2"));
}

}  // namespace
}  // namespace syrtos::test
