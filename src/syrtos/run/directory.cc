#include "syrtos/run/directory.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/run/about.h"
#include "syrtos/run/text_file.h"

namespace syrtos::run {

namespace fs = std::filesystem;

namespace {

// Makes the directory that nobody else has, counting up when two runs start in one second.
fs::path make_default(const std::string& name, std::error_code& error) {
  const std::time_t now = std::time(nullptr);
  const std::string base = fmt::format("{}-{:%Y%m%d-%H%M%S}", name, fmt::localtime(now));
  fs::create_directories("runs", error);
  for (int count = 1; !error; ++count) {
    fs::path path = fs::path("runs") / (count == 1 ? base : fmt::format("{}-{}", base, count));
    if (fs::create_directory(path, error)) return path;
  }
  return fs::path("runs") / base;
}

/// A run begins with its job. What one that was killed before that has left is as good as nothing.
void clear_what_never_began(const fs::path& path) {
  const std::optional<OwnerRecord> owner = read_owner(path);
  if (owner && liveness_of(owner->name) != Liveness::gone) return;
  std::vector<fs::path> early;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const fs::path name = entry.path().filename();
    const bool is_early =
        name == name_of(File::about) || name == name_of(File::owner) || name.extension() == ".part";
    if (!is_early) return;
    early.push_back(entry.path());
  }
  for (const fs::path& file : early) fs::remove(file, error);
}

// Where a new run is to be. `created`: the directory was not there before.
fs::path make_place(const fs::path& wanted, const std::string& name, bool& created) {
  std::error_code error;
  fs::path path = wanted;
  created = true;
  if (wanted.empty()) {
    path = make_default(name, error);
  } else if (fs::exists(path, error)) {
    clear_what_never_began(path);
    if (!fs::is_directory(path, error) || !fs::is_empty(path, error)) {
      fail_request(
          "run directory {}: expected a new or an empty directory, found {}; choose another "
          "--run DIR, or go on with a run by --resume DIR",
          path.string(), error ? error.message() : "something in its place");
    }
    created = false;
  } else {
    fs::create_directories(path, error);
  }
  if (error) {
    fail_request("cannot create the run directory {}: {}; choose another --run DIR", path.string(),
                 error.message());
  }
  return path;
}

void require_directory(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    fail_request("{}: expected a run directory, found nothing of that name", path.string());
  }
  if (!fs::is_directory(path, error)) {
    fail_request("{}: expected a run directory, found a file", path.string());
  }
}

/// Opening a pipe may block for ever.
void refuse_pipes(const Directory& directory) {
  for (const FileInfo& info : all_files()) {
    std::error_code error;
    const fs::path file = directory.file(info.file);
    const fs::file_status status = fs::status(file, error);
    if (!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status)) continue;
    fail_request("{}: expected a file, found {}: remove it", file.string(),
                 fs::is_fifo(status) ? "a pipe" : "something else");
  }
}

}  // namespace

fs::path Directory::reserve(const fs::path& wanted, const std::string& name) {
  bool created = false;
  return fs::absolute(make_place(wanted, name, created));
}

Directory Directory::create(const fs::path& wanted, const std::string& name, std::string_view job,
                            Claim claim) {
  bool created = false;
  Directory directory(make_place(wanted, name, created));
  try {
    directory.own(std::move(claim));
    if (directory.has(File::job)) {
      fail_request("run directory {}: another run has just begun there; choose another --run DIR",
                   directory.path().string());
    }
    write(directory, About::of_this_program());
    write_text(directory.to_write(File::job), job);
    const AppendFile begun(directory.to_write(File::metrics));
  } catch (const RunError& reason) {
    std::error_code ignored;
    directory.owner_.reset();
    if (created) fs::remove_all(directory.path(), ignored);
    throw RequestError(reason.what());
  }
  return directory;
}

Directory Directory::open(const fs::path& path) {
  require_directory(path);
  Directory directory(path);
  const std::array<File, 3> any = {File::job, File::metrics, File::steps};
  if (std::none_of(any.begin(), any.end(), [&](File file) { return directory.has(file); })) {
    fail_request("{} is not a run: expected {}, {} or {} in it, found none of them", path.string(),
                 name_of(any[0]), name_of(any[1]), name_of(any[2]));
  }
  refuse_pipes(directory);
  refuse_newer(directory);
  return directory;
}

