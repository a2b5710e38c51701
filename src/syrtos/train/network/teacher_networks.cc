#include "syrtos/train/network/teacher_networks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/data/pipeline/loader.h"
#include "syrtos/train/checkpoint/snapshot.h"
#include "syrtos/train/network/outputs.h"
#include "syrtos/train/network/starting_weights.h"

namespace syrtos::train {

namespace {

constexpr const char* kHowToChange = "give a teacher of the same data";

nn::ModelOptions teacher_options(const job::Job& job) {
  nn::ModelOptions options = job.model_options(job.batch);
  options.task = {};
  return options;
}

void load_onnx(const std::filesystem::path& file, CompiledNetwork& network) {
  RunTensors own(network.parameters(), {});
  StartingWeights source(file, {}, entries_of(network.model()));
  for (size_t i = 0; i < own.all().size(); ++i) {
    if (const std::optional<Tensor> found = source.find(own.all()[i])) own.set(i, *found);
  }
}

/// Of the channel (or, of tables, column) of a value.
double of_channel(const std::vector<float>& values, int64_t channel) {
  return values[values.size() == 1 ? 0 : static_cast<size_t>(channel)];
}

template <typename T>
void scale_over(const data::Normalization& from, const data::Normalization& to, int64_t channels,
                int64_t count, T* values) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t channel = i % channels;
    const double raw =
        static_cast<double>(static_cast<float>(values[i])) * of_channel(from.deviation, channel) +
        of_channel(from.mean, channel);
    values[i] = T(static_cast<float>((raw - of_channel(to.mean, channel)) /
                                     of_channel(to.deviation, channel)));
  }
}

}  // namespace

void soften(double temperature, size_t classes, std::span<float> probabilities) {
  if (temperature == 1) return;
  for (size_t at = 0; at < probabilities.size(); at += classes) {
    const std::span<float> row = probabilities.subspan(at, classes);
    double sum = 0;
    for (const float p : row) sum += std::pow(static_cast<double>(p), 1 / temperature);
    for (float& p : row) {
      p = static_cast<float>(std::pow(static_cast<double>(p), 1 / temperature) / sum);
    }
  }
}

TeacherNetworks::TeacherNetworks(const job::Job& job, const std::vector<TeacherMember>& members,
                                 JoinAnswers join)
    : batch_(job.batch),
      classes_(static_cast<size_t>(job.classes)),
      temperature_(job.task.teaching.temperature),
      normalization_(job.normalization),
      join_(std::move(join)) {
  for (const TeacherMember& asked : members) {
    Member& member = members_.emplace_back();
    member.normalization = job.normalization;
    const bool onnx = asked.network.file() != nullptr && asked.network.file()->is_onnx() &&
                      asked.network.file()->path == asked.file;
    if (!onnx) check(job, asked, member);
    member.network = std::make_unique<CompiledNetwork>(asked.network, teacher_options(job),
                                                       CompiledNetwork::Use::evaluation);
    require_memory(member.network->bytes(), fmt::format("the teacher {}", asked.network.name()));
    if (onnx) {
      load_onnx(asked.file, *member.network);
    } else {
      CheckpointReader checkpoint(asked.file);
      load_parameters(checkpoint, member.network->parameters());
    }
  }
}

void TeacherNetworks::check(const job::Job& job, const TeacherMember& asked, Member& member) const {
  const NetworkDescription about = describe(CheckpointReader(asked.file));
  const nn::ModelOptions& options = about.options;
  const Shape image = {options.channels, options.height, options.width};
  const std::vector<std::string>& names = job.data.train->info().classes;
  if (!options.task.has_classes() || options.classes != job.classes || image != job.image) {
    fail_request("--teacher {}: expected a network for {} classes of {}, found {} {} of {}: {}",
                 asked.file.string(), job.classes, to_string(job.image), options.classes,
                 options.task.has_classes() ? "classes" : "values or labels", to_string(image),
                 kHowToChange);
  }
  if (!about.class_names.empty() && !names.empty() && about.class_names != names) {
    const auto [found, expected] = std::mismatch(about.class_names.begin(), about.class_names.end(),
                                                 names.begin(), names.end());
    const auto name = [](auto at, const auto& all) { return at == all.end() ? "none" : *at; };
    fail_request("--teacher {}: expected the classes of {}, such as {}, found {}: {}",
                 asked.file.string(), job.data_name, name(expected, names),
                 name(found, about.class_names), kHowToChange);
  }
  member.normalization = about.normalization;
}

