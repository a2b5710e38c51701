#include "syrtos/train/checkpoint/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "syrtos/base/files.h"

namespace syrtos::train {

namespace {

[[noreturn]] void fail(const std::filesystem::path& directory, const char* what) {
  const int error = errno;
  const std::string text = fmt::format("cannot {} what other workers have, in {}: {}", what,
                                       directory.string(), std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) throw NoRoom(text);
  throw RunError(text);
}

int open_nameless(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
  std::string name = (directory / "parts.XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

size_t bytes_of(const NamedShape& what) {
  return static_cast<size_t>(what.shape.elements()) * sizeof(float);
}

}  // namespace

Spool::~Spool() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Spool::attempt(const auto& work) {
  if (failure_) return;
  try {
    work();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void Spool::begin(const std::filesystem::path& directory) {
  directory_ = directory;
  all_.clear();
  offsets_.clear();
  end_ = 0;
  failure_ = nullptr;
  attempt([&] {
    if (descriptor_ < 0) descriptor_ = open_nameless(directory);
    if (descriptor_ < 0) fail(directory, "keep");
  });
}

void Spool::add(const NamedShape& what, const Tensor& tensor) {
  attempt([&] {
    const auto* from = static_cast<const char*>(tensor.data());
    const size_t bytes = bytes_of(what);
    for (size_t done = 0; done < bytes;) {
      const ssize_t wrote =
          ::pwrite(descriptor_, from + done, bytes - done, static_cast<off_t>(end_ + done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) fail(directory_, "keep");
      done += static_cast<size_t>(wrote);
    }
    all_.push_back(what);
    offsets_.push_back(end_);
    end_ += bytes;
  });
}

const std::vector<NamedShape>& Spool::all() const {
  if (failure_) std::rethrow_exception(failure_);
  return all_;
}

Tensor Spool::read(size_t index) const {
  Tensor tensor({DType::f32, all_[index].shape});
  auto* to = static_cast<char*>(tensor.data());
  const size_t bytes = bytes_of(all_[index]);
  for (size_t done = 0; done < bytes;) {
    const ssize_t got =
        ::pread(descriptor_, to + done, bytes - done, static_cast<off_t>(offsets_[index] + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(directory_, "read");
    done += static_cast<size_t>(got);
  }
  return tensor;
}

}  // namespace syrtos::train
