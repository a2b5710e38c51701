#include "syrtos/data/fetch/download.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <mutex>

#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/data/fetch/download_part.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kStallBytes = 1000;  // per second
constexpr int64_t kMostRedirects = 5;
constexpr int kOk = 200;
constexpr int kPartial = 206;
constexpr int kRangeRefused = 416;

void begin_curl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

// One request: the answer's headers decide where its bytes go.
class Transfer {
 public:
  Transfer(const std::string& url, fs::path file, const DownloadOptions& options,
           const BytesDone& progress, const std::function<bool()>& should_stop)
      : file_(std::move(file)),
        options_(options),
        progress_(progress),
        should_stop_(should_stop),
        curl_(curl_easy_init(), curl_easy_cleanup) {
    SYRTOS_CHECK(curl_ != nullptr);
    origin_.url = url;
  }
  ~Transfer() {
    if (descriptor_ >= 0) close(descriptor_);
    curl_slist_free_all(headers_);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Whether the file is complete; false when the server does not go on where we stopped, and
  /// everything has to begin anew.
  bool run();

 private:
  void ask_for_the_rest();
  void set_options();
  void begin_body();
  void finish();
  [[noreturn]] void fail(const std::string& found) const;

  static size_t on_header(char* data, size_t size, size_t count, void* self);
  static size_t on_body(char* data, size_t size, size_t count, void* self);
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  fs::path file_;
  const DownloadOptions& options_;
  const BytesDone& progress_;
  const std::function<bool()>& should_stop_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
  curl_slist* headers_ = nullptr;
  char reason_[CURL_ERROR_SIZE] = {};
  Origin origin_;
  std::string etag_;
  std::string modified_;
  int64_t asked_from_ = 0;
  int64_t range_begin_ = -1;
  int64_t range_of_ = -1;
  int64_t content_length_ = -1;
  int64_t have_ = 0;
  int descriptor_ = -1;
  bool body_ = false;
  bool disagrees_ = false;
  bool stopped_ = false;
  std::string problem_;  // of our own side, while curl runs
};

void Transfer::fail(const std::string& found) const { fail_run("{}: {}", origin_.url, found); }

void Transfer::ask_for_the_rest() {
  const Origin before = read_origin(file_);
  std::error_code none;
  const auto size = fs::file_size(part_of(file_), none);
  if (none || size == 0 || before.url != origin_.url || before.tag.empty()) return;
  asked_from_ = static_cast<int64_t>(size);
  if (before.length > 0 && asked_from_ >= before.length) {
    asked_from_ = 0;
    return;
  }
  // The server sends the rest only if it still has the same file, else all of it.
  headers_ = curl_slist_append(headers_, ("If-Range: " + before.tag).c_str());
  curl_easy_setopt(curl_.get(), CURLOPT_HTTPHEADER, headers_);
  curl_easy_setopt(curl_.get(), CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(asked_from_));
}

void Transfer::set_options() {
  CURL* curl = curl_.get();
  curl_easy_setopt(curl, CURLOPT_URL, origin_.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, static_cast<long>(kMostRedirects));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(options_.connect_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(kStallBytes));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.stall_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason_);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "syrtos/" SYRTOS_VERSION);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);
}

size_t Transfer::on_header(char* data, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::string line(data, size * count);
  const size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {  // a new answer, after a redirection
    transfer.etag_.clear();
    transfer.modified_.clear();
    transfer.range_begin_ = transfer.range_of_ = transfer.content_length_ = -1;
  }
  if (colon == std::string::npos) return size * count;
  const std::string name = lower_case(line.substr(0, colon));
  std::string value = line.substr(colon + 1);
  value.erase(0, value.find_first_not_of(" \t"));
  value.erase(value.find_last_not_of(" \t\r\n") + 1);
  if (name == "etag" && !value.starts_with("W/")) transfer.etag_ = value;
  if (name == "last-modified") transfer.modified_ = value;
  if (name == "content-length") {
    std::from_chars(value.data(), value.data() + value.size(), transfer.content_length_);
  }
  if (name == "content-range" && value.starts_with("bytes ")) {
    const char* end = value.data() + value.size();
    std::from_chars(value.data() + std::strlen("bytes "), end, transfer.range_begin_);
    const size_t slash = value.find('/');
    if (slash != std::string::npos) {
      std::from_chars(value.data() + slash + 1, end, transfer.range_of_);
    }
  }
  return size * count;
}

