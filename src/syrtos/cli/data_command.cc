#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/data_info.h"
#include "syrtos/cli/data_progress.h"
#include "syrtos/data/fetch/get.h"
#include "syrtos/data/open.h"
#include "syrtos/data/sets/resized.h"

namespace syrtos::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kLabelColumn = "of a CSV file: first, last, a number from 1 or a name";

struct DataOptions {
  std::vector<std::string> names;
  std::string path;
  std::string to;
  std::string from;
  std::string size;
  bool force = false;
  bool json = false;
  InfoOptions info;
};

fs::path directory(const DataOptions& options, const Context& context) {
  if (!options.to.empty()) return options.to;
  if (context.environment.cache_home.empty()) {
    fail_request(
        "expected a place for data sets, found none; set HOME or XDG_CACHE_HOME, or use --to DIR "
        "(with list: --in DIR)");
  }
  return data::data_directory(context.environment.cache_home);
}

int get_sets(const DataOptions& options, const Context& context) {
  if (!options.from.empty() && options.names.size() > 1) {
    fail_request("--from brings one data set: expected one name, found {}", options.names.size());
  }
  const data::GetOptions get{
      .directory = directory(options, context), .from = options.from, .force = options.force};
  for (const std::string& name : options.names) {
    DataProgress progress(stdout, name, context.environment.colour);
    const data::GetResult result = data::get(name, get, progress, context.interrupted);
    progress.clear();
    fmt::print("{}: {} {}\n", progress.title(),
               result.was_there ? "is already in" : "is verified and ready in",
               result.path.string());
  }
  return kExitDone;
}

int list_sets(const DataOptions& options, const Context& context) {
  json list = json::array();
  if (!options.json) {
    fmt::print("{:<14} {:>8} {:>7}  {:<8} {:>7}  {}\n", "name", "training", "test", "size",
               "classes", "");
  }
  for (const data::KnownSet& known : data::catalogue()) {
    const fs::path place = directory(options, context) / known.name;
    const bool here = data::is_here(known, place);
    if (options.json) {
      list.push_back({{"name", known.name},
                      {"title", known.title},
                      {"training", known.train},
                      {"test", known.test},
                      {"shape", {known.channels, known.height, known.width}},
                      {"classes", known.classes},
                      {"terms", known.terms},
                      {"here", here},
                      {"path", place.string()}});
      continue;
    }
    fmt::print("{:<14} {:>8} {:>7}  {:<8} {:>7}  {}\n", known.name, format_count(known.train),
               format_count(known.test),
               fmt::format("{}x{}x{}", known.channels, known.height, known.width),
               known.classes.size(),
               here ? "here: " + place.string() : "not here: syrtos data get " + known.name);
  }
  if (options.json) fmt::print("{}\n", list.dump(-1, ' ', false, json::error_handler_t::replace));
  return kExitDone;
}

// "224" or "48x64", height first.
std::pair<int64_t, int64_t> parse_size(const std::string& text) {
  constexpr int64_t kMost = 4096;
  int64_t height = 0;
  int64_t width = 0;
  char rest = 0;
  const int read = std::sscanf(text.c_str(), "%ldx%ld%c", &height, &width, &rest);
  if (read == 1 && text.find('x') == std::string::npos) width = height;
  const bool whole = read == 2 || (read == 1 && std::to_string(height) == text);
  if (!whole || height < 1 || width < 1 || height > kMost || width > kMost) {
    fail_request("--size: expected N or HxW with numbers from 1 to {}, found '{}'", kMost, text);
  }
  return {height, width};
}

int pack_set(const DataOptions& options, const Context& context) {
  std::error_code ignored;
  if (!fs::exists(options.path, ignored)) {
    fail_request("PATH: expected a file or directory, found no '{}'", options.path);
  }
  data::Splits splits = data::open(fs::absolute(options.path).string(), {},
                                   {.label_column = options.info.label_column});
  if (!options.size.empty()) {
    const auto [height, width] = parse_size(options.size);
    splits.train = std::make_unique<data::Resized>(std::move(splits.train), height, width);
    splits.test = std::make_unique<data::Resized>(std::move(splits.test), height, width);
  }
  const fs::path source = fs::absolute(options.path).lexically_normal();
  std::string name = source.filename().empty() ? source.parent_path().filename().string()
                                               : source.filename().string();
  name = name.substr(0, name.find('.', 1));
  const fs::path place =
      options.to.empty() ? directory(options, context) / name : fs::path(options.to);
  if (fs::exists(place, ignored) && !fs::is_empty(place, ignored) && !options.force) {
    fail_request("{} exists: expected a new place; choose another with --to DIR, or --force",
                 place.string());
  }
  data::check_replaceable(place);
  DataProgress progress(stdout, name, context.environment.colour);
  data::store(splits, place, source.string(), progress, context.interrupted);
  progress.clear();
  fmt::print("{}: {} training and {} test samples in {}\n", progress.title(),
             format_count(splits.train->size()), format_count(splits.test->size()), place.string());
  return kExitDone;
}

