// tests/numpy/rewrite_npy.cpp -- loads every .npy file of a folder on every device and writes it, and its transpose,
// again.
#include <complex>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include <kiln/kiln.h>

namespace kl = kiln;
namespace fs = std::filesystem;

namespace {

template <class T>
void rewrite(const fs::path& from, const fs::path& to) {
  const kl::Array<T> a = kl::load_npy<T>(from);
  kl::save_npy(to / from.filename(), a);
  kl::save_npy(to / ("transposed_" + from.filename().string()), a.t());
}

void rewrite(const fs::path& from, const fs::path& to) {
  switch (kl::npy_info(from).dtype) {
#define KILN_CASE(name, type) \
  case kl::DType::name:       \
    return rewrite<type>(from, to);
    KILN_CASE(b1, bool)
    KILN_CASE(i8, std::int8_t)
    KILN_CASE(i16, std::int16_t)
    KILN_CASE(i32, std::int32_t)
    KILN_CASE(i64, std::int64_t)
    KILN_CASE(u8, std::uint8_t)
    KILN_CASE(u16, std::uint16_t)
    KILN_CASE(u32, std::uint32_t)
    KILN_CASE(u64, std::uint64_t)
    KILN_CASE(f16, kl::half)
    KILN_CASE(bf16, kl::bfloat16)
    KILN_CASE(f32, float)
    KILN_CASE(f64, double)
    KILN_CASE(c64, std::complex<float>)
    KILN_CASE(c128, std::complex<double>)
#undef KILN_CASE
  }
}

}  // namespace

/// rewrite_npy IN OUT: writes OUT/<device>/<file> for each IN/<file>.
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int failures = 0;
  for (const kl::Device device : kl::devices()) {
    const std::string name = device.kind() == kl::DeviceKind::cpu ? "cpu" : "cuda" + std::to_string(device.index());
    const fs::path out = fs::path(argv[2]) / name;
    fs::create_directories(out);
    const kl::DeviceGuard guard(device);
    for (const auto& entry : fs::directory_iterator(argv[1])) {
      try {
        rewrite(entry.path(), out);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
        ++failures;
      }
    }
  }
  return failures ? 1 : 0;
}
