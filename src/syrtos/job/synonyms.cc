#include "syrtos/job/synonyms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "syrtos/base/format.h"

namespace syrtos::job {

namespace {

struct Synonym {
  std::string_view word;
  std::string_view key;
};

constexpr Synonym kSynonyms[] = {
    {"learning_rate", "optimizer.lr"},
    {"lr", "optimizer.lr"},
    {"rate", "optimizer.lr"},
    {"batch_size", "batch"},
    {"batchsize", "batch"},
    {"bs", "batch"},
    {"model", "network"},
    {"arch", "network"},
    {"architecture", "network"},
    {"net", "network"},
    {"dataset", "data.name"},
    {"data_dir", "data.name"},
    {"data_path", "data.name"},
    {"train_data", "data.name"},
    {"image_size", "input"},
    {"img_size", "input"},
    {"size", "input"},
    {"resolution", "input"},
    {"input_size", "input"},
    {"num_classes", "classes"},
    {"num_epochs", "epochs"},
    {"max_epochs", "epochs"},
    {"iterations", "steps"},
    {"max_steps", "steps"},
    {"num_workers", "distribute.workers"},
    {"nodes", "distribute.workers"},
    {"processes", "distribute.workers"},
    {"world_size", "distribute.workers"},
    {"num_threads", "threads"},
    {"cpus", "threads"},
    {"optim", "optimizer.name"},
    {"optimiser", "optimizer.name"},
    {"solver", "optimizer.name"},
    {"wd", "optimizer.weight_decay"},
    {"decay", "optimizer.weight_decay"},
    {"l2", "optimizer.weight_decay"},
    {"scheduler", "schedule.name"},
    {"lr_schedule", "schedule.name"},
    {"warmup_steps", "schedule.warmup"},
    {"gamma", "schedule.factor"},
    {"step_size", "schedule.every"},
    {"augmentation", "data.augment"},
    {"transforms", "data.augment"},
    {"dtype", "precision"},
    {"amp", "precision"},
    {"output", "run"},
    {"out", "run"},
    {"output_dir", "run"},
    {"out_dir", "run"},
    {"save_dir", "run"},
    {"random_seed", "seed"},
    {"patience", "early_stop.patience"},
    {"early_stopping", "early_stop.patience"},
    {"clip_norm", "clip"},
    {"grad_clip", "clip"},
    {"gradient_clipping", "clip"},
    {"max_norm", "clip"},
    {"save_every", "checkpoint_every"},
    {"eval_every", "evaluate.every"},
    {"backend", "distribute.exchange"},
    {"strategy", "distribute.exchange"},
    {"mode", "distribute.sync"},
    {"compression", "distribute.wire"},
    {"label", "data.label_column"},
    {"target", "data.label_column"},
    {"smoothing", "label_smoothing"},
};

/// "--Batch-Size" -> "batch_size".
std::string plain_word(std::string_view word) {
  std::string text;
  for (const char c : word.substr(std::min(word.find_first_not_of('-'), word.size()))) {
    text += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

}  // namespace

const JobField* field_called(std::string_view word) {
  std::string text = plain_word(word);
  if (text.starts_with("optimiser.")) text[7] = 'z';
  if (const JobField* same = find_field(text)) return same;
  const std::string last = text.substr(text.rfind('.') + 1);
  for (const auto& [synonym, key] : kSynonyms) {
    if (synonym == text || synonym == last) return find_field(key);
  }
  // The right name in the wrong section, if only one has it.
  std::vector<const JobField*> found;
  for (const JobField& field : job_fields()) {
    if (field.name() == last && last != "name") found.push_back(&field);
  }
  return found.size() == 1 ? found[0] : nullptr;
}

std::string suggest_key(std::string_view key) {
  if (const JobField* field = field_called(key)) {
    return fmt::format("; did you mean '{}'?", field->key);
  }
  std::vector<std::string> all;
  std::vector<std::string> beside;  // in the same section
  const size_t dot = key.find('.');
  const std::string_view section = dot == std::string_view::npos ? "" : key.substr(0, dot);
  for (const JobField& field : job_fields()) {
    all.emplace_back(field.key);
    if (field.section() == section) beside.emplace_back(section.empty() ? field.key : field.name());
  }
  // Within a section its name says nothing.
  const bool within = !section.empty() && !beside.empty();
  const std::string near =
      within ? did_you_mean(key.substr(dot + 1), beside) : did_you_mean(key, all);
  if (!near.empty()) return "; " + near.substr(0, near.size() - 1);
  if (beside.empty()) return "; docs/job-files.md lists all keys";
  return fmt::format("; {} has: {} (docs/job-files.md lists all keys)",
                     section.empty() ? "the top of the file" : fmt::format("[{}]", section),
                     fmt::join(beside, ", "));
}

}  // namespace syrtos::job
