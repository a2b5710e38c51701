#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syrtos::cli {

/// What 'syrtos submit' was asked for.
struct SubmitRequest {
  std::string job_file;
  std::string launcher;  ///< "slurm" or "sge"
  int nodes = 1;
  std::string time;                  ///< "2:00:00"
  int save_before = 120;             ///< seconds before the time is over
  std::string run;                   ///< the run's directory
  std::string environment = "orte";  ///< Grid Engine's parallel environment
  std::vector<std::string> options;  ///< of the scheduler, as they are: "--partition=long"
  bool dry_run = false;
};

/// Stands in every such script: a file without it is somebody else's.
inline constexpr std::string_view kSubmitMark = "# Written by 'syrtos submit'.\n";

/// The script that the scheduler runs on the first host: it trains on all of the job's hosts, saves
/// when the time is nearly over, puts itself back into the queue, and goes on where it was. Throws
/// RequestError.
std::string submit_script(const SubmitRequest& request, const std::string& program);

/// "2:00:00", "90:00" or "1-12:00:00" in seconds. Throws RequestError.
int seconds_of_time(const std::string& text);

}  // namespace syrtos::cli