bool TeacherNetworks::sees_the_same(const Member& member) const {
  return member.normalization.mean == normalization_.mean &&
         member.normalization.deviation == normalization_.deviation;
}

/// From the scale of the job's samples to that of the member's.
void TeacherNetworks::bring_over(const Member& member, const data::MixedShape& shape, void* images,
                                 int64_t count) const {
  // A number for each column of a table is one for each value of a row.
  const int64_t columns = shape.channels * (shape.height == 1 ? shape.width : 1);
  const bool table = static_cast<int64_t>(normalization_.mean.size()) == columns &&
                     static_cast<int64_t>(member.normalization.mean.size()) == columns;
  const int64_t channels = table ? columns : shape.channels;
  const int64_t values = count * shape.height * shape.width * shape.channels;
  if (shape.dtype == DType::bf16) {
    scale_over(normalization_, member.normalization, channels, values,
               static_cast<BFloat16*>(images));
  } else {
    scale_over(normalization_, member.normalization, channels, values, static_cast<float*>(images));
  }
}

std::vector<float> TeacherNetworks::rows_of(Member& member,
                                            const data::TeacherImages& images) const {
  NetworkProgram& program = member.network->evaluation();
  const data::MixedShape& shape = images.shape;
  const auto sample =
      static_cast<size_t>(shape.height * shape.width * shape.channels) * size_of(shape.dtype);
  std::vector<float> rows;
  for (int64_t first = 0; first < images.count; first += batch_) {
    const int64_t count = std::min(batch_, images.count - first);
    std::byte* const from =
        static_cast<std::byte*>(images.images) + static_cast<size_t>(first) * sample;
    // A program reads whole batches, wherever they are.
    if (sees_the_same(member) && first + batch_ <= images.room) {
      data::Batch batch;
      batch.images = from;
      batch.slice.count = count;
      program.use(batch);
    } else {
      void* const own = program.use_own_images();
      std::memcpy(own, from, static_cast<size_t>(count) * sample);
      if (!sees_the_same(member)) bring_over(member, shape, own, count);
    }
    program.program().run({});
    const std::span<const float> logits = program.logits();
    for (size_t n = 0; n < static_cast<size_t>(count); ++n) {
      const std::vector<double> row = probabilities(logits.subspan(n * classes_, classes_));
      rows.insert(rows.end(), row.begin(), row.end());
    }
  }
  program.use_own_images();  // those of the batch may be gone
  return rows;
}

std::vector<float> TeacherNetworks::probabilities_of(const data::TeacherImages& images) {
  const std::lock_guard lock(asking_);
  std::vector<std::vector<float>> rows;
  for (Member& member : members_) rows.push_back(rows_of(member, images));
  return rows.size() == 1 ? rows.front() : join_(rows, classes_);
}

void TeacherNetworks::answer(const data::TeacherImages& images, std::span<float> answers) {
  const std::vector<float> rows = probabilities_of(images);
  std::copy(rows.begin(), rows.end(), answers.begin());
  soften(temperature_, classes_, answers);
}

std::vector<float> TeacherNetworks::ask(const job::Job& job,
                                        const std::function<bool()>& should_stop) {
  const data::Dataset& data = *job.data.train;
  const data::Transform transform(data.info(), job.image, job.normalization, {},
                                  job.precision.dtype);
  data::Loader loader(data, transform,
                      {.batch = batch_, .training = false, .prefetch = job.prefetch});
  std::vector<float> answers;
  for (data::Batch batch; !batch.slice.last;) {
    if (should_stop && should_stop()) fail_run("interrupted while the teacher was asked");
    batch = loader.next();
    const std::vector<float> rows = probabilities_of({.images = batch.images,
                                                      .shape = transform.shape(),
                                                      .count = batch.slice.count,
                                                      .room = batch_});
    answers.insert(answers.end(), rows.begin(), rows.end());
  }
  return answers;
}

}  // namespace syrtos::train
