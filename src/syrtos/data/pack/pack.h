#pragma once

#include <atomic>
#include <filesystem>
#include <functional>

#include "syrtos/base/files.h"
#include "syrtos/data/dataset.h"
#include "syrtos/data/files/mapped_file.h"
#include "syrtos/data/pictures/picture.h"

namespace syrtos::data {

// A pack is a data set in one file that any machine can read, all numbers little-endian. What is
// known only after the last sample stands at the end, so that a pack is written in one go.
//
//   0   8   "SYRTOSPK"
//   8   4   version, 1, or 2 of data with values instead of labels
//   12  52  zeros
//   64      the data: blocks of about 1 MiB, each starts at a multiple of 64 and ends, filled up
//           with zeros, where the next one starts. A sample lies in one block; within it samples
//           follow each other without gaps
//   D       the directory, D a multiple of 64:
//             labels, s32 each, or all values of every sample, f32; then zeros up to a multiple
//             of 8
//             of pictures only: offset in the file and bytes, u64 each, of every sample
//             blocks: offset u64, first sample u64, CRC-32 of the block u32, zero u32
//             meta, JSON: {"name", "dtype", "channels", "height", "width", "classes": [...]};
//             height and width 0 when they differ; with values "targets": {"shape": [...],
//             "names": [...], "binary"}; of tables that have them "columns": [names]
//   end-64  the trailer:
//     0   8   D
//     8   8   samples
//     16  8   blocks
//     24  8   bytes of meta
//     32  4   payload: 0 raw samples of one size, 1 pictures as in their JPEG or PNG files
//     36  4   CRC-32 of the directory
//     40  4   values of a sample, 0: they have labels
//     44  8   zeros
//     52  4   CRC-32 of the 52 bytes before
//     56  8   "SYRTOSPK"

enum class PackPayload : uint32_t { raw = 0, pictures = 1 };

struct PackBlock {
  uint64_t offset = 0;
  uint64_t first = 0;  ///< sample
  uint32_t crc = 0;
  uint32_t zero = 0;
};

struct PackExtent {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// Writes a pack sample by sample; only targets, offsets and one block are held in memory. The file
/// appears when finish() returns, and nothing is left behind without it. Throws RunError.
class PackWriter {
 public:
  /// The size in `info` is not used: samples are counted.
  PackWriter(const std::filesystem::path& file, DatasetInfo info, PackPayload payload);
  /// A sample of the size that was announced, for raw packs.
  void add(const Sample& sample);
  /// A JPEG or PNG file, for packs of pictures.
  void add(std::span<const uint8_t> picture, const Target& target);
  void finish();

 private:
  void append(std::span<const uint8_t> bytes, const Target& target);
  void flush();
  std::string meta() const;

  std::filesystem::path file_;
  DatasetInfo info_;
  PackPayload payload_;
  AtomicFile out_;
  uint64_t offset_ = 0;
  std::vector<uint8_t> block_;
  uint64_t block_first_ = 0;
  uint64_t samples_ = 0;
  std::vector<int32_t> labels_;
  std::vector<float> values_;
  std::vector<PackExtent> extents_;
  std::vector<PackBlock> blocks_;
};

/// Makes values [height, width, channels] of the bytes of a picture file; `name` is for messages.
/// Throws RequestError when they are damaged.
using PictureDecoder =
    std::function<void(std::span<const uint8_t> bytes, const std::string& name, int channels,
                       std::vector<uint8_t>& values, int64_t& height, int64_t& width)>;

/// A pack, memory-mapped: raw samples are read in place. The directory is checked when it is
/// opened, a block when its first sample is read. A damaged or hostile file is refused with a
/// RequestError that says file, offset, expected and found, and can not make us take more memory
/// than a few times its length.
class Pack : public Dataset {
 public:
  explicit Pack(const std::filesystem::path& file, PictureDecoder decode = decode_into);

  Target target(int64_t index) const override { return targets_[index]; }
  Sample read(int64_t index, Scratch& scratch) const override;
  std::span<const uint8_t> encoded(int64_t index, Scratch& scratch) const override;
  void check() const override { map_.check(); }

 private:
  void read_directory();
  void check_blocks(uint64_t at, uint64_t end);
  void check_extents(uint64_t at);
  void parse_meta(std::string_view text, uint64_t at);
  void take_targets(const uint8_t* from, uint64_t at, uint64_t samples);
  PackExtent extent(int64_t index, size_t block) const;
  size_t block_of(int64_t index) const;
  void verify(size_t block) const;
  /// The bytes of a sample, their block verified.
  std::span<const uint8_t> stored(int64_t index) const;
  std::string name() const { return map_.file().string(); }

  MappedFile map_;
  PictureDecoder decode_;
  PackPayload payload_ = PackPayload::raw;
  uint64_t data_end_ = 0;
  Targets targets_;
  std::vector<PackExtent> extents_;
  std::vector<PackBlock> blocks_;
  std::unique_ptr<std::atomic<bool>[]> verified_;
};

std::unique_ptr<Pack> open_pack(const std::filesystem::path& file,
                                PictureDecoder decode = decode_into);

/// Packs any data set: pictures as in their files when it has those, values otherwise, which must
/// be of one size. `progress` is told the number of samples done now and then, and after the last.
void write_pack(const Dataset& from, const std::filesystem::path& file,
                const std::function<void(int64_t done, int64_t of)>& progress = {});

}  // namespace syrtos::data
