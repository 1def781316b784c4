// tests/fuzz/graph_text/driver.cpp -- runs the fuzzer's target on mutated texts, the same ones each time.
//
//   graph_text_fuzz --run SEED COUNT    mutations of the seeds
//   graph_text_fuzz --seeds FOLDER      writes the seeds, for libFuzzer
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/fuzz/graph_text/target.h"
#include "tests/fuzz/random.h"

namespace {

using fuzz::Random;

/// Words that a text may hold, and numbers at the borders of their types.
const std::vector<std::string> words = {"%0",
                                        "%1",
                                        "%99",
                                        "%4294967295",
                                        "%4294967296",
                                        "-1",
                                        "9",
                                        "-9223372036854775808",
                                        "9223372036854775807",
                                        "[",
                                        "]",
                                        "[]",
                                        "{",
                                        "}",
                                        "=",
                                        ",",
                                        ":",
                                        "::-1",
                                        "type=",
                                        "f16",
                                        "b1",
                                        "c128",
                                        "axes=[0]",
                                        "axis=0",
                                        "keepdims",
                                        "strong",
                                        "by=[1]",
                                        "to=[2, 3]",
                                        "items=[0]",
                                        "rank=0",
                                        "rank=8",
                                        "accumulate=b1",
                                        "ddof=-1",
                                        "beyond=wrap",
                                        "outside=clip",
                                        "sum",
                                        "argmax",
                                        "cumsum",
                                        "where",
                                        "bit_not",
                                        "take",
                                        "shift",
                                        "reshape",
                                        "input",
                                        "scalar",
                                        "output",
                                        "name \"\"",
                                        "\n",
                                        "#",
                                        "\"",
                                        "kiln graph 1\n",
                                        std::string(1, '\0'),
                                        "\xff",
                                        "bits=0x80000000"};

std::size_t below(Random& random, std::size_t bound) {
  return bound == 0 ? 0 : static_cast<std::size_t>(random.below(static_cast<int>(bound)));
}

void mutate(std::string& text, const std::string& other, Random& random) {
  const std::size_t at = below(random, text.size() + 1), length = std::min(text.size() - at, below(random, 24));
  switch (random.below(7)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(random.below(256));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, random.pick(words));
      break;
    case 3:
      text.replace(at, length, random.pick(words));
      break;
    case 4:
      text.insert(at, text.substr(below(random, text.size() + 1), length));
      break;
    case 5: {  // a line of another text
      const std::size_t line = other.find('\n', below(random, other.size()));
      if (line != other.npos) text.insert(at, other.substr(line, other.find('\n', line + 1) - line));
      break;
    }
    default: {  // another digit
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (digit != text.npos) text[digit] = static_cast<char>('0' + random.below(10));
    }
  }
}

void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> seeds = kiln::fuzz::text_seeds();
  if (argc == 3 && std::string(argv[1]) == "--seeds") {
    for (std::size_t i = 0; i < seeds.size(); ++i)
      std::ofstream(std::string(argv[2]) + "/seed" + std::to_string(i), std::ios::binary) << seeds[i];
    return 0;
  }
  if (argc != 4 || std::string(argv[1]) != "--run") return 2;
  for (const std::string& seed : seeds) run(seed);
  if (kiln::fuzz::accepted_texts() != seeds.size()) {
    std::puts("a seed was refused");
    return 1;
  }
  Random random(std::strtoull(argv[2], nullptr, 10));
  const unsigned long count = std::strtoul(argv[3], nullptr, 10);
  for (unsigned long i = 0; i < count; ++i) {
    std::string text = random.pick(seeds);
    for (int changes = 1 + random.below(3); changes > 0; --changes) mutate(text, random.pick(seeds), random);
    run(text);
  }
  const std::uint64_t accepted = kiln::fuzz::accepted_texts();
  std::printf("%lu mutations, %llu accepted\n", count, static_cast<unsigned long long>(accepted));
  return accepted > count / 100 ? 0 : 1;
}
