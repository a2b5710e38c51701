#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/base/files.h"

namespace syrtos::trace {

struct Scalar {
  std::string tag;   // "loss/train": TensorBoard groups by what stands before the slash
  double value = 0;  // kept as a float
};

/// A node as TensorBoard draws it; slashes in names make boxes that open and close.
struct GraphNode {
  std::string name = {};
  std::string op = {};
  std::vector<std::string> inputs = {};    // names of nodes, "name:1" for a second output
  std::vector<int64_t> output_shape = {};  // -1: not known, such as the batch
  std::string dtype = {};                  // f32, bf16, s32, u8, or empty: not said
};

/// A file of events for TensorBoard. Every record is in the file when a call returns; one that
/// cannot be written whole is taken back. All calls throw RunError; one thread at a time.
///
/// A run that goes on makes another file in the same directory: TensorBoard reads all of them, in
/// the order of their names, as one run.
class EventFile {
 public:
  /// Creates the directory, if need be, and in it events.out.tfevents.<seconds>.<host>.
  explicit EventFile(const std::filesystem::path& directory, double wall_time = wall_clock());

  /// Several values of one step, in one record.
  void scalars(int64_t step, std::span<const Scalar> values, double wall_time = wall_clock());
  /// The run's graph; the last one counts.
  void graph(std::span<const GraphNode> nodes, double wall_time = wall_clock());
  /// Steps from this one on are about to be repeated: TensorBoard forgets what it knew of them.
  void restarted_at(int64_t step, double wall_time = wall_clock());

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void append(const std::string& event);

  AppendFile file_;
};

}  // namespace syrtos::trace
