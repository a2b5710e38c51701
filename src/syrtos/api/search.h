#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "syrtos/api/launch.h"
#include "syrtos/api/slot_choice.h"
#include "syrtos/search/conduct.h"
#include "syrtos/search/directory.h"

namespace syrtos::api {

/// What to search, and where.
struct SearchRequest {
  search::Plan plan = {};
  job::Own own = {};                  ///< A network and data that the caller brings along.
  std::filesystem::path run = {};     ///< Of a new search; empty: runs/search-<network>-<date>.
  std::filesystem::path resume = {};  ///< A search to go on with, in place of the plan.
  std::function<void(search::Settings&)> change = {};  ///< What is other than before, with resume.
  bool force = false;  ///< With resume: take it over from a process that has it.
  int slots = 0;       ///< Trials at once, on each host; 0: what is fastest there.
};

/// How slots become processes; none: they are threads of this process.
struct SlotPrograms {
  std::vector<std::string> command;  ///< A program that calls serve_slot() (api/slot_program.h).
  std::vector<std::string> measure;  ///< One that prints what measure_slots_here() gives.
  launch::HostProgram program = {};  ///< As in RankPrograms, as the next two.
  std::filesystem::path hosts = {};
  std::string remote_shell = "ssh";
};

struct Searched {
  std::filesystem::path directory = {};
  search::Outcome outcome = {};
  int slots = 0;  ///< that there were meant to be
};

/// Told when it is known where the search is and how it uses the machines.
using OnSearch = std::function<void(const search::Directory&, const std::string& slots)>;

/// Searches, and blocks until the end. Throws RequestError before anything was started, RunError
/// when it cannot go on; `resume` goes on then too.
Searched run_search(const SearchRequest& request, const std::optional<SlotPrograms>& programs,
                    const Surroundings& surroundings, search::Observer& observer,
                    const OnSearch& on_search = {});

}  // namespace syrtos::api
