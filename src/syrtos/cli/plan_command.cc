#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/cli/draw.h"
#include "syrtos/cli/plan_options.h"
#include "syrtos/cli/plan_words.h"
#include "syrtos/cli/train_options.h"
#include "syrtos/planner/cut_view.h"
#include "syrtos/planner/units.h"
#include "syrtos/report/plan_graph.h"
#include "syrtos/report/plan_report.h"

namespace syrtos::cli {

namespace {

struct PlanCommandOptions {
  TrainOptions job;
  PlanOptions plan;
  size_t top = 0;
  std::string to;     ///< picture
  std::string graph;  ///< picture of the network
  bool plot = false;
  bool json = false;
};

/// The network in the colours of its parts: of the way that is recommended, or else of the best one
/// that has it in parts.
void draw_graph(const api::Planned& planned, const std::string& file, bool talks) {
  if (planned.workload.network == nullptr) {
    fail_request(
        "--graph: {} cannot be built here for this job: name it with --network, and a size of "
        "images that it takes with --input",
        planned.workload.compute.network);
  }
  const planner::Prediction* way = &planned.plan.best();
  for (const planner::Prediction& other : planned.plan.ranked) {
    if (way->candidate.options.split.cuts()) break;
    if (other.candidate.options.split.cuts()) way = &other;
  }
  const std::string title = fmt::format(
      "{}: {} workers, {}, {} a step", planned.workload.compute.network, way->candidate.workers,
      way_of(way->candidate), planner::format_short_time(way->step.seconds));
  const report::Layout layout =
      report::graph_layout(planner::view_of(planned.workload, way->candidate), title);
  AtomicFile out(file);
  out.write(file.ends_with(".svg") ? report::to_svg(layout) : report::to_png(layout));
  out.commit();
  if (talks) fmt::print("written: {}\n", file);
}

int run_plan(const PlanCommandOptions& options, const Context& context) {
  if (!options.to.empty() && !report::can_write_chart(options.to)) {
    fail_request("--to: expected a file that ends in .svg or .png, found '{}'", options.to);
  }
  if (!options.graph.empty() && !report::can_write_chart(options.graph)) {
    fail_request("--graph: expected a file that ends in .svg or .png, found '{}'", options.graph);
  }
  TrainOptions asked = options.job;
  const job::JobRequest job = planned_job(asked, options.plan);
  if (asked.job_file.empty() && !asked.sets("network")) {  // that of the computing times
    asked.fields.insert(asked.fields.begin(), {job::find_field("network"), job.network});
  }
  const api::Planned planned = make_plan(options.plan, job, context, !options.json);
  const PlanWords words(asked, options.plan, planned);
  const report::PlanCommands commands{
      [&](const planner::Prediction& way) { return words.command_for(way); }, words.note()};
  if (options.json) {
    fmt::print("{}\n",
               report::plan_json(planned.plan, planned.workload, planned.cluster, commands).dump());
  } else {
    fmt::print("{}", report::plan_text(planned.plan, planned.workload, planned.cluster, commands,
                                       options.top));
  }
  const report::Chart chart = report::plan_chart(planned.plan, planned.workload, planned.cluster);
  if (!options.json && (options.plot || isatty(STDOUT_FILENO) != 0)) {
    fmt::print("\n");
    draw(chart, context);
  }
  if (!options.to.empty()) {
    report::write_chart(chart, options.to);
    if (!options.json) fmt::print("written: {}\n", options.to);
  }
  if (!options.graph.empty()) draw_graph(planned, options.graph, !options.json);
  if (context.interrupted()) {
    fmt::print(stderr, "interrupted: not everything was simulated\n");
    return kExitFailed;
  }
  return kExitDone;
}

}  // namespace

void add_plan(Command app, Run& run) {
  auto options = std::make_shared<PlanCommandOptions>();
  Command command =
      app.add_subcommand("plan", "Say how to distribute a training, before it starts");
  command.add_option("JOB", options->job.job_file, "job file (TOML); options override it")
      .type_name("");
  for (const job::JobField& known : job::job_fields()) {
    if (!known.plans) continue;
    const job::JobField* field = &known;
    command
        .add_option(
            std::string(field->option),
            [options, field](const std::string& text) {
              options->job.fields.emplace_back(field, text);
            },
            std::string(field->help))
        .type_name("TEXT");
  }
  PlanOptions& plan = options->plan;
  command
      .add_option("--cluster", plan.cluster,
                  "profile file of 'syrtos probe network', or the cluster in words: \"16 hosts, "
                  "10 Gbit/s, 50 us\", \"8 nodes 25G\" (default: processes on this machine)")
      .type_name("FILE|TEXT");
  command
      .add_option("--hosts", plan.hosts,
                  "hosts that the plan is for: a,b:2,c or a file, NAME [slots=N] [address=A]")
      .type_name("FILE");
  command
      .add_option("--compute", plan.compute,
                  "computing times of 'syrtos probe compute --times' (default: measured here)")
      .type_name("FILE");
  command.add_option("--workers", plan.workers, "up to so many, or a list such as 2,4,8");
  command.add_option("--exchange", plan.exchanges, "only these, comma-separated");
  command.add_option("--sync", plan.syncs, "only these, such as split,join");
  command.add_option("--wire", plan.wires, "only these, such as f32");
  command.add_option(
      "--split", plan.splits,
      "only these: none, columns, layers:N, auto (parts, cut where it is best); or a cut "
      "as it is: branches, or the layers that begin the parts");
  command.add_option("--pipeline", plan.pipelines, "only these, such as 1f1b,interleaved:2");
  command.add_option("--bucket-mb", plan.bucket_mb, "size of buckets (default: chosen)");
  command
      .add_option(
          "--goal", plan.goal,
          "result (shortest epoch with the result of training alone), time (shortest epoch, "
          "whatever it gives), cost (fewest host-seconds) or efficiency (shortest epoch that "
          "uses hosts to 70 % or more)")
      .show_default();
  command.add_flag("--what-if", plan.what_if, "also what would help most");
  command.add_flag("--replayed", plan.replayed, "computing will be replayed (train --replay)");
  command.add_option("--seconds", plan.seconds, "to measure each batch size for").show_default();
  command.add_option("--top", options->top,
                     "show the best N ways (default: the best of each --sync)");
  command.add_flag("--plot", options->plot, "draw the speed-ups also when this is no terminal");
  command.add_option("--to", options->to, "draw them into this file").type_name("FILE.svg|png");
  command
      .add_option("--graph", options->graph,
                  "draw the network into this file, each layer in the colour of its part")
      .type_name("FILE.svg|png");
  command.add_flag("--json", options->json, "print everything as JSON");
  command.footer(
      "Examples:\n"
      "  syrtos plan examples/mnist-lenet5.toml --cluster \"8 hosts, 1 Gbit/s, 60 us\"\n"
      "  syrtos probe network --hosts hosts.txt --to cluster.toml\n"
      "  syrtos plan --network resnet50 --input 32 --data cifar10 --batch 128 \\\n"
      "      --cluster cluster.toml --hosts hosts.txt --what-if\n"
      "  syrtos plan --network alexnet --data random --samples 50000 --sync split,join \\\n"
      "      --cluster \"1000 hosts, 25 Gbit/s, 30 us\" --goal efficiency");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_plan(*options, context); };
  });
}

}  // namespace syrtos::cli
