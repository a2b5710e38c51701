// Ranks started through a real sshd on this machine, with keys of its own.

#include <gmock/gmock.h>
#include <csignal>

#include "syrtos/launch/process.h"
#include "syrtos/launch/remote.h"
#include "tests/launch/launching.h"
#include "tests/support/temporary.h"

namespace syrtos::launch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A program that is run to its end; whether it went well.
bool run(const std::vector<std::string>& command) {
  Process process(command);
  return eventually([&] { return process.ended().has_value(); }) && process.ended()->good();
}

class Ssh : public Launching {
 protected:
  void SetUp() override {
    constexpr const char* kServer = "/usr/sbin/sshd";
    if (!std::filesystem::exists(kServer)) GTEST_SKIP() << "there is no " << kServer;
    if (getuid() == 0) {
      std::error_code ignored;
      std::filesystem::create_directory("/run/sshd", ignored);  // sshd asks for it
      if (!std::filesystem::exists("/run/sshd")) GTEST_SKIP() << "cannot make /run/sshd";
    }
    std::string name = (std::filesystem::temp_directory_path() / "syrtos-ssh-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    for (const char* key : {"host_key", "user_key"}) {
      ASSERT_TRUE(run({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path(key)}));
    }
    {
      const world::Listener free("127.0.0.1");
      port_ = free.port();
    }
    write("sshd_config",
          fmt::format("Port {}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\n"
                      "StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n"
                      "KbdInteractiveAuthentication no\n",
                      port_, path("host_key"), path("user_key.pub")));
    write("config",
          fmt::format("Host a b localhost\n  HostName 127.0.0.1\n  Port {}\n  IdentityFile {}\n"
                      "Host stranger\n  HostName 127.0.0.1\n  Port {}\n  IdentityFile {}\n"
                      "Host away\n  HostName 127.0.0.1\n  Port 1\n"
                      "Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n"
                      "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n"
                      "  LogLevel ERROR\n",
                      port_, path("user_key"), port_, path("host_key")));
    server_.emplace(std::vector<std::string>{kServer, "-D", "-e", "-f", path("sshd_config")});
    ASSERT_TRUE(eventually([&] { return port_is_open(port_) || server_->ended(); }));
    if (server_->ended()) GTEST_SKIP() << "sshd does not run here";
    shell_ = {.command = "ssh -F " + path("config"), .directory = directory_};
  }
  void TearDown() override {
    server_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  static std::vector<Host> hosts(const std::vector<std::string>& names) {
    std::vector<Host> hosts;
    hosts.reserve(names.size());
    for (const std::string& name : names) {
      hosts.push_back({.name = name, .slots = 2, .address = "127.0.0.1"});
    }
    return hosts;
  }
  std::string refusal(const std::vector<std::string>& names, const RemoteShell& shell,
                      const std::string& program = SYRTOS_RANK_PROGRAM) const {
    std::vector<Host> asked = hosts(names);
    try {
      check_hosts(asked, shell, {program, "identity"}, {});
    } catch (const RequestError& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path directory_;
  uint16_t port_ = 0;
  std::optional<Process> server_;
  RemoteShell shell_;
};

TEST_F(Ssh, HostsWithAnotherProgramAreRefused) {
  // This is launch_test, that one launch_rank.
  EXPECT_THAT(refusal({"a"}, shell_), AllOf(StartsWith("host a has another "),
                                            HasSubstr("expected version " SYRTOS_VERSION)));
  write("talks", "#!/bin/sh\necho welcome\n");
  std::filesystem::permissions(path("talks"), std::filesystem::perms::owner_all);
  EXPECT_THAT(refusal({"b"}, shell_, path("talks")), HasSubstr("did not say which version"));
}

TEST_F(Ssh, HostsThatCannotRunTheProgramAreAllNamed) {
  const std::string all = refusal({"a", "stranger", "away"}, shell_, "/nowhere/syrtos");
  EXPECT_THAT(all, HasSubstr("host a has no program /nowhere/syrtos"));
  EXPECT_THAT(all, HasSubstr("host stranger cannot be reached by 'ssh"));
  EXPECT_THAT(all, HasSubstr("Permission denied"));
  EXPECT_THAT(all, HasSubstr("host away cannot be reached by 'ssh"));
  EXPECT_THAT(all, HasSubstr("Connection refused"));
  const RemoteShell elsewhere{.command = shell_.command, .directory = "/nowhere"};
  EXPECT_THAT(refusal({"a"}, elsewhere), HasSubstr("host a has no directory /nowhere"));
}

TEST_F(Ssh, HostsTellTheirCores) {
  // The same program asks and answers.
  std::string output;
  Process asking({SYRTOS_RANK_PROGRAM, "check", shell_.command, "a", "b"});
  ASSERT_TRUE(eventually([&] {
    std::array<char, 4096> block;
    const ssize_t got = read(asking.output.get(), block.data(), block.size());
    if (got > 0) output.append(block.data(), static_cast<size_t>(got));
    return asking.ended() && got <= 0;
  }));
  EXPECT_EQ(output, "a 3\nb 3\n");
}

TEST_F(Ssh, RanksOnTwoHostsMeetAndEndWell) {
  options_.hosts = hosts({"a", "b"});
  options_.remote = shell_;
  const LaunchEnd end = launch(3, 1, {"table"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.failure, "") << error_;
  EXPECT_THAT(output_, HasSubstr("[rank 3 on b] server b 127.0.0.1 true\n"));
  EXPECT_THAT("\n" + output_, HasSubstr("\nup 0 ")) << "rank 0's output is passed on as it is";
}

TEST_F(Ssh, AKilledRankIsNamedWithItsHostAndSignal) {
  options_.hosts = hosts({"a", "b"});
  options_.remote = shell_;
  bool killed = false;
  should_stop_ = [&] {
    if (all_up(3) && !std::exchange(killed, true)) kill(ups_in(output_)[2].process, SIGKILL);
    return false;
  };
  const LaunchEnd end = launch(3, 0, {"wait"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.failure, StartsWith(fmt::format("rank 2 on b (worker, process {}) was ended by "
                                                  "signal 9 (Killed)",
                                                  ups_in(output_)[2].process)));
}

TEST_F(Ssh, TheEndOfAConnectionEndsAll) {
  options_.hosts = hosts({"a", "b"});
  options_.remote = shell_;
  bool killed = false;
  should_stop_ = [&] {
    if (!all_up(3) || std::exchange(killed, true)) return false;
    for (const pid_t process : processes_with(mark_)) {
      std::ifstream words(fmt::format("/proc/{}/cmdline", process));
      std::string line;
      std::getline(words, line);
      if (line.starts_with("ssh") && line.find("host=b") != line.npos) kill(process, SIGKILL);
    }
    return false;
  };
  const LaunchEnd end = launch(3, 0, {"wait"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.failure, StartsWith("rank 2 on b"));
}

TEST_F(Ssh, AKilledLauncherLeavesNothingOnOtherHosts) {
  const std::string mark = unique_word();
  Process launcher(
      {SYRTOS_RANK_PROGRAM, "launcher", "3", "ssh -F " + path("config"), "wait", mark});
  std::string text;
  ASSERT_TRUE(eventually([&] {
    std::array<char, 4096> block;
    const ssize_t got = read(launcher.output.get(), block.data(), block.size());
    if (got > 0) text.append(block.data(), static_cast<size_t>(got));
    return ups_in(text).size() == 3 || launcher.ended();
  }));
  ASSERT_FALSE(launcher.ended());
  kill(launcher.id(), SIGKILL);
  EXPECT_TRUE(eventually(
      [&] { return launcher.ended() && processes_with(mark).empty() && no_port_is_open(text); }));
}

}  // namespace
}  // namespace syrtos::launch
