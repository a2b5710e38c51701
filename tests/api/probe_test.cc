// What is measured here, for programs.
#include "syrtos/api/probe.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "syrtos/api/probe_network.h"
#include "syrtos/strategy/compute_times.h"
#include "tests/support/temporary.h"

namespace syrtos::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AProbe : public TemporaryDirectory {
 protected:
  ProbeRequest request() const {
    return {.network = "mlp", .batch = 4, .precision = "f32", .threads = 1, .seconds = 0};
  }
  std::filesystem::path file() const { return directory_ / "times.json"; }
};

TEST_F(AProbe, WritesTimesOfEveryBatchThatWasAskedFor) {
  const Probed probed = probe(request(), {.file = file(), .batches = {2, 1}}, {});
  EXPECT_GT(probed.result.steps, 0);
  EXPECT_TRUE(probed.result.by_operation.empty()) << "no profile was asked for";
  std::vector<int64_t> batches;
  for (const auto& pass : strategy::read_compute_times(file()).passes)
    batches.push_back(pass.batch);
  std::sort(batches.begin(), batches.end());
  EXPECT_THAT(batches, ElementsAre(1, 2, 4));
}

TEST_F(AProbe, ThatIsStoppedWritesNothing) {
  Surroundings surroundings;
  surroundings.should_stop = [] { return true; };
  probe(request(), {.file = file(), .batches = {}}, surroundings);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(AProbe, OfSettingsHasThoseThatAreOpen) {
  const SettingsProbed probed = probe_settings(request(), {});
  ASSERT_EQ(probed.settings.size(), 1u);
  EXPECT_EQ(probed.settings[0].threads, 1);
  EXPECT_EQ(to_json(probed)[0].at("precision"), "f32");
}

TEST_F(AProbe, OfDataSaysTheJobThatItWasMadeFor) {
  const DataProbed probed =
      probe_data({.data = "random", .samples = 64, .batch = 8, .threads = 1}, 0.01, {});
  EXPECT_GT(probed.result.images_per_s, 0);
  EXPECT_NE(probed.job.precision, "auto");
  EXPECT_EQ(to_json(probed).at("batch"), 8);
  EXPECT_THAT(refusal([] { probe_data({.data = "random"}, 0, {}); }), HasSubstr("--seconds"));
}

TEST_F(AProbe, OfTheNetworkNeedsHostsOrProcesses) {
  const auto says = [](const NetworkProbeRequest& request) {
    return refusal([&] { probe_network(request, {}, {}); });
  };
  EXPECT_THAT(says({}), HasSubstr("which hosts?"));
  EXPECT_THAT(says({.hosts = "a,b", .local = true}), HasSubstr("leave --hosts out"));
  EXPECT_THAT(says({.hosts = "a,b", .workers = 3}), HasSubstr("--workers 3"));
  EXPECT_THAT(says({.local = true, .workers = 1}), HasSubstr("expected 2 to 256, found 1"));
  EXPECT_THAT(says({.local = true, .seconds = 0.1}), HasSubstr("expected 0.5 to 600"));
}

}  // namespace
}  // namespace syrtos::api
