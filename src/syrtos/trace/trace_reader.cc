#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/trace/text_input.h"
#include "syrtos/trace/trace_file.h"
#include "syrtos/trace/trace_lines.h"

namespace syrtos::trace {

namespace {

constexpr size_t kMostValues = 16;  // of a line's args; further ones are passed over

/// Hears what the JSON parser finds and puts lines together, without keeping the document: the root
/// is at depth 1, "traceEvents" at 2, an event at 3, its "args" at 4.
class Listener : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Listener(TraceCollector& collector) : collector_(collector) {}

  bool is_trace() const { return is_trace_; }
  const std::string& error() const { return error_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(value, static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return number(static_cast<int64_t>(std::min(value, kMost)), static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    const bool fits = value > -9e18 && value < 9e18;
    return number(fits ? static_cast<int64_t>(value) : 0, value);
  }

  bool string(string_t& text) override {
    if (in_args()) {
      if (TraceLine::Value* value = next_value(); value != nullptr) {
        value->text.swap(text);
        value->is_text = true;
      }
    } else if (in_event()) {
      if (key_ == "ph") line_.phase = text.size() == 1 ? text[0] : '?';
      if (key_ == "name") line_.name.swap(text);
      if (key_ == "cat") line_.category.swap(text);
      if (key_ == "id") line_.id.swap(text);
    }
    return true;
  }

  bool start_object(size_t) override {
    ++depth_;
    if (depth_ == 3 && section_ == "traceEvents") line_.clear();
    if (depth_ == 4 && section_ == "traceEvents") args_ = key_ == "args";
    return true;
  }
  bool end_object() override {
    --depth_;
    return depth_ != 2 || section_ != "traceEvents" || collector_.add(line_);
  }
  bool start_array(size_t) override {
    ++depth_;
    if (depth_ == 2 && section_ == "traceEvents") is_trace_ = true;
    if (depth_ == 4) args_ = false;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(string_t& text) override {
    (depth_ == 1 ? section_ : depth_ == 4 ? argument_ : key_).swap(text);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& e) override {
    error_ = std::string(e.what()).substr(0, 200);  // it quotes what it read
    return false;
  }

 private:
  bool in_event() const { return depth_ == 3 && section_ == "traceEvents"; }
  bool in_args() const { return depth_ == 4 && args_ && section_ == "traceEvents"; }

  TraceLine::Value* next_value() {
    if (line_.used == kMostValues) return nullptr;
    if (line_.used == line_.values.size()) line_.values.emplace_back();
    TraceLine::Value& value = line_.values[line_.used++];
    value.key = argument_;
    return &value;
  }

  bool number(int64_t value, double real) {
    if (in_args()) {
      if (TraceLine::Value* argument = next_value(); argument != nullptr) {
        argument->number = value;
        argument->real = real;
        argument->is_text = false;
      }
    } else if (in_event()) {
      if (key_ == "pid") line_.process = value;
      if (key_ == "tid") line_.thread = value;
      if (key_ == "ts") line_.start = real;
      if (key_ == "dur") line_.duration = real;
    } else if (depth_ == 2 && section_ == "otherData" && key_ == "origin_ns") {
      constexpr int64_t kMost = int64_t{1} << 61;
      collector_.set_origin(std::clamp(value, -kMost, kMost));
    }
    return true;
  }

  TraceCollector& collector_;
  int depth_ = 0;
  std::string section_, key_, argument_;  // the last keys at depth 1, 2 or 3, and 4
  bool args_ = false;                     // depth 4 is an event's args
  bool is_trace_ = false;
  TraceLine line_;
  std::string error_;
};

}  // namespace

TraceContents read_trace(const std::filesystem::path& file) {
  TextInput input(file, "a trace that a run has written");
  TraceCollector collector;
  Listener listener(collector);
  const bool whole = nlohmann::json::sax_parse(TextInput::Iterator(&input),
                                               TextInput::Iterator(nullptr), &listener);
  if (!listener.is_trace()) {
    fail_request("{}: expected a trace that a run has written (JSON with traceEvents), found {}",
                 file.string(), whole ? "other JSON" : listener.error());
  }
  TraceContents contents;
  if (!whole) {
    std::string reason = input.failure();
    if (reason.empty()) reason = listener.error();
    if (reason.empty()) reason = fmt::format("expected {}", collector.expected());
    contents.problem = fmt::format("{} is damaged at offset {}, after {} events: {}", file.string(),
                                   input.offset(), collector.events(), reason);
  }
  contents.ranks = collector.take();
  return contents;
}

}  // namespace syrtos::trace
