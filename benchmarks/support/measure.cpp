// benchmarks/support/measure.cpp -- medians by events, and the device's copy and read.
#include "benchmarks/support/measure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>

#include "benchmarks/support/driver.h"

namespace benchmarks {
namespace {

namespace kl = kiln;

std::span<char*> parts;
bool serving = false;
std::string asked;                    // the one case, while serving
double copy_rate = 0, read_rate = 0;  // GB/s

double median_milliseconds(bool flush, const std::function<void()>& launch) {
  static const kl::Array<float> other = kl::zeros<float>({on_gpu() ? std::int64_t{1} << 26 : 1});
  static kl::Array<float> sum = kl::zeros<float>({});
  for (int i = 0; i < 3; ++i) launch();
  std::array<double, 15> times = {};
  for (double& time : times) {
    if (flush && on_gpu()) sum = kl::sum(other);
    time = milliseconds(launch);
  }
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  return times[7];
}

double print_line(std::string_view name, double bytes, Limit limit, const std::function<void()>& launch) {
  const double time = median_milliseconds(limit == Limit::read, launch);
  const double rate = 1e-6 * bytes / time, reached = limit == Limit::read ? read_rate : copy_rate;
  std::printf("%-28.*s %10.1f us %8.0f GB/s", static_cast<int>(name.size()), name.data(), 1e3 * time, rate);
  if (reached > 0) std::printf("  %.3f of %s", rate / reached, limit == Limit::read ? "read" : "copy");
  std::printf("\n");
  std::fflush(stdout);
  return rate;
}

void measure_limits() {
  const std::int64_t n = scaled(std::int64_t{1} << 28);
  kl::Array<float> x = kl::ones<float>({n}), y({n});
  kl::synchronize();
  const double bytes = 4.0 * static_cast<double>(n);
  if (on_gpu()) {
    const Driver& cuda = driver();
    copy_rate = print_line("copy (driver)", 2 * bytes, Limit::copy, [&] {
      expect(cuda.copy_async(reinterpret_cast<unsigned long long>(y.data()),
                             reinterpret_cast<unsigned long long>(x.data()), static_cast<std::size_t>(bytes),
                             kl::Stream::current().native_handle()),
             "cuMemcpyDtoDAsync");
    });
  }
  copy_rate = std::max(copy_rate, print_line("copy (kiln)", 2 * bytes, Limit::copy, [&] { y = x + 0.0f; }));
  kl::Array<float> highest;
  read_rate = print_line("read (max)", bytes, Limit::read, [&] { highest = kl::max(x); });
}

}  // namespace

double milliseconds(const std::function<void()>& launch) {
  if (!on_gpu()) {
    const auto begin = std::chrono::steady_clock::now();
    launch();
    kl::synchronize();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  kl::Event begin, end;
  begin.record();
  launch();
  end.record();
  end.synchronize();
  return static_cast<double>(kl::Event::elapsed(begin, end));
}

bool on_gpu() { return kl::Device::current().kind() == kl::DeviceKind::cuda; }

std::int64_t scaled(std::int64_t rows) { return on_gpu() ? rows : std::max<std::int64_t>(rows / 16, 1); }

void start() {
  setenv("KILN_TUNE", "off", 0);  // no trials among the launches that are timed
  std::printf("device: %s\n", kl::Device::current().name());
}

bool wanted(std::string_view name) {
  if (serving) return asked.find(name) != std::string::npos;
  return parts.empty() || std::any_of(parts.begin(), parts.end(),
                                      [&](const char* part) { return name.find(part) != std::string_view::npos; });
}

bool everything_is_wanted() { return parts.empty() && !serving; }

bool run(int argc, char** argv, const std::function<bool()>& cases) {
  start();
  serving = argc == 2 && std::string_view(argv[1]) == "--serve";
  parts = std::span(argv + 1, static_cast<std::size_t>(argc - 1));
  if (!serving) {
    measure_limits();
    return cases();
  }
  bool good = true;
  for (std::cout << "done" << std::endl; std::getline(std::cin, asked); std::cout << "done" << std::endl) {
    if (asked == "copy" || asked == "read") {
      measure_limits();
    } else {
      good = cases() && good;
    }
  }
  return good;
}

double measure(std::string_view name, double bytes, Limit limit, const std::function<void()>& launch) {
  return (serving ? name == asked : wanted(name)) ? print_line(name, bytes, limit, launch) : 0;
}

double limit_rate(Limit limit) { return limit == Limit::read ? read_rate : copy_rate; }

}  // namespace benchmarks
