#include "syrtos/run/hosts.h"

#include "syrtos/base/error.h"
#include "syrtos/run/json.h"
#include "syrtos/run/text_file.h"

namespace syrtos::run {

namespace {

/// Written every few seconds and up to some megabytes long: not by way of objects.
std::string to_text(const HostCurves& hosts) {
  std::string text = "{";
  for (const auto& [host, samples] : hosts) {
    if (text.size() > 1) text += ",\n";
    text += run::to_text(json(host)) + ":[";
    for (size_t i = 0; i < samples.size(); ++i) {
      if (i > 0) text += ',';
      trace::append_json(text, samples[i]);
    }
    text += ']';
  }
  return text + "}\n";
}

bool take_sample(const json& entry, trace::HostSample& sample) {
  try {
    sample = trace::host_sample_from_json(entry);
    return true;
  } catch (const RequestError&) {
    return false;
  }
}

}  // namespace

void write(const Directory& directory, const HostCurves& hosts) {
  write_text(directory.to_write(File::hosts), to_text(hosts));
}

void replace(const Directory& directory, const HostCurves& hosts) {
  replace_text(directory, File::hosts, to_text(hosts));
}

HostCurves read_hosts(const Directory& directory, Notes& notes) {
  HostCurves hosts;
  const std::optional<json> object = read_object(directory, File::hosts, notes);
  if (!object) return hosts;
  for (const auto& [name, list] : object->items()) {
    if (!list.is_array()) {
      notes.push_back(fmt::format("{}: no list for {}; left out", name_of(File::hosts), name));
      continue;
    }
    hosts[name] = items_of<trace::HostSample>(list, File::hosts, notes, take_sample);
  }
  return hosts;
}

}  // namespace syrtos::run
