#include "syrtos/base/compress.h"

#include <zlib.h>

#include "syrtos/base/error.h"

namespace syrtos {

std::string compressed(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string result(size, '\0');
  const int code =
      compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_COMPRESSION);
  SYRTOS_CHECK(code == Z_OK, "{}", code);
  result.resize(size);
  return result;
}

std::string decompressed(std::string_view bytes, size_t most, std::string_view what) {
  std::string result;
  // The size is not stored: twice the room until it suffices.
  for (size_t room = std::min(most, bytes.size() * 8 + 1024);; room = std::min(most, room * 2)) {
    result.resize(room);
    uLongf size = room;
    const int code = uncompress(reinterpret_cast<Bytef*>(result.data()), &size,
                                reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    if (code == Z_OK) {
      result.resize(size);
      return result;
    }
    if (code != Z_BUF_ERROR || room == most) {
      fail_request("{}: expected compressed bytes of at most {}, found damaged or more", what,
                   most);
    }
  }
}

}  // namespace syrtos
