# Writes OUTPUT: for each name=path of FILES (comma-separated) the function
# std::string_view syrtos::NAMESPACE::<name>() with the file's bytes.

set(text "#include <string_view>\n\nnamespace syrtos::${NAMESPACE} {\n")
string(REPLACE "," ";" files "${FILES}")
foreach(file IN LISTS files)
  string(REGEX MATCH "^([a-z_]+)=(.*)$" _ "${file}")
  set(name "${CMAKE_MATCH_1}")
  file(READ "${CMAKE_MATCH_2}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND text
    "std::string_view ${name}();\n"
    "std::string_view ${name}() {\n  static const unsigned char bytes[] = {${bytes}0};\n"
    "  return {reinterpret_cast<const char*>(bytes), sizeof(bytes) - 1};\n}\n")
endforeach()
string(APPEND text "}\n")
file(WRITE "${OUTPUT}" "${text}")
