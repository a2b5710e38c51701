// syrtos._core: what the Python part of the package calls. Its functions take and give plain
// values; names, defaults and documentation are in python/syrtos.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "items.h"
#include "probing.h"
#include "ranks.h"
#include "reports.h"
#include "searching.h"
#include "step.h"
#include "syrtos/base/error.h"
#include "syrtos/job/networks.h"
#include "syrtos/job/resolve.h"
#include "syrtos/nn/described.h"
#include "training.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace syrtos::python {

namespace {

void add_errors(nb::module_& m) {
  const nb::exception<RequestError> request(m, "RequestError", PyExc_ValueError);
  const nb::exception<RunError> run(m, "RunError", PyExc_RuntimeError);
  for (const nb::handle each : {nb::handle(request), nb::handle(run)}) {
    each.attr("__module__") = "syrtos";
  }
  request.attr("__doc__") = "The request was wrong, and nothing was started.";
  run.attr("__doc__") = "The request was right, but the run failed.";
}

void add_networks(nb::module_& m) {
  nb::class_<nn::Network>(m, "Network")
      .def_static("named", [](const std::string& name) { return job::find_network(name); })
      .def_static("described", [](const std::string& text) { return nn::described_network(text); })
      .def_prop_ro("name", [](const nn::Network& network) { return network.name(); })
      .def_prop_ro("input",
                   [](const nn::Network& network) {
                     const Shape image = network.info().image();
                     return std::vector<int64_t>(image.begin(), image.end());
                   })
      .def_prop_ro("classes", [](const nn::Network& network) { return network.info().classes; })
      .def("json", &network_json, "input"_a, "classes"_a)
      .def("table", &network_table, "input"_a, "classes"_a);
  m.def("networks_json", &networks_json);
  m.def("options_json", &options_json);
  m.def("operations", &nn::described_operations);
}

void add_training(nb::module_& m) {
  nb::class_<Data>(m, "Data").def_prop_ro("size",
                                          [](const Data& data) { return data.set->size(); });
  nb::class_<Meaning>(m, "Meaning")
      .def(nb::init<const std::string&, const Values&, const std::vector<int64_t>&,
                    const std::string&>(),
           "name"_a, "values"_a, "shape"_a, "kind"_a)
      .def_prop_ro("classes", &Meaning::classes);
  m.def("array_data", &array_data, "name"_a, "values"_a, "targets"_a.none(), "meaning"_a.none());
  m.def("item_data", &item_data, "name"_a, "size"_a, "sample"_a, "is_bytes"_a, "classes"_a,
        "shape"_a, "read"_a);
  m.def(
      "test_data",
      [](const Data& train_data, const Data* test, double validation, uint64_t seed) {
        const data::OpenOptions options{.validation = validation, .seed = seed};
        return Data{job::divide(job_data(train_data, test), options).test};
      },
      "train"_a, "test"_a.none(), "validation"_a, "seed"_a);
  m.def(
      "train",
      [](const std::string& job_file, const std::string& resume, const Keywords& keywords,
         const nn::Network* network, const Data* train_data, const Data* test, double tell_every_s,
         const nb::object& on_start, const nb::object& on_step, const nb::object& on_epoch) {
        return train({job_file, resume, keywords, network, train_data, test, tell_every_s, on_start,
                      on_step, on_epoch});
      },
      "job_file"_a, "resume"_a, "keywords"_a, "network"_a.none(), "train"_a.none(), "test"_a.none(),
      "tell_every_s"_a, "on_start"_a.none(), "on_step"_a.none(), "on_epoch"_a.none());
}

void add_ranks(nb::module_& m) {
  m.def(
      "train_in_ranks",
      [](const std::string& job_file, const std::string& resume, const Keywords& keywords,
         const nn::Network* network, const Data* train_data, const Data* test,
         const std::vector<std::string>& command, const std::vector<std::string>& identity,
         const std::string& name, const std::string& hosts, const std::string& remote_shell,
         const nb::object& on_line) {
        const TrainCall call{job_file, resume, keywords, network, train_data, test};
        return train_in_ranks(call, {command, identity, name, hosts, remote_shell, on_line});
      },
      "job_file"_a, "resume"_a, "keywords"_a, "network"_a.none(), "train"_a.none(), "test"_a.none(),
      "command"_a, "identity"_a, "name"_a, "hosts"_a, "remote_shell"_a, "on_line"_a);
  m.def("serve_rank", &serve_rank, "join"_a, "train"_a.none(), "test"_a.none(), "tell_every_s"_a);
  m.def("identity", &identity);
}

void add_search(nb::module_& m) {
  m.def(
      "search",
      [](const std::string& file, const std::string& space, const std::string& resume,
         const Keywords& settings, const Keywords& keywords, const std::string& run, int slots,
         const nn::Network* network, const Data* train_data, const Data* test,
         const nb::object& on_trial) {
        return search({file, space, resume, settings, keywords, run, slots, network, train_data,
                       test, on_trial});
      },
      "file"_a, "space"_a, "resume"_a, "settings"_a, "keywords"_a, "run"_a, "slots"_a,
      "network"_a.none(), "train"_a.none(), "test"_a.none(), "on_trial"_a.none());
  m.def("search_json", &search_json, "directory"_a);
}

void add_reports(nb::module_& m) {
  nb::class_<PyExplained>(m, "Explained")
      .def(nb::init<const std::string&>())
      .def("text", &PyExplained::text, "columns"_a, "unicode"_a, "by"_a, "top"_a)
      .def("json", &PyExplained::json)
      .def("html", &PyExplained::html);
  nb::class_<PyPlan>(m, "Plan")
      .def(
          "__init__",
          [](PyPlan* self, const Keywords& keywords, const std::string& cluster,
             const std::string& compute, const std::string& hosts, const std::string& workers,
             const std::string& exchange, const std::string& sync, const std::string& wire,
             double bucket_mb, const std::string& goal, double seconds, bool what_if,
             const nn::Network* network, const Data* train_data, const Data* test) {
            const api::PlanWishes wishes{.cluster = cluster,
                                         .compute = compute,
                                         .hosts = hosts,
                                         .workers = workers,
                                         .exchanges = exchange,
                                         .syncs = sync,
                                         .wires = wire,
                                         .bucket_mb = bucket_mb,
                                         .goal = goal,
                                         .seconds = seconds,
                                         .what_if = what_if};
            new (self) PyPlan(keywords, wishes, network, train_data, test);
          },
          "keywords"_a, "cluster"_a, "compute"_a, "hosts"_a, "workers"_a, "exchange"_a, "sync"_a,
          "wire"_a, "bucket_mb"_a, "goal"_a, "seconds"_a, "what_if"_a, "network"_a.none(),
          "train"_a.none(), "test"_a.none())
      .def("text", &PyPlan::text, "top"_a)
      .def("json", &PyPlan::json)
      .def("svg", &PyPlan::svg)
      .def("best", &PyPlan::best);
  m.def("probe_json", &probe_json, "keywords"_a, "network"_a.none());
  m.def(
      "estimate",
      [](const std::string& type, const std::string& server, const std::string& bandwidth,
         double t_grad, double t_comm, int64_t workers, int64_t batches, bool bounds,
         const Keywords& keywords, const nn::Network* network) {
        return estimate({type, server, bandwidth, t_grad, t_comm, workers, batches, bounds},
                        keywords, network);
      },
      "type"_a, "server"_a, "bandwidth"_a, "t_grad"_a, "t_comm"_a, "workers"_a, "batches"_a,
      "bounds"_a, "keywords"_a, "network"_a.none());
  m.def("metrics_json", &metrics_json, "run"_a);
  m.def("about_json", &about_json, "run"_a);
}

void add_predictor(nb::module_& m) {
  nb::class_<PyPredictor>(m, "Predictor")
      .def(
          "__init__",
          [](PyPredictor* self, const std::string& checkpoint, const nn::Network* network,
             const std::string& data, const std::string& precision, int64_t threads, int64_t batch,
             const std::string& views) {
            new (self) PyPredictor({checkpoint, network, data, precision, threads, batch, views});
          },
          "checkpoint"_a, "network"_a.none(), "data"_a, "precision"_a, "threads"_a, "batch"_a,
          "views"_a)
      .def("predict", &PyPredictor::predict, "samples"_a)
      .def("predict_input", &PyPredictor::predict_input, "input"_a)
      .def("evaluate", &PyPredictor::evaluate, "data"_a.none())
      .def("about", &PyPredictor::about);
  m.def("export_json", &export_json, "checkpoint"_a, "network"_a.none(), "to"_a);
}

void add_step(nb::module_& m) {
  nb::class_<PyGroup>(m, "Group")
      .def(nb::init<int, bool>(), "patience"_a, "encrypted"_a)
      .def_prop_ro("rank", &PyGroup::rank)
      .def_prop_ro("size", &PyGroup::size)
      .def_prop_ro("here", &PyGroup::here)
      .def("all_reduce",
           nb::overload_cast<const PyGroup::Any&, const std::string&>(&PyGroup::all_reduce),
           "values"_a, "reduction"_a)
      .def("broadcast", nb::overload_cast<const PyGroup::Any&, int>(&PyGroup::broadcast),
           "values"_a, "root"_a)
      .def("barrier", &PyGroup::barrier)
      .def("leave", &PyGroup::leave);
  nb::class_<PyStep>(m, "Step")
      .def(nb::init<const nn::Network&, const std::vector<int64_t>&, const Keywords&, PyGroup*>(),
           "network"_a, "input"_a, "keywords"_a, "group"_a.none(), nb::keep_alive<1, 5>())
      .def("run", &PyStep::run, "images"_a, "targets"_a, "update"_a)
      .def("update", &PyStep::update)
      .def_prop_rw("learning_rate", &PyStep::learning_rate, &PyStep::set_learning_rate)
      .def_prop_ro("steps", &PyStep::steps)
      .def_prop_ro("input", &PyStep::input)
      .def_prop_ro("classes", &PyStep::classes)
      .def_prop_ro("has_classes", &PyStep::has_classes)
      .def_prop_ro("precision", &PyStep::precision)
      .def("names", &PyStep::names)
      .def("state_names", &PyStep::state_names)
      .def("get", &PyStep::get, "name"_a, "what"_a)
      .def("set", &PyStep::set, "name"_a, "values"_a)
      .def("logits", &PyStep::logits);
}

}  // namespace

}  // namespace syrtos::python

NB_MODULE(_core, m) {
  m.attr("__version__") = SYRTOS_VERSION;
  syrtos::python::add_errors(m);
  syrtos::python::add_networks(m);
  syrtos::python::add_training(m);
  syrtos::python::add_ranks(m);
  syrtos::python::add_search(m);
  syrtos::python::add_reports(m);
  syrtos::python::add_predictor(m);
  syrtos::python::add_step(m);
}
