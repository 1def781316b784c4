// tests/exit/forks.cpp -- forks while four threads use everything that the CPU device has; every child computes.
//
// usage: forks BUNDLE FORKS; status 0 is expected, with KILN_DEVICE=cpu. A child has 20 s for a cached kernel, a new
// one and a bundle, which may be "-".
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <kiln/bundle.h>
#include <kiln/kiln.h>

namespace kl = kiln;

namespace {

std::string bundle;

kl::Array<float> small() { return kl::from_host(std::vector<float>{1, 2, 3}); }

/// Sums of different lengths are different kernels.
std::vector<float> new_kernel(int terms) {
  const auto f = kl::jit([terms](auto a) {
    auto sum = a * 2.0f;
    for (int term = 0; term < terms % 23; ++term) sum = term % 2 ? sum + a : sum * a;
    for (int term = 0; term < terms / 23 % 23; ++term) sum = term % 2 ? sum - a : kl::maximum(sum, a);
    return sum;
  });
  return kl::Array<float>(f(small())).to_host();
}

bool is_right_for_two_terms() {
  // ((2 a) a + a): 3, 10, 21
  return new_kernel(2) == std::vector<float>{3, 10, 21};
}

void use_everything(const std::atomic<bool>& stop, int thread) {
  const auto x = kl::zeros<float>({1 << 19});
  for (int round = 0; !stop; ++round) {
    if (thread == 0) {
      if (bundle != "-") kl::load_bundle(bundle);
      kl::Array<float> y = x * 2.0f + 1.0f;  // large: the thread pool, and blocks that are kept
    } else {
      new_kernel(100 * thread + round % 90);
    }
    if (thread == 1 && round % 8 == 0) {
      const auto f = kl::jit([](auto a) { return a * 5.0f; });
      const kl::Inspection text = f.inspect(small());
      if (std::string(text.graph.c_str()).empty()) std::abort();
    }
    if (thread == 2) kl::Array<float> z = kl::sum(x + static_cast<float>(round));
  }
}

int child(int number) {
  if (!is_right_for_two_terms()) return 1;             // known to the parent
  if (new_kernel(460 + number).size() != 3) return 2;  // new in the memory of this process
  const auto g = kl::jit([number](auto a) { return a * static_cast<float>(number) + 1.0f; });
  const std::vector<float> y = kl::Array<float>(g(small())).to_host();
  if (y != std::vector<float>{static_cast<float>(number + 1), static_cast<float>(2 * number + 1),
                              static_cast<float>(3 * number + 1)})
    return 3;
  if (bundle != "-") kl::load_bundle(bundle);
  const kl::Array<float> large = kl::zeros<float>({1 << 19}) + 1.0f;
  if (kl::Array<float>(kl::sum(large)).to_host() != std::vector<float>{1 << 19}) return 4;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  bundle = argv[1];
  if (!is_right_for_two_terms()) return 3;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&stop, t] { use_everything(stop, t); });
  int bad = 0;
  for (int fork = 0; fork < std::atoi(argv[2]) && bad < 3; ++fork) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::alarm(20);
      int result = 100;
      try {
        result = child(fork);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "child %d: %s\n", fork, error.what());
      }
      if (fork % 2) std::exit(result);  // with handlers, or without
      ::_exit(result);
    }
    int status = 0;
    ::waitpid(process, &status, 0);
    if (status != 0) std::fprintf(stderr, "child %d: wait status %x\n", fork, static_cast<unsigned>(status));
    bad += status != 0;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return bad > 0 ? 1 : 0;
}
