// examples/support/lattice.h -- the lattice of examples/airflow.cpp: nine fields, a step, forces, velocities.
#pragma once

#include <kiln/kiln.h>

#include <array>
#include <tuple>
#include <utility>
#include <vector>

namespace examples {

namespace kl = kiln;

/// Directions of D2Q9: stay, right, down, left, up, then the diagonals. `back` is the opposite one.
struct D2Q9 {
  static constexpr int right[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, down[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  static constexpr int back[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
  static constexpr float weight[9] = {4 / 9.f,  1 / 9.f,  1 / 9.f,  1 / 9.f, 1 / 9.f,
                                      1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
};

/// What a cell must know of its neighbours, one bit each. Bit i: what comes in direction i comes from a wall.
inline constexpr int solid_bit = 0;  // the cell is a wall itself
inline constexpr int open_bit = 9;   // the wind blows here: the rim of an open field

/// How much moves in direction i, more than in air at rest, where density 1 + `more` flows with (u, v); uu = u u + v v.
/// Fields hold such differences: numbers near 0, which f32 rounds a hundred times finer than numbers near 1.
template <class T, class U>
auto equilibrium(int i, const T& more, const U& u, const U& v, const U& uu) {
  auto along = float(D2Q9::right[i]) * u + float(D2Q9::down[i]) * v;
  return D2Q9::weight[i] * (more + (1.0f + more) * (along * (3.0f + 4.5f * along) - 1.5f * uu));
}

/// One step: everything moves, turns back from walls, and relaxes. `rate` is 1 / relaxation time, `force` pushes right.
inline const auto lattice_step =
    kl::jit("lattice_step", [](auto f0, auto f1, auto f2, auto f3, auto f4, auto f5, auto f6, auto f7, auto f8,
                               auto bits, auto rate, auto force, auto wind, kl::Const<bool> is_open) {
      const std::array f{f0, f1, f2, f3, f4, f5, f6, f7, f8};
      const auto bit = [&](int i) { return (bits >> i & 1) != 0; };
      std::array g = f;
      for (int i = 1; i < 9; ++i) {
        const kl::Shape by{D2Q9::down[i], D2Q9::right[i]};
        auto moved = is_open ? kl::shift(f[i], by, kl::clamp) : kl::shift(f[i], by, kl::wrap);
        g[i] = kl::where(bit(i), f[D2Q9::back[i]], moved);
      }
      auto more = g[0] + g[1] + g[2] + g[3] + g[4] + g[5] + g[6] + g[7] + g[8], rho = 1.0f + more;
      auto u = (g[1] + g[5] + g[8] - g[3] - g[6] - g[7]) / rho, v = (g[2] + g[5] + g[6] - g[4] - g[7] - g[8]) / rho;
      auto uu = u * u + v * v;
      auto still = 0.0f * wind;
      std::array next = g;
      for (int i = 0; i < 9; ++i) {
        auto relaxed =
            g[i] + rate * (equilibrium(i, more, u, v, uu) - g[i]) + 3.0f * D2Q9::weight[i] * D2Q9::right[i] * force;
        auto moving = kl::where(bit(open_bit), equilibrium(i, still, wind, still, wind * wind), relaxed);
        next[i] = kl::where(bit(solid_bit), f[i], moving);
      }
      return std::tuple(next[0], next[1], next[2], next[3], next[4], next[5], next[6], next[7], next[8]);
    });

/// Velocity, of air alone. Half of the force of a step acts before it, half behind it.
inline const auto lattice_velocity = kl::jit(
    "lattice_velocity",
    [](auto f0, auto f1, auto f2, auto f3, auto f4, auto f5, auto f6, auto f7, auto f8, auto bits, auto half_force) {
      auto rho = 1.0f + f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8, is_air = (bits & 1) == 0;
      return std::tuple(kl::where(is_air, (f1 + f5 + f8 - f3 - f6 - f7 - half_force) / rho, 0.0f),
                        kl::where(is_air, (f2 + f5 + f6 - f4 - f7 - f8) / rho, 0.0f));
    });

/// What turns back from walls gives them twice its momentum (round a closed wall that of air at rest adds up to none):
/// sums over all cells, one pass.
inline const auto lattice_force = kl::jit(
    "lattice_force", [](auto f0, auto f1, auto f2, auto f3, auto f4, auto f5, auto f6, auto f7, auto f8, auto bits) {
      const std::array f{f0, f1, f2, f3, f4, f5, f6, f7, f8};
      auto right = 0.0f * f0, down = right;
      for (int i = 1; i < 9; ++i) {
        auto pushed = kl::where((bits >> D2Q9::back[i] & 1) != 0 && (bits & 1) == 0, 2.0f * f[i], 0.0f);
        right = right + float(D2Q9::right[i]) * pushed, down = down + float(D2Q9::down[i]) * pushed;
      }
      return std::tuple(kl::sum(right), kl::sum(down));
    });

class Lattice {
 public:
  /// Nine floats are read and nine written, and one word of bits is read.
  static constexpr int bytes_per_update = 9 * 2 * 4 + 2;

  /// `viscosity` in cells^2 per step, `force` to the right per cell. An open field has wind at its rim, and on the
  /// right, where air leaves, as much comes back as came back before; else it is a periodic box.
  Lattice(const kl::Array<bool>& walls, float viscosity, float force, bool open = false)
      : rate_(1 / (3 * viscosity + 0.5f)), force_(force), is_open_(open) {
    const kl::Shape shape = walls.shape();
    for (Fields* fields : {&now_, &next_})
      for (kl::Array<float>& f : *fields) f = kl::zeros<float>(shape);
    bits_ = kl::cast<std::uint16_t>(walls);
    for (int i = 1; i < 9; ++i) {
      kl::Array<bool> from = kl::shift(walls, {D2Q9::down[i], D2Q9::right[i]}, kl::wrap);
      bits_ = bits_ | kl::cast<std::uint16_t>(kl::where(from, 1 << i, 0));
    }
    if (!open) return;
    auto row = kl::index(walls, 0), column = kl::index(walls, 1);
    bits_ =
        bits_ | kl::cast<std::uint16_t>(kl::where(row == 0 || row == shape[0] - 1 || column == 0, 1 << open_bit, 0));
  }

  /// Air at rest in the walls and, elsewhere, moving right.
  void start(float wind) {
    wind_ = wind;
    for (int i = 0; i < 9; ++i) {
      now_[i] = kl::where((bits_ & 1) != 0, 0.0f, equilibrium(i, 0.0f, wind, 0.0f, wind * wind));
    }
    // Ten steps there and back, recorded once: a launch costs the host one call.
    graph_ = kl::capture([&] {
      for (int i = 0; i < 10; ++i) step(now_, next_), step(next_, now_);
    });
  }
  /// At least `steps`, in twenties; waits for them.
  void run(std::int64_t steps) {
    for (std::int64_t done = 0; done < steps; done += 20, steps_ += 20) graph_.launch();
    kl::synchronize();
  }
  std::int64_t steps() const { return steps_; }

  /// Of air, in that of a cell at rest.
  double mass() const {
    double total = double(kl::count_nonzero((bits_ & 1) == 0).item());
    for (const kl::Array<float>& f : now_)
      total += kl::sum(kl::where((bits_ & 1) == 0, f, 0.0f), kl::accumulate<double>).item();
    return total;
  }
  /// To the right and downwards; both {rows, columns}.
  std::pair<kl::Array<float>, kl::Array<float>> velocity() const {
    auto [u, v] = std::apply([&](const auto&... f) { return lattice_velocity(f..., bits_, 0.5f * force_); }, now_);
    return {std::move(u), std::move(v)};
  }
  /// Of one step, to the right and downwards.
  std::pair<double, double> force_on_walls() const {
    const auto [right, down] = std::apply([&](const auto&... f) { return lattice_force(f..., bits_); }, now_);
    return {double(right.item()), double(down.item())};
  }

 private:
  using Fields = std::array<kl::Array<float>, 9>;
  void step(Fields& from, Fields& to) {
    std::apply(
        [&](auto&... out) {
          std::apply(
              [&](const auto&... in) { lattice_step.into(out...)(in..., bits_, rate_, force_, wind_, is_open_); },
              from);
        },
        to);
  }

  Fields now_, next_;
  kl::Array<std::uint16_t> bits_;
  float rate_, force_, wind_ = 0;
  kl::Const<bool> is_open_;
  kl::Graph graph_;
  std::int64_t steps_ = 0;
};

}  // namespace examples
