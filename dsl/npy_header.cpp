// dsl/npy_header.cpp -- a small parser for the one Python literal that .npy headers are.
//
// bfloat16 has no letter in NumPy. ml_dtypes' bfloat16 arrays are saved with descr '<V2' (two opaque bytes), so that is
// what kiln writes and reads; NumPy alone loads such a file as void, to be viewed as ml_dtypes.bfloat16 or as uint16
// bits.
#include "dsl/npy_header.h"

#include <charconv>

#include "support/check.h"

namespace kiln::dsl {
namespace {

struct Descr {
  const char* letters;  ///< kind and bytes
  DType type;
};
constexpr Descr descrs[] = {
    {"b1", DType::b1},  {"?", DType::b1},     {"i1", DType::i8},         {"i2", DType::i16}, {"i4", DType::i32},
    {"i8", DType::i64}, {"u1", DType::u8},    {"u2", DType::u16},        {"u4", DType::u32}, {"u8", DType::u64},
    {"f2", DType::f16}, {"V2", DType::bf16},  {"bfloat16", DType::bf16}, {"f4", DType::f32}, {"f8", DType::f64},
    {"c8", DType::c64}, {"c16", DType::c128},
};

class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view path, Where where) : text_(text), path_(path), where_(where) {}

  NpyHeader parse() {
    NpyHeader header;
    bool seen[3] = {};
    expect('{', "'{' at the start");
    while (!accept('}')) {
      const std::string key(string("a key in quotes"));
      expect(':', "':' after a key");
      if (key == "descr") {
        once(seen[0], key);
        descr(header);
      } else if (key == "fortran_order") {
        once(seen[1], key);
        header.fortran_order = boolean();
      } else if (key == "shape") {
        once(seen[2], key);
        shape(header);
      } else {
        bad(fmt::format("the key '{}', which NumPy does not write", printable(key)));
      }
      if (accept('}')) break;
      expect(',', "',' or '}' after a value");
    }
    skip_space();
    if (position_ != text_.size()) bad("text after the closing '}'");
    for (int i = 0; i < 3; ++i) {
      if (!seen[i]) bad(fmt::format("no key '{}'", i == 0 ? "descr" : i == 1 ? "fortran_order" : "shape"));
    }
    return header;
  }

 private:
  static std::string printable(std::string_view text) {
    std::string result;
    for (const char c : text.substr(0, 60)) result += c >= ' ' && c <= '~' ? c : '?';
    return text.size() > 60 ? result + "..." : result;
  }

  [[noreturn]] void bad(const std::string& found) const {
    const std::size_t begin = position_ < 20 ? 0 : position_ - 20;
    fail<IoError>(
        "[load_npy] {}: bad header: found {} at byte {} of it{}, near \"{}\"; expected a dictionary with 'descr', "
        "'fortran_order' and 'shape', as NumPy writes it. Is this a .npy file?",
        path_, found, position_, place(where_), printable(text_.substr(begin, 40)));
  }

