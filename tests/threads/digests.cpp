// tests/threads/digests.cpp -- a line with a digest of the bits of many reductions, scans and normalisations on the
// CPU.
#include <kiln/kiln.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace kl = kiln;

namespace {

/// Fowler, Noll and Vo's 64-bit hash (FNV-1a).
template <class T>
void print(const std::string& name, const kl::Array<T>& result) {
  std::uint64_t digest = 0xcbf29ce484222325u;
  for (const T value : result.to_host()) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof value);
    for (const unsigned char byte : bytes) digest = (digest ^ byte) * 0x100000001b3u;
  }
  std::printf("%s %016" PRIx64 "\n", name.c_str(), digest);
}

/// Numbers of very different sizes and both signs, so that another order of sums gives other bits.
template <class T>
kl::Array<T> numbers(kl::Shape shape) {
  const auto exponent = kl::random::uniform<T>(shape, 11) * T(12) - T(6);
  return kl::Array<T>(kl::random::normal<T>(shape, 12) * kl::exp(exponent));
}

template <class T>
void reductions(const std::string& shape, const kl::Array<T>& x) {
  for (const int axis : {0, 1, 2}) {
    const std::string name = shape + " axis " + std::to_string(axis) + " ";
    print<T>(name + "sum", kl::sum(x, axis));
    print<T>(name + "mean", kl::mean(x, axis));
    print<T>(name + "var", kl::var(x, axis));
    print<T>(name + "norm", kl::norm(x, axis));
    print<T>(name + "logsumexp", kl::logsumexp(x, axis));
    print<T>(name + "prod", kl::prod(x * T(0.001) + T(1), axis));
    print<T>(name + "cumsum", kl::cumsum(x, axis));
    print<std::int64_t>(name + "argmax", kl::argmax(x, axis));
    print<T>(name + "reduce", kl::reduce(x, axis, T(0), [](auto a, auto b) { return a + b + a * b * T(1e-9); }));
  }
  const auto softmax = kl::jit([](auto v) {
    auto e = kl::exp(v - kl::max(v, 1, kl::keepdims));
    return e / kl::sum(e, 1, kl::keepdims);
  });
  print<T>(shape + " softmax", softmax(x));
  print<T>(shape + " sum", kl::sum(x));
  print<T>(shape + " var", kl::var(x));
  print<T>(shape + " sum of two axes", kl::sum(x, {0, 2}));
  print<T>(shape + " cumsum of all", kl::cumsum(kl::Array<T>(x.reshape({static_cast<std::int64_t>(x.size())})), 0));
}

template <class T>
void every_shape(const std::string& type) {
  for (const kl::Shape& shape :
       {kl::Shape{1, 1000003, 1}, kl::Shape{3, 300007, 1}, kl::Shape{1, 100003, 4}, kl::Shape{700, 333, 1},
        kl::Shape{5, 20001, 3}, kl::Shape{50000, 7, 1}, kl::Shape{2, 3, 100001}}) {
    std::string text = type;
    for (int i = 0; i < 3; ++i) text += (i ? "x" : " ") + std::to_string(shape[static_cast<std::size_t>(i)]);
    reductions(text, numbers<T>(shape));
  }
}

}  // namespace

int main() {
  every_shape<float>("f32");
  every_shape<double>("f64");
  return 0;
}
