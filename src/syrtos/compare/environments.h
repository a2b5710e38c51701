#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "syrtos/compare/peer.h"

namespace syrtos::compare {

/// What a peer's environment is made of.
struct EnvironmentRecipe {
  std::string name;
  std::vector<int> pythons;              ///< 3.N that will do, the best first
  std::vector<std::string> packages;     ///< pinned
  std::vector<std::string> built;        ///< packages that are compiled here, after the others
  std::vector<std::string> environment;  ///< NAME=value while they are
  std::string size;                      ///< on disk, for people
};
const std::vector<EnvironmentRecipe>& recipes();
/// Throws RequestError for a peer that has none.
const EnvironmentRecipe& recipe(const std::string& peer);

/// Where environments, adapters and logs are. Throws RequestError when there is no cache directory.
std::filesystem::path compare_home(const std::filesystem::path& cache_home);

/// Whether the environment is there with what the recipe says.
bool installed(const EnvironmentRecipe& recipe, const std::filesystem::path& home);

struct SetupOptions {
  std::string python;     ///< the interpreter to make it with; empty: found
  double seconds = 3600;  ///< for each command
  std::function<bool()> should_stop = [] { return false; };
  std::function<void(const std::string&)> say;  ///< told what is done
};

/// Makes the environment anew and lists what is in it ("numpy==2.4.6", ...). What pip prints goes
/// to HOME/NAME.log. Throws RunError with the end of it.
std::vector<std::string> set_up(const EnvironmentRecipe& recipe, const std::filesystem::path& home,
                                const SetupOptions& options);

/// How to run what people name: "pytorch", "pytorch@/opt/torch/bin/python", "mine.py" (with the
/// python3 of PATH) or "mine.py@PYTHON". Unpacks the adapters. Throws RequestError for a name that
/// is not known, PeerFailed when it is not installed.
PeerProgram find_peer(const std::string& text, const std::filesystem::path& home);
/// The name alone: "pytorch", "mine".
std::string peer_name(const std::string& text);

}  // namespace syrtos::compare
