// examples/airflow.cpp -- air round a wing: a lattice Boltzmann simulation (D2Q9), one fused kernel per time step.
//
//   airflow [--size rows] [--steps n] [--angle degrees] [--frames 1] [--output directory]
//
// Each cell holds nine numbers: how much of its air moves to each of the eight neighbours, or stays. In a step all of
// it moves (kl::shift), what would enter a wall turns back (kl::where), and then relaxes towards equilibrium.
#include <kiln/kiln.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "examples/support/lattice.h"
#include "examples/support/png_writer.h"

namespace kl = kiln;
using examples::Lattice, examples::open_bit, examples::solid_bit;

constexpr int parts = 8;        // of the time: a line of the table for each, and with --frames 1 a pair of pictures
constexpr float speed = 0.08f;  // of the wind, in cells per step: far below the speed of sound, 0.577

/// NACA 0012, `chord` cells long, nose at a quarter of the field, turned by `angle` (radians): where is its inside?
kl::Array<bool> aerofoil(std::int64_t rows, std::int64_t columns, float chord, float angle) {
  auto make = kl::jit([](auto field, auto length, auto nose_row, auto nose_column, auto cosine, auto sine) {
    auto down = kl::cast<float>(kl::index(field, 0)) - nose_row,
         right = kl::cast<float>(kl::index(field, 1)) - nose_column;
    auto x = (right * cosine + down * sine) / length, y = (down * cosine - right * sine) / length;
    auto inside = kl::clip(x, 0.0f, 1.0f);
    auto half = 0.6f * (0.2969f * kl::sqrt(inside) +
                        inside * (-0.1260f + inside * (-0.3516f + inside * (0.2843f - 0.1036f * inside))));
    return x > 0.0f && x < 1.0f && kl::abs(y) < half;
  });
  return make(kl::zeros<bool>({rows, columns}), chord, 0.5f * float(rows) - 0.5f * chord * std::sin(angle),
              0.25f * float(columns), std::cos(angle), std::sin(angle));
}

/// Colours by kiln: red, green and blue are three results of one kernel, written side by side.
template <class Colours>
void write_frame(const std::string& path, const Colours& colours, const kl::Array<float>& value, float scale) {
  const std::int64_t every = (value.shape()[1] + 799) / 800;
  const auto thinned = kl::range(kl::none, kl::none, every);
  kl::Array<float> small = value(thinned, thinned);
  kl::Array<std::uint8_t> picture({small.shape()[0], small.shape()[1], 3});
  kl::View<std::uint8_t> red = picture(kl::all, kl::all, 0), green = picture(kl::all, kl::all, 1),
                         blue = picture(kl::all, kl::all, 2);
  colours.into(red, green, blue)(small, scale);
  examples::write_png(path, picture.to_host(), unsigned(small.shape()[0]), unsigned(small.shape()[1]), 3);
}

const auto byte = [](auto v) { return kl::cast<std::uint8_t>(kl::round(255.0f * kl::clip(v, 0.0f, 1.0f))); };
/// Dark blue over green to yellow. Inside the wing the speed is -1: white.
const auto speed_colours = kl::jit("speed_colours", [](auto v, auto scale) {
  auto t = v * scale, is_wing = v < 0.0f;
  return std::tuple(byte(kl::where(is_wing, 1.0f, 0.27f + t * (-1.1f + 1.8f * t))),
                    byte(kl::where(is_wing, 1.0f, 0.95f * t)),
                    byte(kl::where(is_wing, 1.0f, 0.33f + t * (1.0f - 1.2f * t))));
});
/// Blue where the air turns one way, red where it turns the other, white where it does not.
const auto vorticity_colours = kl::jit("vorticity_colours", [](auto v, auto scale) {
  auto t = kl::clip(v * scale, -1.0f, 1.0f);
  return std::tuple(byte(1.0f + kl::minimum(t, 0.0f)), byte(1.0f - kl::abs(t)), byte(1.0f - kl::maximum(t, 0.0f)));
});

/// In a periodic box with a wing in it nothing is lost, whatever turns back from the wing.
bool keeps_mass() {
  Lattice box(aerofoil(64, 128, 40, 0.2f), 0.02f, 0);
  box.start(speed);
  const double before = box.mass();
  box.run(500);
  const double change = box.mass() / before - 1;
  std::printf("mass in a closed box after 500 steps: %+.1e of it\n", change);
  return std::fabs(change) < 2e-6;
}

