// Takes the place of the folder's other sources where MPI was not found: no MpiJob can be made, so
// that nothing else here is ever called.

#include "syrtos/base/error.h"
#include "syrtos/world/mpi/mpi_world.h"

namespace syrtos::world {

namespace {

[[noreturn]] void fail_absent() { SYRTOS_CHECK(false, "built without MPI"); }

}  // namespace

class Communicator {};
class MpiWorld::Transport {};

MpiJob::MpiJob() {
  fail_request(
      "started by mpirun or srun: expected a program built with MPI, found one without: install MPI "
      "(Debian: libopenmpi-dev), configure and build again; or use --hosts, which needs no MPI");
}

MpiJob::~MpiJob() = default;
Rank MpiJob::rank() const { fail_absent(); }
int MpiJob::size() const { fail_absent(); }
std::unique_ptr<MpiWorld> MpiJob::make_world(int) { fail_absent(); }
std::vector<std::string> MpiJob::gather(const std::string&) const { fail_absent(); }

MpiWorld::~MpiWorld() = default;
void MpiWorld::run(Task<>) { fail_absent(); }
bool MpiWorld::is_lost(Rank) const { fail_absent(); }
void MpiWorld::start_send(Message&) { fail_absent(); }
void MpiWorld::start_recv(Message&) { fail_absent(); }
void MpiWorld::start_compute(Compute&) { fail_absent(); }
void MpiWorld::start_all_reduce(AllReduce&) { fail_absent(); }
void MpiWorld::abandon(Message&) { fail_absent(); }
void MpiWorld::abandon_all_reduce(AllReduce&) { fail_absent(); }

}  // namespace syrtos::world
