// dsl/temporaries.cpp -- assigns memory to temporaries in the order in which kernels write them.
#include "dsl/temporaries.h"

#include <map>

namespace kiln::dsl {
namespace {

/// The kernels that use one temporary.
struct Use {
  std::size_t first = ~std::size_t{0}, last = 0;
};

std::vector<Use> uses_of(const Draft& draft, std::uint32_t first) {
  std::vector<Use> uses(draft.temporaries.size());
  for (std::size_t k = 0; k < draft.kernels.size(); ++k) {
    for (const Base& base : draft.kernels[k].bases) {
      if (base.constant || base.number < first) continue;
      Use& use = uses[base.number - first];
      use.first = std::min(use.first, k);
      use.last = k;
    }
  }
  return uses;
}

}  // namespace

void share_temporaries(Draft& draft, std::uint32_t first) {
  const std::vector<Use> uses = uses_of(draft, first);
  std::vector<std::vector<std::uint32_t>> begins(draft.kernels.size()), ends(draft.kernels.size());
  for (std::uint32_t t = 0; t < uses.size(); ++t) {
    if (uses[t].first > uses[t].last) continue;  // nothing uses it
    begins[uses[t].first].push_back(t);
    ends[uses[t].last].push_back(t);
  }
  std::vector<std::uint64_t> memory;                   // bytes
  std::vector<std::uint32_t> place(uses.size(), 0);    // in `memory`
  std::multimap<std::uint64_t, std::uint32_t> unused;  // of `memory`, by bytes
  for (std::size_t k = 0; k < draft.kernels.size(); ++k) {
    for (const std::uint32_t t : begins[k]) {
      const std::uint64_t bytes = draft.temporaries[t];
      auto found = unused.lower_bound(bytes);
      if (found == unused.end() && !unused.empty()) --found;  // the largest grows
      if (found == unused.end()) {
        place[t] = static_cast<std::uint32_t>(memory.size());
        memory.push_back(bytes);
        continue;
      }
      place[t] = found->second;
      memory[place[t]] = std::max(memory[place[t]], bytes);
      unused.erase(found);
    }
    for (const std::uint32_t t : ends[k]) unused.emplace(memory[place[t]], place[t]);
  }
  for (DraftKernel& kernel : draft.kernels)
    for (Base& base : kernel.bases)
      if (!base.constant && base.number >= first) base.number = first + place[base.number - first];
  draft.temporaries = std::move(memory);
}

}  // namespace kiln::dsl
