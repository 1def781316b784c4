// codegen/emit/cuda_row_reduction.h -- reductions along contiguous rows: a group of lanes per row, one block per row,
// or several blocks per row.
#pragma once

#include <algorithm>
#include <map>

#include "codegen/emit/cuda_reduction_parts.h"

namespace kiln::codegen::cuda {

class RowWriter : public ReductionWriter {
 public:
  RowWriter(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);

 private:
  void statements() override;
  std::string schedule_text() const override;

  // cuda_row_reduction.cpp: rows, passes, joins.
  void declare_row(std::span<const std::size_t> accesses);
  void row_position(std::span<const std::size_t> accesses, bool writes);
  void decode_row(const std::string& row, std::span<const std::size_t> accesses, bool writes);
  void passes();
  void join_pass(std::size_t pass);
  void element_outputs();
  void row_outputs();
  void declare_ratios(std::span<const NodeId> roots, std::span<const std::size_t> outputs);
  void choose_rounded_quotients(const std::vector<char>& needed, std::span<const NodeId> roots,
                                std::span<const std::size_t> outputs);
  bool rounds_quotient(NodeId id) const;
  std::string division_text(NodeId id);
  void choose_summed_terms(std::size_t pass);
  void choose_divided_terms(const std::vector<char>& needed, std::span<const NodeId> roots);
  std::string term_text(NodeId id);
  void check_exponents();
  /// Calls `tile(predicated)` for whole tiles, in a loop over the row, and for what is left of it.
  void each_tile(const std::function<void(bool)>& tile);
  void accumulate_tile(std::size_t pass, bool predicated);
  std::string packed_maximum(NodeId value);
  std::string unknown_one() const;
  /// True where batches are joined to a running state.
  bool runs_on(std::size_t) const { return !schedule_.resident || is_cluster(); }
  bool is_lone_maximum(std::size_t pass) const {
    return monoids_[pass].size() == 1 && monoids_[pass][0].kind == Reduction::max;
  }
  bool sums_exponentials(std::size_t pass) const;
  void logsumexp_tile(std::size_t pass, bool predicated);
  void tile_state(std::size_t pass, bool predicated);
  void store_elements(std::span<const NodeId> roots, std::span<const std::size_t> outputs);
  void store_tile(std::span<const NodeId> roots, std::span<const std::size_t> outputs, bool predicated);
  bool several_rows() const { return schedule_.rows > 1; }
  bool prefetches() const { return schedule_.grid > 0; }
  bool is_cluster() const { return schedule_.cluster > 1; }
  int warps() const { return std::min(schedule_.lanes, schedule_.block) / 32; }
  bool shares_block() const { return schedule_.lanes < schedule_.block; }
  /// "[r]" where a thread has several rows at a time.
  std::string row_piece() const { return several_rows() ? "[r]" : ""; }
  std::string row_text() const;
  void next_rows(std::span<const std::size_t> held);
  void load_next(const std::string& row, std::span<const std::size_t> held);

  std::string special_text(NodeId id) override;

  // cuda_row_cluster.cpp: rows held by the shared memory and the registers of several blocks.
  void declare_shared(std::span<const std::size_t> held);
  void load_cluster(std::span<const std::size_t> held);
  void copy_vector(std::size_t a, bool predicated);
  void cluster_rows(std::span<const std::size_t> held, std::span<const std::size_t> others);
  void copy_next(std::span<const std::size_t> held, bool predicated);
  void cluster_state(std::size_t pass, bool predicated);
  void cluster_logsumexp(std::size_t pass, bool predicated);
  /// Prints `statements` for the vectors in shared memory, a few at a time where `by_chunk`, and for those in
  /// registers.
  void each_part(bool by_chunk, const std::function<void()>& statements);
  int chunks() const { return (schedule_.tile + chunk_vectors - 1) / chunk_vectors; }
  std::vector<std::size_t> held_loads() const;
  void read_shared(std::span<const std::size_t> loads);

