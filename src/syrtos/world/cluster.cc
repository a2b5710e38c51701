#include "syrtos/world/cluster.h"

namespace syrtos::world {

void run_all(Cluster& cluster, const RankProgram& program) {
  std::exception_ptr first;
  bool first_is_lost = false;
  for (const std::exception_ptr& error : cluster.run(program)) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const PeerLost&) {
      // The consequence of another rank's failure, which says more.
      if (!first) {
        first = error;
        first_is_lost = true;
      }
    } catch (...) {
      if (!first || first_is_lost) {
        first = error;
        first_is_lost = false;
      }
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace syrtos::world
