#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>

#include "syrtos/base/descriptor.h"
#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/interrupt.h"
#include "syrtos/ops/cpu/backend.h"

namespace syrtos::cli {

namespace {

void print_error(const std::string& text) { fmt::print(stderr, "error: {}\n", text); }

LogLevel level_of(int verbose) {
  if (verbose > 2) fail_request("--verbose: expected 0, 1 or 2, found {}", verbose);
  return static_cast<LogLevel>(std::max(verbose, 0));  // the parser takes =0 for "not" and says -1
}

int run_chosen(const Run& chosen, int verbose) {
  try {
    const LogScope log(level_of(verbose));
    raise_descriptor_limit();
    catch_interrupts();
    return chosen({read_environment(), cpu_info(), interrupted, verbose});
  } catch (const RequestError& error) {
    print_error(error.what());
    return kExitRequest;
  } catch (const std::bad_alloc&) {
    print_error("out of memory; use a smaller --batch or a smaller network");
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return kExitFailed;
}

}  // namespace

int run(int argc, char** argv) {
  Parser parser("syrtos", "Syrtos trains deep networks on CPUs.", [] {
    return fmt::format("syrtos {} (oneDNN {})", SYRTOS_VERSION, ops::cpu::version());
  });
  Command app = parser.program();
  app.footer(
      "Examples:\n"
      "  syrtos data get mnist\n"
      "  syrtos train examples/mnist-lenet5.toml\n"
      "  syrtos train --network resnet18 --data random --steps 20\n"
      "  syrtos models show resnet50\n\n"
      "Exit codes: 0 done, 1 the run failed, 2 the request was wrong, 128 + N ended by signal N\n"
      "(130: Ctrl-C).");
  Run chosen;
  add_train(app, chosen);
  add_search(app, chosen);
  add_eval(app, chosen);
  add_predict(app, chosen);
  add_export(app, chosen);
  add_models(app, chosen);
  add_data(app, chosen);
  add_probe(app, chosen);
  add_plan(app, chosen);
  add_estimate(app, chosen);
  add_explain(app, chosen);
  add_watch(app, chosen);
  add_compare(app, chosen);
  add_doctor(app, chosen);
  add_submit(app, chosen);
  add_rank(app, chosen);
  add_slot(app, chosen);
  int verbose = 0;
  parser.add_counter_everywhere(
      "-v,--verbose", verbose,
      "say on standard error what is done; -vv or --verbose=2: every detail");
  try {
    if (!parser.parse(argc, argv)) return kExitDone;
  } catch (const RequestError& error) {
    print_error(error.what());
    return kExitRequest;
  }
  int code = run_chosen(chosen, verbose);
  if (code == kExitFailed && interrupted()) code = interrupt_code();
  // A reader that is gone has seen enough.
  if (std::fflush(stdout) != 0 && errno != EPIPE && code == kExitDone) {
    print_error("the output could not be written; is the disk full?");
    return kExitFailed;
  }
  return code;
}

}  // namespace syrtos::cli
