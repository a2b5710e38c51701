#include "syrtos/report/score_table.h"

#include <algorithm>

#include "syrtos/report/text.h"

namespace syrtos::report {

namespace {

std::string line_of(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t c = 0; c < cells.size(); ++c) {
    const std::string gap(widths[c] - std::min(widths[c], length_of(cells[c])), ' ');
    line += c == 0 ? cells[c] + gap : "  " + gap + cells[c];
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::string to_text(const ScoreTable& table) {
  std::vector<size_t> widths(table.columns.size());
  const auto widen = [&](const std::vector<std::string>& cells) {
    for (size_t c = 0; c < cells.size(); ++c) widths[c] = std::max(widths[c], length_of(cells[c]));
  };
  widen(table.columns);
  for (const auto& row : table.rows) widen(row);
  for (const auto& row : table.means) widen(row);
  std::string text = line_of(table.columns, widths);
  for (const auto& row : table.rows) text += line_of(row, widths);
  if (!table.means.empty()) text += "\n";
  for (const auto& row : table.means) text += line_of(row, widths);
  return text;
}

}  // namespace syrtos::report
