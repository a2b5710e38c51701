#include <mpi.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <thread>

#include "bench/exchange/sides.h"
#include "syrtos/base/error.h"

namespace syrtos::bench {

void serve_open_mpi(Control& control) {
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  control.say({{"rank", rank}});
  std::vector<float> values;
  for (nlohmann::json line = control.hear(); !line.is_null(); line = control.hear()) {
    const Request request(line);
    if (values.size() < request.count()) values.resize(request.count());
    Measurement measurement(request, rank, ranks, values);
    for (int batch = 0; batch < request.batches; ++batch) {
      measurement.fill();
      MPI_Barrier(MPI_COMM_WORLD);
      measurement.begin();
      for (int call = 0; call < request.calls; ++call) {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(request.count()), MPI_FLOAT,
                      MPI_SUM, MPI_COMM_WORLD);
      }
      measurement.end();
      MPI_Barrier(MPI_COMM_WORLD);
      measurement.check();
    }
    control.say(measurement.result());
  }
  MPI_Finalize();
}

namespace {

constexpr size_t kPiece = 1 << 20;

void send_all(int socket, const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = send(socket, data, std::min(bytes, kPiece), MSG_NOSIGNAL);
    if (sent <= 0) fail_run("the raw stream broke");
    data += sent;
    bytes -= static_cast<size_t>(sent);
  }
}

void receive_all(int socket, char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = recv(socket, data, std::min(bytes, kPiece), 0);
    if (got <= 0) fail_run("the raw stream broke");
    data += got;
    bytes -= static_cast<size_t>(got);
  }
}

/// Blocking, as the simplest program would have them.
Descriptor blocking(int socket) {
  const timeval none{};
  (void)setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
  const int on = 1;
  (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return Descriptor(socket);
}

/// A connection that carries what this rank sends.
Descriptor connect_to(const nlohmann::json& member) {
  const world::Endpoint to = world::resolve(member["address"], member["port"]);
  Descriptor socket = blocking(::socket(to.address.ss_family, SOCK_STREAM, 0));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.address), to.length) != 0) {
    fail_run("the raw stream cannot connect to {}", member.dump());
  }
  return socket;
}

Descriptor accept_from(const world::Listener& listener) {
  for (;;) {  // it does not block
    const int socket = accept4(listener.descriptor(), nullptr, nullptr, 0);
    if (socket >= 0) return blocking(socket);
    usleep(1000);
  }
}

}  // namespace

void serve_raw(Control& control, const Place& place) {
  const world::Listener listener(place.address);
  control.say({{"rank", place.rank},
               {"host", place.host},
               {"address", place.address},
               {"port", listener.port()}});
  const nlohmann::json members = control.hear();
  const Descriptor out = connect_to(members[place.rank == 0 ? 1 : 0]);
  const Descriptor in = accept_from(listener);
  std::vector<float> values;
  std::vector<float> arrived;
  for (nlohmann::json line = control.hear(); !line.is_null(); line = control.hear()) {
    const Request request(line);
    if (values.size() < request.count()) values.resize(request.count());
    if (arrived.size() < request.count()) arrived.resize(request.count());
    Measurement measurement(request, place.rank, 2, values);
    for (int batch = 0; batch < request.batches; ++batch) {
      measurement.fill();
      char ready = 1;
      send_all(out.get(), &ready, 1);
      receive_all(in.get(), &ready, 1);
      measurement.begin();
      std::thread sender([&] {
        for (int call = 0; call < request.calls; ++call) {
          send_all(out.get(), reinterpret_cast<const char*>(values.data()), request.bytes);
        }
      });
      for (int call = 0; call < request.calls; ++call) {
        receive_all(in.get(), reinterpret_cast<char*>(arrived.data()), request.bytes);
      }
      sender.join();
      measurement.end();
      measurement.count_payload(request.bytes * static_cast<size_t>(request.calls));
    }
    control.say(measurement.result());
  }
}

}  // namespace syrtos::bench
