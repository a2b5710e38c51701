#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "syrtos/ops/backend.h"

namespace syrtos::ops::cpu {

/// The engine and the one in-order stream that all kernels of a backend share.
struct Engine {
  Engine();

  dnnl::engine engine;
  dnnl::stream stream;
};

dnnl::memory::data_type data_type(DType dtype);
dnnl::memory::dims dims_of(const Shape& shape);

/// The description of a plain or channels-last value.
dnnl::memory::desc describe(const TensorType& type, const Layout& layout);

/// Turns oneDNN's exceptions into errors that name the operation and its shapes.
[[noreturn]] void fail_primitive(const KernelRequest& request, const dnnl::error& error);

/// A oneDNN primitive on fixed addresses. Execution goes through the C interface with arguments
/// made beforehand, because the C++ one builds a table on each call.
class PrimitiveKernel : public Kernel {
 public:
  enum class Source { input, output, scratch };
  struct Argument {
    int name;  ///< DNNL_ARG_SRC ...
    dnnl::memory::desc desc;
    Source source;
    size_t index;
  };

  PrimitiveKernel(std::shared_ptr<Engine> engine, dnnl::primitive primitive,
                  std::string implementation, std::vector<Argument> arguments);

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override;
  void move_input(size_t input, void* address) override;
  void run(const Step& step) override;
  std::string implementation() const override { return implementation_; }

 private:
  std::shared_ptr<Engine> engine_;
  dnnl::primitive primitive_;
  std::string implementation_;
  std::vector<Argument> arguments_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> bound_;
};

/// Attributes with a scratchpad that the program's arena provides.
dnnl::primitive_attr attributes();
dnnl::primitive_attr attributes_with_relu();

void count_primitive();

/// Creates the primitive of a description (and counts it) together with its kernel.
template <typename Primitive>
std::unique_ptr<Kernel> make_primitive_kernel(std::shared_ptr<Engine> engine,
                                              const typename Primitive::primitive_desc& desc,
                                              std::vector<PrimitiveKernel::Argument> arguments) {
  arguments.push_back(
      {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc(), PrimitiveKernel::Source::scratch, 0});
  count_primitive();
  return std::make_unique<PrimitiveKernel>(std::move(engine), Primitive(desc), desc.impl_info_str(),
                                           std::move(arguments));
}

}  // namespace syrtos::ops::cpu
