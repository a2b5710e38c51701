#include "syrtos/data/fetch/contents.h"

#include "syrtos/base/checksum.h"
#include "syrtos/base/error.h"

namespace syrtos::data {

std::string contents_sha256(const Dataset& dataset, const std::function<bool(int64_t)>& done) {
  constexpr int64_t kAsk = 512;  // samples between two calls of done()
  Checksum checksum(Checksum::Kind::sha256);
  Scratch scratch;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    if (done && i % kAsk == 0 && !done(i)) fail_run("interrupted");
    const Sample sample = dataset.read(i, scratch);
    checksum.add(sample.values, static_cast<size_t>(sample.elements()) * size_of(sample.dtype));
    if (i % kAsk == kAsk - 1 || i == dataset.size() - 1) dataset.check();
  }
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const auto label = static_cast<uint8_t>(dataset.label(i));
    checksum.add(&label, 1);
  }
  return checksum.finish();
}

}  // namespace syrtos::data
