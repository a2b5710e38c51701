#include "syrtos/job/views.h"

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::job {

const char* to_string(Views views) {
  switch (views) {
    case Views::none:
      return "none";
    case Views::flip:
      return "flip";
    case Views::flip_and_shift:
      return "flip+shift";
  }
  return "?";
}

Views parse_views(std::string_view name) {
  for (const Views views : {Views::none, Views::flip, Views::flip_and_shift}) {
    if (name == to_string(views)) return views;
  }
  fail_request("--views: expected none, flip or flip+shift, found '{}'{}", name,
               suggestion(name, {"none", "flip", "flip+shift"}));
}

std::vector<View> views_of(Views views) {
  const auto view = [](bool flip, int64_t move, float weight) {
    return View{{.down = move, .right = move, .beyond = data::Beyond::reflected, .flip = flip},
                weight};
  };
  if (views == Views::none) return {view(false, 0, 1)};
  if (views == Views::flip) return {view(false, 0, 0.5F), view(true, 0, 0.5F)};
  std::vector<View> all = {view(false, 0, 0.25F), view(true, 0, 0.25F)};
  for (const int64_t move : {-1, 1}) {
    for (const bool flip : {false, true}) all.push_back(view(flip, move, 0.125F));
  }
  return all;
}

}  // namespace syrtos::job
