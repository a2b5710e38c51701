#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

namespace syrtos::launch {

enum class Stream { output, error };

/// Puts what several ranks print on this process's two streams, never within a line of another. On
/// a terminal, one of them may leave a line open and redraw it (a progress bar): the lines of the
/// others appear above it.
class Printer {
 public:
  using Write = std::function<void(Stream, std::string_view)>;
  /// `terminal`: whether the streams, output and error, are.
  Printer(Write write, std::array<bool, 2> terminal)
      : write_(std::move(write)), terminal_(terminal) {}
  /// A line left open is ended.
  ~Printer();

  bool is_terminal(Stream stream) const { return terminal_[static_cast<size_t>(stream)]; }
  /// A whole line; the newline is added.
  void line(Stream stream, std::string_view text);
  /// Any part of what the one rank prints that may leave lines open. For terminals only.
  void pass(Stream stream, std::string_view text);

 private:
  Write write_;
  std::array<bool, 2> terminal_;
  std::array<std::string, 2> open_;  // what stands on the unfinished line
};

/// Writes to this process's own streams. Blocks when they do.
void write_to_own_streams(Stream stream, std::string_view text);

/// One stream of one rank.
class RankOutput {
 public:
  /// `as_it_is`: on a terminal nothing is held back until its line is complete.
  RankOutput(Printer& printer, Stream stream, std::string prefix, bool as_it_is);

  /// Reads what is there. False: it was closed.
  bool read_from(int descriptor);
  void add(std::string_view text);
  /// Prints what is left of a line that was never finished.
  void finish();

  /// From now on it is printed so.
  void show(std::string prefix, bool as_it_is);

  /// Error output only: from a line that begins with "error: " on, nothing is printed but kept
  /// here, without that word: when one rank fails the others do, and only the cause is to be read.
  const std::string& complaint() const { return complaint_; }
  /// Prints it after all.
  void print_complaint();

 private:
  void print(std::string_view line);
  bool complains(std::string_view line);

  Printer& printer_;
  Stream stream_;
  std::string prefix_;
  bool as_it_is_;
  std::string line_;  // so far
  std::string complaint_;
};

}  // namespace syrtos::launch
