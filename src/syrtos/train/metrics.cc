#include "syrtos/train/metrics.h"

namespace syrtos::train {

using nlohmann::json;

PartSeconds parts_of(const trace::StepDivision& division) {
  using trace::Part;
  return {.load = division[Part::load],
          .forward = division[Part::forward],
          .backward = division[Part::backward],
          .update = division[Part::update],
          .network = division[Part::network],
          .wait = division[Part::wait],
          .evaluate = division[Part::evaluate],
          .checkpoint = division[Part::checkpoint],
          .other = division[Part::other]};
}

json to_json(const PartSeconds& seconds) {
  return {{"load", seconds.load},         {"forward", seconds.forward},
          {"backward", seconds.backward}, {"update", seconds.update},
          {"network", seconds.network},   {"wait", seconds.wait},
          {"evaluate", seconds.evaluate}, {"checkpoint", seconds.checkpoint},
          {"other", seconds.other}};
}

json to_json(const EpochMetrics& m) {
  json text = {{"epoch", m.epoch},
               {"step", m.step},
               {"samples", m.samples},
               {"train_loss", m.train_loss},
               {"train_accuracy", m.train_accuracy},
               {"lr", m.learning_rate},
               {"images_per_s", m.images_per_s()},
               {"queue", m.queue},
               {"helped", m.helped},
               {"best", m.best},
               {"seconds", to_json(m.seconds)}};
  if (m.evaluated) {
    text["test_loss"] = m.test_loss;
    text["test_accuracy"] = m.test_accuracy;
    text["test_top5"] = m.test_top5;
  }
  for (const EpochMetrics::Worker& worker : m.workers) {
    text["workers"].push_back(
        {{"rank", worker.rank}, {"host", worker.host}, {"seconds", to_json(worker.seconds)}});
  }
  return text;
}

}  // namespace syrtos::train
