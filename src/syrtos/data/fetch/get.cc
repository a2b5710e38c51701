#include "syrtos/data/fetch/get.h"

#include <fmt/ranges.h>

#include <optional>

#include "syrtos/base/checksum.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/log.h"
#include "syrtos/data/fetch/contents.h"
#include "syrtos/data/fetch/fetch.h"
#include "syrtos/data/files/workplace.h"
#include "syrtos/data/open.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

using ShouldStop = std::function<bool()>;

// A data set under the names of the catalogue.
class Named : public Dataset {
 public:
  Named(std::unique_ptr<Dataset> of, const KnownSet& known) : of_(std::move(of)) {
    info_ = of_->info();
    info_.name = known.name;
    info_.classes = known.classes;
  }
  Target target(int64_t index) const override { return of_->target(index); }
  Sample read(int64_t index, Scratch& scratch) const override { return of_->read(index, scratch); }
  void check() const override { of_->check(); }

 private:
  std::unique_ptr<Dataset> of_;
};

void stop_if_asked(const ShouldStop& should_stop) {
  if (should_stop && should_stop()) fail_run("interrupted; nothing was stored");
}

const KnownSet& known_set(const std::string& name) {
  if (const KnownSet* known = find_known(name)) return *known;
  std::vector<std::string> names;
  for (const KnownSet& known : catalogue()) names.push_back(known.name);
  fail_request("unknown data set '{}'{}", name, suggestion(name, names));
}

Splits open_source(const fs::path& path) { return open(fs::absolute(path).string(), {}); }

void check_half(const KnownSet& known, const Dataset& found, int64_t samples, const char* half) {
  const DatasetInfo& info = found.info();
  if (info.size != samples || info.shape() != Shape{known.channels, known.height, known.width} ||
      info.dtype != DType::u8 || info.classes.size() > known.classes.size()) {
    fail_request("expected {} {} samples of {}x{}x{} in {} classes, found {} of {}x{}x{} in {}",
                 samples, half, known.channels, known.height, known.width, known.classes.size(),
                 info.size, info.channels, info.height, info.width, info.classes.size());
  }
}

void verify_contents(const Dataset& found, const std::string& expected, const char* half,
                     Observer& observer, const ShouldStop& should_stop) {
  observer.stage(fmt::format("verifying the {} samples", half));
  const std::string sum = contents_sha256(found, [&](int64_t done) {
    observer.amount(done, found.size(), Observer::Unit::samples);
    return !(should_stop && should_stop());
  });
  if (sum != expected) {
    fail_request("the {} samples are not the pinned ones: expected SHA-256 {}, found {}", half,
                 expected, sum);
  }
}

// Verifies a set of which only the sums of its files are known.
void verify_published(const KnownSet& known, const fs::path& path, Observer& observer) {
  observer.stage("verifying the files");
  size_t verified = 0;
  for (const PublishedSum& published : known.published) {
    const fs::path file = fs::is_directory(path) ? path / published.file : path;
    if (file.filename() != published.file || !fs::exists(file)) continue;
    const std::string sum = file_checksum(Checksum::Kind::md5, file);
    if (sum != published.md5) {
      fail_request("{} is not the published file: expected MD5 {}, found {}", file.string(),
                   published.md5, sum);
    }
    ++verified;
  }
  if (verified == 0 || (fs::is_directory(path) && verified + 1 < known.published.size())) {
    std::vector<std::string> names;
    for (const PublishedSum& published : known.published) names.push_back(published.file);
    fail_request("{}: cannot be verified: expected the published files under their names ({})",
                 path.string(), fmt::join(names, ", "));
  }
}

Splits open_verified(const KnownSet& known, const fs::path& path, Observer& observer,
                     const ShouldStop& should_stop) {
  observer.stage("reading");
  Splits splits = open_source(path);
  stop_if_asked(should_stop);
  check_half(known, *splits.train, known.train, "training");
  check_half(known, *splits.test, known.test, "test");
  if (known.train_sha256.empty()) {
    verify_published(known, path, observer);
  } else {
    verify_contents(*splits.train, known.train_sha256, "training", observer, should_stop);
    verify_contents(*splits.test, known.test_sha256, "test", observer, should_stop);
  }
  return {std::make_unique<Named>(std::move(splits.train), known),
          std::make_unique<Named>(std::move(splits.test), known)};
}

