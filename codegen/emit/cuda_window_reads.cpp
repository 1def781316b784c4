// codegen/emit/cuda_window_reads.cpp -- reads of the window form: whole vectors, or what a thread at a border needs.
#include <algorithm>

#include "codegen/emit/cuda_types.h"
#include "codegen/emit/cuda_window.h"

namespace kiln::codegen::cuda {

std::string WindowWriter::plus(int number) {
  return number == 0 ? "" : fmt::format(" {} {}", number < 0 ? "-" : "+", number < 0 ? -number : number);
}

std::vector<std::pair<int, int>> WindowWriter::pieces(std::size_t a, int first, int last,
                                                      const std::function<bool(int)>& needed) const {
  const Access& access = kernel_.accesses[a];
  const int limit = std::max(1, access.row_alignment / static_cast<int>(size_of(access.type)));
  std::vector<std::pair<int, int>> result;  // column and width
  for (int column = first; column < last;) {
    if (!needed(column)) {
      ++column;
      continue;
    }
    int width = std::min(limit, schedule_.vector);
    const auto fits = [&] {
      if ((access.phase + column - schedule_.lead) % width != 0 || column + width > last) return false;
      for (int k = 0; k < width; ++k)
        if (!needed(column + k)) return false;
      return true;
    };
    while (width > 1 && !fits()) width /= 2;
    result.emplace_back(column, width);
    column += width;
  }
  return result;
}

void WindowWriter::whole_reads() {
  for (const Window& window : windows_) {
    const std::string from = access_name(window.leader) + "_at";
    for (std::size_t p = 0; p < window.planes.size(); ++p) {
      const WindowPlane& plane = window.planes[p];
      std::string place = from;
      for (std::size_t axis = 0; axis < plane.at.size(); ++axis)
        place += axis_step(window.leader, axis, plane.at[axis]);
      for (int row = plane.first_row; row < plane.first_row + plane.rows; ++row) {
        const auto needed = [&](int column) { return plane.is_needed(row, column); };
        for (const auto& [column, width] :
             pieces(window.leader, plane.first_column, plane.first_column + plane.columns, needed)) {
          line("{}<{}>({}[{}]{}, {}{}{});", prelude_.use("fetch"), width, plane_name(window.leader, p),
               row - plane.first_row, plus(column - plane.first_column), place, row_step(window.leader, row),
               plus(column));
        }
      }
    }
  }
  for (std::size_t a = 0; a < kernel_.first_store(); ++a) {
    if (way_of(a) != Way::vectors) continue;
    for (int row = 0; row < schedule_.items; ++row)
      for (const auto& [column, width] : pieces(a, 0, schedule_.vector, [](int) { return true; }))
        line("{0}<{1}>({2}[{3}]{4}, {2}_at{5}{4});", prelude_.use("fetch"), width, access_name(a), row, plus(column),
             row_step(a, row));
  }
}

/// The condition under which an element of a window is needed: some place of an element inside reads it. Empty: always.
std::string WindowWriter::wanted(const WindowPlane& plane, int row, int column) const {
  std::vector<std::pair<int, int>> users;
  for (const std::size_t member : plane.members) {
    const Access& access = kernel_.accesses[member];
    const int r = row - (run_ < 0 ? 0 : displacement_of(access, run_)), k = column - displacement_of(access, inner_);
    if (r >= 0 && r < schedule_.items && k >= 0 && k < schedule_.vector) users.emplace_back(r, k);
  }
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  std::vector<std::string> alternatives;
  for (const auto& [r, k] : users) {
    const bool implied = schedule_.lead == 0 && std::any_of(users.begin(), users.end(), [&](const auto& other) {
                           return other != std::pair(r, k) && other.first <= r && other.second <= k;
                         });
    if (implied) continue;
    std::vector<std::string> terms;
    if (r > 0) terms.push_back(fmt::format("{} < rows", r));
    if (k > 0) terms.push_back(fmt::format("{} < last", k));
    if (k < schedule_.lead) terms.push_back(fmt::format("{} >= first", k));
    if (terms.empty()) return "";
    alternatives.push_back(fmt::format("{}", fmt::join(terms, " && ")));
  }
  if (alternatives.size() == 1) return alternatives[0];
  return fmt::format("({})", fmt::join(alternatives, ") || ("));
}

void WindowWriter::partial_reads() {
  const auto inner = static_cast<std::size_t>(inner_);
  for (const Window& window : windows_) {
    const std::size_t a = window.leader;
    for (std::size_t p = 0; p < window.planes.size(); ++p) {
      const WindowPlane& plane = window.planes[p];
      std::vector<int> at(plane.at.begin(), plane.at.end() - 1);
      for (int row = plane.first_row; row < plane.first_row + plane.rows; ++row) {
        if (!plane.is_needed(row)) continue;
        if (run_ >= 0) at[static_cast<std::size_t>(run_)] = row;
        line("{{");
        ++indent_;
        const std::string outer = offset(a, at, true);
        line("const {}* const row = {}{};", storage(a), field(ArgumentKind::pointer, a),
             outer == "0" ? "" : fmt::format(" + ({})", outer));
        for (int column = plane.first_column; column < plane.first_column + plane.columns; ++column) {
          if (!plane.is_needed(row, column)) continue;
          const std::string position = moved("x", column);
          const std::string condition = wanted(plane, row, column);
          line("{}{}[{}][{}] = row[{}];", condition.empty() ? "" : fmt::format("if ({}) ", condition), plane_name(a, p),
               row - plane.first_row, column - plane.first_column,
               kernel_.accesses[a].is_folded(inner) ? folded(a, inner, position) : position);
        }
        close();
      }
    }
  }
  for (std::size_t a = 0; a < kernel_.first_store(); ++a) {
    if (way_of(a) != Way::vectors) continue;
    unrolled("r", schedule_.items);
    unrolled("k", schedule_.vector);
    line("if ({0}) {1}[r][k] = {1}_at[{2}];", valid(), access_name(a), element_offset(a));
    close();
    close();
  }
}

}  // namespace kiln::codegen::cuda
