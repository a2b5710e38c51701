#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "arrays.h"
#include "request.h"

namespace syrtos::python {

/// What syrtos.search() asks for, once its Python part has looked at it.
struct SearchCall {
  std::string file = {};    ///< A job file with [space]; empty: `space` is one.
  std::string space = {};   ///< The same as text.
  std::string resume = {};  ///< A search to go on with.
  Keywords settings = {};   ///< Of section [search].
  Keywords keywords = {};   ///< Of the job.
  std::string run = {};
  int slots = 0;
  const nn::Network* network = nullptr;
  const Data* train = nullptr;
  const Data* test = nullptr;
  nanobind::object on_trial;  ///< None, or called with JSON; False ends the search.
};

/// What 'syrtos search --json' prints. Trials run in threads of this process. Blocks.
std::string search(const SearchCall& call);

/// The same of a search that is there.
std::string search_json(const std::string& directory);

}  // namespace syrtos::python
