#include "syrtos/data/pipeline/augment.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

constexpr const char* kExpected =
    "expected a list of crop:PIXELS, crop:PIXELS:reflect, resized-crop or resized-crop:LEAST-AREA, "
    "flip, flip:alternate, flip:vertical, rotate:DEGREES, scale:LEAST:MOST, colour:AMOUNT, "
    "brightness:AMOUNT, contrast:AMOUNT, saturation:AMOUNT, hue:AMOUNT, cutout:SIDE, erase:SHARE, "
    "mixup:STRENGTH, cutmix:STRENGTH, shift:VALUES, noise:DEVIATION, or none";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    std::string_view part = text.substr(0, at);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.push_back(part);
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

double parse_amount(std::string_view text, std::string_view step, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least) ||
      !(value <= most)) {
    fail_request("--augment: {}: expected a number from {} to {}, found '{}'", step, least, most,
                 text);
  }
  return value;
}

/// Steps that are a number and nothing else.
struct AmountStep {
  std::string_view name;
  double Augment::*amount;
  double most;
};
constexpr AmountStep kAmounts[] = {
    {"rotate", &Augment::rotate, 180},   {"brightness", &Augment::brightness, 1},
    {"contrast", &Augment::contrast, 1}, {"saturation", &Augment::saturation, 1},
    {"hue", &Augment::hue, 0.5},         {"erase", &Augment::erase, 1},
    {"noise", &Augment::noise, 4096},    {"mixup", &Augment::mixup, 100},
    {"cutmix", &Augment::cutmix, 100},
};

const AmountStep* find_amount(std::string_view name) {
  for (const AmountStep& step : kAmounts) {
    if (step.name == name) return &step;
  }
  return nullptr;
}

void parse_step(Augment& augment, std::string_view step) {
  constexpr double kMost = 4096;
  const std::vector<std::string_view> words = split(step, ':');
  const std::string_view name = words[0];
  const auto whole = [&] {
    const double value = parse_amount(words[1], step, 1, kMost);
    if (value != std::floor(value)) {
      fail_request("--augment: {}: expected a whole number, found '{}'", step, words[1]);
    }
    return static_cast<int64_t>(value);
  };
  if (name == "crop" && (words.size() == 2 || (words.size() == 3 && words[2] == "reflect"))) {
    augment.crop = whole();
    augment.crop_reflected = words.size() == 3;
  } else if (step == "flip") {
    augment.flip = Flip::random;
  } else if (step == "flip:alternate") {
    augment.flip = Flip::alternating;
  } else if (step == "flip:vertical") {
    augment.flip_vertical = true;
  } else if (name == "cutout" && words.size() == 2) {
    augment.cutout = whole();
  } else if (name == "resized-crop" && words.size() <= 2) {
    augment.resized_crop = words.size() == 2 ? parse_amount(words[1], step, 0.01, 1) : 0.08;
  } else if (name == "shift" && words.size() == 2) {
    augment.shift = whole();
  } else if (name == "scale" && words.size() == 3) {
    augment.scale_least = parse_amount(words[1], step, 0.1, 10);
    augment.scale_most = parse_amount(words[2], step, augment.scale_least, 10);
  } else if ((name == "colour" || name == "color") && words.size() == 2) {
    augment.brightness = augment.contrast = augment.saturation = parse_amount(words[1], step, 0, 1);
  } else if (const AmountStep* found = find_amount(name); found != nullptr && words.size() == 2) {
    augment.*found->amount = parse_amount(words[1], step, 0, found->most);
  } else {
    fail_request("--augment: {}, found '{}'", kExpected, step);
  }
}

}  // namespace

Augment parse_augment(std::string_view text) {
  Augment augment;
  if (text.empty() || text == "none") return augment;
  for (const std::string_view step : split(text, ',')) parse_step(augment, step);
  if (augment.crop > 0 && augment.shift > 0) {
    fail_request("--augment: expected crop (of pictures) or shift (of signals), found both");
  }
  if (augment.cutout > 0 && augment.erase > 0) {
    fail_request("--augment: expected cutout (a square) or erase (rectangles), found both");
  }
  return augment;
}

std::string to_string(const Augment& augment) {
  std::vector<std::string> steps;
  if (augment.resized_crop > 0)
    steps.push_back(fmt::format("resized-crop:{}", augment.resized_crop));
  if (augment.crop > 0) {
    steps.push_back(
        fmt::format("crop:{}{}", augment.crop, augment.crop_reflected ? ":reflect" : ""));
  }
  if (augment.flip != Flip::none) {
    steps.emplace_back(augment.flip == Flip::random ? "flip" : "flip:alternate");
  }
  if (augment.flip_vertical) steps.emplace_back("flip:vertical");
  if (augment.scale_least > 0) {
    steps.push_back(fmt::format("scale:{}:{}", augment.scale_least, augment.scale_most));
  }
  if (augment.cutout > 0) steps.push_back(fmt::format("cutout:{}", augment.cutout));
  if (augment.shift > 0) steps.push_back(fmt::format("shift:{}", augment.shift));
  for (const AmountStep& step : kAmounts) {
    if (augment.*step.amount > 0) {
      steps.push_back(fmt::format("{}:{}", step.name, augment.*step.amount));
    }
  }
  return steps.empty() ? "none" : fmt::format("{}", fmt::join(steps, ","));
}

}  // namespace syrtos::data
