// tests/device/cases_traps_test.cpp -- integer division has a value for every input, in processes that trap
// floating-point exceptions, with code and threads of kiln that start while they do (case A14).
//
// Each test runs in a child of its own: a trap that hits would end this program, and one that starts first decides what
// threads inherit.
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/devices.h"
#include "tests/support/reference.h"
#include "tests/support/values.h"

namespace {

constexpr int traps = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW;

/// Traps while it lives; the tests' own arithmetic is done without.
class Trapping {
 public:
  Trapping() {
    std::feclearexcept(FE_ALL_EXCEPT);
    ::feenableexcept(traps);
  }
  Trapping(const Trapping&) = delete;
  Trapping& operator=(const Trapping&) = delete;
  ~Trapping() { ::fedisableexcept(FE_ALL_EXCEPT); }
};

template <class T>
T wrap(reference::Int value) {
  return static_cast<T>(value);
}

/// Every pair of special values (zeros, ones, MIN and MAX among them), so often that threads and blocks share the work.
template <class T>
std::pair<std::vector<T>, std::vector<T>> operands() {
  auto pairs = values::pairs<T>(1000, 31);
  const std::size_t period = pairs.first.size();
  for (std::size_t i = period; i < 300'007; ++i) {  // ends in the middle of a vector
    pairs.first.push_back(pairs.first[i - period]);
    pairs.second.push_back(pairs.second[i - period]);
  }
  return pairs;
}

template <class T, class Expression, class Reference>
void expect_divisions(const char* what, Expression expression, Reference expected) {
  const auto [a, b] = operands<T>();
  const kl::Array<T> x = kl::from_host(a), y = kl::from_host(b);
  std::vector<T> got;
  {
    const Trapping trapping;
    got = kl::eval(expression(x, y)).to_host();
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected(a[i], b[i])) continue;
    if (wrong++ == 0)
      ADD_FAILURE() << what << " of " << kl::name_of(kl::dtype_of<T>) << ' ' << +a[i] << ", " << +b[i] << " gives "
                    << +got[i];
  }
  EXPECT_EQ(wrong, 0u) << what;
}

template <class T>
void expect_all_divisions() {
  expect_divisions<T>(
      "/", [](const auto& x, const auto& y) { return x / y; },
      [](T x, T y) { return wrap<T>(reference::truncate_divide(x, y)); });
  expect_divisions<T>(
      "%", [](const auto& x, const auto& y) { return x % y; },
      [](T x, T y) { return wrap<T>(reference::truncate_modulo(x, y)); });
  expect_divisions<T>(
      "floor_divide", [](const auto& x, const auto& y) { return kl::floor_divide(x, y); },
      [](T x, T y) { return wrap<T>(reference::floor_divide(x, y)); });
  expect_divisions<T>(
      "remainder", [](const auto& x, const auto& y) { return kl::remainder(x, y); },
      [](T x, T y) { return wrap<T>(reference::remainder(x, y)); });
}

/// Divisors that are numbers: run-time ones, baked ones, and both operands baked, which the host may fold.
void expect_divisions_by_numbers() {
  constexpr int least = std::numeric_limits<int>::min();
  const std::vector<int> v{7, -7, 0, least, least + 1, std::numeric_limits<int>::max()};
  const kl::Array<int> x = kl::from_host(v);
  const auto want = [&](auto rule, int divisor) {
    std::vector<int> result;
    for (const int n : v) result.push_back(wrap<int>(rule(n, divisor)));
    return result;
  };
  const auto quotient = [](int a, int b) { return reference::truncate_divide(a, b); };
  const auto rest = [](int a, int b) { return reference::truncate_modulo(a, b); };
  for (const int divisor : {0, -1, least}) {
    std::vector<int> got[7];
    const auto by_constants = kl::jit(
        [](auto a, kl::Const<int> n, kl::Const<int> d) { return a * 0 + (n / d - n % d + n / int{d} - int{n} % d); });
    {
      const Trapping trapping;
      got[0] = kl::eval(x / divisor).to_host();
      got[1] = kl::eval(x % divisor).to_host();
      got[2] = kl::eval(x / kl::lit(divisor)).to_host();
      got[3] = kl::eval(x % kl::lit(divisor)).to_host();
      got[4] = kl::eval(x * 0 + kl::scalar<int>(least) / kl::scalar<int>(divisor)).to_host();
      got[5] = kl::eval(x * 0 + kl::lit(least) / kl::lit(divisor)).to_host();
      got[6] = by_constants(x, least, divisor).to_host();
    }
    const auto baked = wrap<int>(reference::truncate_divide(least, divisor));
    const auto baked_rest = wrap<int>(reference::truncate_modulo(least, divisor));
    EXPECT_EQ(got[5], std::vector<int>(v.size(), baked)) << divisor;
    EXPECT_EQ(got[6],
              std::vector<int>(v.size(), wrap<int>(reference::Int{2} * baked - reference::Int{2} * baked_rest)));
    EXPECT_EQ(got[0], want(quotient, divisor)) << divisor;
    EXPECT_EQ(got[1], want(rest, divisor)) << divisor;
    EXPECT_EQ(got[2], want(quotient, divisor)) << divisor;
    EXPECT_EQ(got[3], want(rest, divisor)) << divisor;
    EXPECT_EQ(got[4], std::vector<int>(v.size(), baked)) << divisor;
  }
}