  void skip_space() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c != ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f' && c != '\v') break;
      ++position_;
    }
  }
  bool accept(char c) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  std::string here() {
    skip_space();
    return position_ < text_.size() ? fmt::format("'{}'", printable(text_.substr(position_, 1))) : "the end";
  }
  void expect(char c, const char* what) {
    if (!accept(c)) bad(fmt::format("{} instead of {}", here(), what));
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }
  void once(bool& seen, const std::string& key) const {
    if (seen) bad(fmt::format("the key '{}' twice", key));
    seen = true;
  }

  /// A string without escapes; NumPy needs none. Python 2 wrote u'' and b'' too.
  std::string_view string(const char* what) {
    skip_space();
    if (position_ + 1 < text_.size() && (text_[position_] == 'u' || text_[position_] == 'b')) ++position_;
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') bad(fmt::format("{} instead of {}", here(), what));
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) bad("a string without an end");
    const std::string_view value = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return value;
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    bad(fmt::format("{} instead of True or False", here()));
  }

  std::int64_t extent() {
    skip_space();
    std::int64_t value = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) bad("an extent that does not fit 64 bits");
    if (error != std::errc() || value < 0) bad(fmt::format("{} instead of an extent of 0 or more", here()));
    position_ += static_cast<std::size_t>(end - begin);
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;
    return value;
  }

  void shape(NpyHeader& header) {
    std::vector<std::int64_t> extents;
    expect('(', "'(' of the shape");
    while (!accept(')')) {
      extents.push_back(extent());
      if (accept(')')) {
        if (extents.size() == 1) bad("a number in parentheses instead of a tuple such as (3,)");
        break;
      }
      expect(',', "',' or ')' in the shape");
    }
    if (extents.size() > static_cast<std::size_t>(max_rank)) {
      fail<ShapeError>(
          "[load_npy] {} holds shape {}{}; kiln arrays have at most {} axes. Reshape it in NumPy before saving", path_,
          to_text(extents), place(where_), max_rank);
    }
    header.shape = make_shape("load_npy", extents, where_);
  }

  void descr(NpyHeader& header) {
    skip_space();
    if (position_ < text_.size() && text_[position_] == '[') unsupported("a structured type");
    const std::string_view value = string("an element type in quotes");
    header.descr = printable(value);
    const bool has_order = !value.empty() && std::string_view("<>=|").find(value[0]) != std::string_view::npos;
    const std::string_view letters = has_order ? value.substr(1) : value;
    for (const Descr& known : descrs) {
      if (letters != known.letters) continue;
      header.type = known.type;
      header.byte_swapped = has_order && value[0] == '>' && size_of(known.type) > 1;
      return;
    }
    unsupported(fmt::format("elements of type '{}'", header.descr));
  }

  [[noreturn]] void unsupported(const std::string& found) const {
    fail<TypeError>(
        "[load_npy] {} holds {}{}; kiln loads bool, integers, f16, bf16 ('<V2'), f32, f64, c64 and c128. Convert "
        "it in NumPy: np.save(path, x.astype(np.float32))",
        path_, found, place(where_));
  }

  std::string_view text_, path_;
  Where where_;
  std::size_t position_ = 0;
};

unsigned byte_at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

}  // namespace

NpyExtent npy_header_extent(std::string_view bytes, std::string_view path, Where where) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (bytes.substr(0, magic.size()) != magic) {
    fail<IoError>(
        "[load_npy] {} is not a .npy file{}: expected it to begin with \\x93NUMPY, found {} bytes: {:02x}", path,
        place(where), std::min(bytes.size(), magic.size()),
        fmt::join(reinterpret_cast<const unsigned char*>(bytes.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()) + std::min(bytes.size(), magic.size()), " "));
  }
  const unsigned major = bytes.size() > 7 ? byte_at(bytes, 6) : 0, minor = bytes.size() > 7 ? byte_at(bytes, 7) : 0;
  const std::size_t begin = major == 1 ? 10 : 12;
  if (bytes.size() < begin) {
    fail<IoError>("[load_npy] {} is truncated{}: it ends after {} bytes, inside the header's length", path,
                  place(where), bytes.size());
  }
  if (major < 1 || major > 3) {
    fail<IoError>("[load_npy] {} has .npy format version {}.{}{}; kiln reads 1.0, 2.0 and 3.0", path, major, minor,
                  place(where));
  }
  std::size_t length = 0;
  for (std::size_t i = begin; i-- > 8;) length = length << 8 | byte_at(bytes, i);
  constexpr std::size_t longest = 1 << 20;  // NumPy itself stops at 10,000 bytes
  if (length > longest) {
    fail<IoError>("[load_npy] {} declares a header of {} bytes{}; expected at most {}. The file is damaged", path,
                  length, place(where), longest);
  }
  return {begin, begin + length};
}

NpyHeader parse_npy_header(std::string_view text, std::string_view path, Where where) {
  return HeaderParser(text, path, where).parse();
}

std::string format_npy_header(DType type, const Shape& shape, bool fortran_order) {
  const char* letters = "";
  for (const Descr& known : descrs) {
    if (known.type != type) continue;
    letters = known.letters;  // the first one is NumPy's own
    break;
  }
  std::string text =
      fmt::format("{{'descr': '{}{}', 'fortran_order': {}, 'shape': {}, }}", size_of(type) == 1 ? '|' : '<', letters,
                  fortran_order ? "True" : "False", to_text(shape));
  constexpr std::size_t fixed = 10, alignment = 64;
  const std::size_t padded = (fixed + text.size() + 1 + alignment - 1) / alignment * alignment;
  text.append(padded - fixed - text.size() - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace kiln::dsl
