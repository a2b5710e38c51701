#include "syrtos/job/image_size.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "syrtos/base/error.h"

namespace syrtos::job {

ImageSize parse_image_size(std::string_view text) {
  if (text == "auto") return {};
  std::vector<int64_t> numbers;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  bool valid = true;
  while (valid) {
    int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    valid = error == std::errc() && number >= 1;
    numbers.push_back(number);
    if (next == end || *next != 'x') {
      valid = valid && next == end;
      break;
    }
    at = next + 1;
  }
  if (!valid || numbers.size() > 3) {
    fail_request("--input: expected an image size such as 32, 48x64 or 3x48x64, found '{}'", text);
  }
  if (numbers.size() == 1) return {0, numbers[0], numbers[0]};
  if (numbers.size() == 2) return {0, numbers[0], numbers[1]};
  return {numbers[0], numbers[1], numbers[2]};
}

Shape ImageSize::shape_or(const Shape& open) const {
  return {channels > 0 ? channels : open[0], height > 0 ? height : open[1],
          width > 0 ? width : open[2]};
}

Shape ImageSize::shape_for(const nn::NetworkInfo& network) const {
  return shape_or(network.image());
}

std::string image_size_text(const Shape& image) {
  return fmt::format("{}x{}x{}", image[0], image[1], image[2]);
}

}  // namespace syrtos::job
