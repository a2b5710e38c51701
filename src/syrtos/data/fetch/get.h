#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "syrtos/data/fetch/catalogue.h"
#include "syrtos/data/fetch/store.h"

namespace syrtos::data {

struct GetOptions {
  std::filesystem::path directory;  ///< the data set becomes a directory of its name in it
  std::string from =
      {};              ///< a file or directory to take it from, in any format; empty: the sources
  bool force = false;  ///< replaces packs that are there
};

struct GetResult {
  std::filesystem::path path;
  bool was_there = false;
  std::string source = {};  ///< where it came from this time
};

/// Whether the directory has the data set, with the counts it must have. This is quick: values are
/// not read.
bool is_here(const KnownSet& known, const std::filesystem::path& directory);

/// Fetches a data set of the catalogue and stores it as DIRECTORY/NAME/{train,test}.pack. Sources
/// are tried in turn; what comes is decoded and must have the pinned checksums. The directory
/// appears when it is complete, and replaces another one when forced to; when anything fails, or
/// the process is killed, nothing does. What arrived of an interrupted download is kept in
/// DIRECTORY/.downloads-NAME for the next time. Several processes may do this at once. Blocks;
/// throws RequestError (unknown name, `from` is not this data set) and RunError (every source
/// failed and why, no space, stopped).
GetResult get(const std::string& name, const GetOptions& options, Observer& observer,
              const std::function<bool()>& should_stop);

}  // namespace syrtos::data
