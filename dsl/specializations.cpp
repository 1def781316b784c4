// dsl/specializations.cpp -- describes and lists what functions were compiled for.
#include "dsl/specializations.h"

#include <algorithm>
#include <array>
#include <deque>

#include <fmt/format.h>

#include "dsl/call_key.h"

namespace kiln::dsl {
namespace {

struct OwningSpecializations : detail::Specializations {
  std::deque<std::string> texts;  // addresses stay
  std::vector<Specialization> rows;
  Text keep(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }
};

std::string access_text(const codegen::Access& access) {
  constexpr const char* names[] = {"contiguous", "broadcast", "strided"};
  if (access.gathered) return "by index";
  std::string text;
  for (const codegen::AxisClass axis : access.axes)
    text += fmt::format("{}{}", text.empty() ? "" : " x ", names[static_cast<int>(axis)]);
  if (text.empty()) text = "one element";
  const auto whole = std::min<std::size_t>(16, size_of(access.type) * 4);
  if (!access.iota && access.alignment < whole && text.find("contiguous") != text.npos)
    text += fmt::format(" aligned to {}", access.alignment);
  return text;
}

/// How the first kernel that touches base `number` does.
std::string layout_of(const Draft& draft, std::uint32_t number, bool store) {
  for (const DraftKernel& kernel : draft.kernels) {
    for (std::size_t a = 0; a < kernel.kernel.accesses.size(); ++a) {
      const codegen::Access& access = kernel.kernel.accesses[a];
      if (!access.places && access.store == store && kernel.bases[a].number == number && !kernel.bases[a].constant)
        return access_text(access);
    }
  }
  return store ? "elsewhere" : "not read";
}

std::string milliseconds_text(const SpecializationRecord& record) {
  return record.from_cache ? "cached" : fmt::format("{:.1f} ms", record.compile_ms);
}

using Row = std::array<std::string, 7>;

/// Columns as wide as their longest entry; numbers to the right.
std::string table_text(const std::vector<Row>& rows) {
  std::array<std::size_t, 7> widths = {};
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool number = c >= 3 && c <= 5;
      line += number ? fmt::format("{:>{}}  ", row[c], widths[c]) : fmt::format("{:<{}}  ", row[c], widths[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace

void SpecializationRecord::add_kernel(const std::string& name, const runtime::Binary& binary) {
  kernels += (kernels.empty() ? "" : ", ") + name;
  registers = std::max(registers, binary.registers);
  compile_ms += binary.compile_ms;
  from_cache = from_cache && binary.compile_ms == 0;
}

std::shared_ptr<SpecializationRecord> SpecializationList::add(std::shared_ptr<SpecializationRecord> record) {
  const std::lock_guard lock(mutex_);
  for (const auto& known : records_)
    if (known->is_same(*record)) return known;
  return records_.emplace_back(std::move(record));
}

detail::Specializations* SpecializationList::list() const {
  auto owner = std::make_unique<OwningSpecializations>();
  std::vector<Row> rows = {{"signature", "layouts", "device", "runs", "registers", "compiled in", "kernels"}};
  {
    const std::lock_guard lock(mutex_);
    for (const auto& record : records_) {
      const std::int64_t runs = record->runs.load(std::memory_order_relaxed);
      owner->rows.push_back({owner->keep(record->signature), owner->keep(record->layouts), owner->keep(record->device),
                             owner->keep(record->kernels), runs, record->registers, record->compile_ms,
                             record->from_cache});
      rows.push_back({record->signature, record->layouts, record->device, std::to_string(runs),
                      record->registers < 0 ? "-" : std::to_string(record->registers), milliseconds_text(*record),
                      record->kernels});
    }
  }
  owner->items = owner->rows.data();
  owner->count = static_cast<unsigned>(owner->rows.size());
  owner->table = owner->rows.empty() ? Text("not compiled for anything yet\n") : owner->keep(table_text(rows));
  return owner.release();
}

std::string device_text(runtime::DeviceId device) {
  return device.kind == runtime::DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
}

std::shared_ptr<SpecializationRecord> describe(const Draft& draft, const detail::Call& call, std::string device) {
  auto record = std::make_shared<SpecializationRecord>();
  record->signature = types_text(call);
  record->device = std::move(device);
  const auto add = [&](const std::string& text) { record->layouts += (record->layouts.empty() ? "" : ", ") + text; };
  std::vector<unsigned> merged(call.input_count);
  merge_inputs(call.inputs, call.input_count, merged.data());
  for (unsigned i = 0; i < call.input_count; ++i)
    add(merged[i] < i ? fmt::format("same as {}", merged[i]) : layout_of(draft, i, false));
  std::string results;
  for (unsigned t = 0; t < call.target_count; ++t)
    results += (results.empty() ? "" : ", ") + layout_of(draft, call.input_count + t, true);
  record->layouts = "(" + record->layouts + ") -> " + (call.target_count == 1 ? results : "(" + results + ")");
  return record;
}

}  // namespace kiln::dsl

namespace kiln::detail {

void destroy(Specializations* list) noexcept { delete static_cast<dsl::OwningSpecializations*>(list); }

}  // namespace kiln::detail
