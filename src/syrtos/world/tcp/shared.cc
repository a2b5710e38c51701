#include "syrtos/world/tcp/shared.h"
#include "syrtos/world/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/secret.h"

namespace syrtos::world::tcp {

struct SharedMemory::Segment {
  uint64_t secret;
  Ring rings[2];
};

namespace {

/// What each side tells the other; then both tell whether they could use it.
struct Offer {
  int64_t file = -1;     // the segment's descriptor in the side that made it
  uint64_t secret = 0;   // is written there
  uint64_t address = 0;  // of a number in the sender's own memory
  uint64_t number = 0;
  int64_t process = 0;
};

struct Verdict {
  uint8_t mapped = 0;
  uint8_t can_pull = 0;
};

uint64_t random_number() {
  const SecretBytes secret = random_secret();
  uint64_t number;
  std::memcpy(&number, secret.data(), sizeof(number));
  return number;
}

void exchange(int socket, const void* mine, void* theirs, size_t bytes, double seconds) {
  const auto start = Clock::now();
  if (send(socket, mine, bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) {
    fail_run("a rank of this host went away while memory was set up: {}", error_text(errno));
  }
  auto* at = static_cast<std::byte*>(theirs);
  while (bytes > 0) {
    const double left = seconds - seconds_since(start);
    pollfd polled{socket, POLLIN, 0};
    if (left <= 0) fail_run("a rank of this host did not answer within {:g} s", seconds);
    if (poll(&polled, 1, static_cast<int>(left * 1000) + 1) <= 0) continue;
    const ssize_t got = recv(socket, at, bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) fail_run("a rank of this host went away while memory was set up");
    at += got;
    bytes -= static_cast<size_t>(got);
  }
}

/// Memory that has no name: when a process is killed at any moment, nothing of it is left.
Descriptor make_file(size_t bytes) {
  Descriptor file(memfd_create("syrtos", MFD_CLOEXEC));
  // Without reserving, a lack of memory would only show when it is touched.
  if (file.valid() && posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)) == 0) return file;
  return Descriptor();
}

Descriptor open_file(const Offer& offer) {
  const std::string path = "/proc/" + std::to_string(offer.process) + "/fd/";
  return Descriptor(open((path + std::to_string(offer.file)).c_str(), O_RDWR | O_CLOEXEC));
}

/// Null: it is none, or another one.
void* map(const Descriptor& file, size_t bytes) {
  struct stat found {};
  if (!file.valid() || fstat(file.get(), &found) != 0 ||
      found.st_size != static_cast<off_t>(bytes)) {
    return nullptr;
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::agree(int socket, bool offers, double seconds) {
  std::unique_ptr<SharedMemory> shared(new SharedMemory);
  const auto number = std::make_unique<uint64_t>(random_number());
  Offer mine;
  mine.address = reinterpret_cast<uint64_t>(number.get());
  mine.number = *number;
  mine.process = getpid();
  Descriptor file;
  if (offers) {
    file = make_file(sizeof(Segment));
    shared->segment_ = static_cast<Segment*>(map(file, sizeof(Segment)));
    if (shared->segment_ != nullptr) {
      mine.secret = shared->segment_->secret = random_number();
      mine.file = file.get();
    }
  }
  Offer theirs;
  Verdict verdict;
  Verdict answer;
  exchange(socket, &mine, &theirs, sizeof(Offer), seconds);
  // Where only parents may read a process's memory, this lets the other ranks do it, before any of
  // them tries; ranks that are threads of one process need no leave.
  if (theirs.process != getpid()) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  const uint8_t ready = 1;
  uint8_t others_ready = 0;
  exchange(socket, &ready, &others_ready, sizeof(ready), seconds);
  if (!offers && theirs.file >= 0) {
    file = open_file(theirs);
    shared->segment_ = static_cast<Segment*>(map(file, sizeof(Segment)));
    verdict.mapped = shared->segment_ != nullptr && shared->segment_->secret == theirs.secret;
  } else {
    verdict.mapped = shared->segment_ != nullptr;
  }
  shared->process_ = static_cast<int>(theirs.process);
  verdict.can_pull = shared->probe(theirs.address, theirs.number);
  exchange(socket, &verdict, &answer, sizeof(Verdict), seconds);
  if (verdict.mapped == 0 || answer.mapped == 0) return nullptr;
  shared->can_pull_ = verdict.can_pull != 0 && answer.can_pull != 0;
  shared->out_ = &shared->segment_->rings[offers ? 0 : 1];
  shared->in_ = &shared->segment_->rings[offers ? 1 : 0];
  return shared;
}

SharedMemory::~SharedMemory() {
  if (segment_ != nullptr) munmap(segment_, sizeof(Segment));
}

bool SharedMemory::probe(uint64_t address, uint64_t expected) {
  uint64_t found = 0;
  return pull(address, &found, sizeof(found)) && found == expected;
}

bool SharedMemory::pull(uint64_t address, void* to, size_t bytes) const {
  while (bytes > 0) {
    const iovec local{to, bytes};
    const iovec remote{reinterpret_cast<void*>(address), bytes};
    const ssize_t got = process_vm_readv(process_, &local, 1, &remote, 1, 0);
    if (got <= 0) return false;
    to = static_cast<std::byte*>(to) + got;
    address += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace syrtos::world::tcp