using Action = int (*)(const DataOptions&, const Context&);

void choose(Command command, Run& run, const std::shared_ptr<DataOptions>& options, Action action) {
  command.callback([options, action, &run] {
    run = [options, action](const Context& context) { return action(*options, context); };
  });
}

void add_get(Command data, Run& run, const std::shared_ptr<DataOptions>& options) {
  Command get = data.add_subcommand("get", "Fetch data sets by name");
  get.add_option("NAME", options->names, "mnist, fashion-mnist, cifar10, cifar100")
      .required()
      .type_name("");
  get.add_option("--to", options->to, "where to: writes DIR/NAME; otherwise the cache directory")
      .type_name("DIR");
  get.add_option("--from", options->from, "take it from these files, in any format")
      .type_name("PATH");
  get.add_flag("--force", options->force, "replace packs that are there");
  get.footer(
      "Examples:\n"
      "  syrtos data get mnist cifar10\n"
      "  syrtos data get cifar100 --from ~/Downloads/cifar-100-binary.tar.gz");
  choose(get, run, options, get_sets);
}

void add_list(Command data, Run& run, const std::shared_ptr<DataOptions>& options) {
  Command list = data.add_subcommand("list", "List the data sets that can be fetched");
  list.add_option("--in", options->to, "where to look; otherwise the cache directory")
      .type_name("DIR");
  list.add_flag("--json", options->json, "print as JSON");
  list.footer("Example:\n  syrtos data list");
  choose(list, run, options, list_sets);
}

void add_info(Command data, Run& run, const std::shared_ptr<DataOptions>& options) {
  Command info = data.add_subcommand("info", "Say what a data set has in it");
  info.add_option("NAME|PATH", options->info.data, "data set").required().type_name("");
  info.add_option("--preview", options->info.preview, "draw samples of each class")
      .type_name("FILE.png");
  info.add_option("--limit", options->info.limit, "samples to measure").positive().show_default();
  info.add_option("--label-column", options->info.label_column, kLabelColumn);
  info.add_flag("--json", options->info.json, "print as JSON");
  info.footer(
      "Examples:\n"
      "  syrtos data info cifar10 --preview cifar10.png\n"
      "  syrtos data info ~/photos --limit 1000 --json");
  info.callback([options, &run] {
    run = [options](const Context& context) { return print_info(options->info, context); };
  });
}

void add_pack(Command data, Run& run, const std::shared_ptr<DataOptions>& options) {
  Command pack = data.add_subcommand("pack", "Turn files of any format into packs");
  pack.add_option("PATH", options->path, "file, directory or archive").required().type_name("");
  pack.add_option("--to", options->to,
                  "where to: writes DIR itself; otherwise a new one in the cache directory")
      .type_name("DIR");
  pack.add_option("--size", options->size, "scale pictures to N or HxW; otherwise files stay")
      .type_name("HxW");
  pack.add_option("--label-column", options->info.label_column, kLabelColumn);
  pack.add_flag("--force", options->force, "replace packs that are there");
  pack.footer(
      "Examples:\n"
      "  syrtos data pack ~/photos --size 224\n"
      "  syrtos train --network resnet18 --data photos");
  choose(pack, run, options, pack_set);
}

}  // namespace

void add_data(Command app, Run& run) {
  auto options = std::make_shared<DataOptions>();
  Command command = app.add_subcommand("data", "Get, look at and pack data sets");
  command.require_subcommand(1, 1);
  command.footer(
      "Examples:\n"
      "  syrtos data get cifar10\n"
      "  syrtos data info cifar10 --preview cifar10.png\n\n"
      "Data sets are kept in $XDG_CACHE_HOME/syrtos/data, otherwise ~/.cache/syrtos/data.");
  add_get(command, run, options);
  add_list(command, run, options);
  add_info(command, run, options);
  add_pack(command, run, options);
}

}  // namespace syrtos::cli