// A folder that is not there yet, and goes again where nothing gets into it.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& path) : path_(path), is_new_(!fs::exists(path)) {}
  ~NewFolder() {
    std::error_code ignored;
    if (is_new_) fs::remove(path_, ignored);  // when nothing is in it
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

 private:
  fs::path path_;
  bool is_new_;
};

// Where files arrive: kept between attempts, unless another process is at it, which makes these
// private.
class Downloads {
 public:
  Downloads(const fs::path& directory, const fs::path& work, const std::string& name)
      : path_(directory / (".downloads-" + name)), lock_(path_.string() + ".lock") {
    if (!lock_.held()) path_ = work / "downloads";
  }
  ~Downloads() {
    std::error_code ignored;
    fs::remove(path_, ignored);  // when nothing is in it
  }
  Downloads(const Downloads&) = delete;
  Downloads& operator=(const Downloads&) = delete;

  const fs::path& path() const { return path_; }
  void clear() const {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

 private:
  fs::path path_;
  FileLock lock_;
};

// Errors of downloads begin with the URL; the source was named before.
std::string without_source(const std::string& text, const Source& source) {
  return text.starts_with(source.from) ? text.substr(source.from.size()) : text;
}

struct Opened {
  Splits splits;
  std::string source;
};

Opened open_from_sources(const KnownSet& known, const FetchPlaces& places, Observer& observer,
                         const ShouldStop& should_stop) {
  std::string reasons;
  for (size_t k = 0; k < known.sources.size(); ++k) {
    const Source& source = known.sources[k];
    log_info("data {}: trying {}", known.name, source.to_string());
    // Files of the same name from different sources are not mixed.
    const fs::path downloads = places.downloads / std::to_string(k);
    bool arrived = false;
    try {
      const fs::path path = fetch(source, {places.work, downloads}, observer, should_stop);
      arrived = true;
      return {open_verified(known, path, observer, should_stop), source.to_string()};
    } catch (const Error& error) {
      stop_if_asked(should_stop);
      const std::string reason = without_source(error.what(), source);
      log_info("data {}: {} cannot deliver: {}", known.name, source.to_string(), reason);
      observer.failed(source.to_string(), reason);
      reasons += fmt::format("\n  {}: {}", source.to_string(), reason);
      // What turned out wrong must not be taken for good next time; what has arrived of a download
      // that failed stays.
      std::error_code ignored;
      if (arrived) fs::remove_all(downloads, ignored);
      fs::remove(downloads, ignored);  // when nothing is in it
    }
  }
  fail_run(
      "cannot get {}: expected one of its sources to deliver, found:{}\n"
      "to do: check the network and proxy, or bring the files here by other means and run "
      "'syrtos data get {} --from PATH'",
      known.name, reasons, known.name);
}

}  // namespace

bool is_here(const KnownSet& known, const fs::path& directory) {
  try {
    if (!fs::is_directory(directory)) return false;
    const Splits splits = open_source(directory);
    return splits.train->size() == known.train && splits.test->size() == known.test;
  } catch (const Error&) {
    return false;
  }
}

GetResult get(const std::string& name, const GetOptions& options, Observer& observer,
              const ShouldStop& should_stop) {
  const KnownSet& known = known_set(name);
  const fs::path place = options.directory / known.name;
  std::error_code none;
  // The order counts: a set that another process puts there meanwhile is complete.
  if (!options.force && fs::exists(place, none) && !fs::is_empty(place, none)) {
    if (is_here(known, place)) return {.path = place, .was_there = true};
    check_replaceable(place);
    fail_request(
        "{} exists: expected {} with {} training and {} test samples, or nothing, found something "
        "else; replace it with --force, or choose another --to DIR",
        place.string(), known.name, known.train, known.test);
  }
  if (!options.from.empty() && !fs::exists(options.from, none)) {
    fail_request("--from: expected a file or directory, found no '{}'", options.from);
  }
  check_replaceable(place);

  const fs::path directory = fs::absolute(options.directory);  // programs run elsewhere
  const NewFolder folder(directory);
  const Workplace work(directory);
  Opened opened;
  std::optional<Downloads> downloads;
  if (options.from.empty()) {
    downloads.emplace(directory, work.path(), known.name);
    opened = open_from_sources(known, {work.path(), downloads->path()}, observer, should_stop);
  } else {
    opened = {open_verified(known, options.from, observer, should_stop), options.from};
  }
  log_info("data {}: storing it in {}", known.name, place.string());
  store(opened.splits, place, opened.source, observer, should_stop);
  if (downloads) downloads->clear();
  return {.path = place, .source = opened.source};
}

}  // namespace syrtos::data
