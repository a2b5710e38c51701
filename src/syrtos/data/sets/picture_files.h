#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"
#include "syrtos/data/pictures/picture.h"

namespace syrtos::data {

/// Pictures (JPEG, PNG, WebP, BMP, PNM) in files of their own, decoded when they are read.
class PictureFiles : public Dataset {
 public:
  /// `info` has what is known beside the pictures: name, classes or targets, notes. `targets` has
  /// one for each file.
  PictureFiles(DatasetInfo info, std::vector<std::filesystem::path> files, Targets targets);

  /// What is known of some pictures, all of them if they are few.
  struct Look {
    bool grey = true;
    bool same_size = true;
    Picture first = {};
  };
  /// Adds what is found here. Throws RequestError for a file that is no picture.
  void look(Look& all) const;
  /// When all pictures are grey, samples have one channel, else three; when all have one size, it
  /// is theirs.
  void settle(const Look& all);

  Target target(int64_t index) const override { return targets_[index]; }
  Sample read(int64_t index, Scratch& scratch) const override;
  std::span<const uint8_t> encoded(int64_t index, Scratch& scratch) const override;

 private:
  void bring_to_size(Sample& sample, Scratch& scratch) const;
  const std::filesystem::path& path_of(int64_t index) const {
    return files_[static_cast<size_t>(index)];
  }

  std::vector<std::filesystem::path> files_;
  Targets targets_;
};

/// Both look alike: what is settled about one holds for the other. `test` may be none.
Splits settled(std::unique_ptr<PictureFiles> train, std::unique_ptr<PictureFiles> test);

}  // namespace syrtos::data
