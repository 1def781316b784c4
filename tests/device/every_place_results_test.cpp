// tests/device/every_place_results_test.cpp -- calls that give several results, and numbers that do not fit, name their
// line.
#include <cstdint>
#include <tuple>

#include "tests/device/every_place.h"

namespace {

class EveryPlaceOfResults : public EveryPlace {};
KILN_ON_EACH_DEVICE(EveryPlaceOfResults);

constexpr auto pairs = [](auto a, auto b) {
  return std::tuple(std::get<0>(a) + std::get<0>(b), std::get<1>(a) + std::get<1>(b));
};

TEST_P(EveryPlaceOfResults, several_results) {
  const kl::Array<float> wide = kl::ones<float>({3, 5});
  kl::Array<float> r, s;
  PLACE(kl::eval(kl::tie(x(0)), fixed));
  PLACE(kl::eval(kl::tie(x(0), r), fixed, fixed));
  PLACE(kl::eval(kl::tie(r, s, x(0)), fixed, fixed, fixed));
  PLACE(kl::eval(kl::tie(r, s, r, x(0)), fixed, fixed, fixed, fixed));
  PLACE(kl::eval(kl::tie(r), none));
  PLACE(kl::eval(none, none));
  PLACE(kl::eval(fixed, fixed == wide));
  PLACE(kl::eval(fixed, fixed, none));
  PLACE(kl::eval(kl::scan(std::tuple(x, five), 0, std::tuple(0, 0), pairs)));
}

TEST_P(EveryPlaceOfResults, numbers_that_do_not_fit) {
  const long long most = 3000000000LL;
  PLACE(kl::full<std::int8_t>({3}, 300));
  PLACE(kl::Const<int>(most));
  PLACE(kl::Const<bool>(2));
  PLACE(kl::Const<std::uint8_t>(-1));
  PLACE(kl::Const<int>(kl::lit(2.5)));
  PLACE(kl::lit<std::int8_t>(300));
  PLACE(kl::scalar<std::int8_t>(300));
  PLACE(kl::arange<std::int8_t>(300));
  PLACE(kl::arange<std::uint8_t>(0, 10, -1));
  PLACE(kl::arange<int>(0.5, 3));
}

}  // namespace
