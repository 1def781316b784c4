// tests/fuzz/bundle/driver.cpp -- runs the fuzzer's target on mutated seeds, the same ones each time, with any
// compiler.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/bundle/target.h"

namespace {

using Bytes = std::string;

/// splitmix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t bound) { return bound ? static_cast<std::size_t>(next() % bound) : 0; }

 private:
  std::uint64_t state_;
};

template <class Word>
void put_word(Bytes& bytes, Random& random) {
  if (bytes.size() < sizeof(Word)) return;
  const std::size_t at = random.below(bytes.size() / 4) * 4;
  if (at > bytes.size() - sizeof(Word)) return;
  Word value;
  std::memcpy(&value, &bytes[at], sizeof value);
  const Word some[] = {0,
                       1,
                       static_cast<Word>(~Word{0}),
                       static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1)),
                       static_cast<Word>(value + 1),
                       static_cast<Word>(value - 1),
                       static_cast<Word>(value + 64),
                       static_cast<Word>(value * 2),
                       static_cast<Word>(bytes.size()),
                       static_cast<Word>(random.below(16)),
                       static_cast<Word>(random.next())};
  value = some[random.below(std::size(some))];
  std::memcpy(&bytes[at], &value, sizeof value);
}

void mutate(Bytes& bytes, const Bytes& other, Random& random) {
  if (bytes.empty()) return;
  const std::size_t at = random.below(bytes.size()),
                    length = random.below(std::min<std::size_t>(bytes.size() - at, 160));
  switch (random.below(11)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.below(8));
      break;
    case 1:
      bytes[at] = static_cast<char>(random.next());
      break;
    case 2:
    case 3:
      put_word<std::uint32_t>(bytes, random);
      break;
    case 4:
      put_word<std::uint64_t>(bytes, random);
      break;
    case 5:
      bytes.erase(at, length);
      break;
    case 6:
      bytes.insert(at, bytes.substr(random.below(bytes.size()), length));
      break;
    case 7:
      bytes.replace(at, length, bytes.substr(random.below(bytes.size()), length));
      break;
    case 8:
      bytes.resize(at);
      break;
    case 9:
      bytes.replace(at, length, other.substr(std::min(at, other.size()), length));
      break;
    default:
      bytes.insert(at, 1 + random.below(64), '\0');
      break;
  }
}

/// The length in the header fits half of the files, as the fuzzer would soon find out.
void fit_length(Bytes& bytes, Random& random) {
  if (bytes.size() < 24 || random.below(2)) return;
  const std::uint64_t size = bytes.size();
  std::memcpy(&bytes[16], &size, sizeof size);
}

int write_seeds(const std::string& folder) {
  int number = 0;
  for (const Bytes& seed : kiln::fuzz::bundle_seeds())
    std::ofstream(folder + "/seed" + std::to_string(number++), std::ios::binary)
        .write(seed.data(), static_cast<std::streamsize>(seed.size()));
  std::printf("%d seeds in %s\n", number, folder.c_str());
  return 0;
}

void run(const Bytes& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

int run_files(int count, char** paths) {
  for (int i = 0; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    run(Bytes(std::istreambuf_iterator<char>(file), {}));
  }
  std::printf("%d files\n", count);
  return 0;
}

int run_mutations(std::uint64_t first, std::uint64_t count) {
  const std::vector<Bytes> seeds = kiln::fuzz::bundle_seeds();
  for (const Bytes& seed : seeds) run(seed);
  for (std::uint64_t i = first; i < first + count; ++i) {
    Random random(i);
    Bytes bytes = seeds[random.below(seeds.size())];
    for (std::size_t n = 1 + random.below(4); n > 0; --n) mutate(bytes, seeds[random.below(seeds.size())], random);
    fit_length(bytes, random);
    run(bytes);
  }
  const std::uint64_t accepted = kiln::fuzz::accepted_bundles();
  std::printf("%llu mutations, %llu bundles accepted\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(accepted));
  return accepted > seeds.size() + count / 100 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--seeds") == 0) return write_seeds(argv[2]);
  if (argc == 4 && std::strcmp(argv[1], "--run") == 0)
    return run_mutations(std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10));
  if (argc > 2 && std::strcmp(argv[1], "--files") == 0) return run_files(argc - 2, argv + 2);
  std::fputs(
      "bundle_fuzz --run FIRST COUNT   mutations number FIRST and on\n"
      "bundle_fuzz --files FILE...     what a fuzzer found\n"
      "bundle_fuzz --seeds FOLDER      writes the seeds, for libFuzzer\n",
      stderr);
  return 2;
}
