#pragma once

#include "syrtos/job/job.h"

namespace syrtos::job {

/// The names that --split means: those of a file, one a line, or the text itself. Throws
/// RequestError when the file cannot be read or has none.
std::string split_text(const std::string& split);

/// Where the network is cut, when it and the data are known: the parts, which of them need each
/// other, and how many micro-batches go through them. Throws RequestError.
void resolve_split(const JobRequest& request, Job& job);

/// The network, as it is cut: without gradients, of so few samples that it needs no memory.
nn::Model model_to_cut(const Job& job);

}  // namespace syrtos::job
