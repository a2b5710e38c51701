#include "syrtos/train/team/fingerprint.h"

#include <array>
#include <fstream>

#include "syrtos/base/crc32.h"
#include "syrtos/base/program_file.h"

namespace syrtos::train {

using nlohmann::json;

namespace {

/// Version and a checksum of the program's file.
std::string program_identity() {
  std::ifstream file(program_file(), std::ios::binary);
  std::array<char, 1 << 16> block{};
  uint32_t crc = 0;
  while (file) {
    file.read(block.data(), block.size());
    crc = crc32c(crc, block.data(), static_cast<size_t>(file.gcount()));
  }
  return fmt::format("{} ({:08x})", SYRTOS_VERSION, crc);
}

/// Size, classes and a checksum of some samples.
std::string data_identity(const data::Dataset& data) {
  constexpr int64_t kLooked = 64;
  data::Scratch scratch;
  uint32_t crc = 0;
  for (int64_t i = 0; i < std::min(kLooked, data.size()); ++i) {
    const data::Sample sample = data.read(i * data.size() / kLooked % data.size(), scratch);
    crc =
        crc32c(crc, sample.values, static_cast<size_t>(sample.elements()) * size_of(sample.dtype));
    const data::Target& target = sample.target;
    crc = crc32c(crc, &target.label, sizeof(target.label));
    crc = crc32c(crc, target.values.data(), target.values.size_bytes());
  }
  return fmt::format("{} samples, {} classes, checksum {:08x}", data.size(),
                     data.info().classes.size(), crc);
}

/// Names, sizes and layouts of the parameters, in order.
std::string layout_identity(const graph::Parameters& parameters) {
  std::string text;
  for (const graph::ParameterSlot& slot : parameters.slots()) {
    text += fmt::format("{} {} {} {}\n", slot.name, to_string(slot.type), slot.layout.name(),
                        slot.offset);
  }
  return fmt::format("{} parameters, checksum {:08x}", parameters.count(),
                     crc32c(0, text.data(), text.size()));
}

}  // namespace

json fingerprint(const Job& job, int worker, const CompiledNetwork& network) {
  json text;
  text["program"] = program_identity();
  const job::JobRequest request = to_request(job);
  for (const job::JobField& field : job::job_fields()) {
    if (!field.may_differ) text[fmt::format("job {}", field.key)] = field_text(request, field);
  }
  text["training data"] = data_identity(*job.data.train);
  text["test data"] = data_identity(*job.data.test);
  const std::string part =
      job.strategy.split.parts > 1 ? fmt::format(" of part {}", job.part_of(worker) + 1) : "";
  text["network and layout" + part] = layout_identity(network.parameters());
  return text;
}

std::string differences(const std::vector<std::string>& names,
                        const std::vector<std::string>& fingerprints) {
  std::string found;
  // Of each key the first worker that has it counts: parts of a network have their own.
  std::map<std::string, std::pair<size_t, json>> expected;
  for (size_t worker = 0; worker < fingerprints.size(); ++worker) {
    if (fingerprints[worker].empty()) continue;  // lost
    const json own = json::parse(fingerprints[worker]);
    for (const auto& [key, value] : own.items()) {
      const auto& [first, of_first] = expected.try_emplace(key, worker, value).first->second;
      if (of_first == value) continue;
      found += fmt::format("\n  {} has another {}: expected {} as {}, found {}", names[worker], key,
                           of_first.dump(), names[first], value.dump());
    }
  }
  return found.empty() ? "" : "the workers are not about to do the same:" + found;
}

}  // namespace syrtos::train
