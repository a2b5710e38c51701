#include "syrtos/train/measure/notebook.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace syrtos::train {

void Notebook::write(const std::string& what, std::function<void()> work) {
  scribe_.post([this, what, work = std::move(work)] { write_here(what, work); });
}

void Notebook::replace(int kind, const std::string& what, std::function<void()> work) {
  scribe_.post_newest(kind, [this, what, work = std::move(work)] { write_here(what, work); });
}

void Notebook::write_here(const std::string& what, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    // Of one who has taken the run over the next checkpoint tells.
    {
      const std::lock_guard lock(mutex_);
      if (!missing_.insert(what).second) return;
    }
    complain(fmt::format("{} is missing from now on: {}; training goes on", what, error.what()));
  }
}

std::vector<std::string> Notebook::take_complaints() {
  if (!has_complaints_) return {};
  const std::lock_guard lock(mutex_);
  has_complaints_ = false;
  return std::exchange(complaints_, {});
}

void Notebook::complain(std::string text) {
  const std::lock_guard lock(mutex_);
  complaints_.push_back(std::move(text));
  has_complaints_ = true;
}

}  // namespace syrtos::train
