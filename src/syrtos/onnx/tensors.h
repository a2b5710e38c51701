#pragma once

#include <onnx.pb.h>

#include <filesystem>
#include <string>

#include "syrtos/onnx/document.h"

// How tensors are stored in the file's messages; for the other files that know these.

namespace syrtos::onnx {

/// "f32", "int64" ... for errors.
std::string element_name(int type);
/// Whether it is one of the float types that we read. Throws RequestError for a type that we do not
/// read at all, such as strings; `what` begins the message.
bool is_float_type(int type, const std::string& what);

/// Checked: at most Shape::kMaxRank extents, none negative, a bounded product.
std::vector<int64_t> shape_of(const ::onnx::TensorProto& tensor, const std::string& what);

bool is_external(const ::onnx::TensorProto& tensor);
/// The values of a tensor that is not external. Throws RequestError when their number is not that
/// of the shape.
Array array_of(const ::onnx::TensorProto& tensor, const std::string& what);
/// Float values as f32, also external ones below `folder`.
Tensor weights_of(const ::onnx::TensorProto& tensor, const std::filesystem::path& folder,
                  const std::string& what);

/// The file's message. Throws RequestError.
::onnx::ModelProto parse_message(std::string_view bytes, const std::string& name);

}  // namespace syrtos::onnx
