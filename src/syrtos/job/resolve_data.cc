#include "syrtos/job/resolve_data.h"

#include <algorithm>

#include "syrtos/base/counted.h"
#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/memory.h"
#include "syrtos/data/open.h"
#include "syrtos/data/samples.h"
#include "syrtos/data/sets/cache.h"
#include "syrtos/data/sets/near_samples.h"
#include "syrtos/data/sets/random_data.h"
#include "syrtos/data/sets/split.h"
#include "syrtos/data/sets/taught.h"
#include "syrtos/data/statistics.h"
#include "syrtos/job/image_size.h"
#include "syrtos/job/resolve.h"
#include "syrtos/job/resolve_task.h"

namespace syrtos::job {

data::Splits random_splits(const nn::Network& network, int64_t samples, const Shape& image,
                           int64_t outputs, const nn::Task& task, uint64_t seed) {
  using data::RandomDataset;
  const auto kind = task.has_classes()  ? RandomDataset::Kind::classes
                    : task.has_labels() ? RandomDataset::Kind::labels
                                        : RandomDataset::Kind::values;
  const auto make = [&](int64_t size, uint64_t of) {
    auto data = std::make_unique<RandomDataset>(size, image, kind, outputs, of);
    if (const int64_t below = network.numbers_below(outputs); below > 0) data->make_whole(below);
    return data;
  };
  return {make(samples, seed), make(std::max<int64_t>(1, samples / 8), ~seed)};
}

JobData divide(JobData own, const data::OpenOptions& options) {
  if (options.validation == 0 && own.test) return own;
  data::Splits parts = options.validation > 0
                           ? data::split_share(own.train, options.validation, options.seed)
                           : data::split_every_tenth(own.train);
  return {std::move(parts.train), std::move(parts.test)};
}

namespace {

/// Brings the samples to the network's size. Random windows are taken from the originals.
void fit_data(const std::filesystem::path& cache_home, const Job& job, data::Splits& splits) {
  data::FitOptions options{
      .height = job.image[1],
      .width = job.image[2],
      .cache = job.cache,
      .free_memory = free_memory(),
      .cache_directory = cache_home.empty() ? cache_home : cache_home / "syrtos"};
  if (job.augment.resized_crop == 0) {
    splits.train = data::fit(std::move(splits.train), options);
    options.free_memory -= data::cache_bytes(splits.train->info());  // it may take so much
  } else if (splits.train->info().dtype != DType::u8) {
    fail_request("--augment: resized-crop is for pictures; {} has signals", job.data_name);
  }
  splits.test = data::fit(std::move(splits.test), options);
}

/// The size of the images that the network gets.
Shape image_of(const ImageSize& size, const data::DatasetInfo& info, const Job& job) {
  const nn::NetworkInfo& network = job.network.info();
  const Shape own = info.shape();
  const Shape image =
      size.shape_or(info.same_size() ? own : Shape{own[0], network.height, network.width});
  if (image[0] != own[0]) {
    fail_request(
        "--input: expected {} channel{}, as the samples of {} have, found {}{}", own[0],
        own[0] == 1 ? "" : "s", job.data_name, image[0],
        info.dtype == DType::u8
            ? "; nothing here turns colours into grey or back: store other pictures, as with "
              "Pillow's convert(\"L\") or convert(\"RGB\")"
            : "");
  }
  return image;
}

/// What a network for samples of this size needs at least: its weights with their gradients, and
/// the largest of all values of one sample. All that it needs is known when it is built.
int64_t least_bytes(const Job& job) {
  nn::ModelOptions options = job.network.default_options();
  options.batch = 1;
  options.channels = job.image[0];
  options.height = job.image[1];
  options.width = job.image[2];
  options.training = false;  // batch norm of one sample has no statistics to train with
  const nn::Model model = job.network.build(options);
  int64_t largest = 0;
  for (const graph::Node& node : model.graph.nodes()) {
    for (const auto value : node.outputs) {
      largest = std::max(largest, model.graph.type(value).shape.elements());
    }
  }
  constexpr int64_t kBytes = sizeof(float);
  return kBytes * (2 * nn::parameter_count(model.graph) + largest);
}

/// Of a size that was asked for, before anything is scaled to it: a batch alone must fit into
/// memory, and so must the network, unless workers have parts of it.
void check_size(const JobRequest& request, const Job& job, int64_t samples) {
  const int64_t memory = cpu_info().memory_bytes;
  // What samples are, whatever size was asked for.
  const char* word = job.stored[1] == 1 ? "sample" : job.sample_word();
  const int64_t batch = std::min(job.batch, samples);  // more are refused as such
  int64_t bytes = static_cast<int64_t>(sizeof(float));
  bool overflow = false;
  for (const int64_t factor : {job.image[0], job.image[1], job.image[2], batch}) {
    overflow = overflow || __builtin_mul_overflow(bytes, factor, &bytes);
  }
  if (!overflow && bytes <= memory) {
    const bool divided = !(job.strategy.split == strategy::Split::none());
    if (request.input == JobRequest().input || divided) return;
    const int64_t least = least_bytes(job);
    if (least <= memory) return;
    fail_request(
        "--input: {} for {} of {} needs {} at least, this machine has {} of memory: use a smaller "
        "--input or another network",
        job.network.name(), std::string(word) + "s", image_size_text(job.image),
        format_bytes(static_cast<double>(least)), format_bytes(static_cast<double>(memory)));
  }
  fail_request(
      "--input: a batch of {} of {} takes {}, this machine has {} of memory: use a smaller "
      "--input or --batch",
      counted(batch, word), image_size_text(job.image),
      overflow ? "more than there are addresses" : format_bytes(static_cast<double>(bytes)),
      format_bytes(static_cast<double>(memory)));
}

/// Whether samples are whole numbers, such as those of characters, which stay what they are.
bool has_numbers(const Job& job) {
  return job.data.train->info().numbers ||
         job.network.info().numbers != nn::NetworkInfo::Numbers::none;
}

/// What is known only when the data is there.
void describe_data(const JobRequest& request, Job& job) {
  resolve_task(request, job);
  const data::DatasetInfo& info = job.data.train->info();
  // Numbers of characters and the like stay what they are.
  if (has_numbers(job)) {
    if (info.dtype == DType::u8) {
      fail_request(
          "{} takes whole numbers, such as those of characters, found pictures in {}: "
          "give it text (.txt) or arrays of numbers",
          job.network.name(), job.data_name);
    }
    if (job.network.info().numbers == nn::NetworkInfo::Numbers::none) {
      fail_request(
          "{} takes pictures, signals or tables, found text in {}: its characters are numbers that "
          "only a network with an embedding can learn from, such as char-lstm",
          job.network.name(), job.data_name);
    }
    job.normalization = {{0}, {1}};
    return;
  }
  // Samples to know mean and deviation well; of huge ones fewer have as many values.
  constexpr int64_t kEnough = 4096, kLeast = 64, kValues = int64_t{1} << 30;
  job.normalization = data::measure_normalization(
      *job.data.train, std::clamp(kValues / job.image.elements(), kLeast, kEnough));
}

void make_random_data(const JobRequest& request, const ImageSize& size, Job& job) {
  job.random_data = true;
  job.image = job.stored = size.shape_for(job.network.info());
  check_size(request, job, request.samples);
  nn::Task task = request.loss == "auto" ? nn::Task() : nn::parse_loss(request.loss);
  if (task.own && task.own->of().empty()) task = {};
  const int64_t outputs = request.classes == kUnset ? job.network.info().classes : request.classes;
  data::Splits splits =
      random_splits(job.network, request.samples, job.image, outputs, task, job.seed);
  job.data = {std::move(splits.train), std::move(splits.test)};
  resolve_task(request, job);
  job.normalization = {{0}, {1}};
}

void take_own_data(const JobRequest& request, const ImageSize& size, JobData own, Job& job) {
  own = divide(std::move(own), job.open);
  const data::DatasetInfo& info = own.train->info();
  job.image = image_of(size, info, job);
  job.stored = info.shape();
  for (const auto& part : {own.train, own.test}) {
    if (part->info().shape() == job.image) continue;
    fail_request("{}: expected samples of {}, as the network takes, found {}", job.data_name,
                 to_string(job.image), to_string(part->info().shape()));
  }
  job.data = std::move(own);
  describe_data(request, job);
}

void open_data(const JobRequest& request, const ImageSize& size,
               const std::filesystem::path& cache_home, Job& job) {
  job.data_name = data::lasting_name(job.data_name, cache_home);
  data::Splits splits = data::open(job.data_name, cache_home, job.open);
  if (splits.validation) splits.test = std::move(splits.validation);
  job.stored = splits.train->info().shape();
  job.image = image_of(size, splits.train->info(), job);
  check_size(request, job, splits.train->size());
  job.fit = data::fit_of(splits.train->info());
  fit_data(cache_home, job, splits);
  job.data = {std::move(splits.train), std::move(splits.test)};
  describe_data(request, job);
}

/// Samples of a data set that is known by name, or of files; their labels, if any, are not used.
std::shared_ptr<const data::Dataset> open_unlabelled(const std::filesystem::path& cache_home,
                                                     Job& job) {
  std::string& from = job.teaching.unlabelled;
  std::error_code error;
  if (!std::filesystem::exists(from, error)) {
    data::Splits splits = data::open(from, cache_home, {});
    return data::fit(std::move(splits.train),
                     {.height = job.image[1], .width = job.image[2], .cache = job.cache});
  }
  from = std::filesystem::absolute(from).string();
  return data::open_samples(from, {.image = job.image, .fit = job.fit}).data;
}

/// Last of all: what is known of the data is known of samples with labels.
void add_unlabelled(const std::filesystem::path& cache_home, Job& job) {
  const std::shared_ptr<const data::Dataset> labelled = job.data.train;
  const auto add = [&](std::shared_ptr<const data::Dataset> more) {
    job.data.train = std::make_shared<data::WithUnlabelled>(job.data.train, std::move(more));
  };
  if (!job.teaching.unlabelled.empty()) add(open_unlabelled(cache_home, job));
  if (job.teaching.synthetic > 0) {
    add(std::make_shared<data::NearSamples>(labelled, job.teaching.synthetic, job.seed));
  }
  if (job.data.train != labelled && job.sharding.kind == data::Sharding::Kind::by_class) {
    fail_request("--shard by-class: samples without labels have no class: use contiguous");
  }
}

void check_augmentation(const Job& job) {
  if (has_numbers(job) && !job.augment.empty()) {
    fail_request(
        "--augment: is for pictures and signals, {} has numbers of characters or the like: leave "
        "it out",
        job.data_name);
  }
  if (job.image[1] == 1 && job.augment.crop > 0) {
    fail_request("--augment: crop is for pictures, {} has signals: use shift", job.data_name);
  }
  if (job.image[1] > 1 && job.augment.shift > 0) {
    fail_request("--augment: shift is for signals, {} has pictures: use crop", job.data_name);
  }
  const data::Augment& augment = job.augment;
  if (job.image[1] == 1 &&
      (augment.warps() || augment.flip_vertical || augment.changes_colours())) {
    fail_request("--augment: {} is for pictures, {} has signals or rows of a table",
                 augment.warps()         ? "rotate or scale"
                 : augment.flip_vertical ? "flip:vertical"
                                         : "a change of colours",
                 job.data_name);
  }
  if (augment.changes_colours() && job.data.train->info().dtype != DType::u8) {
    fail_request("--augment: colours are changed of pictures in bytes (0 to 255), {} has floats",
                 job.data_name);
  }
  const auto require_within = [](const char* step, int64_t amount, int64_t side) {
    if (amount < side) return;
    fail_request("--augment: {}:{} leaves nothing of samples of {}: expected {}:1 to {}:{}", step,
                 amount, side, step, step, std::max<int64_t>(1, side - 1));
  };
  const int64_t side = std::min(job.image[1], job.image[2]);
  require_within("crop", job.augment.crop, side);
  require_within("cutout", job.augment.cutout, job.image[1] > 1 ? side : job.image[2]);
  require_within("shift", job.augment.shift, job.image[2]);
}

/// The default is for data of usual size: of less, all of it is a step.
int64_t batch_that_fits(const Job& job) {
  const int64_t samples = job.data.train->size();
  const int64_t batches = job.strategy.sync.splits_batch() ? 1 : job.replicas();
  const int64_t most = std::max<int64_t>(1, std::min(job.batch, samples / batches));
  const int64_t parts = job.accumulate * (job.strategy.sync.splits_batch() ? job.replicas() : 1);
  return job.accumulate > 1 && most > parts ? most / parts * parts : most;
}

/// Every worker has something to do in every step.
void check_batches(const Job& job) {
  const int64_t samples = job.data.train->size();
  if (!job.strategy.sync.splits_batch() && job.batch <= samples &&
      job.batch * job.replicas() > samples) {
    fail_request(
        "--workers: the training data has {}, too few for {} batches of {} in each step: "
        "use at most {} or a smaller --batch",
        counted(samples, "sample"), job.replicas(), job.batch,
        counted(samples / job.batch, "worker"));
  }
  const int64_t left = samples % std::max<int64_t>(1, job.step_samples());
  const std::string_view within = job.exchanges_within_pass();
  if (!within.empty() && job.remainder == data::Remainder::short_batch && left > 0 &&
      left < job.replicas()) {
    fail_request("{}: the last step of an epoch has {} for {} workers: use --remainder drop or pad",
                 within, counted(left, "sample"), job.replicas());
  }
  if (job.batch > samples) {
    fail_request("--batch: the training data has {}, found a batch of {}: use a smaller one",
                 counted(samples, "sample"), job.batch);
  }
}

/// All micro-batches have the same size, so that one program computes them.
void check_micro_batches(const Job& job) {
  const int64_t parts = job.accumulate;
  if (parts == 1) return;
  for (int worker = 0; worker < job.workers; ++worker) {
    const int64_t share = job.share(worker);
    if (share % parts == 0) continue;
    const int64_t all = job.strategy.sync.splits_batch() ? parts * job.replicas() : parts;
    fail_request(
        "--accumulate: expected a batch that {} micro-batches divide, found {} samples of {}: use "
        "--batch {} or another multiple of {}",
        parts, share, job.replicas() == 1 ? "the batch" : "a worker",
        std::max(all, job.batch / all * all), all);
  }
  const int64_t left = job.data.train->size() % job.step_samples();
  const std::string_view within = job.exchanges_within_pass();
  if (!within.empty() && job.remainder == data::Remainder::short_batch && left > 0) {
    fail_request(
        "{} with --accumulate: the last step of an epoch has {}, which workers would cut into "
        "different numbers of micro-batches: use --remainder drop or pad",
        within, counted(left, "sample"));
  }
}

/// Every worker has samples, and as many shares as there are workers.
void check_sharding(const Job& job) {
  const data::Sharding& sharding = job.sharding;
  if (!sharding.keeps()) return;
  const auto shares = static_cast<int64_t>(sharding.shares.size());
  if (shares != 0 && shares != job.replicas()) {
    fail_request("--shard {}: expected a number for each of {} worker{}, found {}",
                 to_string(sharding), job.replicas(), job.replicas() == 1 ? "" : "s", shares);
  }
  if (sharding.kind == data::Sharding::Kind::by_class && job.data.train->info().classes.empty()) {
    fail_request(
        "--shard by-class: expected data with classes, found values: use contiguous or shuffled");
  }
  for (int worker = 0; worker < job.workers; ++worker) {
    if (data::held(sharding, job.data.train->size(), job.shard_of(worker)) > 0) continue;
    fail_request(
        "--shard {}: of {} none is left for worker {}: use fewer workers, or shares "
        "that differ less",
        to_string(sharding), counted(job.data.train->size(), "sample"), worker);
  }
}

}  // namespace

void resolve_data(const JobRequest& request, const std::filesystem::path& cache_home,
                  std::optional<JobData> own, Job& job) {
  const ImageSize size = parse_image_size(request.input);
  job.augment = data::parse_augment(request.augment);
  job.remainder = data::parse_remainder(request.remainder);
  job.sharding = data::parse_sharding(request.shard);
  job.cache = data::parse_cache(request.cache);
  job.prefetch = static_cast<int>(request.prefetch);
  job.data_name = request.data;
  job.open = {.label_column = request.label_column,
              .targets = target_kind(request),
              .validation = request.validation,
              .seed = job.seed};
  job.random_samples = request.samples;
  if (own) {
    take_own_data(request, size, *std::move(own), job);
  } else if (request.data == "random") {
    make_random_data(request, size, job);
  } else {
    open_data(request, size, cache_home, job);
  }
  add_unlabelled(cache_home, job);
  check_augmentation(job);
}

void resolve_batches(const JobRequest& request, Job& job) {
  if (!request.gives("batch")) job.batch = batch_that_fits(job);
  check_batches(job);
  check_micro_batches(job);
  check_sharding(job);
  // Nobody else has what a lost worker had; with shares for each there is none for fewer.
  if (!job.sharding.shares.empty()) job.min_workers = job.workers;
}

}  // namespace syrtos::job
