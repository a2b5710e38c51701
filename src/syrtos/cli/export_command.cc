#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/api/export.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/output_file.h"

namespace syrtos::cli {

namespace {

struct ExportOptions {
  api::ExportRequest request;
  bool json = false;
};

int run_export(const ExportOptions& options) {
  check_file_to_write("--to", options.request.to);
  const api::ExportedFile done = api::export_network(options.request);
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"checkpoint", done.checkpoint.string()},
                                      {"network", done.network},
                                      {"to", options.request.to.string()},
                                      {"tensors", done.tensors},
                                      {"values", done.values},
                                      {"bytes", done.bytes}}
                           .dump());
  } else {
    fmt::print("{} ({}): {} values in {} tensors written to {}, {}\n", done.network,
               done.checkpoint.string(), format_count(done.values), done.tensors,
               options.request.to.string(), format_bytes(static_cast<double>(done.bytes)));
  }
  return kExitDone;
}

}  // namespace

void add_export(Command app, Run& run) {
  auto options = std::make_shared<ExportOptions>();
  Command command = app.add_subcommand("export", "Write a trained network for other programs");
  command.add_option("RUN", options->request.checkpoint, "run directory or checkpoint")
      .required()
      .type_name("");
  command
      .add_option("--to", options->request.to,
                  "network and weights (.onnx), or weights alone (.safetensors, .npz)")
      .required()
      .type_name("FILE");
  command.add_flag("--json", options->json, "print what was written as JSON");
  command.footer(
      "Examples:\n"
      "  syrtos export runs/lenet5-20260101-120000 --to lenet5.onnx\n"
      "  syrtos export runs/lenet5-20260101-120000/last.ckpt --to lenet5.safetensors");
  command.callback(
      [options, &run] { run = [options](const Context&) { return run_export(*options); }; });
}

}  // namespace syrtos::cli
