#include "syrtos/data/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

// The maps that the handler knows. It runs wherever a page is missing, so it may neither lock nor
// allocate: a table of fixed size. begin is 0 in a free slot, 1 in one that is being filled, and
// written last.
struct Slot {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> cut{false};
};
constexpr uintptr_t kFree = 0;
constexpr uintptr_t kTaken = 1;
constexpr size_t kSlots = 4096;
std::array<Slot, kSlots> slots;

struct sigaction previous;
uintptr_t page_bytes = 4096;
std::mutex guarding;  // of guards that begin or end at once
std::atomic<int> guards{0};

Slot* slot_of(uintptr_t address) {
  for (Slot& slot : slots) {
    uintptr_t begin = slot.begin;
    while (begin > kTaken) {
      const uintptr_t end = slot.end;
      const uintptr_t again = slot.begin;
      if (again == begin) {
        if (address >= begin && address < end) return &slot;
        break;
      }
      begin = again;  // another map took the slot: `end` may be of either
    }
  }
  return nullptr;
}

void hand_on(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    return previous.sa_handler(signal);
  }
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  // A bad access happens again on return; a signal that was sent has to be sent again.
  if (info->si_code <= 0) raise(signal);
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  Slot* slot = info->si_code == BUS_ADRERR ? slot_of(address) : nullptr;
  if (slot == nullptr) return hand_on(signal, info, context);
  slot->cut = true;
  const uintptr_t page = address & ~(page_bytes - 1);
  // The bare system call: sanitizers replace mmap() by something that may lock.
  const long result = syscall(SYS_mmap, page, page_bytes, PROT_READ,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (result == -1) hand_on(signal, info, context);
  errno = saved;
}

/// Returns the number of a free slot that is now taken, or kSlots when there is none.
size_t take_slot() {
  for (size_t i = 0; i < kSlots; ++i) {
    uintptr_t expected = kFree;
    if (slots[i].begin.compare_exchange_strong(expected, kTaken)) return i;
  }
  return kSlots;
}

}  // namespace

CutFileGuard::CutFileGuard() {
  const std::lock_guard lock(guarding);
  if (guards++ > 0) return;
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  sigaction(SIGBUS, nullptr, &previous);
  struct sigaction ours {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, nullptr);
}

CutFileGuard::~CutFileGuard() {
  const std::lock_guard lock(guarding);
  if (--guards == 0) sigaction(SIGBUS, &previous, nullptr);
}

MappedFile::MappedFile(std::filesystem::path file) : file_(std::move(file)) {
  // Without O_NONBLOCK a pipe would make us wait for its writer.
  descriptor_ = open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail_request("cannot open {}: {}", file_.string(), std::strerror(errno));
  struct stat status {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    release();
    fail_request("cannot read {}: expected a file, found a directory or a device", file_.string());
  }
  size_ = static_cast<size_t>(status.st_size);
  if (size_ == 0) return;
  slot_ = take_slot();
  if (slot_ == kSlots) {
    release();
    fail_run("cannot map {}: more than {} files are mapped; pack them into fewer", file_.string(),
             kSlots);
  }
  void* memory = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) {
    const int reason = errno;
    slots[slot_].begin = kFree;
    release();
    fail_run("cannot map {} ({} bytes): {}", file_.string(), size_, std::strerror(reason));
  }
  data_ = static_cast<const uint8_t*>(memory);
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  slots[slot_].cut = false;
  slots[slot_].end = begin + size_;
  slots[slot_].begin = begin;
}

MappedFile::~MappedFile() { release(); }

void MappedFile::release() {
  if (data_ != nullptr) {
    slots[slot_].begin = kFree;
    munmap(const_cast<uint8_t*>(data_), size_);
  }
  if (descriptor_ >= 0) close(descriptor_);
}

void MappedFile::check() const {
  struct stat status {};
  // Within its last page a file can be cut without any signal: zeros appear. So its size is asked.
  const bool known = fstat(descriptor_, &status) == 0;
  const auto now = known ? static_cast<size_t>(status.st_size) : size_;
  if (now < size_) {
    fail_run(
        "{}: expected {} bytes, found {}: it was cut while it was mapped; restore the file "
        "and start again",
        file_.string(), size_, now);
  }
  if (data_ != nullptr && slots[slot_].cut) {
    fail_run(
        "{}: expected {} bytes, found {}, but some could not be read: it was rewritten while "
        "it was mapped or its disk fails; restore the file and start again",
        file_.string(), size_, now);
  }
}

void MappedFile::check_before_use() const {
  if (guards.load(std::memory_order_relaxed) == 0) check();
}

}  // namespace syrtos::data
