// tests/mistakes/mistakes.cpp -- the mistakes that a new user makes first: each is refused with a message that names
// the operation, shapes and types, the user's line, and what to do; and the repaired line works.
//
// usage: mistakes [--table | --probe]; checks on every device, or prints "section<tab>wrote<tab>message<tab>instead"
// lines, or uses a little of everything and prints what is thrown (for mistakes in the environment).
#include "tests/mistakes/mistakes.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace {

/// What the mistakes are made with; the names are those of the documentation.
struct World {
  explicit World(std::string folder) : path(std::move(folder)) {
    std::filesystem::create_directories(path);
    kl::save_npy(path + "/doubles.npy", kl::ones<double>({3}));
    std::ofstream(path + "/notes.npy") << "these are not numbers";
    const kl::Array<float> taken = std::move(moved);
  }
  ~World() { std::filesystem::remove_all(path); }

  std::string path;
  kl::Array<float> x = kl::ones<float>({3, 4}), y = kl::ones<float>({3, 4}), five = kl::ones<float>({5});
  kl::Array<float> none = kl::zeros<float>({0, 4}), empty, moved = kl::ones<float>({4});
  kl::Array<int> i = kl::ones<int>({3});
  kl::Array<std::int8_t> small = kl::ones<std::int8_t>({3});
  kl::Array<float> square = kl::ones<float>({2, 2});
  std::vector<float> host = std::vector<float>(12, 1.0f);
  float* nothing = nullptr;
  float* odd = reinterpret_cast<float*>(reinterpret_cast<char*>(host.data()) + 1);
};

const auto f = kl::jit("f", [](auto a, auto b) { return a + b; });

void shape_mistakes(World& w, std::vector<Mistake>& list) {
  auto& [path, x, y, five, none, empty, moved, i, small, square, host, nothing, odd] = w;
  const char* const section = "Shapes and axes";
  MISTAKE(ShapeError, (kl::eval(kl::sum(x, 2))), (kl::eval(kl::sum(x, -1))), "kl::sum", "axis 2", "use -2 to 1");
  MISTAKE(ShapeError, (y = x + five), (y = x + kl::ones<float>({4})), "kl::add", "(3, 4) of f32", "(5,) of f32",
          "must be equal or 1");
  MISTAKE(ShapeError, (y = x - kl::mean(x, 1)), (y = x - kl::mean(x, 1, kl::keepdims)), "kl::sub", "(3,) of f32",
          "kl::keepdims");
  MISTAKE(ShapeError, (f(x, five)), (f(x, y)), "kl::add", "(3, 4) of f32 and (5,) of f32");
  MISTAKE(ShapeError, (kl::eval(kl::sum(x, {0, 0}))), (kl::eval(kl::sum(x, {0, 1}))), "kl::sum", "axis 0 twice");
  MISTAKE(ShapeError, (kl::eval(kl::cumsum(x))), (kl::eval(kl::cumsum(x, 0))), "kl::cumsum", "needs an axis");
  MISTAKE(ShapeError, (kl::eval(kl::max(none, 0))), (kl::eval(kl::sum(none, 0))), "kl::max", "(0, 4)", "no element");
  MISTAKE(ShapeError, (kl::eval(kl::index(x, 5))), (kl::eval(kl::index(x, 1))), "axis 5", "(3, 4)", "use -2 to 1");
  MISTAKE(ShapeError, (x.reshape({5, 2})), (x.reshape({6, 2})), "[reshape]", "12 elements", "(5, 2)");
  MISTAKE(ShapeError, (x.reshape({-1, -1})), (x.reshape({-1, 6})), "[reshape]", "at most one may be -1");
  MISTAKE(ShapeError, (x.t().reshape({12})), (x.t().clone().reshape({12})), "[reshape]", "without a copy", "clone()");
  MISTAKE(ShapeError, (x.transpose({0, 0})), (x.transpose({1, 0})), "[transpose]", "axis 0 twice");
  MISTAKE(ShapeError, (x.squeeze(0)), (x(kl::range(0, 1)).squeeze(0)), "[squeeze]", "3 elements", "extent 1");
  MISTAKE(ShapeError, (x.broadcast_to({3, 5})), (x.broadcast_to({2, 3, 4})), "[broadcast_to]", "(3, 4)", "(3, 5)");
  MISTAKE(ShapeError, (x(3)), (x(2)), "[slice]", "index 3", "axis 0 of shape (3, 4)", "use -3 to 2");
  MISTAKE(ShapeError, (x(0, 0, 0)), (x(0, 0)), "[slice]", "3 indices", "2 axes");
  MISTAKE(ShapeError, (x(kl::range(0, 3, 0))), (x(kl::range(0, 3, 2))), "[slice]", "step", "use 1");
  MISTAKE(ShapeError, (x.item()), (x(0, 0).item()), "[item]", "(3, 4)", "to_host()");
  MISTAKE(ShapeError, (kl::sum(x, 0).item()), (kl::sum(x).item()), "[item]", "(4,)", "one element");
  MISTAKE(ShapeError, (x(0) = 2 * y), (x = 2 * y), "shape (3, 4)", "destination of shape (4,)", "keeps its shape");
  MISTAKE(ShapeError, (f.into(square)(x, y)), (f.into(y)(x, y)), "(3, 4)", "(2, 2)", "make the shapes agree");
  MISTAKE(ShapeError, (y(0).broadcast_to({3, 4}) = x * 2), (y(0) = x(0) * 2), "more than once");
  MISTAKE(ShapeError, (kl::Array<float>({2, 2, 2, 2, 2, 2, 2, 2, 2})), (kl::Array<float>({4, 2, 2, 2, 2, 2, 2, 2})),
          "9 or more axes", "at most 8");
  MISTAKE(ShapeError, (kl::Array<float>({-1, 4})), (kl::Array<float>({1, 4})), "negative extent -1");
  MISTAKE(ShapeError, (kl::from_host(host, {5, 5})), (kl::from_host(host, {3, 4})), "12 values", "(5, 5)", "multiply");
  MISTAKE(ShapeError, (kl::arange<int>(0, 5, 0)), (kl::arange<int>(0, 5, 1)), "[arange]", "other than 0");
  MISTAKE(ShapeError, (x(0) = y), (x(0) = y(0)), "shape (3, 4)", "destination of shape (4,)");
  MISTAKE(ShapeError, (kl::eval(kl::tie(x(0), y), y, y)), (kl::eval(kl::tie(x, y), y, y)), "shape (3, 4)",
          "destination of shape (4,)");
}

