#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace syrtos {

/// What the user, a file or the machine did. The text says what was expected, what was found and
/// what to do; commands print it without a stack trace.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The request itself was wrong (an unknown network, a bad option, a file that is not there):
/// nothing was started. Exit code 2.
class RequestError : public Error {
 public:
  using Error::Error;
};

/// The request was right but the run failed (NaN in the loss, a full disk). Exit code 1.
class RunError : public Error {
 public:
  using Error::Error;
};

/// A mistake of our own: a check that must hold did not.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

template <typename... Args>
[[noreturn]] void fail_request(fmt::format_string<Args...> format, Args&&... args) {
  throw RequestError(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void fail_run(fmt::format_string<Args...> format, Args&&... args) {
  throw RunError(fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& detail);

}  // namespace syrtos

/// Checks for our own mistakes; the rest of the arguments are an fmt format and its values.
#define SYRTOS_CHECK(condition, ...)                                                       \
  do {                                                                                     \
    if (!(condition)) [[unlikely]] {                                                       \
      ::syrtos::fail_check(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    }                                                                                      \
  } while (false)
