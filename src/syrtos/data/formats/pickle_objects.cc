// What a pickle may call for: NumPy's arrays and types, and byte strings as Python 3 writes them.

#include "syrtos/base/error.h"
#include "syrtos/data/formats/pickle_reader.h"
#include "syrtos/data/formats/text_escapes.h"

namespace syrtos::data {

void PickleReader::global() {
  const std::string_view module = line();
  const std::string_view function = line();
  push({.kind = Kind::global, .text = own(fmt::format("{} {}", module, function))});
}

void PickleReader::reduce() {
  const std::vector<uint32_t> arguments = at(pop()).items;
  const Value& function = at(pop());
  require(function.kind == Kind::global, "a function");
  push(call(function.text, arguments));
}

Pickle::Value PickleReader::call(std::string_view function,
                                 const std::vector<uint32_t>& arguments) {
  if (function == "numpy.core.multiarray _reconstruct" ||
      function == "numpy._core.multiarray _reconstruct") {
    require(arguments.size() == 3 && at(arguments[0]).text == "numpy ndarray", "a NumPy array");
    return {.kind = Kind::array};
  }
  if (function == "numpy dtype") {
    require(!arguments.empty() && at(arguments[0]).text == "u1", "the NumPy type u1");
    return {.kind = Kind::type};
  }
  if (function == "_codecs encode") {
    require(arguments.size() == 2 && at(arguments[0]).kind == Kind::text &&
                at(arguments[1]).text == "latin1",
            "a byte string as Python 3 writes it");
    const std::optional<std::string> bytes = utf8_to_latin1(at(arguments[0]).text);
    require(bytes.has_value(), "characters that fit in bytes");
    return {.kind = Kind::text, .text = own(*bytes)};
  }
  fail("a NumPy array or byte string", fmt::format("a call of '{}', which is not done", function));
}

void PickleReader::build() {
  const std::vector<uint32_t> state = at(pop()).items;
  Value& object = at(top());
  require(object.kind == Kind::array || object.kind == Kind::type, "a NumPy array or type");
  if (object.kind == Kind::array) build_array(object, state);
}

// The state is a tuple: version, shape, type, whether it is in Fortran's order, values.
void PickleReader::build_array(Value& array, const std::vector<uint32_t>& state) {
  require(state.size() == 5 && at(state[2]).kind == Kind::type && at(state[4]).kind == Kind::text,
          "the parts of a NumPy array");
  require(at(state[3]).kind == Kind::number && at(state[3]).number == 0, "an array in C order");
  const std::vector<uint32_t>& shape = at(state[1]).items;
  require(shape.size() == 2, "an array with two axes");
  const std::string_view values = at(state[4]).text;
  const int64_t rows = at(shape[0]).number;
  const int64_t columns = at(shape[1]).number;
  const auto size = static_cast<int64_t>(values.size());
  require(rows > 0 && columns > 0 && rows <= size && size % rows == 0 && size / rows == columns,
          "as many values as the array's shape says");
  array.number = rows;
  array.columns = columns;
  array.text = values;
}

}  // namespace syrtos::data
