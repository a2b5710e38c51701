#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "arrays.h"
#include "training.h"

namespace syrtos::python {

/// Where the ranks of a training are, and what they are.
struct RanksCall {
  std::vector<std::string> command;   ///< A program that calls serve_rank().
  std::vector<std::string> identity;  ///< One that prints identity().
  std::string name;                   ///< Of that program, for people.
  std::string hosts;                  ///< Names or a file; empty: processes of this machine.
  std::string remote_shell;
  nanobind::object on_line;  ///< Called with each line of the ranks' output; False ends the run.
};

/// As train() with processes; its on_start, on_step and on_epoch are the business of on_line, which
/// gets what serve_rank() tells. Returns the run's directory. Throws RequestError and RunError with
/// the words of the rank that failed first.
std::string train_in_ranks(const TrainCall& call, const RanksCall& ranks);

/// The process of one rank, whose `join` came from the launcher. `train`, `test`: what the launcher
/// was given as arrays. Of worker 0 each piece of news is a line of JSON on the standard output,
/// steps at most every so many seconds. Returns the exit code.
int serve_rank(const std::string& join, const Data* train, const Data* test, double tell_every_s);

/// What the launcher compares with its own: version, checksum of the module, cores.
std::string identity();

}  // namespace syrtos::python
