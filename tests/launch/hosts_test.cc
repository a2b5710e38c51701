#include "syrtos/launch/hosts.h"

#include <gmock/gmock.h>

#include "syrtos/launch/invitation.h"
#include "syrtos/launch/placement.h"
#include "tests/support/temporary.h"

namespace syrtos::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HostsFile : public TemporaryDirectory {
 protected:
  std::vector<Host> parse(const std::string& text) const {
    return read_hosts(write("hosts", text));
  }
  std::string refused(const std::string& text) const {
    return refusal([&] { parse(text); });
  }
};

TEST_F(HostsFile, GivesNamesSlotsAddressesAndPorts) {
  const auto hosts = parse(
      "# a lab\n\n  a address=10.0.0.1 slots=2\nb slots=4 port=2222 address=10.0.0.2 # slow\r\n"
      "localhost\n");
  ASSERT_EQ(hosts.size(), 3u);
  EXPECT_EQ(hosts[0].name, "a");
  EXPECT_EQ(hosts[0].slots, 2);
  EXPECT_EQ(hosts[0].address, "10.0.0.1");
  EXPECT_EQ(hosts[0].ssh_port, 0);
  EXPECT_EQ(hosts[1].ssh_port, 2222);
  EXPECT_EQ(hosts[2].slots, 1);
  EXPECT_EQ(hosts[2].address, "127.0.0.1");
  EXPECT_EQ(total_slots(hosts), 7);
}

TEST_F(HostsFile, NamesWillDoInstead) {
  const auto hosts = read_hosts("localhost,127.0.0.2:4");
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].name, "localhost");
  EXPECT_EQ(hosts[0].slots, 1);
  EXPECT_EQ(hosts[1].address, "127.0.0.2");
  EXPECT_EQ(hosts[1].slots, 4);
  EXPECT_EQ(read_hosts("localhost").size(), 1u);
  EXPECT_EQ(read_hosts("localhost:3")[0].slots, 3);
  EXPECT_THAT(refusal([] { read_hosts("localhost,localhost"); }),
              HasSubstr("there twice; write localhost:2"));
  EXPECT_THAT(refusal([] { read_hosts("localhost,nowhere.invalid"); }),
              HasSubstr("unknown host 'nowhere.invalid'"));
  EXPECT_THAT(refusal([] { read_hosts("localhost,127.0.0.2:x"); }), HasSubstr("slots=x"));
  EXPECT_THAT(refusal([] { read_hosts("localhost,,b"); }), HasSubstr("between the commas"));
}

TEST_F(HostsFile, RefusesWithFileAndLine) {
  const std::string file = (directory_ / "hosts").string();
  EXPECT_THAT(refused("a address=10.0.0.1\nb address=10.0.0.2 slot=2\n"),
              AllOf(HasSubstr(file + ":2"), HasSubstr("unknown key 'slot'"),
                    HasSubstr("did you mean 'slots'")));
  EXPECT_THAT(refused("a address=10.0.0.1\n\na address=10.0.0.2\n"),
              AllOf(HasSubstr(file + ":3"), HasSubstr("line 1")));
  EXPECT_THAT(refused("localhost slots=0\n"), HasSubstr("slots=0"));
  EXPECT_THAT(refused("localhost slots=2x\n"), HasSubstr("slots=2x"));
  EXPECT_THAT(refused("localhost slots=\n"), HasSubstr("slots="));
  EXPECT_THAT(refused("localhost port=70000\n"), HasSubstr("65535"));
  EXPECT_THAT(refused("localhost 4\n"), HasSubstr("found '4' after the name"));
  EXPECT_THAT(refused("slots=4\n"), HasSubstr("expected the name of a host"));
  EXPECT_THAT(refused("-oProxyCommand=x\n"), HasSubstr("expected the name of a host"));
  EXPECT_THAT(refused("# nobody\n"), HasSubstr("expected at least one host"));
  EXPECT_THAT(refused("nowhere.invalid\n"), HasSubstr("unknown host 'nowhere.invalid'"));
  EXPECT_THAT(refused("a address=nowhere.invalid\n"), HasSubstr("unknown address"));
  EXPECT_THAT(refusal([&] { read_hosts(directory_ / "missing"); }), HasSubstr("missing"));
  EXPECT_THAT(refusal([&] { read_hosts(directory_); }), HasSubstr("hosts file"));
}

