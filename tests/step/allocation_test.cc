// A training step, its batch included, allocates nothing and creates no primitive. Every operator
// new and malloc of this binary is counted by who called it: oneDNN and the OpenMP runtime keep
// books of their own inside one call, which is theirs; ours must be zero.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "syrtos/data/pipeline/loader.h"
#include "syrtos/data/sets/random_data.h"
#include "syrtos/nn/model.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/ops/cpu/backend.h"
#include "syrtos/optim/optimizer.h"
#include "syrtos/train/network/compiled_network.h"
#include "tests/step/allocations.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace syrtos::allocations {

std::atomic<bool> counting{false};
std::atomic<int> ours{0};
std::atomic<int> libraries{0};

}  // namespace syrtos::allocations

namespace {

using syrtos::allocations::counting;
using syrtos::allocations::libraries;
using syrtos::allocations::ours;

void count(const void* caller) {
  static thread_local bool looking = false;  // dladdr itself may allocate
  if (!counting || looking) return;
  looking = true;
  Dl_info info{};
  const bool known = dladdr(caller, &info) != 0 && info.dli_fname != nullptr;
  const bool library = known && (std::strstr(info.dli_fname, "libdnnl") != nullptr ||
                                 std::strstr(info.dli_fname, "libgomp") != nullptr);
  ++(library ? libraries : ours);
  looking = false;
}

}  // namespace

extern "C" void* __libc_malloc(size_t bytes);
extern "C" void __libc_free(void* memory);

extern "C" void* malloc(size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_malloc(bytes);
}

void* operator new(size_t bytes) {
  count(__builtin_return_address(0));
  void* memory = __libc_malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](size_t bytes) {
  count(__builtin_return_address(0));
  void* memory = __libc_malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { __libc_free(memory); }
void operator delete[](void* memory) noexcept { __libc_free(memory); }
void operator delete(void* memory, size_t /*bytes*/) noexcept { __libc_free(memory); }
void operator delete[](void* memory, size_t /*bytes*/) noexcept { __libc_free(memory); }

namespace syrtos {
namespace {

using allocations::counting;
using allocations::libraries;
using allocations::ours;

struct Case {
  const char* network;
  int64_t channels;
  int64_t input;
  DType dtype;
  bool synchronised = false;
};

class Step : public testing::TestWithParam<Case> {};

TEST_P(Step, AllocatesNothingAndCreatesNoPrimitive) {
  const Case& test = GetParam();
  nn::ModelOptions options;
  options.batch = 4;
  options.classes = 10;
  options.channels = test.channels;
  options.height = test.input;
  options.width = test.input;
  options.dtype = test.dtype;
  options.synchronised_batch_norm = test.synchronised;
  testing::internal::CaptureStdout();  // where oneDNN writes a line for each creation
  train::CompiledNetwork network(nn::find_network(test.network), options,
                                 train::CompiledNetwork::Use::training);
  network.initialize(1);
  graph::Parameters& parameters = network.parameters();
  optim::Optimizer optimizer({}, parameters.weights().size());
  std::vector<optim::Segment> segments;
  for (const graph::ParameterSlot& slot : parameters.slots()) {
    segments.push_back({slot.offset, slot.elements, slot.decay});
  }
  const data::RandomDataset data(20, {test.channels, test.input, test.input}, 10, 1);
  const data::Transform transform(data.info(), data.info().shape(), {{0}, {1}},
                                  data::parse_augment("crop:1,flip,cutout:2"), test.dtype);
  data::Loader loader(data, transform, {.batch = 4, .prefetch = 0});
  const auto step = [&](int64_t number) {
    network.training().use(loader.next());
    network.training().program().run({1, number, 0});
    optimizer.update(parameters.weights(), parameters.gradients(), parameters.working(), segments,
                     {0.01, 1e-4, 1, number});
  };
  step(0);
  step(1);

  const int64_t primitives = ops::cpu::primitives_created();
  EXPECT_NE(testing::internal::GetCapturedStdout().find("create"), std::string::npos);
  testing::internal::CaptureStdout();
  counting = true;
  step(2);
  step(3);
  counting = false;
  const std::string verbose = testing::internal::GetCapturedStdout();
  EXPECT_EQ(ours, 0);
  EXPECT_EQ(ops::cpu::primitives_created(), primitives);
  EXPECT_EQ(verbose.find("create"), std::string::npos) << verbose;
  RecordProperty("allocations_inside_libraries", libraries);
  ours = 0;
  libraries = 0;
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Step,
    testing::Values(Case{"resnet18", 3, 32, DType::f32}, Case{"resnet18", 3, 32, DType::bf16},
                    Case{"resnet18", 3, 32, DType::f32, true}, Case{"alexnet", 3, 64, DType::f32},
                    Case{"mnist-cnn", 1, 28, DType::f32}, Case{"googlenet", 3, 96, DType::f32},
                    Case{"lenet5", 1, 28, DType::bf16}),
    [](const auto& info) {
      std::string name = info.param.network;
      for (char& c : name) c = c == '-' ? '_' : c;
      if (info.param.synchronised) name += "_synchronised";
      return name + "_" + to_string(info.param.dtype);
    });

// The count must be able to fail.
TEST(Counting, SeesAnAllocationOfOurs) {
  counting = true;
  auto* kept = new std::vector<int>(100);
  counting = false;
  EXPECT_GE(ours, 1);
  delete kept;
  ours = 0;
}

const bool kVerbose = setenv("ONEDNN_VERBOSE", "profile_create", 1) == 0;

}  // namespace
}  // namespace syrtos

#endif
