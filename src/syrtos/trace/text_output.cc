#include "syrtos/trace/text_output.h"

#include <zlib.h>

#include <vector>

#include "syrtos/base/error.h"

namespace syrtos::trace {

namespace {
constexpr size_t kFull = 1 << 20;
}

struct TextOutput::Compressor {
  Compressor() : packed(kFull) {
    // 15: the largest window; 16: with gzip's header. Level 1: traces repeat themselves anyway.
    const int result = deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    if (result != Z_OK) fail_run("cannot start compressing: {}", zError(result));
  }
  ~Compressor() { deflateEnd(&stream); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  void write(AtomicFile& to, const char* data, size_t bytes, bool last) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data));
    stream.avail_in = static_cast<uInt>(bytes);
    int result = Z_OK;
    do {
      stream.next_out = packed.data();
      stream.avail_out = static_cast<uInt>(packed.size());
      result = deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
      SYRTOS_CHECK(result != Z_STREAM_ERROR);
      to.write(packed.data(), packed.size() - stream.avail_out);
    } while (last ? result != Z_STREAM_END : stream.avail_in > 0);
  }

  z_stream stream = {};
  std::vector<Bytef> packed;
};

TextOutput::TextOutput(const std::filesystem::path& file) : file_(file) {
  if (file.extension() == ".gz") compressor_ = std::make_unique<Compressor>();
}

TextOutput::~TextOutput() = default;

void TextOutput::flush_if_full() {
  if (buffer_.size() >= kFull) flush(false);
}

void TextOutput::flush(bool last) {
  if (compressor_ != nullptr) {
    compressor_->write(file_, buffer_.data(), buffer_.size(), last);
  } else {
    file_.write(buffer_.data(), buffer_.size());
  }
  buffer_.clear();
}

void TextOutput::commit() {
  flush(true);
  file_.commit();
}

}  // namespace syrtos::trace
