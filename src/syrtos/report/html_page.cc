#include "syrtos/report/html_page.h"

#include <string_view>

#include "syrtos/report/text.h"

namespace syrtos::report {

// Made by cmake/embed.cmake of web/ and uPlot.
std::string_view page_html();
std::string_view page_css();
std::string_view page_js();
std::string_view timeline_js();
std::string_view runs_js();
std::string_view search_js();
std::string_view chart_css();
std::string_view chart_js();
std::string_view chart_license();

namespace {

/// JSON within a script element: nothing in it may end the element.
std::string data_text(const nlohmann::json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string html_page(const nlohmann::json& data) {
  const std::string_view page = page_html();
  std::string result;
  size_t from = 0;
  // Placeholders are looked for in the template alone, never in what was put in.
  for (size_t begin = page.find('@'); begin != page.npos; begin = page.find('@', from)) {
    const size_t end = page.find('@', begin + 1);
    if (end == page.npos) break;
    const std::string_view name = page.substr(begin + 1, end - begin - 1);
    result += page.substr(from, begin - from);
    if (name == "TITLE") {
      result += escaped(clean_text(data.value("name", "")) + " - syrtos");
    } else if (name == "PAGE_CSS") {
      result += page_css();
    } else if (name == "CHART_CSS") {
      result += chart_css();
    } else if (name == "PAGE_JS") {
      for (const std::string_view part : {timeline_js(), runs_js(), search_js(), page_js()}) {
        result += part;
      }
    } else if (name == "CHART_JS") {
      result += chart_js();
    } else if (name == "CHART_LICENSE") {
      result += escaped(chart_license());
    } else if (name == "DATA") {
      result += data_text(data);
    }
    from = end + 1;
  }
  return result.append(page.substr(from));
}

std::string html_document(const std::string& title, const std::string& body) {
  std::string result =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>";
  result.append(escaped(title)).append("</title>\n<style>").append(page_css());
  return result.append("</style>\n</head>\n<body>\n<main>")
      .append(body)
      .append("</main>\n<footer>Made by Syrtos.</footer>\n</body>\n</html>\n");
}

}  // namespace syrtos::report
