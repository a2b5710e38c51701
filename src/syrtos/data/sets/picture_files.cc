#include "syrtos/data/sets/picture_files.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/sets/resized.h"

namespace syrtos::data {

namespace fs = std::filesystem;

PictureFiles::PictureFiles(DatasetInfo info, std::vector<fs::path> files, Targets targets)
    : files_(std::move(files)), targets_(std::move(targets)) {
  info_ = std::move(info);
  info_.channels = 3;
  info_.decodes = true;
  info_.size = static_cast<int64_t>(files_.size());
  SYRTOS_CHECK(targets_.size() == info_.size, "{} {}", targets_.size(), info_.size);
}

void PictureFiles::look(Look& all) const {
  constexpr int64_t kLooked = 4096;
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < std::min(kLooked, size()); ++i) {
    const fs::path& file = path_of(size() <= kLooked ? i : i * size() / kLooked);
    read_bytes(file, bytes);
    const Picture picture = look_at_picture(bytes, file.string());
    if (all.first.height == 0) all.first = picture;
    all.grey = all.grey && picture.channels == 1;
    all.same_size =
        all.same_size && picture.height == all.first.height && picture.width == all.first.width;
  }
}

void PictureFiles::settle(const Look& all) {
  info_.channels = all.grey ? 1 : 3;
  info_.height = all.same_size ? all.first.height : 0;
  info_.width = all.same_size ? all.first.width : 0;
}

Sample PictureFiles::read(int64_t index, Scratch& scratch) const {
  const fs::path& file = path_of(index);
  Sample sample{.channels = info_.channels, .target = target(index)};
  try {
    read_bytes(file, scratch.file);
    decode_into(scratch.file, file.string(), static_cast<int>(info_.channels), scratch.values,
                sample.height, sample.width);
  } catch (const RequestError& error) {
    throw RunError(error.what());  // it was fine when the run began, or nobody had looked
  }
  if (info_.same_size()) bring_to_size(sample, scratch);
  sample.values = scratch.values.data();
  return sample;
}

/// One that nobody had looked at is scaled to the size of the others.
void PictureFiles::bring_to_size(Sample& sample, Scratch& scratch) const {
  if (sample.height == info_.height && sample.width == info_.width) return;
  scratch.scaled.resize(static_cast<size_t>(info_.shape().elements()));
  resize(scratch.values.data(), sample.height, sample.width, sample.channels,
         fit_window(Fit::centre, sample.height, sample.width, info_.height, info_.width),
         scratch.scaled.data(), info_.height, info_.width, scratch.resize);
  scratch.values.swap(scratch.scaled);
  sample.height = info_.height;
  sample.width = info_.width;
}

std::span<const uint8_t> PictureFiles::encoded(int64_t index, Scratch& scratch) const {
  const fs::path& file = path_of(index);
  read_bytes(file, scratch.file);
  const Picture found =
      info_.same_size() ? look_at_picture(scratch.file, file.string()) : Picture();
  if (info_.same_size() && (found.height != info_.height || found.width != info_.width)) {
    fail_run("{}: expected {}x{} pixels (height x width), as others have, found {}x{}; give --size",
             file.string(), info_.height, info_.width, found.height, found.width);
  }
  return scratch.file;
}

Splits settled(std::unique_ptr<PictureFiles> train, std::unique_ptr<PictureFiles> test) {
  PictureFiles::Look all;
  for (const PictureFiles* files : {train.get(), test.get()}) {
    if (files != nullptr) files->look(all);
  }
  for (PictureFiles* files : {train.get(), test.get()}) {
    if (files != nullptr) files->settle(all);
  }
  return {std::move(train), std::move(test)};
}

}  // namespace syrtos::data