void type_mistakes(World& w, std::vector<Mistake>& list) {
  auto& [path, x, y, five, none, empty, moved, i, small, square, host, nothing, odd] = w;
  const char* section = "Types and numbers";
  MISTAKE(TypeError, (kl::eval(small + 300)), (kl::eval(kl::cast<int>(small) + 300)), "300 (i32)", "i8", "kl::cast");
  MISTAKE(TypeError, (f(small, 300)), (f(small, 30)), "300 (i32)", "i8", "kl::cast");
  MISTAKE(TypeError, (kl::eval(kl::clip(small, 0, 1000))), (kl::eval(kl::clip(small, 0, 100))), "1000 (i32)", "i8");
  MISTAKE(TypeError, (kl::eval(kl::pow(i, -1))), (kl::eval(kl::pow(kl::cast<double>(i), -1))), "kl::pow", "-1 (i32)",
          "kl::cast");
  MISTAKE(TypeError, (small = 300), (small = 100), "assignment", "300 (i32)", "i8");
  MISTAKE(TypeError, (kl::full<std::int8_t>({3}, 300)), (kl::full<std::int8_t>({3}, 30)), "300 (i32)", "i8");
  MISTAKE(TypeError, (kl::eval(kl::shift(small, 1, kl::constant(300)))),
          (kl::eval(kl::shift(small, 1, kl::constant(30)))), "kl::shift", "300 (i32)", "i8");
  MISTAKE(TypeError, (kl::Const<int>(3000000000LL)), (kl::Const<long long>(3000000000LL)), "kl::Const",
          "3000000000 (i64)", "i32", "a wider type");
  MISTAKE(TypeError, (kl::eval(i + kl::scalar<std::int8_t>(300))), (kl::eval(i + kl::scalar<std::int16_t>(300))),
          "kl::scalar", "300 (i32)", "i8");
  MISTAKE(TypeError, (kl::arange<std::int8_t>(300)), (kl::arange<std::int16_t>(300)), "kl::arange", "300 (i32)", "i8");

  section = "Arrays without elements";
  MISTAKE(ShapeError, (kl::eval(empty + 1)), (kl::eval(kl::zeros<float>({3}) + 1)),
          "default-constructed or moved from");
  MISTAKE(ShapeError, (kl::eval(moved + 1)), (kl::eval(x + 1)), "default-constructed or moved from");
  MISTAKE(ShapeError, (empty += x), (y += x), "default-constructed or moved from");
  MISTAKE(ShapeError, (empty(0)), (x(0)), "[slice]", "default-constructed or moved from");
  MISTAKE(ShapeError, (empty.item()), (x(0, 0).item()), "[item]", "(0,)");

  section = "Files";
  MISTAKE(IoError, (kl::load_npy<float>(path + "/absent.npy")), (kl::load_npy<double>(path + "/doubles.npy")),
          "[load_npy]", "absent.npy", "No such file");
  MISTAKE(TypeError, (kl::load_npy<float>(path + "/doubles.npy")),
          (kl::load_npy<double>(path + "/doubles.npy").astype<float>()), "holds f64", "f32 was asked for", "astype");
  MISTAKE(IoError, (kl::load_npy<float>(path + "/notes.npy")), (kl::npy_info(path + "/doubles.npy")),
          "is not a .npy file");
  MISTAKE(IoError, (kl::save_npy(path + "/absent/x.npy", x)), (kl::save_npy(path + "/x.npy", x)), "[save_npy]",
          "absent/x.npy", "folder must exist");
}

