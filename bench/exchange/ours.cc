#include "bench/exchange/sides.h"
#include "syrtos/collective/collective.h"
#include "syrtos/collective/measure.h"
#include "syrtos/world/mpi/mpi_world.h"
#include "syrtos/world/tcp/tcp.h"

namespace syrtos::bench {

namespace {

using collective::Group;
using collective::ReduceOptions;

world::Task<> measure(world::World& world, const Group& group, const Request& request,
                      ReduceOptions options, std::vector<float>& values, Measurement& measurement) {
  options.algorithm = collective::parse_algorithm(request.algorithm);
  const collective::Floats floats{values.data(), request.count()};
  collective::PreparedAllReduce all_reduce(world, group, floats, options);
  uint32_t round = 0;
  for (int batch = 0; batch < request.batches; ++batch) {
    measurement.fill();
    world::Tag tag{world::Purpose::barrier};
    co_await collective::barrier(world, group, tag);
    const size_t sent = world.traffic().bytes_sent;
    measurement.begin();
    for (int call = 0; call < request.calls; ++call) {
      co_await all_reduce.run(++round);
    }
    measurement.end();
    measurement.count_payload(world.traffic().bytes_sent - sent);
    // A rank that has ended would take a core from those that have not, while it checks.
    tag.round += 1;
    co_await collective::barrier(world, group, tag);
    measurement.check();
  }
}

world::Task<> serve(world::World& world, Control& control) {
  const Group group = Group::all(world);
  ReduceOptions options;
  options.link = co_await collective::measure_link(world, group);
  std::vector<float> values;
  nlohmann::json line;
  for (;;) {
    co_await world.compute(0, [&] { line = control.hear(); });
    if (line.is_null()) co_return;
    const Request request(line);
    if (values.size() < request.count()) values.resize(request.count());
    Measurement measurement(request, world.rank(), world.size(), values);
    co_await measure(world, group, request, options, values, measurement);
    control.say(measurement.result());
  }
}

}  // namespace

void serve_tcp(Control& control, const Place& place) {
  world::Listener listener(place.address);
  control.say({{"rank", place.rank},
               {"host", place.host},
               {"address", place.address},
               {"port", listener.port()}});
  const nlohmann::json members = control.hear();
  world::TcpOptions options;
  options.rank = place.rank;
  for (const nlohmann::json& member : members) {
    options.members.push_back({member["host"], member["address"], member["port"]});
  }
  options.token = "exchange";
  options.encrypted = place.encrypted;
  world::TcpWorld world(options, std::move(listener));
  world.run(serve(world, control));
}

void serve_mpi_world(Control& control) {
  world::MpiJob job;
  control.say({{"rank", job.rank()}});
  const auto world = job.make_world();
  world->run(serve(*world, control));
}

}  // namespace syrtos::bench
