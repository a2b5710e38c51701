#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Whether the path is a .npz file or a directory with NumPy arrays under the names below.
bool has_numpy(const std::filesystem::path& path);

/// Reads arrays x_train, y_train, x_test, y_test (or train_x, ...; or x and y, without test data)
/// from one .npz or from .npy files in a directory. What x means:
///   u8 [n, height, width] or [n, height, width, channels]     pictures, as they are
///   other types [n, length] or [n, length, channels]          signals, become f32, height 1
///   other types [n, side, side] or [n, height, width, channels]   pictures as f32
/// When the second axis of four has 1 to 4 and the last one more, it is taken for the channels
/// ([n, 3, 32, 32]); so is that of signals when they are far longer ([n, 3, 128]). Notes say so.
/// y has a row for each sample: number_targets.h finds out what it means. Throws RequestError that
/// says the file, the offset, what was expected and what was found.
Splits open_numpy(const std::filesystem::path& path, TargetKind kind = TargetKind::found_out);

/// The samples alone: the array of a .npy file, or that of a .npz file that is called x, x_test, X,
/// X_test or test_x, or its only one. Throws as open_numpy().
std::unique_ptr<Dataset> open_numpy_samples(const std::filesystem::path& file);

}  // namespace syrtos::data
