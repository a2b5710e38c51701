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
  ValueId next(int64_t channels, int64_t height, int64_t width) {
    builder_.enter("values");
    const int64_t end = begin_ + channels * height * width;
    const std::array<ops::SliceRange, 1> range{{{.axis = 1, .start = begin_, .end = end}}};
    begin_ = end;
    const ValueId own = ops::slice(graph_, values_, range);
    return ops::reshape(graph_, own, {graph_.type(own).shape[0], channels, height, width});
  }

 private:
  Builder& builder_;
  graph::Graph& graph_;
  ValueId values_ = graph::kNone;
  int64_t begin_ = 0;
};

ValueId halved(Builder& b, ValueId x) { return b.max_pool(x, {.kernel = 2, .stride = 2}); }

ValueId conv3(Builder& b, const char* name, ValueId x, int64_t width, int64_t stride = 1) {
  return b.relu(b.conv(name, x, {.out = width, .kernel = 3, .stride = stride, .padding = 1}));
}

/// Pictures: half of the resolution at once, then wider layers of smaller maps.
ValueId pictures(Builder& b, ValueId x, int64_t width) {
  x = b.relu(b.conv("conv1", x, {.out = width, .kernel = 5, .stride = 2, .padding = 2}));
  x = halved(b, x);
  x = conv3(b, "conv2", x, 2 * width);
  x = halved(b, conv3(b, "conv3", x, 2 * width));
  x = conv3(b, "conv4", x, 4 * width);
  x = conv3(b, "conv5", x, 4 * width);
  x = halved(b, conv3(b, "conv6", x, 4 * width));
  return b.relu(b.dense("fc", b.flatten(x), 1024));
}

ValueId heights(Builder& b, ValueId x) {
  x = conv3(b, "conv1", x, 32, 2);
  x = halved(b, conv3(b, "conv2", x, 64));
  x = conv3(b, "conv3", x, 128);
  x = halved(b, conv3(b, "conv4", x, 128));
  return b.relu(b.dense("fc", b.flatten(x), 512));
}

ValueId lines(Builder& b, ValueId x) {
  int64_t width = 64;
  for (const char* name : {"conv1", "conv2", "conv3"}) {
    x = b.relu(b.conv(name, x, {.out = width, .kernel = {1, 7}, .padding = Padding::same()}));
    x = b.max_pool(x, {.kernel = {1, 2}, .stride = {1, 2}});
    width *= 2;
  }
  return b.relu(b.dense("fc", b.flatten(x), 512));
}

Heads land_cover_layers(Builder& b, ValueId x, const ModelOptions& options) {
  require_scene(b.shape(x));
  const int64_t side = b.shape(x)[3];
  Instruments instruments(b, x);
  std::vector<ValueId> features;
  {
    const auto scope = b.scope("optical");
    features.push_back(pictures(b, instruments.next(kBands, side, side), 64));
  }
  {
    const auto scope = b.scope("radar");
    features.push_back(pictures(b, instruments.next(kPolarisations, side, side), 48));
  }
  {
    const auto scope = b.scope("elevation");
    features.push_back(heights(b, instruments.next(1, side / 2, side / 2)));
  }
  {
    const auto scope = b.scope("spectrum");
    features.push_back(lines(b, instruments.next(1, 1, 4 * side)));
  }
  // As in AlexNet: wide dense layers that begin with larger weights diverge.
  b.set_kernel_initializer(Initializer::lecun_uniform());
  const auto head = b.scope("head");
  x = b.relu(b.dense("fc1", b.concat(features), 4096));
  x = b.relu(b.dense("fc2", b.dropout(x, 0.5F), 2048));
  return {.logits = b.classifier("fc3", b.dropout(x, 0.5F), options.classes)};
}

}  // namespace

Network land_cover() {
  return {{.name = "land-cover",
           .description = "a branch for each of four instruments, joined by dense layers",
           .channels = 1,
           .height = rows_of_scene(kSide),
           .width = kSide,
           .classes = 8},
          land_cover_layers};
}

}  // namespace syrtos::nn::zoo
