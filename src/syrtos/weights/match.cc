#include "syrtos/weights/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "syrtos/base/error.h"

namespace syrtos::weights {

namespace {

// What wrappers put before every name: DataParallel, Lightning, torch.compile, trainers.
constexpr std::array<std::string_view, 12> kPrefixes = {
    "",          "module.", "model.",   "_orig_mod.",  "module.model.", "model._orig_mod.",
    "backbone.", "net.",    "network.", "state_dict.", "model.module.", "encoder."};

/// timm's names of layers that the networks of torchvision, and ours, have under others.
constexpr std::array<std::array<std::string_view, 2>, 4> kOtherNames = {{
    {"classifier.0.", "pre_logits.fc1."},  // vgg
    {"classifier.3.", "pre_logits.fc2."},
    {"classifier.6.", "head.fc."},
    {"fc.", "head.fc."},
}};

using Index = std::map<std::string_view, const Entry*, std::less<>>;

const Entry* find(const Index& index, const std::string& name) {
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

const Entry* find_any(const Index& index, std::string_view prefix, const std::string& name) {
  const std::string full = fmt::format("{}{}", prefix, name);
  if (const Entry* entry = find(index, full)) return entry;
  for (const auto& [ours, theirs] : kOtherNames) {
    if (!name.starts_with(ours)) continue;
    if (const Entry* entry =
            find(index, fmt::format("{}{}{}", prefix, theirs, name.substr(ours.size())))) {
      return entry;
    }
  }
  return nullptr;
}

std::string_view best_prefix(const Index& index, const std::vector<Entry>& network) {
  size_t most = 0;
  std::string_view best;
  for (const std::string_view prefix : kPrefixes) {
    const auto fits =
        static_cast<size_t>(std::count_if(network.begin(), network.end(), [&](const Entry& entry) {
          return find_any(index, prefix, entry.name) != nullptr;
        }));
    if (fits > most) {
      most = fits;
      best = prefix;
    }
  }
  return best;
}

/// A dense layer may be stored as a convolution over the whole image.
bool same_values(const Shape& here, const Shape& there) {
  if (here == there) return true;
  return here.rank() > 0 && there.rank() > 0 && here[0] == there[0] &&
         here.elements() == there.elements() && (here.rank() == 2 || there.rank() == 2);
}

std::string some_of(const std::vector<std::string>& texts) {
  constexpr size_t kShown = 5;
  const size_t shown = std::min(kShown, texts.size());
  return fmt::format(
      "{}{}", fmt::join(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      texts.size() > shown ? fmt::format(" and {} more", texts.size() - shown) : "");
}

[[noreturn]] void fail_nothing(const std::vector<Entry>& network, const std::vector<Entry>& file,
                               const std::string& name) {
  const auto names = [](const std::vector<Entry>& entries) {
    std::vector<std::string> list;
    for (const Entry& entry : entries) list.push_back(entry.name);
    return list.empty() ? std::string("none") : some_of(list);
  };
  fail_request(
      "{}: none of its weights has a name of the network: expected {}, found {}: is it of another "
      "network?",
      name, names(network), names(file));
}

}  // namespace

Match match(const std::vector<Entry>& network, const std::set<std::string>& head,
            const std::vector<Entry>& file, const std::string& name) {
  Index index;
  for (const Entry& entry : file) index[entry.name] = &entry;
  const std::string_view prefix = best_prefix(index, network);
  Match result;
  std::vector<std::string> missing;
  std::vector<std::string> others;
  std::set<const Entry*> used;
  for (const Entry& here : network) {
    const Entry* there = find_any(index, prefix, here.name);
    if (there != nullptr) used.insert(there);
    if (there != nullptr && same_values(here.shape, there->shape)) {
      result.taken.emplace(here.name, *there);
    } else if (head.contains(here.name)) {
      result.new_head.push_back(there == nullptr
                                    ? fmt::format("{} {}", here.name, to_string(here.shape))
                                    : fmt::format("{} {} (there {})", here.name,
                                                  to_string(here.shape), to_string(there->shape)));
    } else if (there == nullptr) {
      missing.push_back(fmt::format("{} {}", here.name, to_string(here.shape)));
    } else {
      others.push_back(fmt::format("{} {} (there {})", here.name, to_string(here.shape),
                                   to_string(there->shape)));
    }
  }
  if (result.taken.empty()) fail_nothing(network, file, name);
  if (!missing.empty()) {
    fail_request("{}: {} of the network's weights are missing: {}", name, missing.size(),
                 some_of(missing));
  }
  if (!others.empty()) {
    fail_request(
        "{}: {} weights have another shape there: {}: is it of another network, or of "
        "another number of channels?",
        name, others.size(), some_of(others));
  }
  for (const Entry& entry : file) {
    // Single numbers are constants of the network, not weights.
    if (!used.contains(&entry) && entry.shape.rank() > 0) result.superfluous.push_back(entry.name);
  }
  return result;
}

bool fits_pattern(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;
  size_t after = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;  // the star takes one more
      n = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace syrtos::weights
