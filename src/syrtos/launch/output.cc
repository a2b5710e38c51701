#include "syrtos/launch/output.h"

#include <unistd.h>

#include <cerrno>

namespace syrtos::launch {

namespace {

constexpr size_t kLongestLine = 8192;  // longer ones become several
constexpr size_t kLongestOpen = 2048;  // no bar is longer
constexpr std::string_view kCut = " ...";
constexpr std::string_view kError = "error: ";

// So many bytes of a text that no character is cut in two.
size_t whole_characters(std::string_view text, size_t most) {
  size_t count = most;
  while (count > most - 4 && (static_cast<unsigned char>(text[count]) & 0xC0) == 0x80) --count;
  return count;
}

}  // namespace

Printer::~Printer() {
  for (const Stream stream : {Stream::output, Stream::error}) {
    if (!open_[static_cast<size_t>(stream)].empty()) write_(stream, "\n");
  }
}

void Printer::line(Stream stream, std::string_view text) {
  constexpr std::string_view kClear = "\r\x1b[K";
  const std::array both = {Stream::output, Stream::error};
  for (const Stream each : both) {
    if (!open_[static_cast<size_t>(each)].empty()) write_(each, kClear);
  }
  write_(stream, std::string(text) + "\n");
  for (const Stream each : both) {
    if (!open_[static_cast<size_t>(each)].empty()) write_(each, open_[static_cast<size_t>(each)]);
  }
}

void Printer::pass(Stream stream, std::string_view text) {
  std::string& open = open_[static_cast<size_t>(stream)];
  write_(stream, text);
  // What follows the last return to its beginning is what stands on the line.
  const size_t begin = text.find_last_of("\r\n");
  if (begin == std::string_view::npos) {
    open += text;
  } else {
    open = text.substr(begin + 1);
    if (open == "\x1b[K") open.clear();  // a bar was taken away
  }
  if (open.size() > kLongestOpen) open.erase(0, open.size() - kLongestOpen);
}

void write_to_own_streams(Stream stream, std::string_view text) {
  const int descriptor = stream == Stream::output ? STDOUT_FILENO : STDERR_FILENO;
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // a closed stream is not a reason to end the run
    text.remove_prefix(static_cast<size_t>(count));
  }
}

RankOutput::RankOutput(Printer& printer, Stream stream, std::string prefix, bool as_it_is)
    : printer_(printer),
      stream_(stream),
      prefix_(std::move(prefix)),
      as_it_is_(as_it_is && printer.is_terminal(stream)) {}

void RankOutput::show(std::string prefix, bool as_it_is) {
  prefix_ = std::move(prefix);
  as_it_is_ = as_it_is && printer_.is_terminal(stream_);
}

bool RankOutput::read_from(int descriptor) {
  constexpr int kAtOnce = 4;  // one that prints without pause does not keep us from the others
  std::array<char, 16384> block;
  for (int i = 0; i < kAtOnce; ++i) {
    const ssize_t count = read(descriptor, block.data(), block.size());
    if (count == 0) return false;
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    add({block.data(), static_cast<size_t>(count)});
  }
  return true;
}

void RankOutput::add(std::string_view text) {
  // An error is written at once, on a line of its own.
  const bool complaining = stream_ == Stream::error &&
                           (!complaint_.empty() || (line_.empty() && text.starts_with(kError)));
  if (as_it_is_ && !complaining) return printer_.pass(stream_, text);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const bool complete = end != std::string_view::npos;
    line_ += text.substr(0, end);
    text.remove_prefix(complete ? end + 1 : text.size());
    while (line_.size() > kLongestLine) {
      const size_t cut = whole_characters(line_, kLongestLine);
      print(line_.substr(0, cut).append(kCut));
      line_.erase(0, cut);
    }
    if (complete) {
      print(line_);
      line_.clear();
    }
  }
}

void RankOutput::finish() {
  if (!line_.empty()) print(line_);
  line_.clear();
}

void RankOutput::print_complaint() {
  if (complaint_.empty()) return;
  printer_.line(stream_, prefix_ + std::string(kError) + complaint_);
  complaint_.clear();
}

bool RankOutput::complains(std::string_view line) {
  if (stream_ != Stream::error) return false;
  if (!complaint_.empty()) {
    if (complaint_.size() < kLongestLine) complaint_.append("\n").append(line);
    return true;
  }
  if (!line.starts_with(kError)) return false;
  complaint_ = line.substr(kError.size());
  return true;
}

void RankOutput::print(std::string_view line) {
  // This is what a terminal would show in the end of a line that was drawn several times.
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (const size_t again = line.rfind('\r'); again != std::string_view::npos) {
    line.remove_prefix(again + 1);
  }
  if (!complains(line)) printer_.line(stream_, prefix_ + std::string(line));
}

}  // namespace syrtos::launch