Host host(const std::string& name, int slots, int cores) {
  return {.name = name, .slots = slots, .address = "10.0.0.1", .ssh_port = 0, .cores = cores};
}

std::vector<int> hosts_of(const std::vector<Placement>& placements) {
  std::vector<int> hosts;
  hosts.reserve(placements.size());
  for (const Placement& placement : placements) hosts.push_back(placement.host);
  return hosts;
}

std::vector<int> cores_of(const std::vector<Placement>& placements) {
  std::vector<int> cores;
  cores.reserve(placements.size());
  for (const Placement& placement : placements) cores.push_back(placement.cores);
  return cores;
}

TEST(Placement, FillsHostsWithWorkersFirstAndDividesTheirCores) {
  const auto placements = place(4, 2, {host("a", 3, 8), host("b", 1, 4), host("c", 2, 2)});
  EXPECT_THAT(hosts_of(placements), ElementsAre(0, 0, 0, 1, 2, 2));
  EXPECT_THAT(cores_of(placements), ElementsAre(2, 2, 2, 4, 1, 1));
  EXPECT_EQ(placements[3].role, Role::worker);
  EXPECT_EQ(placements[4].role, Role::server);
}

TEST(Placement, GivesEveryWorkerACore) {
  EXPECT_THAT(cores_of(place(3, 1, {this_machine(2, 4)})), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(cores_of(place(1, 0, {this_machine(16, 1)})), ElementsAre(16));
}

std::string refusal_of(int workers, int servers, const std::vector<Host>& hosts) {
  try {
    place(workers, servers, hosts);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "was accepted";
}

TEST(Placement, NamesWhatWouldWorkWhenSlotsAreTooFew) {
  EXPECT_EQ(refusal_of(4, 1, {host("a", 2, 2), host("b", 1, 2)}),
            "4 workers and 1 server need 5 slots, found 3 (a: 2, b: 1); use at most 2 workers, or "
            "give the hosts more slots");
  EXPECT_EQ(refusal_of(1, 1, {host("a", 1, 2)}),
            "1 worker and 1 server need 2 slots, found 1 (a: 1); give the hosts more slots");
  EXPECT_THAT(refusal_of(0, 0, {host("a", 1, 2)}), HasSubstr("at least 1 worker"));
}

TEST(Invitation, IsOneWordThatIsReadBack) {
  const Invitation written{.rank = 7,
                           .role = Role::server,
                           .cores = 3,
                           .host = "c",
                           .address = "fe80::1",
                           .scheduler_address = "10.0.0.1",
                           .scheduler_port = 41234,
                           .output_columns = 120,
                           .error_columns = 0};
  const std::string word = to_word(written);
  EXPECT_EQ(word.find_first_of(" '\"$"), std::string::npos);
  const Invitation read = parse_invitation(word);
  EXPECT_EQ(to_word(read), word);
  EXPECT_EQ(read.address, "fe80::1");
  EXPECT_EQ(read.role, Role::server);
  for (const char* bad : {"", "rank", "rank=1", "rank=x,role=worker"}) {
    EXPECT_THROW(parse_invitation(bad), RequestError) << bad;
  }
}

TEST_F(HostsFile, SomeOfItsHostsCanBeNamed) {
  const std::string file =
      write("hosts", "a address=10.0.0.1\nb address=10.0.0.2 slots=2\nc address=10.0.0.3\n");
  const std::vector<Host> some = read_hosts(file + ":c,b");
  ASSERT_EQ(some.size(), 2U);
  EXPECT_EQ(some[0].name, "c");
  EXPECT_EQ(some[1].slots, 2);
  EXPECT_THAT(refusal([&] { read_hosts(file + ":d"); }), HasSubstr("host 'd' is not in"));
  EXPECT_THAT(refusal([&] { read_hosts(file + ":a,a"); }), HasSubstr("there twice"));
  EXPECT_THAT(refusal([&] { read_hosts(file + ":"); }), HasSubstr("found none"));
}

}  // namespace
}  // namespace syrtos::launch
