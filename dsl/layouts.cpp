// dsl/layouts.cpp -- the table of layouts: readers never wait, writers take one lock, nothing is ever freed.
#include "dsl/layouts.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "dsl/out_of_memory.h"
#include "support/check.h"
#include "support/fork_safe.h"

namespace kiln::dsl {
namespace {

using detail::Layout;

struct Entry {
  std::uint64_t hash = 0;
  Layout layout;
};

/// Open addressing with linear probing. A table is only ever filled; a full one is replaced by a larger copy.
struct Table {
  explicit Table(std::size_t size) : mask(size - 1), slots(new std::atomic<const Entry*>[size]()) {}
  std::size_t mask;
  std::unique_ptr<std::atomic<const Entry*>[]> slots;
};

struct Interner {
  ForkSafeMutex mutex;
  std::size_t count = 0;
  std::vector<std::unique_ptr<Table>> tables;  // the last one is current; readers may still be in the others
  std::atomic<Table*> current;
  Interner() {
    tables.push_back(std::make_unique<Table>(1024));
    current = tables.back().get();
  }
};

constinit Leaked<Interner> the_interner;  // arrays with static storage duration refer to layouts
Interner& interner() { return the_interner.get(); }

/// Folded 64x64 -> 128 bit product: two words per multiplication.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_of(DType type, runtime::DeviceId device, const Strided& view) {
  const std::uint64_t head = static_cast<std::uint64_t>(view.shape.rank) | static_cast<std::uint64_t>(type) << 8 |
                             static_cast<std::uint64_t>(device.kind) << 16 |
                             static_cast<std::uint64_t>(device.index) << 24;
  std::uint64_t hash = fold(head ^ 0x9e3779b97f4a7c15ull, 0xd6e8feb86659fd93ull);
  for (int i = 0; i < view.shape.rank; ++i) {
    hash = fold(static_cast<std::uint64_t>(view.shape.extents[i]) ^ hash,
                static_cast<std::uint64_t>(view.strides[i]) ^ 0xa0761d6478bd642full);
    hash += 0xe7037ed1a0b428dbull;  // a zero product must not absorb what follows
  }
  return hash;
}

bool matches(const Layout& layout, DType type, runtime::DeviceId device, const Strided& view) {
  if (layout.rank != view.shape.rank || layout.dtype != type ||
      layout.device_kind != static_cast<std::uint8_t>(device.kind) || layout.device_index != device.index) {
    return false;
  }
  for (int i = 0; i < layout.rank; ++i) {
    if (layout.shape[i] != view.shape.extents[i] || layout.strides[i] != view.strides[i]) return false;
  }
  return true;
}

/// The entry, or null. Sees at least everything inserted before `table` was read.
const Entry* find(const Table& table, std::uint64_t hash, DType type, runtime::DeviceId device, const Strided& view) {
  for (std::size_t i = hash & table.mask;; i = (i + 1) & table.mask) {
    const Entry* entry = table.slots[i].load(std::memory_order_acquire);
    if (!entry) return nullptr;
    if (entry->hash == hash && matches(entry->layout, type, device, view)) return entry;
  }
}

void insert(Table& table, const Entry* entry) {
  std::size_t i = entry->hash & table.mask;
  while (table.slots[i].load(std::memory_order_relaxed)) i = (i + 1) & table.mask;
  table.slots[i].store(entry, std::memory_order_release);
}

Entry make_entry(std::uint64_t hash, DType type, runtime::DeviceId device, const Strided& view, const char* operation,
                 Where where) {
  const auto bytes = static_cast<std::int64_t>(size_of(type));
  const ElementRange range = element_range(operation, view, bytes, where);
  Entry entry;
  entry.hash = hash;
  Layout& layout = entry.layout;
  layout.rank = view.shape.rank;
  layout.dtype = type;
  layout.device_kind = static_cast<std::uint8_t>(device.kind);
  layout.device_index = static_cast<std::int16_t>(device.index);
  layout.size = element_count(operation, view.shape, where);
  layout.low = range.low * bytes;
  layout.high = range.high * bytes;
  layout.contiguous = is_contiguous(view);
  for (int i = 0; i < layout.rank; ++i) {
    layout.shape[i] = view.shape.extents[i];
    layout.strides[i] = view.strides[i];
  }
  return entry;
}

}  // namespace

