#include "syrtos/data/files/mapped_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::HasSubstr;

class MappedFiles : public TemporaryDirectory {
 protected:
  const CutFileGuard guard_;
  static int64_t sum(const MappedFile& map) {
    return std::accumulate(map.bytes().begin(), map.bytes().end(), int64_t{0});
  }
  static std::string damage(const MappedFile& map) {
    return refusal<RunError>([&] { map.check(); });
  }
};

TEST_F(MappedFiles, HoldTheBytesOfTheFile) {
  const MappedFile map(write("a", "some bytes"));
  EXPECT_EQ(std::string(map.bytes().begin(), map.bytes().end()), "some bytes");
  EXPECT_NO_THROW(map.check());
  const MappedFile empty(write("b", ""));
  EXPECT_EQ(empty.size(), 0U);
  EXPECT_NO_THROW(empty.check());
}

TEST_F(MappedFiles, ThatAreNotThereOrNoFilesAreRefused) {
  EXPECT_THAT(refusal([&] { MappedFile map(directory_ / "none"); }), HasSubstr("none"));
  EXPECT_THAT(refusal([&] { MappedFile map(directory_); }), HasSubstr("expected a file"));
}

TEST_F(MappedFiles, CutWhileMappedReadAsZerosAndSaySo) {
  const auto file = write("a", std::string(100'000, '\1'));
  const MappedFile map(file);
  EXPECT_EQ(sum(map), 100'000);
  std::filesystem::resize_file(file, 50'000);
  EXPECT_EQ(sum(map), 50'000);
  EXPECT_THAT(damage(map), HasSubstr("expected 100000 bytes, found 50000: it was cut while it was "
                                     "mapped"));
  EXPECT_THAT(damage(map), HasSubstr(file.string()));
}

TEST_F(MappedFiles, CutWithinTheLastPageSaySo) {
  const auto file = write("a", std::string(100, '\1'));
  const MappedFile map(file);
  std::filesystem::resize_file(file, 99);
  EXPECT_THAT(damage(map), HasSubstr("expected 100 bytes, found 99"));
}

TEST_F(MappedFiles, CutAndWrittenAgainSaySoWhenBytesWereMissed) {
  const auto file = write("a", std::string(100'000, '\1'));
  const MappedFile map(file);
  std::filesystem::resize_file(file, 0);
  EXPECT_EQ(sum(map), 0);
  std::filesystem::resize_file(file, 100'000);
  EXPECT_THAT(damage(map), HasSubstr("rewritten while"));
}

TEST_F(MappedFiles, ReplacedOrRemovedStayAsTheyWere) {
  const auto file = write("a", std::string(100'000, '\1'));
  const MappedFile map(file);
  std::filesystem::rename(write("b", "short"), file);
  EXPECT_EQ(sum(map), 100'000);
  std::filesystem::remove(file);
  EXPECT_EQ(sum(map), 100'000);
  EXPECT_NO_THROW(map.check());
}

TEST_F(MappedFiles, AreToldApartWhenOneIsCut) {
  const auto cut = write("cut", std::string(100'000, '\1'));
  const MappedFile whole(write("whole", std::string(100'000, '\1')));
  const MappedFile map(cut);
  std::filesystem::resize_file(cut, 10);
  EXPECT_EQ(sum(map), 10);
  EXPECT_EQ(sum(whole), 100'000);
  EXPECT_NO_THROW(whole.check());
  EXPECT_NE(damage(map), "was accepted");
  // The next map in its place starts without the blame.
  const MappedFile next(write("next", "fine"));
  EXPECT_NO_THROW(next.check());
}

TEST_F(MappedFiles, CutUnderSeveralThreadsDoNotEndTheProcess) {
  const auto file = write("a", std::string(1'000'000, '\1'));
  const MappedFile map(file);
  std::vector<std::thread> threads;
  std::vector<int64_t> sums(4);
  std::filesystem::resize_file(file, 500'000);
  for (size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] { sums[t] = sum(map); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(sums, testing::Each(500'000));
  EXPECT_NE(damage(map), "was accepted");
}

TEST_F(MappedFiles, ComeAndGoWhileOthersAreCut) {
  const auto small = write("small", "x");
  const auto file = write("a", std::string(4'000'000, '\1'));
  const MappedFile map(file);
  std::filesystem::resize_file(file, 0);
  std::thread other([&] {
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(MappedFile(small).bytes()[0], 'x');
  });
  EXPECT_EQ(sum(map), 0);  // about a thousand missing pages
  other.join();
}

TEST_F(MappedFiles, LeaveBadAccessesOfOthersAlone) {
  const auto file = write("other", std::string(10'000, 'x'));
  const MappedFile ours(write("ours", "x"));
  EXPECT_EXIT(
      {
        const int descriptor = open(file.c_str(), O_RDONLY);
        const auto* bytes = static_cast<const volatile char*>(
            mmap(nullptr, 10'000, PROT_READ, MAP_SHARED, descriptor, 0));
        std::filesystem::resize_file(file, 0);
        alarm(60);  // should the access be tried for ever
        _exit(bytes[0]);
      },
      // By the signal, or by a sanitizer that takes it.
      [](int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 0; }, "");
}

class MappedFilesWithoutGuard : public TemporaryDirectory {};

TEST_F(MappedFilesWithoutGuard, AreRefusedBeforeUseOnceTheyAreCut) {
  const auto file = write("a", std::string(100'000, '\1'));
  const MappedFile map(file);
  EXPECT_NO_THROW(map.check_before_use());
  std::filesystem::resize_file(file, 50'000);
  EXPECT_THAT(refusal<RunError>([&] { map.check_before_use(); }), HasSubstr("found 50000"));
}

TEST_F(MappedFilesWithoutGuard, TakeNoSignalFromTheProcess) {
  struct sigaction before {};
  sigaction(SIGBUS, nullptr, &before);
  const MappedFile map(write("a", "x"));
  struct sigaction now {};
  sigaction(SIGBUS, nullptr, &now);
  EXPECT_EQ(now.sa_handler, before.sa_handler);
  {
    const CutFileGuard guard;
    sigaction(SIGBUS, nullptr, &now);
    EXPECT_NE(now.sa_handler, before.sa_handler);
  }
  sigaction(SIGBUS, nullptr, &now);
  EXPECT_EQ(now.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace syrtos::data
