// codegen/emit/cuda_scan_rows.cpp -- running reductions along contiguous rows: positions, loads and stores.
#include <algorithm>

#include "codegen/emit/cuda_scan.h"

namespace kiln::codegen::cuda {

/// The row of this thread and where its operands start. Threads past the last row read the first one and store nothing.
void ScanWriter::row_position() {
  if (by_block()) {
    if (kept_ > 0) line("const {} i = {};", index_, schedule_.split ? "tile" : block_text());
    line("const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
  } else {
    line("const u32 lane = threadIdx.x % {}u;", schedule_.lanes);
    line("const {} start = {} * {}u + threadIdx.x / {}u;", index_, block_index(), schedule_.block / schedule_.lanes,
         schedule_.lanes);
    line("const bool inside = start < {};", rows_text());
    line("const {} i = inside ? start : 0;", index_);
  }
  if (kept_ > 0) decode("i", 0, kept_);
  kept_pointers("row");
  for (std::size_t a = 0; a < kernel_.first_store(); ++a) {
    if (!is_iota(a) && !is_gathered(a) && !is_element(a))
      line("const {} {} = *{};", storage(a), access_name(a), pointers_[a]);
  }
}

/// Of the first element of vector u.
std::string ScanWriter::vector_position() const {
  const int per_warp = lanes() * schedule_.vector * schedule_.items;
  std::string within = fmt::format("(u * {}u + lane) * {}u", lanes(), schedule_.vector);
  if (!by_block()) return within;
  return fmt::format("(piece * {}u + warp) * {}u + {}", schedule_.block / 32, per_warp, within);
}

std::string ScanWriter::vector_place(std::size_t a) const {
  const auto scanned = static_cast<std::size_t>(kernel_.rank - 1);
  if (inner_class(a) == AxisClass::contiguous) return pointers_[a] + " + at";
  return fmt::format("{} + {}(at) * {}", pointers_[a], step_, stride(a, scanned));
}

void ScanWriter::load_vectors() {
  std::vector<std::size_t> loads;
  for (std::size_t a = 0; a < kernel_.first_store(); ++a) {
    if (!is_iota(a) && is_element(a)) loads.push_back(a);
  }
  if (loads.empty()) return;
  for (const std::size_t a : loads)
    line("{} {}[{}][{}];", storage(a), access_name(a), schedule_.items, schedule_.vector);
  unrolled("u", schedule_.items);
  line("const {} at = {};", index_, vector_position());
  line("const {} count = at < last ? last - at : 0;", index_);
  for (const std::size_t a : loads) {
    const std::string local = access_name(a) + "[u]";
    const auto scanned = static_cast<std::size_t>(kernel_.rank - 1);
    const bool contiguous = inner_class(a) == AxisClass::contiguous;
    const std::string gathered = fmt::format("{}({}, {}, {}, count);", prelude_.use("gather"), local, vector_place(a),
                                             contiguous ? "1" : stride(a, scanned));
    if (schedule_.vector == 1 || !contiguous || is_underaligned(a)) {
      line("{}", gathered);
      continue;
    }
    open(fmt::format("if (count >= {}u)", schedule_.vector));
    line("{}<{}>({}, {});", prelude_.use("read"), access_width(a, schedule_.vector), local, vector_place(a));
    --indent_;
    open("} else");
    line("{}", gathered);
    close();
  }
  close();
}

/// Vector u of every output.
void ScanWriter::store_vectors() {
  line("const {} at = {};", index_, vector_position());
  line("const {} count = {}at < last ? last - at : 0;", index_, by_block() ? "" : "inside && ");
  const auto scanned = static_cast<std::size_t>(kernel_.rank - 1);
  for (const std::size_t a : stores(true)) {
    const std::string local = access_name(a) + "[u]";
    const bool contiguous = inner_class(a) == AxisClass::contiguous;
    const std::string scattered = fmt::format("{}({}, {}, {}, count);", prelude_.use("scatter"), vector_place(a), local,
                                              contiguous ? "1" : stride(a, scanned));
    if (schedule_.vector == 1 || !contiguous || is_underaligned(a)) {
      line("{}", scattered);
      continue;
    }
    open(fmt::format("if (count >= {}u)", schedule_.vector));
    line("{}<{}>({}, {});", prelude_.use("write"), access_width(a, schedule_.vector), vector_place(a), local);
    --indent_;
    open("} else");
    line("{}", scattered);
    close();
  }
}

/// Element k of vector u, or of row u and column k.
std::string ScanWriter::element_place(std::size_t a) const {
  if (by_columns()) return ColumnWriter::element_place(a);
  if (!is_iota(a)) return access_name(a) + "[u][k]";
  return fmt::format("({}{})", pointers_[a], outer_offset(a, {kernel_.rank - 1}));
}

std::string ScanWriter::scan_row_place(std::size_t a) const { return is_iota(a) ? pointers_[a] : access_name(a); }

}  // namespace kiln::codegen::cuda
