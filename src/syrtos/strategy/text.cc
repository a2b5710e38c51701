#include "syrtos/strategy/text.h"

#include "syrtos/base/error.h"

namespace syrtos::strategy {

using world::Source;
using world::Target;

namespace {

constexpr uint64_t kLongest = 64U << 20;  // bytes

Tag next_item(Tag tag) {
  ++tag.item;
  return tag;
}

}  // namespace

Task<> receive_patiently(World& world, Rank from, Tag tag, Target target, double silence) {
  co_await world.recv(from, tag, target, {.silence = silence});
}

Task<> send_text(World& world, Rank to, Tag tag, const std::string& text) {
  const uint64_t size = text.size();
  co_await world.send(to, tag, Source{&size, sizeof(size)});
  co_await world.send(to, next_item(tag), Source{text.data(), text.size()});
}

Task<std::string> receive_text(World& world, Rank from, Tag tag, world::Patience patience) {
  uint64_t size = 0;
  co_await world.recv(from, tag, Target{&size, sizeof(size)}, patience);
  if (size > kLongest) {
    fail_run("expected a text of at most {} bytes from {}, found one of {}", kLongest,
             world.name(from), size);
  }
  std::string text(size, ' ');
  co_await world.recv(from, next_item(tag), Target{text.data(), text.size()});
  co_return text;
}

}  // namespace syrtos::strategy
