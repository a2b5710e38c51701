#include "syrtos/compare/environments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/format.h"
#include "syrtos/compare/adapters.h"
#include "syrtos/compare/command.h"

namespace syrtos::compare {

namespace {

std::string pinned(const EnvironmentRecipe& recipe) {
  return fmt::format("{} {}\n", fmt::join(recipe.packages, " "), fmt::join(recipe.built, " "));
}

std::filesystem::path python_of(const std::filesystem::path& environment) {
  return environment / "bin" / "python";
}

/// "3.11" if this interpreter can make environments, else nothing.
std::string version_of(const std::string& python, const SetupOptions& options) {
  const Done done = run_command(
      {python, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"},
      {.seconds = 60, .should_stop = options.should_stop});
  if (!done.ending.good() || done.output.empty()) return {};
  return done.output.substr(0, done.output.find('\n'));
}

/// Interpreters to try for 3.N: by name, and those that pyenv keeps.
std::vector<std::string> candidates(int minor, const SetupOptions& options) {
  std::vector<std::string> result = {fmt::format("python3.{}", minor)};
  const Done root = run_command({"sh", "-c", "pyenv root 2>/dev/null"},
                                {.seconds = 20, .should_stop = options.should_stop});
  const std::filesystem::path versions =
      std::filesystem::path(root.output.substr(0, root.output.find('\n'))) / "versions";
  std::error_code error;
  if (!root.output.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(versions, error)) {
      if (entry.path().filename().string().starts_with(fmt::format("3.{}.", minor))) {
        result.push_back((entry.path() / "bin" / "python").string());
      }
    }
  }
  result.emplace_back("python3");
  return result;
}

std::string find_python(const EnvironmentRecipe& recipe, const SetupOptions& options) {
  std::vector<std::string> wanted;
  for (const int minor : recipe.pythons) {
    wanted.push_back(fmt::format("3.{}", minor));
    for (const std::string& python : candidates(minor, options)) {
      if (version_of(python, options) == wanted.back()) return python;
    }
  }
  fail_request(
      "{} needs Python {} (with the modules venv and ensurepip); found none of them in PATH or in "
      "pyenv: install one, or name it with --python",
      recipe.name, fmt::join(wanted, " or "));
}

void check_python(const EnvironmentRecipe& recipe, const SetupOptions& options) {
  const std::string found = version_of(options.python, options);
  if (found.empty()) {
    fail_request("--python {}: expected a Python 3 with the modules venv and ensurepip",
                 options.python);
  }
  for (const int minor : recipe.pythons) {
    if (found == fmt::format("3.{}", minor)) return;
  }
  std::vector<std::string> wanted;
  for (const int minor : recipe.pythons) wanted.push_back(fmt::format("3.{}", minor));
  fail_request("--python {}: {} needs Python {}, this is {}", options.python, recipe.name,
               fmt::join(wanted, " or "), found);
}

}  // namespace

const std::vector<EnvironmentRecipe>& recipes() {
  // MXNet's last release uses names that NumPy 1.24 has removed. Horovod's last one builds with
  // TensorFlow up to 2.12, over Gloo, which it brings along.
  static const std::vector<EnvironmentRecipe> all = {
      {"numpy", {11, 12, 13, 10}, {"numpy==2.2.6"}, {}, {}, "0.1 GB"},
      {"pytorch", {11, 12, 13, 10}, {"torch==2.15.0", "numpy==2.4.6"}, {}, {}, "5.4 GB"},
      {"tensorflow",
       {11, 12, 13, 10},
       {"tensorflow-cpu==2.21.0", "numpy==2.4.6"},
       {},
       {},
       "1.6 GB"},
      {"mxnet", {8, 9, 7}, {"mxnet==1.9.1", "numpy==1.21.6"}, {}, {}, "0.3 GB"},
      {"horovod",
       {10, 9, 8},
       {"setuptools==69.5.1", "wheel==0.43.0", "tensorflow-cpu==2.12.0", "numpy==1.23.5",
        "cffi==1.16.0", "cloudpickle==3.0.0", "psutil==5.9.8", "pyyaml==6.0.1", "packaging==24.0"},
       {"horovod==0.28.1"},
       {"HOROVOD_WITH_TENSORFLOW=1", "HOROVOD_WITHOUT_PYTORCH=1", "HOROVOD_WITHOUT_MXNET=1",
        "HOROVOD_WITH_GLOO=1", "HOROVOD_WITHOUT_MPI=1", "MAKEFLAGS=-j2"},
       "1.5 GB"}};
  return all;
}

const EnvironmentRecipe& recipe(const std::string& peer) {
  std::vector<std::string> names;
  for (const EnvironmentRecipe& one : recipes()) {
    if (one.name == peer) return one;
    names.push_back(one.name);
  }
  fail_request("unknown peer '{}'{}", peer, suggestion(peer, names));
}

std::filesystem::path compare_home(const std::filesystem::path& cache_home) {
  if (cache_home.empty()) {
    fail_request("there is no directory to keep environments in: set HOME or XDG_CACHE_HOME");
  }
  return cache_home / "syrtos" / "compare";
}

bool installed(const EnvironmentRecipe& recipe, const std::filesystem::path& home) {
  return read_text(home / recipe.name / "pinned").text == pinned(recipe);
}

std::vector<std::string> set_up(const EnvironmentRecipe& recipe, const std::filesystem::path& home,
                                const SetupOptions& options) {
  SetupOptions chosen = options;
  if (chosen.python.empty()) {
    chosen.python = find_python(recipe, options);
  } else {
    check_python(recipe, options);
  }
  const std::filesystem::path place = home / recipe.name;
  const std::filesystem::path log = home / (recipe.name + ".log");
  chosen.say(fmt::format("takes {} on disk, in {}", recipe.size, place.string()));
  std::error_code error;
  std::filesystem::remove_all(place, error);
  std::filesystem::create_directories(home, error);
  std::filesystem::remove(log, error);
  const auto run = [&](const std::vector<std::string>& words, const std::string& what) {
    chosen.say(what);
    Done done = run_command(
        words, {.seconds = chosen.seconds, .log = log, .should_stop = chosen.should_stop});
    if (done.ending.good() && !done.timed_out) return done.output;
    fail_run(
        "{}: {} {}\n  command: {}\n  its last lines (all of them: {}):\n{}", recipe.name, what,
        done.timed_out ? "took longer than " + format_duration(chosen.seconds) : done.ending.text(),
        fmt::join(words, " "), log.string(), done.end_of_output());
  };
  run({chosen.python, "-m", "venv", place.string()},
      fmt::format("making an environment with {}", chosen.python));
  const std::string python = python_of(place).string();
  std::vector<std::string> pip = {python, "-m", "pip", "install", "--disable-pip-version-check"};
  std::vector<std::string> words = pip;
  words.insert(words.end(), recipe.packages.begin(), recipe.packages.end());
  run(words, fmt::format("installing {}", fmt::join(recipe.packages, " ")));
  if (!recipe.built.empty()) {
    words = {"env"};
    words.insert(words.end(), recipe.environment.begin(), recipe.environment.end());
    words.insert(words.end(), pip.begin(), pip.end());
    words.insert(words.end(), {"--no-build-isolation", "--no-cache-dir"});
    words.insert(words.end(), recipe.built.begin(), recipe.built.end());
    run(words, fmt::format("compiling {}", fmt::join(recipe.built, " ")));
  }
  const std::string frozen =
      run({python, "-m", "pip", "freeze", "--disable-pip-version-check"}, "listing what is in it");
  AtomicFile mark(place / "pinned");
  mark.write(pinned(recipe));
  mark.commit();
  std::vector<std::string> result;
  for (size_t from = 0; from < frozen.size();) {
    const size_t end = std::min(frozen.find('\n', from), frozen.size());
    const std::string line = frozen.substr(from, end - from);
    if (line.find("==") != std::string::npos) result.push_back(line);
    from = end + 1;
  }
  return result;
}

std::string peer_name(const std::string& text) {
  std::string before = text.substr(0, text.find('@'));
  if (!before.ends_with(".py")) return before;
  return std::filesystem::path(before).stem().string();
}

PeerProgram find_peer(const std::string& text, const std::filesystem::path& home) {
  const size_t at = text.find('@');
  const std::string named = text.substr(0, at);
  PeerProgram result = {.name = peer_name(text),
                        .python = at == std::string::npos ? "" : text.substr(at + 1),
                        .script = {},
                        .adapters = home / "adapters"};
  const bool own = named.ends_with(".py");
  if (own) {
    result.script = std::filesystem::absolute(named);
    if (!std::filesystem::is_regular_file(result.script)) {
      fail_request("--with {}: expected an adapter, there is no such file", text);
    }
    if (result.python.empty()) result.python = "python3";
  } else {
    adapter_text(named);
    result.script = adapter_file(result.adapters, named);
  }
  unpack_adapters(result.adapters);
  if (!result.python.empty()) return result;
  const EnvironmentRecipe& made_of = recipe(named);
  if (!installed(made_of, home)) {
    const bool other = std::filesystem::exists(home / named / "pinned");
    throw PeerFailed(fmt::format(
        "{} is {}: run 'syrtos compare setup {}' ({}), or name a Python "
        "that has it: --with {}@PYTHON",
        named, other ? "installed in another version than this program is for" : "not installed",
        named, made_of.size, named));
  }
  result.python = python_of(home / named).string();
  return result;
}

}  // namespace syrtos::compare
