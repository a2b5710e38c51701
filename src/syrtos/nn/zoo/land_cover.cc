// What covers a piece of land, from several instruments: a branch for each of them, joined near the
// end by dense layers that hold most of the weights. A sample is a picture of one channel, as wide
// as the scene, in which the instruments' values stand one below the other:
//
//   optical    10 x side x side        bands of a multispectral camera
//   radar       2 x side x side        two polarisations
//   elevation   side/2 x side/2        of half the resolution
//   spectrum    4 side                 of the middle of the scene, by a spectrometer
#include "syrtos/base/error.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::nn::zoo {
namespace {

constexpr int64_t kSide = 64;
constexpr int64_t kMultiple = 32;  // all maps can be halved as often as they are
constexpr int64_t kBands = 10;
constexpr int64_t kPolarisations = 2;

constexpr int64_t rows_of_scene(int64_t side) {
  return (kBands + kPolarisations) * side + side / 4 + 4;
}

void require_scene(const Shape& images) {
  const int64_t side = images[3];
  if (images[1] == 1 && side % kMultiple == 0 && images[2] == rows_of_scene(side)) return;
  fail_request(
      "land-cover: expected samples of 1x{}x{}, scenes of 64x64 pixels (or of another multiple of "
      "32: see examples/make_land_cover.py), found {}x{}x{}",
      rows_of_scene(kSide), kSide, images[1], images[2], side);
}

/// Takes the values of one instrument after the other.
class Instruments {
 public:
  Instruments(Builder& b, ValueId x) : builder_(b), graph_(b.graph()) {
    const Shape& shape = b.shape(x);
    values_ = ops::reshape(graph_, x, {shape[0], shape.elements_from(1)});
  }
  /// Of so many channels, rows and columns.
  ValueId next(const Shape& own) {
    builder_.enter("values");
    const int64_t end = begin_ + own.elements_from(0);
    const std::array<ops::SliceRange, 1> range{{{.axis = 1, .start = begin_, .end = end}}};
    begin_ = end;
    const ValueId part = ops::slice(graph_, values_, range);
    return ops::reshape(graph_, part, {graph_.type(part).shape[0], own[0], own[1], own[2]});
  }

 private:
  Builder& builder_;
  graph::Graph& graph_;
  ValueId values_ = graph::kNone;
  int64_t begin_ = 0;
};

/// A convolution, and whether its maps are halved behind it.
struct Stage {
  int64_t width;
  bool halves = false;
  int64_t stride = 1;
};

/// Convolutions "conv1" ..., and a dense layer of what they find.
ValueId branch(Builder& b, ValueId x, const std::vector<Stage>& stages, int64_t features) {
  const bool line = b.shape(x)[2] == 1;
  const Extent half = line ? Extent(1, 2) : Extent(2);
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    const Extent kernel = line ? Extent(1, 7) : Extent(stage.stride > 1 ? 5 : 3);
    x = b.relu(b.conv("conv" + std::to_string(i + 1), x,
                      {.out = stage.width,
                       .kernel = kernel,
                       .stride = stage.stride,
                       .padding = Padding::same()}));
    if (stage.halves) x = b.max_pool(x, {.kernel = half, .stride = half});
  }
  return b.relu(b.dense("fc", b.flatten(x), features));
}

Heads land_cover_layers(Builder& b, ValueId x, const ModelOptions& options) {
  require_scene(b.shape(x));
  const int64_t side = b.shape(x)[3];
  Instruments instruments(b, x);
  std::vector<ValueId> features;
  const auto add = [&](const char* name, const Shape& own, const std::vector<Stage>& stages,
                       int64_t width) {
    const auto scope = b.scope(name);
    features.push_back(branch(b, instruments.next(own), stages, width));
  };
  add("optical", {kBands, side, side},
      {{64, false, 2}, {112}, {96, true}, {128}, {192, true}, {256, true}}, 1024);
  add("radar", {kPolarisations, side, side},
      {{64, false, 2}, {64, true}, {96}, {128, true}, {192}, {192, true}}, 1024);
  add("elevation", {1, side / 2, side / 2}, {{32}, {64, true}, {128}, {128, true}, {256, true}},
      512);
  add("spectrum", {1, 1, 4 * side}, {{64, true}, {128}, {128, true}, {192, true}, {256, true}},
      512);
  // As in AlexNet: wide dense layers that begin with larger weights diverge.
  b.set_kernel_initializer(Initializer::lecun_uniform());
  const auto head = b.scope("head");
  x = b.relu(b.dense("fc1", b.concat(features), 1536));
  x = b.relu(b.dense("fc2", b.dropout(x, 0.5F), 768));
  return {.logits = b.classifier("fc3", b.dropout(x, 0.5F), options.classes)};
}

}  // namespace

Network land_cover() {
  return {{.name = "land-cover",
           .description = "a branch for each of four instruments, joined by dense layers",
           .channels = 1,
           .height = rows_of_scene(kSide),
           .width = kSide,
           .classes = 8,
           .source = "study L"},
          land_cover_layers};
}

}  // namespace syrtos::nn::zoo