// Called with the first bytes of the body: all headers are known.
void Transfer::begin_body() {
  body_ = true;
  long code = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &code);
  const bool goes_on = asked_from_ > 0 && code == kPartial;
  if (goes_on && range_begin_ != asked_from_) {
    disagrees_ = true;
    return;
  }
  have_ = goes_on ? asked_from_ : 0;
  origin_.length =
      goes_on ? std::max<int64_t>(range_of_, 0) : std::max<int64_t>(content_length_, 0);
  origin_.tag = etag_.empty() ? modified_ : etag_;
  if (origin_.length > options_.most_bytes) {
    problem_ =
        fmt::format("expected at most {} bytes, found {}", options_.most_bytes, origin_.length);
    return;
  }
  if (!goes_on) {
    forget(file_);
    write_origin(file_, origin_);
  }
  descriptor_ = open(part_of(file_).c_str(),
                     O_WRONLY | O_CREAT | O_CLOEXEC | (goes_on ? O_APPEND : O_TRUNC), 0666);
  if (descriptor_ < 0) {
    problem_ = fmt::format("cannot create {}: {}", part_of(file_).string(), std::strerror(errno));
  }
}

size_t Transfer::on_body(char* data, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  long code = 0;
  curl_easy_getinfo(transfer.curl_.get(), CURLINFO_RESPONSE_CODE, &code);
  if (code != kOk && code != kPartial) return size * count;  // the text of an error page
  try {  // exceptions must not pass through curl
    if (!transfer.body_) transfer.begin_body();
  } catch (const std::exception& error) {
    transfer.problem_ = error.what();
  }
  if (transfer.disagrees_ || !transfer.problem_.empty()) return 0;
  for (size_t written = 0; written < size * count;) {
    const ssize_t now = ::write(transfer.descriptor_, data + written, size * count - written);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) {
      transfer.problem_ =
          fmt::format("cannot write {}: {}; free some space or choose another place",
                      part_of(transfer.file_).string(), std::strerror(errno));
      return 0;
    }
    written += static_cast<size_t>(now);
  }
  transfer.have_ += static_cast<int64_t>(size * count);
  if (transfer.have_ > transfer.options_.most_bytes) {
    transfer.problem_ =
        fmt::format("expected at most {} bytes, found more", transfer.options_.most_bytes);
    return 0;
  }
  return size * count;
}

int Transfer::on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (transfer.body_ && transfer.progress_) {
    transfer.progress_(transfer.have_, transfer.origin_.length);
  }
  transfer.stopped_ = transfer.should_stop_ && transfer.should_stop_();
  return transfer.stopped_ ? 1 : 0;
}

void Transfer::finish() {
  if (!body_) {  // an empty file has no body
    begin_body();
    if (!problem_.empty()) fail(problem_);
  }
  if (origin_.length > 0 && have_ != origin_.length) {
    fail(fmt::format("expected {} bytes, found {}; try again, it will go on from there",
                     origin_.length, have_));
  }
  if (fsync(descriptor_) != 0) fail(fmt::format("cannot write: {}", std::strerror(errno)));
  std::error_code error;
  fs::rename(part_of(file_), file_, error);
  if (error) fail(fmt::format("cannot rename to {}: {}", file_.string(), error.message()));
  forget(file_);
  if (progress_) progress_(have_, have_);
}

bool Transfer::run() {
  set_options();
  ask_for_the_rest();
  log_info("download: {} to {}, from byte {}", origin_.url, file_.string(), asked_from_);
  const CURLcode result = curl_easy_perform(curl_.get());
  long code = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &code);
  log_info("download: {}: {}, HTTP {}, {} of {} bytes", origin_.url, curl_easy_strerror(result),
           code, have_, origin_.length);
  if (stopped_) fail("stopped");
  if (!problem_.empty()) fail(problem_);
  // CURLE_RANGE_ERROR: we asked for the rest and the server sends everything.
  if (disagrees_ || (asked_from_ > 0 && (code == kRangeRefused || result == CURLE_RANGE_ERROR))) {
    return false;
  }
  if (result != CURLE_OK) {
    const std::string reason = reason_[0] != '\0' ? reason_ : curl_easy_strerror(result);
    fail(have_ > 0
             ? fmt::format("{} after {} bytes; try again, it will go on from there", reason, have_)
             : reason);
  }
  if (code != kOk && code != kPartial) {
    fail(fmt::format("expected the file (HTTP 200), found HTTP {}", code));
  }
  finish();
  return true;
}

}  // namespace

void download(const std::string& url, const fs::path& file, const DownloadOptions& options,
              const BytesDone& progress, const std::function<bool()>& should_stop) {
  begin_curl();
  if (Transfer(url, file, options, progress, should_stop).run()) return;
  forget(file);
  const bool complete = Transfer(url, file, options, progress, should_stop).run();
  SYRTOS_CHECK(complete);
}

}  // namespace syrtos::data