  // cuda_gathers.cpp: rows of other memory that an index of the row names.
  void find_gathered_rows();
  /// The vectors at hand of those that the values below `roots` read.
  void load_gathered_rows(std::span<const NodeId> roots, bool predicated);

  // cuda_row_access.cpp: positions along the row, loads and stores.
  int kept() const { return kernel_.rank - kernel_.reduced; }
  std::size_t last() const { return static_cast<std::size_t>(kernel_.rank - 1); }
  std::string length() const { return kernel_.reduced == 1 ? extent(last()) : "n"; }
  std::string tile_size() const;
  /// Opens the loop over the vectors of a tile and declares the position j of the current one where `accesses` move or
  /// it is compared with the end.
  void open_vectors(std::span<const std::size_t> accesses, bool compared);
  /// The vectors of a thread that the loops over them run over.
  struct Range {
    int first, end;
  };
  Range vectors() const;
  std::string vector_piece() const {
    if (part_ == Part::registers) return schedule_.tile > 0 ? fmt::format("[u - {}]", schedule_.tile) : "[u]";
    return schedule_.items > 1 ? "[u]" : "";
  }
  std::string place(std::size_t a) const;
  std::string element_stride(std::size_t a) const;
  std::string position_stride(std::size_t a) const;
  std::string row_pieces(std::size_t a) const;
  /// Loads that the values below `roots` read, element by element.
  std::vector<std::size_t> loads_below(std::span<const NodeId> roots) const;
  void declare_loads(std::span<const std::size_t> loads);
  void load_vectors(std::span<const std::size_t> loads, bool predicated);
  void load_vector(std::size_t a, bool predicated);
  void load_partial(std::size_t a, int width);
  std::string whole_read(std::size_t a, const char* function, const std::string& more);
  void read_pieces(std::size_t a, bool packed, const char* function, const std::string& arguments);
  void declare_shift(std::span<const std::size_t> accesses);
  int vector_width(std::size_t a) const;
  bool joins_two_vectors(std::size_t a) const;
  std::string is_full() const;
  std::string whole_condition(std::size_t a) const;
  bool has_partial_vectors(bool predicated) const;
  std::string local_vector(std::size_t a) const;
  void store_vector(std::size_t a, bool predicated);
  std::string element_place(std::size_t a);
  std::string row_place(std::size_t a) const;
  /// Read from the caches, where results are written.
  bool is_late(std::size_t a) const { return !held_[a]; }

  /// f16 and bf16 that are held in pairs and unpacked where they are needed.
  bool is_packed(std::size_t a) const;

  std::string row_;     ///< the row at hand, where a block takes several in turn
  std::string suffix_;  ///< of the names of loads
  enum class Part : std::uint8_t { all, shared, registers };

  static constexpr int chunk_vectors = 4;  ///< that are copied and awaited together
  int chunk_ = -1;                         ///< of the part in shared memory; -1: all of it
  Part part_ = Part::all;                  ///< vectors of the row at hand, where a cluster holds it
  std::vector<char> held_;                 ///< per access
  std::size_t anchor_ = 0;                 ///< what shifted rows are aligned to
  std::size_t stage_ = 0;                  ///< passes that are printed
  std::map<NodeId, std::string> ratios_;   ///< divisors of a row, as Ratio variables
  bool divides_fast_ = false;
  bool checks_quotients_ = false;  ///< some are divided again where `plain` is false
  /// What a value of the row's elements is used for: to be stored in 16 bits and nothing else, or other things.
  enum class StoredAs : std::uint8_t { nothing, f16, bf16, other };
  std::vector<StoredAs> stored_as_;  ///< per node, of the results at hand
  /// How exp(x - max) is computed: by the function of the language, for a sum, or to be divided by that sum; the
  /// quotient may be rounded to f16 or (terms times 2^8) bf16.
  enum class TermForm : std::uint8_t { function, summed, divided, rounded, scaled };
  std::vector<TermForm> term_forms_;  ///< per node, of the pass at hand; may be empty
  std::vector<NodeId> exponents_;     ///< of the terms that are divided
};

}  // namespace kiln::codegen::cuda
