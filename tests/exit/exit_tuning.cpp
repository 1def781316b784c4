// tests/exit/exit_tuning.cpp -- leaves the process while kiln tunes, or compiles, in every way and at any time (D01).
//
// usage: exit_tuning main|worker|worker_exit|other_exit|busy|quick_exit|pthread_exit MICROSECONDS; status 0 is
// expected. The driver is the tests' own: it is libcuda.so.1 on the loader's path (check_exits.py).
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <kiln/kiln.h>
#include <kiln/tuning.h>

namespace kl = kiln;

namespace {

/// Large enough to be tuned, and called often enough.
void compute(int calls) {
  const kl::DeviceGuard guard(kl::Device::cuda(0));
  const auto x = kl::zeros<float>({1 << 22}), y = kl::zeros<float>({1 << 22});
  const auto f = kl::jit([](auto a, auto b) { return kl::exp(a) * 2.0f + b * kl::sin(a); });
  const auto g = kl::jit([](auto a) { return kl::sum(a * 3.0f + kl::cos(a)); });
  for (int call = 0; call < calls; ++call) {
    kl::Array<float> z = f(x, y), s = g(x);
    ::usleep(200);
  }
}

constexpr int enough = 30;

/// The main thread ends long before the candidates are compiled; the process lives on with another.
void outlive_main() {
  std::thread([] {
    ::usleep(200'000);
    kl::tuning::finish_compiling();
    std::exit(0);
  }).detach();
  compute(enough);
  ::pthread_exit(nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  ::alarm(60);
  const std::string mode = argv[1];
  const auto wait = [&] { ::usleep(static_cast<useconds_t>(std::atoi(argv[2]))); };
  if (mode == "busy") {
    std::thread([&] {
      wait();
      std::exit(0);
    }).detach();
    for (;;) compute(enough);
  }
  if (mode == "pthread_exit") outlive_main();
  if (mode.starts_with("worker")) {
    std::thread([&] {
      compute(enough);
      wait();
      if (mode == "worker_exit") std::exit(0);
    }).join();
    return 0;
  }
  compute(enough);
  wait();
  if (mode == "other_exit") std::thread([] { std::exit(0); }).join();
  if (mode == "quick_exit") std::quick_exit(0);
  return 0;
}
