// kiln/detail/loops.h -- what kl::gufunc asks of the library: signatures, and loops around the items of a trace.
#pragma once

#include <kiln/detail/bridge.h>

namespace kiln::detail {

/// Traced values of a function written for one item: `item_ranks` axes each belong to the item, those in front to the
/// loop around it. Gives all values the same loop axes; until leave_loops, axes are counted within items. Returns what
/// leave_loops takes. ShapeError: an argument with fewer axes.
KILN_API int enter_loops(Recorder&, NodeId* values, const int* item_ranks, unsigned count, Where);
KILN_API void leave_loops(Recorder&, int before) noexcept;
/// TypeError unless a value returned by the function has as many axes as the signature says.
KILN_API void check_item_rank(Recorder&, NodeId value, int item_rank, unsigned output, const char* signature);

/// "(m,n),(n)->(m)" taken apart.
struct CoreSignature {
  static constexpr int most_operands = 16, most_letters = 32;
  enum class Fault : std::uint8_t { none, form, name, axes, operands, letters };
  Fault fault = Fault::none;
  int inputs = 0, outputs = 0;
  int ranks[most_operands] = {};  ///< inputs, then outputs
  /// Numbers of letters, or -1 - extent of an axis whose size is written as a number.
  std::int64_t axes[most_operands][max_rank] = {};
  int letters = 0;
  const char* text = nullptr;
  int name_at[most_letters] = {}, name_size[most_letters] = {};
};
/// ShapeError, naming the letter and both extents, unless the last axes of the operands agree with the signature.
/// Operand i has `ranks[i]` axes, of which `shapes` holds max_rank extents; -1: not checked.
KILN_API void check_core_axes(const CoreSignature&, const int* ranks, const std::int64_t* shapes, Where);

constexpr bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class SignatureParser {
 public:
  constexpr explicit SignatureParser(const char* text) : at_(text), start_(text) { signature_.text = text; }
  constexpr CoreSignature parse() {
    signature_.inputs = operands();
    if (!take('-') || !take('>')) fail(CoreSignature::Fault::form);
    signature_.outputs = operands();
    if (*at_) fail(CoreSignature::Fault::form);
    return signature_;
  }

 private:
  constexpr void fail(CoreSignature::Fault fault) {
    if (signature_.fault == CoreSignature::Fault::none) signature_.fault = fault;
  }
  constexpr bool take(char c) {
    while (*at_ == ' ') ++at_;
    if (*at_ != c) return false;
    ++at_;
    while (*at_ == ' ') ++at_;
    return true;
  }
  constexpr int operands() {
    int count = 0;
    do {
      if (total_ == CoreSignature::most_operands) {
        fail(CoreSignature::Fault::operands);
        return count;
      }
      if (!operand(total_)) {
        fail(CoreSignature::Fault::form);
        return count;
      }
      ++total_;
      ++count;
    } while (signature_.fault == CoreSignature::Fault::none && take(','));
    return count;
  }
  constexpr bool operand(int number) {
    if (!take('(')) return false;
    if (take(')')) return true;
    do {
      if (signature_.ranks[number] == max_rank) {
        fail(CoreSignature::Fault::axes);
        return true;
      }
      signature_.axes[number][signature_.ranks[number]++] = axis();
    } while (signature_.fault == CoreSignature::Fault::none && take(','));
    return take(')');
  }
  constexpr std::int64_t axis() {
    const char* begin = at_;
    while (is_name_letter(*at_)) ++at_;
    const int size = static_cast<int>(at_ - begin);
    if (size == 0) {
      fail(CoreSignature::Fault::name);
      return 0;
    }
    if (*begin >= '0' && *begin <= '9') return number(begin, size);
    for (int letter = 0; letter < signature_.letters; ++letter) {
      if (same(letter, begin, size)) return letter;
    }
    if (signature_.letters == CoreSignature::most_letters) {
      fail(CoreSignature::Fault::letters);
      return 0;
    }
    signature_.name_at[signature_.letters] = static_cast<int>(begin - start_);
    signature_.name_size[signature_.letters] = size;
    return signature_.letters++;
  }
  constexpr std::int64_t number(const char* begin, int size) {
    std::int64_t value = 0;
    for (int i = 0; i < size; ++i) {
      if (begin[i] < '0' || begin[i] > '9') fail(CoreSignature::Fault::name);
      value = value * 10 + (begin[i] - '0');
    }
    return -1 - value;
  }
  constexpr bool same(int letter, const char* begin, int size) const {
    if (signature_.name_size[letter] != size) return false;
    for (int i = 0; i < size; ++i) {
      if (start_[signature_.name_at[letter] + i] != begin[i]) return false;
    }
    return true;
  }

  const char* at_;
  const char* start_;
  int total_ = 0;
  CoreSignature signature_;
};

}  // namespace kiln::detail
