#include "syrtos/compare/adapters.h"

#include <map>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/format.h"

namespace syrtos::compare {

// Made by cmake/embed.cmake of compare/.
std::string_view protocol_py();
std::string_view numpy_py();
std::string_view pytorch_py();
std::string_view tensorflow_py();
std::string_view mxnet_py();
std::string_view horovod_py();

namespace {

const std::map<std::string, std::string_view (*)()>& adapters() {
  static const std::map<std::string, std::string_view (*)()> all = {{"numpy", numpy_py},
                                                                    {"pytorch", pytorch_py},
                                                                    {"tensorflow", tensorflow_py},
                                                                    {"mxnet", mxnet_py},
                                                                    {"horovod", horovod_py}};
  return all;
}

void put(const std::filesystem::path& file, std::string_view text) {
  if (const FileText found = read_text(file); found.error == 0 && found.text == text) return;
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

}  // namespace

std::vector<std::string> adapter_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : adapters()) names.push_back(name);
  return names;
}

std::string_view adapter_text(const std::string& name) {
  const auto found = adapters().find(name);
  if (found == adapters().end()) {
    fail_request("unknown adapter '{}'{}", name, suggestion(name, adapter_names()));
  }
  return found->second();
}

std::string_view protocol_text() { return protocol_py(); }

void unpack_adapters(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail_run("cannot make {}: {}", directory.string(), error.message());
  put(directory / "syrtos_peer.py", protocol_py());
  for (const auto& [name, text] : adapters()) put(adapter_file(directory, name), text());
}

std::filesystem::path adapter_file(const std::filesystem::path& directory,
                                   const std::string& name) {
  return directory / (name + "_peer.py");
}

}  // namespace syrtos::compare