/// Integer work that libraries like to do in floating point: conversions, powers, extremes by index, means.
void expect_other_integer_work() {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const kl::Array<float> f = kl::from_host(std::vector<float>{nan, inf, -inf, 1e20f, -1e20f, -1.5f});
  const kl::Array<int> none = kl::zeros<int>({4}), base = kl::from_host(std::vector<int>{0, 1, -1, 2});
  const kl::Array<std::int64_t> places = kl::from_host(std::vector<std::int64_t>{0, 1, 1, 0});
  kl::Array<int> most = kl::zeros<int>({2});
  kl::Array<float> least = kl::zeros<float>({2});
  std::vector<int> saturated, powers, joined;
  std::vector<double> quotients;
  std::vector<float> low;
  const kl::Array<float> zeros = kl::from_host(std::vector<float>{0.0f, -0.0f, 0.0f, -0.0f});
  float infinite = 0;
  {
    const Trapping trapping;
    saturated = kl::eval(kl::cast<int>(f)).to_host();
    powers = kl::eval(kl::pow(base, none - 1)).to_host();
    quotients = kl::eval(kl::true_divide(base, none)).to_host();
    kl::scatter_max(most, places, none);
    joined = most.to_host();
    kl::scatter_min(least, places, zeros);
    low = least.to_host();
    infinite = kl::eval(zeros + 1e300).to_host()[0];
  }
  constexpr int top = std::numeric_limits<int>::max();
  EXPECT_EQ(saturated, (std::vector<int>{0, top, -top - 1, top, -top - 1, -1}));
  EXPECT_EQ((std::vector<int>{powers[1], powers[2], powers[3]}), (std::vector<int>{1, -1, 0}));
  EXPECT_TRUE(std::isnan(quotients[0]));
  EXPECT_EQ(quotients[1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(joined, (std::vector<int>{0, 0}));
  EXPECT_TRUE(low[0] == 0 && std::signbit(low[0])) << "-0 is the smaller zero";
  EXPECT_EQ(infinite, inf) << "1e300 takes the type of the array";
}

/// Runs in the children, on the device that the environment names.
TEST(TrapsChild, DISABLED_Divisions) {
  const char* const name = std::getenv("TRAPS_TEST_DEVICE");
  ASSERT_NE(name, nullptr);
  const kl::Device device = name[1] == 'p' ? kl::Device::cpu() : kl::Device::cuda(0);
  const kl::DeviceGuard guard(device);
  expect_divisions_by_numbers();
  expect_all_divisions<std::int8_t>();
  expect_all_divisions<std::uint8_t>();
  expect_all_divisions<std::int16_t>();
  expect_all_divisions<std::int32_t>();
  expect_all_divisions<std::uint32_t>();
  expect_all_divisions<std::int64_t>();
  expect_all_divisions<std::uint64_t>();
  expect_other_integer_work();
}

class Traps : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Traps);

// Rule: x / 0 = 0, x % 0 = 0, MIN / -1 = MIN on every device (semantics), and no signal reaches the process: SIGFPE,
// which both a trapped exception and an integer division by zero raise, keeps its default action, the end.
TEST_P(Traps, integer_division_raises_no_signal) {
  const std::string command =
      std::string("unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX GTEST_OUTPUT; TRAPS_TEST_DEVICE=") + GetParam() +
      " KILN_CACHE=off exec /proc/$PPID/exe --gtest_also_run_disabled_tests "
      "--gtest_filter=TrapsChild.DISABLED_Divisions 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
  const int status = pclose(pipe);
  EXPECT_FALSE(WIFSIGNALED(status)) << "signal " << WTERMSIG(status) << "\n" << text;
  EXPECT_EQ(status, 0) << text;
  EXPECT_NE(text.find("[       OK ] TrapsChild.DISABLED_Divisions"), std::string::npos) << text;
}

}  // namespace