const Layout* intern(DType type, runtime::DeviceId device, const Strided& view, const char* operation, Where where) {
  Interner& all = interner();
  const std::uint64_t hash = hash_of(type, device, view);
  const Table* table = all.current.load(std::memory_order_acquire);
  if (const Entry* entry = find(*table, hash, type, device, view)) [[likely]]
    return &entry->layout;

  auto made = std::make_unique<Entry>(make_entry(hash, type, device, view, operation, where));
  const std::lock_guard lock(all.mutex);
  Table* latest = all.current.load(std::memory_order_relaxed);
  if (const Entry* entry = find(*latest, hash, type, device, view)) return &entry->layout;
  if (2 * (all.count + 1) > latest->mask + 1) {
    all.tables.push_back(std::make_unique<Table>(2 * (latest->mask + 1)));
    Table* larger = all.tables.back().get();
    for (std::size_t i = 0; i <= latest->mask; ++i) {
      if (const Entry* entry = latest->slots[i].load(std::memory_order_relaxed)) insert(*larger, entry);
    }
    all.current.store(larger, std::memory_order_release);
    latest = larger;
  }
  const Entry* entry = made.release();
  insert(*latest, entry);
  ++all.count;
  return &entry->layout;
}

Strided strided_of(const Layout& layout) {
  Strided view;
  view.shape.rank = layout.rank;
  std::memcpy(view.shape.extents.data(), layout.shape, sizeof layout.shape);
  std::memcpy(view.strides.data(), layout.strides, sizeof layout.strides);
  return view;
}

std::size_t interned_layouts() {
  Interner& all = interner();
  const std::lock_guard lock(all.mutex);
  return all.count;
}

}  // namespace kiln::dsl

namespace kiln::detail {
namespace {

/// Index operands of expressions move alike: their data is not an address, so this is integer arithmetic.
void* advance(const Handle& handle, std::int64_t elements) {
  const auto bytes = static_cast<std::uintptr_t>(elements) * size_of(handle.layout->dtype);
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(handle.data) + bytes);
}

}  // namespace

const Layout* intern(DType type, int device_kind, int device_index, const std::int64_t* shape, int rank,
                     const std::int64_t* strides) try {
  const dsl::Shape checked = dsl::make_shape("array", {shape, static_cast<std::size_t>(rank)}, {});
  dsl::Strided view = dsl::constant(checked);
  if (strides) {
    for (int i = 0; i < rank; ++i) view.strides[i] = strides[i];
  } else {
    view = dsl::contiguous("array", checked, {});
  }
  return dsl::intern(type, {static_cast<runtime::DeviceKind>(device_kind), device_index}, view);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("note a layout");
}

Handle view_of(const Handle& h, int kind, const std::int64_t* numbers, unsigned count, Where where) try {
  const auto name = dsl::name_of(static_cast<dsl::ViewSpec::Kind>(kind));
  if (!h.layout) {
    fail<ShapeError>(
        "[{}] of an array without elements{}: it was default-constructed or moved from; give it a shape or assign to "
        "it first",
        name, dsl::place(where));
  }
  const dsl::Strided view = dsl::strided_of(*h.layout);
  const std::optional<dsl::Strided> result = dsl::apply_view(view, kind, numbers, count, where);
  if (!result) {
    fail<ShapeError>(
        "[reshape] shape {} with strides {} cannot be seen as shape {} without a copy{}; call clone() first, "
        "e.g. x.clone().reshape(...)",
        dsl::to_text(view.shape), dsl::to_text({view.strides.data(), static_cast<std::size_t>(view.shape.rank)}),
        dsl::to_text({numbers, count}), dsl::place(where));
  }
  const Layout* layout = dsl::intern(h.layout->dtype, dsl::device_of(*h.layout), *result, name, where);
  return {h.storage, advance(h, result->offset), layout};
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make a view", where);
}

int broadcast_shape(const Layout* const* layouts, unsigned count, std::int64_t* shape, Where where) try {
  std::vector<dsl::Shape> shapes;
  shapes.reserve(count);
  for (unsigned i = 0; i < count; ++i) shapes.push_back(dsl::shape_of(*layouts[i]));
  const dsl::Shape result = dsl::broadcast("broadcast", shapes, where);
  for (int i = 0; i < result.rank; ++i) shape[i] = result.extents[i];
  return result.rank;
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("broadcast", where);
}

}  // namespace kiln::detail
