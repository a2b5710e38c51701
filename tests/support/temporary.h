#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "syrtos/base/error.h"

namespace syrtos {

/// A test with a directory of its own.
class TemporaryDirectory : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "syrtos-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
    return directory_ / name;
  }
  static std::string read(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }
  /// The text of the Exception that the call ends with.
  template <typename Exception = RequestError>
  static std::string refusal(const std::function<void()>& call) {
    try {
      call();
    } catch (const Exception& error) {
      return error.what();
    }
    return "was accepted";
  }

  std::filesystem::path directory_;
};

}  // namespace syrtos