void device_mistakes(World& w, std::vector<Mistake>& list) {
  auto& [path, x, y, five, none, empty, moved, i, small, square, host, nothing, odd] = w;
  const char* const section = "Devices and memory";
  const kl::Device cpu = kl::Device::cpu();
  MISTAKE(DeviceError, (x.to(kl::Device::cuda(63))), (x.to(kl::Device::current())), "[to]", "cuda:63");
  list.back().varies = true;
  MISTAKE(DeviceError, (kl::DeviceGuard(kl::Device::cuda(63))), (kl::DeviceGuard(kl::Device::current())),
          "[DeviceGuard]", "cuda:63");
  list.back().varies = true;
  MISTAKE(DeviceError, (kl::Array<float>({3}, kl::Device::cuda(63))), (kl::Array<float>({3}, kl::Device::current())),
          "cuda:63");
  list.back().varies = true;
  MISTAKE(DeviceError, (kl::eval(x + y.to(cpu))), (kl::eval(x + y)), "operand 1", "is on cpu", "cuda:0", ".to(device)");
  list.back().needs_gpu = true;
  MISTAKE(DeviceError, (kl::view(host.data(), {3, 4})), (kl::from_host(host, {3, 4})), "ordinary host memory",
          "kl::from_host");
  list.back().needs_gpu = true;
  MISTAKE(DeviceError, (kl::view(nothing, {3})), (kl::view(host.data(), {3}, cpu)), "[view]", "null pointer");
  MISTAKE(DeviceError, (kl::view(odd, {3})), (kl::view(host.data(), {3}, cpu)), "[view]", "multiple of 4");
  list.back().varies = true;  // the address
  MISTAKE(ShapeError, (kl::view(host.data(), {3}, {1, 1}, cpu)), (kl::view(host.data(), {3}, {1}, cpu)), "2 strides");
  MISTAKE(OutOfMemory, (kl::Array<double>({1 << 22, 1 << 22})), (kl::Array<double>({1 << 12})), "(4194304, 4194304)",
          "f64", "140737488355328", "compute in parts");
  list.back().varies = true;
  MISTAKE(DeviceError, (f.inspect_for("hopper", x, y)), (f.inspect_for("cpu", x, y)), "'hopper'", "sm_90");
  MISTAKE(DeviceError, (f.compile<kl::Sig<float, 1>, float>({.archs = {"hopper"}})),
          (f.compile<kl::Sig<float, 1>, float>({.archs = {"cpu"}})), "'hopper'", "sm_90");
  MISTAKE(DeviceError, (f.compile<kl::Sig<float, 1>, float>({.archs = {"sm_12"}})),
          (f.compile<kl::Sig<float, 1>, float>({.archs = {"cpu"}})), "'sm_12'", "sm_120 is 12.0");
}

