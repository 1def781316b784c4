// tests/device/every_place_test.cpp -- every public function that may throw names the line of the user's that called
// it.
//
// tools/check_places.py compares the names here with those that the headers declare with a place: none is forgotten.
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "kiln/bundle.h"
#include "kiln/dlpack.h"
#include "kiln/host.h"
#include "kiln/random_at.h"
#include "kiln/repeat.h"
#include "tests/device/every_place.h"

namespace {

KILN_ON_EACH_DEVICE(EveryPlace);

constexpr auto turned = [](auto s, auto t) { return std::tuple(t, s); };
constexpr auto columns = [](auto a, int n) { return kl::cast<std::uint64_t>(a(0, kl::range(n))); };

TEST_P(EveryPlace, arrays_that_are_made) {
  PLACE(kl::full<float>({-1}, 1.0f));
  PLACE(kl::zeros<float>({-1}));
  PLACE(kl::ones<float>({-1}));
  PLACE(kl::arange<int>(0, 5, 0));
  PLACE(kl::arange<float>(std::numeric_limits<float>::quiet_NaN()));
  PLACE(kl::linspace(0.0f, 1.0f, -1));
  PLACE(kl::eye<float>(-1));
  PLACE(kl::random::uniform<float>({-1}, 1));
  PLACE(kl::random::normal<float>({-1}, 1));
  PLACE(kl::Array<float>({-1}));
  PLACE(kl::Array<float>(kl::Shape{-1}));
  PLACE(kl::Array<float>({3}, missing));
  PLACE(x.shape()[2]);
  PLACE(kl::Shape{1, 1, 1, 1, 1, 1, 1, 1, 1});
  PLACE(kl::Shape(nine));
  PLACE(kl::from_host(host, {5, 5}));
  PLACE(kl::from_host({1.0f, 2.0f}, {3}));
  PLACE(kl::from_host({{1.0f, 2.0f}, {3.0f}}));
  PLACE(kl::from_host(host.data(), {-1}));
  PLACE(kl::from_host(std::vector<bool>(3), {4}));
  PLACE(kl::view(host.data(), {3}, {1, 1}, kl::Device::cpu()));
  PLACE(kl::view(host.data(), {-3}, kl::Device::cpu()));
  PLACE(kl::view(static_cast<float*>(nullptr), {3}));
  PLACE(kl::load_npy<float>("/none/x.npy"));
  PLACE(kl::load_npy<float>(std::string("/none/x.npy")));
  PLACE(kl::npy_info("/none/x.npy"));
  PLACE(kl::npy_info(std::string("/none/x.npy")));
  PLACE(kl::save_npy("/none/x.npy", x));
  PLACE(kl::save_npy(std::string("/none/x.npy"), x));
}

TEST_P(EveryPlace, members_of_arrays) {
  PLACE(x.item());
  PLACE(x.to(missing));
  PLACE((none + 1).astype<int>().item());
  PLACE(none.astype<int>());
  PLACE(x.transpose({0, 0}));
  PLACE(none.t());
  PLACE(x.reshape({5, 5}));
  PLACE(x.broadcast_to({3, 5}));
  PLACE(none.squeeze());
  PLACE(x.squeeze(0));
  PLACE(x.unsqueeze(5));
  PLACE(none.flip());
  PLACE(x.flip(5));
  PLACE(fixed.transpose({0, 0}));
  PLACE(fixed.reshape({5, 5}));
  PLACE(fixed.broadcast_to({3, 5}));
  PLACE(fixed.squeeze(0));
  PLACE(fixed.unsqueeze(5));
  PLACE(fixed.flip(5));
  PLACE(x(7));
  PLACE(x(kl::range(0, 3, 0)));
  PLACE(x(kl::all, kl::all, kl::all));
  PLACE(fixed(7));
}

TEST_P(EveryPlace, members_of_expressions) {
  const auto e = x + 1;
  const auto wrong = x + five;
  PLACE(e.transpose({0, 0}));
  PLACE(e.reshape({5, 5}).shape());
  PLACE(e.broadcast_to({3, 5}));
  PLACE(e.squeeze(0));
  PLACE(e.unsqueeze(5));
  PLACE(e.flip(5));
  PLACE(e(7));
  PLACE(e.item());
  PLACE(kl::sum(x, 0)(9));
  PLACE((x + five).shape());
  PLACE((x + five).ndim());
  PLACE(kl::eval(x + five));
  PLACE(kl::Array<float>(x + five));
  PLACE(x = x + five);
  PLACE(x += five);
  PLACE(kl::let(x + five).shape());
}

TEST_P(EveryPlace, operators) {
  kl::View<float> v = x;
  PLACE(v = x + five);
  PLACE(kl::eval(-none));
  PLACE(kl::eval(!none));
  PLACE(kl::eval(~none_of_int));
  PLACE(kl::eval(five - x));
  PLACE(kl::eval(x * five));
  PLACE(kl::eval(x / five));
  PLACE(kl::eval(ids % kl::ones<int>({2})));
  PLACE(kl::eval(ids & kl::ones<int>({2})));
  PLACE(kl::eval(ids << kl::ones<int>({2})));
  PLACE(kl::eval(x < five));
  PLACE(kl::eval(x == five));
  PLACE(kl::eval(x && five));
  PLACE(kl::eval(small + 300));
  PLACE(kl::eval(300 + small));
  PLACE(kl::eval((x + 1) * (five + 1)));
}

TEST_P(EveryPlace, named_functions) {
  PLACE(kl::eval(kl::exp(none)));
  PLACE(kl::eval(kl::isnan(none)));
  PLACE(kl::eval(kl::maximum(x, five)));
  PLACE(kl::eval(kl::pow(ids, -1)));
  PLACE(kl::eval(kl::fma(x, x, five)));
  PLACE(kl::eval(kl::clip(small, 0, 1000)));
  PLACE(kl::eval(kl::cast<int>(none)));
  PLACE(kl::eval(kl::where(x > 0, x, five)));
  PLACE(kl::eval(kl::index(x, 5)));
  PLACE(kl::eval(kl::sigmoid(none)));
  PLACE(kl::eval(kl::shift(x, {1}, kl::clamp)));
  PLACE(kl::eval(kl::shift(x, 1, kl::zero)));
  PLACE(kl::eval(kl::shift(small, 1, kl::constant(300))));
}

TEST_P(EveryPlace, reductions) {
  PLACE(kl::eval(kl::sum(x, 5)));
  PLACE(kl::eval(kl::sum(x, {0, 0})));
  PLACE(kl::eval(kl::sum(x, nine)));
  PLACE(kl::eval(kl::sum(x, 0, 1)));
  PLACE(kl::eval(kl::sum(x, 5, kl::accumulate<double>)));
  PLACE(kl::eval(kl::prod(x, 5)));
  PLACE(kl::eval(kl::max(no_rows, 0)));
  PLACE(kl::eval(kl::min(no_rows, 0)));
  PLACE(kl::eval(kl::mean(x, 5)));
  PLACE(kl::eval(kl::var(x, 5, kl::ddof(1))));
  PLACE(kl::eval(kl::std_(x, 5)));
  PLACE(kl::eval(kl::any(x, 5)));
  PLACE(kl::eval(kl::all(x, 5)));
  PLACE(kl::eval(kl::argmax(no_rows, 0)));
  PLACE(kl::eval(kl::argmin(no_rows, 0)));
  PLACE(kl::eval(kl::norm(x, 5)));
  PLACE(kl::eval(kl::logsumexp(x, 5)));
  PLACE(kl::eval(kl::count_nonzero(x, 5)));
  PLACE(kl::eval(kl::cumsum(x)));
  PLACE(kl::eval(kl::cumprod(x, 5)));
  PLACE(kl::eval(kl::cummax(x)));
  PLACE(kl::eval(kl::cummin(x)));
  PLACE(kl::eval(kl::reduce(x, 5, 0.0f, [](auto a, auto b) { return a + b; })));
  PLACE(kl::eval(kl::reduce(x + five, 0.0f, [](auto a, auto b) { return a + b; })));
  PLACE(kl::eval(kl::scan(x, 5, 0.0f, [](auto a, auto b) { return a + b; })));
  PLACE(kl::sum(x + five).item());
  PLACE(kl::eval(kl::tie(x, five), x + 1, x + five));
}

TEST_P(EveryPlace, reading_and_writing_by_index) {
  PLACE(kl::eval(kl::take(x, ids, 5)));
  PLACE(kl::eval(kl::take(none, ids)));
  PLACE(kl::eval(kl::take_along_axis(x, ids, 0)));
  PLACE(kl::eval(kl::one_hot<float>(ids, -1)));
  PLACE(kl::eval(kl::one_hot<float>(none_of_int, 3)));
  PLACE(kl::scatter_add(x, ids, 1, 5));
  PLACE(kl::scatter_add(x, ids, five, 0, kl::unordered));
  PLACE(kl::scatter_add(x, ids, five, kl::unordered));
  PLACE(kl::scatter_max(x, ids, 1, 5));
  PLACE(kl::scatter_min(x, ids, five));
  PLACE(kl::scatter_add.inspect(x, ids, 1, 5));
  PLACE(kl::scatter_add.inspect(x, ids, 1, 5, kl::unordered));
  PLACE(kl::scatter_add.inspect_for("cpu", x, ids, 1, 5));
  PLACE(kl::scatter_add.inspect_for("hopper", x, ids, 1, 0));
  PLACE(kl::scatter_add.inspect_for("hopper", x, ids, 1, 0, kl::unordered));
  PLACE(kl::bincount(ids, -1));
  PLACE(kl::bincount(none_of_int, 3));
  PLACE(kl::bincount(ids + kl::ones<int>({2}), 3));
  PLACE(kl::histogram(x, 0, 0.0, 1.0));
  PLACE(kl::histogram(x, 4, 1.0, 0.0));
  PLACE(kl::histogram(none, 4, 0.0, 1.0));
  PLACE(kl::histogram(x + five, 4, 0.0, 1.0));
}

TEST_P(EveryPlace, compiled_functions) {
  const auto f = kl::jit([](auto a, auto b) { return a + b; });
  const auto many = kl::jit([](auto... a) { return (a + ...); });
  PLACE(f[{.block = 2000000}](x + five, x));
  PLACE(f[{.block = 64}](none, x));
  PLACE(f(x + five, x));
  PLACE(f.inspect(x + five, 1));
  PLACE(f.inspect(none, 1));
  PLACE(many.inspect(none));
  PLACE(many.inspect(none, 1, 2));
  PLACE(many.inspect(none, 1, 2, 3));
  PLACE(many.inspect(none, 1, 2, 3, 4));
  PLACE(many.inspect(none, 1, 2, 3, 4, 5));
  PLACE(many.inspect(none, 1, 2, 3, 4, 5, 6));
  PLACE(many.inspect(none, 1, 2, 3, 4, 5, 6, 7));
  PLACE(f.inspect_for("hopper", x, x));
  PLACE(f.inspect_for("cpu", none, 1));
  PLACE((f.compile<kl::Sig<float, 1>, float>({.archs = {"hopper"}})));
  PLACE(kl::inspect(x + five));
  PLACE(kl::inspect(x + 1, "hopper"));
}

TEST_P(EveryPlace, calls_of_functions_that_do_not_know_their_line_name_that_of_the_function) {
  const auto f = kl::jit([](auto a, auto b) { return a + b; });
  const int line = __LINE__ - 1;
  const auto named = kl::jit("named", [](auto a, auto b) { return a + b; });
  const int named_line = __LINE__ - 1;
  const auto g = kl::ufunc([](auto a, auto b) { return a + b; });
  const int ufunc_line = __LINE__ - 1;
  const auto h = kl::gufunc<"(n),(n)->()">([](auto a, auto b) { return kl::sum(a * b); });
  const int gufunc_line = __LINE__ - 1;
  const auto wrong = kl::gufunc<"(n)->(n)">([](auto a) { return kl::sum(a); });
  const int wrong_line = __LINE__ - 1;
  const auto expect = [](auto run, int at) { expect_place(run, __FILE__, at, "a call"); };
  expect([&] { f(none, x); }, line);
  expect([&] { f.into(x)(none, x); }, line);
  expect([&] { named(none, x); }, named_line);
  expect([&] { g(none, x); }, ufunc_line);
  expect([&] { h(none, x); }, gufunc_line);
  expect([&] { h(x, five); }, gufunc_line);
  expect([&] { h(kl::full<float>({}, 1.0f), five); }, gufunc_line);
  expect([&] { wrong(x); }, wrong_line);
  PLACE(f[{.block = 64}](none, x));
  f(x, x);
  f.seal();
  expect([&] { f(ids, ids); }, line);
}

TEST_P(EveryPlace, inside_compiled_functions) {
  const auto eval_of = [&](auto f) { kl::jit(f)(x); };
  PLACE(eval_of([](auto a) { return a + a.shape()[7]; }));
  PLACE(eval_of([](auto a) { return a.transpose({0, 0}); }));
  PLACE(eval_of([](auto a) { return a.unsqueeze(7); }));
  PLACE(eval_of([](auto a) { return a(7); }));
  PLACE(eval_of([](auto a) { return a + a(0, kl::range(3)); }));
  PLACE(eval_of([](auto a) { return kl::sum(a, 7); }));
  PLACE(eval_of([](auto a) { return kl::cumsum(a); }));
  PLACE(eval_of([](auto a) { return kl::index(a, 7); }));
  PLACE(eval_of([](auto a) { return kl::shift(a, {1}, kl::clamp); }));
  PLACE(eval_of([](auto a) { return kl::take(a, kl::index(a, 0), 7); }));
  PLACE(eval_of([](auto a) { return kl::maximum(a, a(0, kl::range(3))); }));
  PLACE(eval_of([](auto a) { return kl::where(a > 0, a, a(0, kl::range(3))); }));
  PLACE(eval_of([](auto a) { return kl::repeat(3000000000LL, a, [](auto s) { return s * 2; }); }));
  PLACE(eval_of([](auto a) { return kl::repeat(3, std::tuple(a, a(0, kl::range(3))), turned); }));
  PLACE(eval_of([](auto a) { return a + kl::random::uniform_at(kl::index(a, 1), columns(a, 3)); }));
  PLACE(eval_of([](auto a) { return a + kl::random::normal_at(kl::index(a, 1), columns(a, 3)); }));
}

TEST_P(EveryPlace, ufuncs) {
  const auto g = kl::ufunc([](auto a, auto b) { return a * b + a; });
  PLACE(g.inspect(none, 1));
  PLACE(g.inspect_for("hopper", x, 1));
  PLACE((g.compile<kl::Sig<float, 1>, float>({.archs = {"hopper"}})));
  PLACE(kl::eval(g.reduce(x, 5)));
  PLACE(kl::eval(g.reduce(no_rows)));
  PLACE(kl::eval(g.accumulate(x)));
  PLACE(g.outer(none, x));
  PLACE(g.reduceat(kl::full<float>({}, 1.0f), ids));
  PLACE(g.reduceat(none, ids));
  PLACE(g.reduceat(x + five, ids));
  PLACE(g.reduceat(x, none_of_int));
  PLACE(g.reduceat(x, ids + kl::ones<int>({2})));
  PLACE(g.reduceat(x, kl::ones<int>({2, 2})));
  PLACE(g.at(five, ids, kl::ones<float>({2})));
  PLACE(g.at(five, none_of_int, 1.0f));
  PLACE(g.at(five, ids, none));
  PLACE(g.at(x, ids, 1.0f));
}

TEST_P(EveryPlace, functions_of_ones_own) {
  const auto plus =
      kl::function<float(float, float)>("plus", {"a", "b"}, "a + b", [](float a, float b) { return a + b; });
  const auto one = kl::function<float(float)>("one", {"a"}, "a + 1", [](float a) { return a + 1; });
  PLACE(kl::eval(plus(x, five)));
  PLACE(kl::eval(one(none)));
  PLACE(kl::function<float(float)>("class", {"a"}, "a + 1"));
  PLACE(kl::function<float(float)>("class", {"a"}, "a + 1", [](float a) { return a; }));
  PLACE(kl::raw_kernel("", "__global__ void k() {}"));
#ifndef KILN_WITHOUT_CUDA  // a build without the backend says that
  PLACE(kl::raw_kernel("k", "__global__ void k() {}").compile({.archs = {"hopper"}}));
  PLACE(kl::raw_kernel("k", "__global__ void k() {}").inspect("hopper"));
#endif
  const auto k = kl::raw_kernel("k", "__global__ void k(float* p) { *p = 1; }");
  if (on_gpu()) {
    PLACE(k.over(-1)(x));
    PLACE(k[{.grid = 1, .block = 5000}](x));
    PLACE(k[{.grid = 1, .block = 32}](1));
  } else {
    PLACE(k.over(1)(x));
    PLACE(k[{.grid = 1, .block = 32}](x));
    PLACE(k.inspect());
    PLACE(k.compile());
  }
}

TEST_P(EveryPlace, devices_and_bundles) {
  PLACE(kl::DeviceGuard(missing));
  PLACE(kl::Stream(missing));
  PLACE(kl::Event(missing));
  PLACE(kl::load_bundle("/none/app.klb"));
  PLACE(kl::load_bundle(std::string("/none/app.klb")));
  PLACE(kl::set_compile_mode(static_cast<kl::CompileMode>(77)));
  const kl::Array<float> before = kl::ones<float>({3}), other = kl::ones<float>({4});
  kl::Array<float> result = kl::zeros<float>({3});
  kl::Graph graph = kl::capture([&] { result = before + 1; });
  PLACE(graph.replace(before, other));
  PLACE(graph.replace(none, before));
  PLACE(kl::capture([&] { kl::capture([] {}); }));
  PLACE(kl::capture([&] {
    five = result + 1;
    result = before + 1;
    result = other + 1;
  }));
  PLACE(kl::Graph().launch());
  PLACE(kl::Graph().launch(kl::Stream::current()));
  PLACE(kl::Graph().replace(before, other));
  PLACE(kl::Graph().update([] {}));
  PLACE(graph.update([&] { kl::capture([] {}); }));
}

TEST_P(EveryPlace, bundle_only) {
  kl::set_compile_mode(kl::CompileMode::bundle_only);
  PLACE(kl::zeros<double>({3, 3, 3}));
  PLACE(kl::ones<std::int16_t>({3, 3, 3}));
  PLACE(kl::full<double>({3, 3, 3}, 2.0));
  PLACE(kl::linspace(0.0, 1.0, 9));
  PLACE(kl::arange<double>(0, 9));
  PLACE(kl::eye<double>(9));
  PLACE(kl::random::uniform<double>({9}, 1));
  PLACE(x.astype<double>());
  PLACE(kl::eval(x * 2));
  PLACE(kl::Array<double>(x));
  PLACE(kl::bincount(kl::View<std::int8_t>(small), 3));
  PLACE(kl::histogram(kl::View<std::int8_t>(small), 3, 0.0, 1.0));
  kl::set_compile_mode(kl::CompileMode::automatic);
}

TEST_P(EveryPlace, tensors_of_others) {
  kiln_dl_tensor tensor = {};
  tensor.dtype = {77, 32, 1};
  PLACE(kl::dlpack_dtype(tensor));
  PLACE(kl::borrow_dlpack<float>(tensor));
  PLACE(kl::from_dlpack<float>(static_cast<kiln_dl_managed_tensor*>(nullptr)));
  PLACE(kl::from_dlpack<float>(static_cast<kiln_dl_managed_tensor_versioned*>(nullptr)));
  PLACE(kl::to_dlpack_legacy(fixed));
  kl::CudaArrayInterface interface = {};
  PLACE(kl::from_cuda_array_interface<float>(interface));
  std::int64_t shape[8], strides[8];
  if (!on_gpu()) PLACE(kl::to_cuda_array_interface(x, shape, strides));
}

}  // namespace
