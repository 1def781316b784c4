// tests/support/x86_instructions.h -- which processor features a piece of x86-64 assembly (AT&T syntax) needs.
//
// By mnemonic and operands, from the instruction set reference of Intel's manual, volume 2. What is not listed is taken
// for SSE2, which every x86-64 processor has.
#pragma once

#include <cctype>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace x86 {

inline bool begins_with_any(std::string_view word, std::initializer_list<std::string_view> starts) {
  for (const std::string_view start : starts)
    if (word.starts_with(start)) return true;
  return false;
}

/// A register that only EVEX instructions name: %zmm5, %k1, %ymm16 and up.
inline bool names_evex_register(std::string_view operands) {
  if (operands.find("%zmm") != operands.npos) return true;
  for (std::size_t at = operands.find('%'); at != operands.npos; at = operands.find('%', at + 1)) {
    const std::string_view name = operands.substr(at + 1);
    if (name.size() > 1 && name[0] == 'k' && name[1] >= '0' && name[1] <= '7') return true;
    if (!name.starts_with("xmm") && !name.starts_with("ymm")) continue;
    int number = 0;
    for (const char c : name.substr(3)) {
      if (c < '0' || c > '9') break;
      number = 10 * number + (c - '0');
    }
    if (number > 15) return true;
  }
  return false;
}

/// Instructions in vector registers without VEX prefix.
inline std::string_view legacy_feature(std::string_view m) {
  if (begins_with_any(m, {"addsubp", "haddp", "hsubp", "lddqu", "movddup", "movshdup", "movsldup", "fisttp"}))
    return "sse3";
  if (begins_with_any(m, {"pabs", "palignr", "phadd", "phsub", "pmaddubsw", "pmulhrsw", "pshufb", "psign"}))
    return "ssse3";
  if (begins_with_any(m, {"blendp", "blendvp", "dpp",    "extractps", "insertps", "movntdqa", "mpsadbw", "packusdw",
                          "pblend", "pcmpeqq", "pextrb", "pextrd",    "pextrq",   "phmin",    "pinsrb",  "pinsrd",
                          "pinsrq", "pmaxsb",  "pmaxsd", "pmaxud",    "pmaxuw",   "pminsb",   "pminsd",  "pminud",
                          "pminuw", "pmovsx",  "pmovzx", "pmuldq",    "pmulld",   "ptest",    "roundp",  "rounds"}))
    return "sse4.1";
  if (begins_with_any(m, {"pcmpgtq", "pcmpestr", "pcmpistr", "crc32"})) return "sse4.2";
  return {};
}

inline std::string_view vex_feature(std::string_view m, std::string_view operands) {
  if (begins_with_any(m, {"vfmadd", "vfmsub", "vfnmadd", "vfnmsub"})) return "fma";
  if (begins_with_any(m, {"vcvtph2ps", "vcvtps2ph"})) return "f16c";
  if (begins_with_any(m, {"vpdp", "vaes", "vpclmul", "vgf2p8", "vp4dp", "vcvtne", "vsha"})) return "none of kiln's";
  if (begins_with_any(
          m, {"vpermd", "vpermq", "vpermps", "vpermpd", "vpsllv", "vpsrlv", "vpsrav", "vpgather", "vgather",
              "vpbroadcast", "vinserti128", "vextracti128", "vbroadcasti128", "vperm2i128", "vpblendd", "vpmaskmov"}))
    return "avx2";
  const bool wide = operands.find("%ymm") != operands.npos;
  if (begins_with_any(m, {"vbroadcasts"}) && operands.starts_with("%xmm")) return "avx2";
  if (wide && m.starts_with("vp") && !begins_with_any(m, {"vptest", "vpermil", "vperm2f128"})) return "avx2";
  if (wide && m.starts_with("vmovntdqa")) return "avx2";
  return "avx";
}

/// The feature of kiln's list that an instruction needs beyond SSE2; empty for none.
inline std::string_view feature_of(std::string_view mnemonic, std::string_view operands) {
  const std::string_view m = mnemonic;
  if (names_evex_register(operands)) return "avx512f";
  if (m.starts_with("v") && !m.starts_with("ver")) return vex_feature(m, operands);
  if (begins_with_any(m, {"andn", "bextr", "blsi", "blsmsk", "blsr", "tzcnt"}) && !m.starts_with("andnp")) return "bmi";
  if (begins_with_any(m, {"bzhi", "mulx", "pdep", "pext", "rorx", "sarx", "shlx", "shrx"}) && !m.starts_with("pextr"))
    return "bmi2";
  if (m.starts_with("lzcnt")) return "lzcnt";
  if (m.starts_with("popcnt")) return "popcnt";
  if (begins_with_any(m, {"aes", "sha1", "sha256", "pclmul", "gf2p8", "adcx", "adox", "movbe", "rdrand", "rdseed",
                          "xsave", "xrstor", "clflushopt", "serialize"}))
    return "none of kiln's";
  return legacy_feature(m);
}

using Features = std::set<std::string, std::less<>>;

/// The words after "x86-64 " of an architecture as kiln writes it.
inline Features features_of(std::string_view arch) {
  Features features;
  std::istringstream words{std::string(arch.substr(std::min(arch.size(), arch.find(' ') + 1)))};
  for (std::string word; std::getline(words, word, ',');)
    if (!word.empty()) features.insert(word);
  return features;
}

/// Features that the code needs.
inline Features needed(std::string_view assembly, std::string* example = nullptr, const Features& given = {}) {
  Features found;
  std::istringstream lines{std::string(assembly)};
  for (std::string line; std::getline(lines, line);) {
    std::size_t at = line.find_first_not_of(" \t");
    if (at == line.npos || at == 0 || line[at] == '.' || line[at] == '#') continue;  // labels, directives, comments
    std::string text = line.substr(at, line.find('#') == line.npos ? line.npos : line.find('#') - at);
    std::size_t end = text.find_first_of(" \t");
    std::string mnemonic = text.substr(0, end);
    if (mnemonic == "rep" || mnemonic == "lock" || mnemonic == "notrack") {
      text.erase(0, text.find_first_not_of(" \t", end));
      end = text.find_first_of(" \t");
      mnemonic = text.substr(0, end);
    }
    const std::size_t rest = end == text.npos ? text.npos : text.find_first_not_of(" \t", end);
    const std::string_view feature =
        feature_of(mnemonic, rest == text.npos ? std::string_view() : std::string_view(text).substr(rest));
    if (feature.empty()) continue;
    if (example && example->empty() && !given.contains(feature)) *example = line;
    found.emplace(feature);
  }
  return found;
}

/// The first instruction that a processor with these features does not have; empty if it has all.
inline std::string beyond(std::string_view assembly, const Features& given) {
  std::string example;
  needed(assembly, &example, given);
  return example;
}

}  // namespace x86