void traced_mistakes(World& w, std::vector<Mistake>& list) {
  auto& [path, x, y, five, none, empty, moved, i, small, square, host, nothing, odd] = w;
  const char* const section = "Functions and lambdas";
  MISTAKE(ShapeError, (kl::jit([](auto a) { return a + a.shape()[2]; })(x)),
          (kl::jit([](auto a) { return a + a.shape()[1]; })(x)), "shape()[2]", "rank 2", "use -2 to 1");
  MISTAKE(TypeError, (kl::jit([](auto a, auto k) {
            return kl::reduce(a, 0, 0.0f, [k](auto p, auto q) { return p + k * q; });
          })(x, 2.0f)),
          (kl::jit([](auto a, auto k) { return kl::reduce(k * a, 0, 0.0f, [](auto p, auto q) { return p + q; }); })(
              x, 2.0f)),
          "another trace", "C++ number");
  MISTAKE(TypeError, (kl::jit([&y](auto a) { return a / y(0, 0).item(); })(x)),
          (kl::jit([](auto a, auto b) { return a / b(0, 0); })(x, y)), "is being traced", "as an argument");
  MISTAKE(TypeError, (kl::function<float(float)>("float", {"a"}, "a + 1")),
          (kl::function<float(float)>("g", {"a"}, "a + 1")), "\"float\" is a word of CUDA C++", "another name");
  MISTAKE(TypeError, (kl::function<float(float)>("g", {"class"}, "1.f")),
          (kl::function<float(float)>("g", {"c"}, "1.f")), "\"class\" is a word of CUDA C++", "class_");
  MISTAKE(TypeError, (kl::function<float(float)>("my-g", {"a"}, "a + 1")),
          (kl::function<float(float)>("my_g", {"a"}, "a + 1")), "is no name of a C++ function",
          "letters, digits and _");
  MISTAKE(TypeError, (kl::function<float(float)>("g", {"a"}, "float b = a + 1;")),
          (kl::function<float(float)>("g", {"a"}, "float b = a + 1; return b;")), "returns nothing");
  static const auto wrong = kl::function<float(float)>("wrong", {"a"}, "a + b", [](float a) { return a; });
  static const auto right = kl::function<float(float)>("right", {"a"}, "a + 1", [](float a) { return a + 1; });
  MISTAKE(CompileError, (kl::inspect(wrong(x), "sm_90")), (kl::inspect(right(x), "sm_90")),
          "does not compile for sm_90", "the text of kl::function wrong was given at", "wrong(1): error",
          "\"b\" is undefined");
  list.back().needs_nvrtc = list.back().varies = true;
  static const auto bad = kl::raw_kernel("k", "__global__ void k(float* y) { y[i] = 0; }");
  static const auto good = kl::raw_kernel("k", "__global__ void k(float* y) { y[threadIdx.x] = 0; }");
  MISTAKE(CompileError, (bad.inspect("sm_90")), (good.inspect("sm_90")), "does not compile for sm_90",
          "its source was given at", "\"i\" is undefined");
  list.back().needs_nvrtc = list.back().varies = true;
}

std::vector<Mistake> all_mistakes(World& world) {
  std::vector<Mistake> list;
  shape_mistakes(world, list);
  type_mistakes(world, list);
  traced_mistakes(world, list);
  device_mistakes(world, list);
  return list;
}

bool check(const Mistake& mistake) {
  const std::string message = mistake.message();
  bool good = !message.empty();
  for (const char* part : mistake.parts) good = good && message.find(part) != std::string::npos;
  if (mistake.has_place) good = good && message.find("(mistakes.cpp:") != std::string::npos;
  if (!good) std::printf("FAILED: %s\n  says: %s\n", mistake.wrote, message.empty() ? "nothing" : message.c_str());
  try {
    mistake.repaired();
  } catch (const std::exception& error) {
    std::printf("FAILED: the repaired %s\n  throws: %s\n", mistake.instead, error.what());
    return false;
  }
  return good;
}

/// Whether kernels compile for a GPU here.
bool has_nvrtc() {
  try {
    kl::inspect(kl::ones<float>({4}) + 1, "sm_90");
    return true;
  } catch (const kl::Error& error) {
    std::printf("messages of the CUDA compiler: skipped, %s\n", error.what());
    return false;
  }
}

int run(kl::Device device, const std::string& folder, bool table) {
  const bool gpu = device.kind() == kl::DeviceKind::cuda;
  const kl::DeviceGuard guard(device);
  World world(folder);
  int checked = 0, failed = 0;
  const bool nvrtc = table || has_nvrtc();
  for (const Mistake& mistake : all_mistakes(world)) {
    if (table) {
      std::string message = mistake.needs_gpu || mistake.varies ? "" : mistake.message();
      for (const char* part : mistake.parts) {
        if (mistake.needs_gpu || mistake.varies) message += std::string(message.empty() ? "" : " … ") + part;
      }
      std::printf("%s\t%s\t%s\t%s\n", mistake.section, mistake.wrote, message.c_str(), mistake.instead);
      continue;
    }
    if ((mistake.needs_gpu && !gpu) || (mistake.needs_nvrtc && !nvrtc)) continue;
    ++checked;
    failed += check(mistake) ? 0 : 1;
  }
  if (!table) std::printf("%s: %d mistakes, %d failures\n", gpu ? "cuda" : "cpu", checked, failed);
  return failed;
}

int probe() {
  try {
    kl::Array<float> x = kl::ones<float>({4});
    x = f(x, 1);
    f.inspect_for("sm_90", x, x);
  } catch (const kl::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--probe") == 0) return probe();
  const bool table = argc > 1 && std::strcmp(argv[1], "--table") == 0;
  const std::string folder = "kiln-mistakes";  // short and relative: it stands in messages
  int failed = run(kl::Device::cpu(), folder, table);
  if (table) return 0;
  if (kl::Device::cuda(0).is_available())
    failed += run(kl::Device::cuda(0), folder, false);
  else
    std::printf("cuda: skipped, no usable GPU here\n");
  return failed == 0 ? 0 : 1;
}
