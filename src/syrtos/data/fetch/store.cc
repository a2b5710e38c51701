#include "syrtos/data/fetch/store.h"

#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/data/files/workplace.h"
#include "syrtos/data/pack/pack.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

void write_origin(const fs::path& file, const std::string& name, const std::string& source) {
  AtomicFile origin(file);
  origin.write(nlohmann::json{{"name", name}, {"source", source}}.dump(
                   2, ' ', false, nlohmann::json::error_handler_t::replace) +
               "\n");
  origin.commit();
}

}  // namespace

void store(const Splits& splits, const fs::path& place, const std::string& source,
           Observer& observer, const std::function<bool()>& should_stop) {
  const fs::path whole = fs::absolute(place);
  const Workplace work(whole.parent_path());
  const fs::path ready = work.path() / "ready";
  fs::create_directories(ready);
  const auto write = [&](const Dataset& half, const char* name) {
    observer.stage(fmt::format("writing {}", name));
    const auto progress = [&](int64_t done, int64_t of) {
      if (should_stop && should_stop()) fail_run("interrupted; nothing was stored");
      observer.amount(done, of, Observer::Unit::samples);
    };
    write_pack(half, ready / name, progress);
  };
  write(*splits.train, "train.pack");
  write(*splits.test, "test.pack");
  write_origin(ready / "origin.json", splits.train->info().name, source);
  check_replaceable(whole);  // again: much time has passed
  put_in_place(ready, whole);
}

namespace {

bool is_ours(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  const bool pack =
      name.ends_with(".pack") && (name.starts_with("train") || name.starts_with("test"));
  return (pack || name == "origin.json") && entry.is_regular_file();
}

}  // namespace

void check_replaceable(const fs::path& place) {
  std::error_code ignored;
  if (!fs::exists(place, ignored)) return;
  if (!fs::is_directory(place, ignored)) {
    fail_request("{} exists: expected a directory, found a file; move it away", place.string());
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
    if (is_ours(entry)) continue;
    fail_request(
        "{} exists: expected nothing but packs (train*.pack, test*.pack, origin.json), which may "
        "be "
        "replaced, found {} in it; move it away or choose another --to DIR",
        place.string(), entry.path().filename().string());
  }
}

}  // namespace syrtos::data