Directory Directory::open_to_resume(const fs::path& path) {
  require_directory(path);
  Directory directory(path);
  const std::array<File, 4> any = {File::job, File::last_checkpoint, File::previous_checkpoint,
                                   File::best_checkpoint};
  if (std::none_of(any.begin(), any.end(), [&](File file) { return directory.has(file); })) {
    fail_request("{} is not a run: expected the file {}, found none", path.string(),
                 directory.file(File::job).string());
  }
  refuse_pipes(directory);
  refuse_newer(directory);
  return directory;
}

bool Directory::has(File file) const {
  std::error_code error;
  return fs::is_regular_file(this->file(file), error);
}

void Directory::own(Claim claim) {
  owner_ = std::make_shared<const Owner>(path_, std::move(claim));
  // What was half written by a process that is gone, or has nothing to write here any more.
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    std::error_code ignored;
    if (entry.path().extension() == ".part") fs::remove(entry.path(), ignored);
  }
}

bool Directory::drop_previous() const {
  std::error_code error;
  return has(File::last_checkpoint) && fs::remove(previous(), error);
}

void Directory::check_owner() const {
  if (owner_) owner_->check();
}

fs::path Directory::to_write(File which) const {
  check_owner();
  return file(which);
}

void Directory::record_job(std::string_view job) const {
  if (read_text(file(File::job)).text != job) write_text(to_write(File::job), job);
}

void Directory::forget_measures() const {
  check_owner();
  std::error_code ignored;
  for (const FileInfo& info : all_files()) {
    if (info.measured) fs::remove(file(info.file), ignored);
  }
}

// The last checkpoint is only ever replaced as a whole, so a second name for it is a copy.
void Directory::keep_as_best() const { link_file(last(), to_write(File::best_checkpoint)); }

std::filesystem::path Directory::member(int64_t number) const {
  return path_ / "members" / fmt::format("{:02}.ckpt", number);
}

void Directory::keep_as_member(int64_t number) const {
  check_owner();
  std::error_code error;
  fs::create_directories(path_ / "members", error);
  if (error) fail_run("{}: cannot be made: {}", (path_ / "members").string(), error.message());
  link_file(last(), member(number));
}

std::vector<fs::path> Directory::members() const {
  std::vector<fs::path> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_ / "members", error)) {
    if (entry.path().extension() == ".ckpt") all.push_back(entry.path());
  }
  std::sort(all.begin(), all.end());
  return all;
}

void Directory::restore_last(const fs::path& checkpoint) const {
  std::error_code ignored;
  fs::rename(to_write(File::last_checkpoint), path_ / "damaged.ckpt", ignored);
  link_file(checkpoint, last());
}

void Directory::remove_if_unused() const {
  clear_what_never_began(path_);
  std::error_code ignored;
  if (fs::is_empty(path_, ignored)) fs::remove(path_, ignored);
}

std::string Directory::stamp() const {
  std::string stamp;
  for (const FileInfo& info : all_files()) {
    if (!info.shown) continue;
    std::error_code error;
    const auto time = fs::last_write_time(file(info.file), error);
    if (error) continue;
    const auto size = fs::file_size(file(info.file), error);
    stamp += fmt::format("{}:{}:{};", info.name, time.time_since_epoch().count(), error ? 0 : size);
  }
  return stamp;
}

fs::path find_checkpoint(const fs::path& argument) {
  std::error_code error;
  if (!fs::exists(argument, error)) {
    fail_request("{}: expected a run directory or a checkpoint, found nothing of that name",
                 argument.string());
  }
  if (!fs::is_directory(argument, error)) return argument;
  const Directory directory = Directory::at(argument);
  refuse_newer(directory);
  for (const File file : {File::best_checkpoint, File::last_checkpoint}) {
    if (directory.has(file)) return directory.file(file);
  }
  fail_request("{}: expected {} or {} in it, found neither", argument.string(),
               name_of(File::best_checkpoint), name_of(File::last_checkpoint));
}

}  // namespace syrtos::run
