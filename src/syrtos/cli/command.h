#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/api/surroundings.h"
#include "syrtos/base/config.h"
#include "syrtos/base/cpu.h"
#include "syrtos/cli/parser.h"
#include "syrtos/launch/remote.h"

namespace syrtos::cli {

constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;   ///< the run failed or was interrupted
constexpr int kExitRequest = 2;  ///< the request was wrong

/// What commands may know about their surroundings.
struct Context {
  Environment environment;
  CpuInfo cpu;
  std::function<bool()> interrupted;  ///< Ctrl-C was pressed
  int verbose = 0;                    ///< as --verbose says
};

/// The same for the library.
api::Surroundings surroundings(const Context& context);

/// This program by its path, with these arguments, for processes that are to be as talkative.
std::vector<std::string> own_command(const Context& context,
                                     const std::vector<std::string>& arguments);

/// How hosts get this program: a package is copied to those that lack it, unless `installed`.
launch::HostProgram host_program(const Context& context, bool installed);

/// For what starts its processes itself. Throws RequestError where mpirun, srun or the like has
/// started this one among others. `what`: "a search".
void refuse_started_ranks(std::string_view what, const Context& context);

/// Ends the process at once, from any thread; for ranks whose launcher is gone.
[[noreturn]] void end_process();

/// A command that was chosen: what main calls after parsing. Returns the exit code.
using Run = std::function<int(const Context&)>;

// Each adds its command to the program and sets `run` when it is chosen.
void add_train(Command app, Run& run);
void add_search(Command app, Run& run);
void add_eval(Command app, Run& run);
void add_predict(Command app, Run& run);
void add_export(Command app, Run& run);
void add_models(Command app, Run& run);
void add_data(Command app, Run& run);
void add_probe(Command app, Run& run);
void add_plan(Command app, Run& run);
void add_estimate(Command app, Run& run);
void add_probe_network(Command probe, Run& run);
void add_explain(Command app, Run& run);
void add_watch(Command app, Run& run);
void add_compare(Command app, Run& run);
void add_doctor(Command app, Run& run);
void add_submit(Command app, Run& run);
void add_rank(Command app, Run& run);
void add_slot(Command app, Run& run);

/// The whole program. Prints errors itself.
int run(int argc, char** argv);

}  // namespace syrtos::cli