/// A channel driven by a constant force has a parabola as its profile. With this viscosity the walls lie exactly half a
/// cell outside the last one, and the lattice gives the closed form.
bool agrees_with_poiseuille() {
  constexpr std::int64_t height = 20;
  constexpr float force = 1e-5f;
  const float viscosity = std::sqrt(3.0f / 16.0f) / 3.0f;
  kl::Array<bool> walls = kl::zeros<bool>({height + 2, 8});
  walls(0, kl::all) = true;
  walls(-1, kl::all) = true;
  Lattice channel(walls, viscosity, force);
  channel.start(0);
  channel.run(6000);
  const std::vector<float> along = kl::eval(channel.velocity().first(kl::range(1, -1), 0)).to_host();
  double worst = 0;
  for (std::size_t i = 0; i < along.size(); ++i) {
    const double y = double(i) + 0.5, expected = double(force) / (2 * double(viscosity)) * y * (double(height) - y);
    worst = std::fmax(worst, std::fabs(double(along[i]) / expected - 1));
  }
  std::printf("Poiseuille channel: %.1e from the parabola\n", worst);
  return worst < 2e-3;
}

struct Arguments {
  std::int64_t rows = 0, steps = 0;
  bool frames = false;
  float degrees = 5;
  std::string output = ".";
};

/// Pictures of what there is now.
void write_frames(const std::string& folder, const std::string& number, const Lattice& air, const kl::Array<bool>& wing,
                  float chord) {
  const auto [right, down] = air.velocity();
  const kl::Array<float> magnitude = kl::where(wing, -1.0f, kl::hypot(right, down));
  const kl::Array<float> turning =
      kl::where(wing, 0.0f,
                kl::shift(down, {0, -1}, kl::clamp) - kl::shift(down, {0, 1}, kl::clamp) -
                    kl::shift(right, {-1, 0}, kl::clamp) + kl::shift(right, {1, 0}, kl::clamp));
  write_frame(folder + "/airflow_speed" + number + ".png", speed_colours, magnitude, 0.75f / speed);
  write_frame(folder + "/airflow_vorticity" + number + ".png", vorticity_colours, turning, 0.025f * chord / speed);
}

bool fly(const Arguments& a) {
  const std::int64_t rows = a.rows, columns = 2 * rows;
  const float chord = 0.4f * float(rows), angle = a.degrees * 3.14159265f / 180.0f, reynolds = 1000;
  const kl::Array<bool> wing = aerofoil(rows, columns, chord, angle);
  Lattice air(wing, speed * chord / reynolds, 0, /*open=*/true);
  air.start(speed);
  std::printf("\nNACA 0012 at %.1f degrees, Reynolds number %.0f, %lld x %lld cells\n", double(a.degrees),
              double(reynolds), static_cast<long long>(rows), static_cast<long long>(columns));
  std::printf("%8s  %8s  %8s\n", "chords", "lift", "drag");  // time: how far the wind has gone
  double seconds = 0, lift = 0, drag = 0;
  for (int part = 1; part <= parts; ++part) {
    const auto begin = std::chrono::steady_clock::now();
    air.run(a.steps / parts);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto [right, down] = air.force_on_walls();
    const double pressure = 0.5 * double(speed * speed * chord);
    lift = -down / pressure, drag = right / pressure;
    std::printf("%8.2f  %8.3f  %8.3f\n", double(speed) * double(air.steps()) / double(chord), lift, drag);
    if (a.frames || part == parts) write_frames(a.output, a.frames ? "_" + std::to_string(part) : "", air, wing, chord);
  }
  const double updates = double(rows * columns) * double(air.steps()), mlups = 1e-6 * updates / seconds;
  std::printf("%.1f million lattice updates per second, %.1f GB/s of the %d bytes per update that must move\n", mlups,
              1e-3 * mlups * Lattice::bytes_per_update, Lattice::bytes_per_update);
  // The wing lifts, and is held back.
  return std::isfinite(lift) && lift > 0.05 && lift < 1.5 && drag > 0.02 && drag < 0.5;
}

int main(int argc, char** argv) {
  const bool gpu = kl::Device::current().kind() == kl::DeviceKind::cuda;
  Arguments a;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--size") a.rows = std::atoll(argv[i + 1]);
    if (name == "--steps") a.steps = std::atoll(argv[i + 1]);
    if (name == "--angle") a.degrees = std::strtof(argv[i + 1], nullptr);
    if (name == "--frames") a.frames = std::atoi(argv[i + 1]) != 0;
    if (name == "--output") a.output = argv[i + 1];
  }
  if (a.rows == 0) a.rows = gpu ? 1024 : 96;
  if (a.steps == 0) a.steps = parts * static_cast<std::int64_t>(0.4 * double(a.rows) / double(speed));  // a chord each
  std::printf("device: %s\n", kl::Device::current().name());
  const bool good = keeps_mass() & agrees_with_poiseuille();
  return fly(a) && good ? 0 : 1;
}
