// tests/unit/dsl/npy_test.cpp -- .npy files: what NumPy writes, what it may write, and what no one should.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "dsl/array_memory.h"
#include "dsl/npy_header.h"
#include "dsl/session.h"
#include "tests/unit/dsl/element_numbers.h"

namespace {

using namespace element_numbers;
using kiln::detail::Handle;

class Npy : public ::testing::Test {
 protected:
  Npy() {
    set_current_device({runtime::DeviceKind::cpu, 0});
    directory_ = std::filesystem::temp_directory_path() / ("kiln-npy-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
  }
  ~Npy() override { std::filesystem::remove_all(directory_); }

  std::string path(const char* name = "x.npy") const { return (directory_ / name).string(); }
  std::string write(const std::string& bytes, const char* name = "x.npy") const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  static std::string contents(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory_), std::filesystem::directory_iterator()));
  }
  std::filesystem::path directory_;
};

/// A version 1.0 file with the given dictionary text and elements.
std::string file_of(const std::string& dictionary, const std::string& elements, char major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += major;
  bytes += '\0';
  bytes += static_cast<char>(dictionary.size() & 0xff);
  bytes += static_cast<char>(dictionary.size() >> 8);
  if (major > 1) bytes += std::string(2, '\0');
  return bytes + dictionary + elements;
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

OwnedHandle load(const std::string& file, DType type) {
  return OwnedHandle(kiln::detail::load_npy(file.c_str(), type, here));
}

template <class T>
std::vector<T> values_of(const Handle& h) {
  std::vector<T> values(static_cast<std::size_t>(h.layout->size));
  kiln::detail::to_host(h, values.data(), here);
  return values;
}

template <class E, class Body>
void expect_error(Body body, std::initializer_list<const char*> parts) {
  try {
    body();
    ADD_FAILURE() << "no error; expected one with " << *parts.begin();
  } catch (const E& error) {
    expect_mentions(error.what(), parts);
  }
}

TEST_F(Npy, WritesWhatNumPyWrites) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const Numbers shape = {2, 3};
  const OwnedHandle a(kiln::detail::from_host(DType::f32, values.data(), shape.data(), 2));
  kiln::detail::save_npy(path().c_str(), a.get(), here);
  // np.save of the same array: 128 bytes of header, then the elements.
  std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  dictionary.append(128 - 10 - dictionary.size() - 1, ' ');
  EXPECT_EQ(contents(path()), file_of(dictionary + "\n", bytes_of<float>({1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(files(), 1u);  // no temporary file is left
}

TEST_F(Npy, EveryTypeSurvivesWithAllItsBits) {
  for (int i = 0; i < dtype_count; ++i) {
    const DType type = static_cast<DType>(i);
    std::string bits(6 * size_of(type), '\0');
    for (std::size_t k = 0; k < bits.size(); ++k) {
      bits[k] =
          type == DType::b1 ? static_cast<char>(k & 1) : static_cast<char>(0xf3 + 29 * k);  // NaN payloads included
    }
    const Numbers shape = {3, 2};
    const OwnedHandle a(kiln::detail::from_host(type, bits.data(), shape.data(), 2));
    kiln::detail::save_npy(path().c_str(), a.get(), here);
    const OwnedHandle back = load(path(), type);
    ASSERT_EQ(back.get().layout, a.get().layout) << kiln::name_of(type);
    EXPECT_EQ(std::memcmp(back.get().data, bits.data(), bits.size()), 0) << kiln::name_of(type);
    DType found = DType::b1;
    std::int64_t extents[kiln::detail::max_rank];
    bool fortran = true;
    EXPECT_EQ(kiln::detail::npy_info(path().c_str(), found, extents, fortran, here), 2);
    EXPECT_EQ(found, type);
    EXPECT_EQ(extents[0], 3);
    EXPECT_FALSE(fortran);
  }
}

TEST_F(Npy, ScalarsEmptyArraysAndRankEight) {
  for (const Numbers& shape : {Numbers{}, Numbers{0}, Numbers{3, 0, 4}, Numbers{1, 2, 1, 2, 1, 2, 1, 2}}) {
    Numbers values(static_cast<std::size_t>(product(shape)), 42);
    const OwnedHandle a(
        kiln::detail::from_host(DType::i64, values.data(), shape.data(), static_cast<int>(shape.size())));
    kiln::detail::save_npy(path().c_str(), a.get(), here);
    EXPECT_EQ(load(path(), DType::i64).get().layout, a.get().layout) << to_text(shape);
  }
}

TEST_F(Npy, FortranOrderIsReadAndWritten) {
  // [[1, 2, 3], [4, 5, 6]] column by column
  write(
      file_of("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3)}", bytes_of<std::int16_t>({1, 4, 2, 5, 3, 6})));
  const OwnedHandle a = load(path(), DType::i16);
  EXPECT_EQ(values_of<std::int16_t>(a.get()), (std::vector<std::int16_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(a.get().layout->contiguous);

  const Handle transposed =
      kiln::detail::view_of(a.get(), static_cast<int>(ViewSpec::Kind::transpose), nullptr, 0, here);
  kiln::detail::save_npy(path().c_str(), transposed, here);
  const std::string saved = contents(path());
  EXPECT_NE(saved.find("'fortran_order': True, 'shape': (3, 2)"), std::string::npos);
  EXPECT_EQ(saved.substr(128), bytes_of<std::int16_t>({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values_of<std::int16_t>(load(path(), DType::i16).get()), (std::vector<std::int16_t>{1, 4, 2, 5, 3, 6}));
}

TEST_F(Npy, StridedViewsAreSavedInCOrder) {
  const Numbers values = {0, 1, 2, 3, 4, 5}, shape = {6}, items = {0, 0, 0, -2};
  const OwnedHandle a(kiln::detail::from_host(DType::i64, values.data(), shape.data(), 1));
  const Handle view = kiln::detail::view_of(a.get(), static_cast<int>(ViewSpec::Kind::slice), items.data(), 4, here);
  kiln::detail::save_npy(path().c_str(), view, here);
  EXPECT_EQ(values_of<std::int64_t>(load(path(), DType::i64).get()), (Numbers{5, 3, 1}));
}

TEST_F(Npy, BigEndianIsSwapped) {
  write(file_of("{'descr': '>i4', 'fortran_order': False, 'shape': (2,)}", std::string("\0\0\1\2\xff\xff\xff\xfe", 8)));
  EXPECT_EQ(values_of<std::int32_t>(load(path(), DType::i32).get()), (std::vector<std::int32_t>{258, -2}));
  // complex numbers swap each part: 1 + 2i
  write(file_of("{'descr': '>c8', 'fortran_order': False, 'shape': ()}", std::string("\x3f\x80\0\0\x40\0\0\0", 8)));
  float parts[2];
  kiln::detail::to_host(load(path(), DType::c64).get(), parts, here);
  EXPECT_EQ(parts[0], 1.0f);
  EXPECT_EQ(parts[1], 2.0f);
}

TEST_F(Npy, BooleansAreNormalised) {
  write(file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", std::string("\0\x02\xff", 3)));
  EXPECT_EQ(values_of<std::uint8_t>(load(path(), DType::b1).get()), (std::vector<std::uint8_t>{0, 1, 1}));
}

TEST_F(Npy, HeadersOfAllVersionsAndStyles) {
  const std::string elements = bytes_of<std::int32_t>({7, 8});
  for (const char major : {1, 2, 3}) {
    for (const char* dictionary : {
             "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }",
             "{'shape':(2,),'fortran_order':False,'descr':'<i4'}",
             "\t{ \"shape\" : ( 2L , ) ,\r\n\"descr\":\"i4\" , u'fortran_order' : False , } \n\n",
             "{'descr': '=i4', 'fortran_order': True, 'shape': (2,)}",
             "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2)}",
         }) {
      write(file_of(dictionary, elements, major));
      EXPECT_EQ(values_of<std::int32_t>(load(path(), DType::i32).get()), (std::vector<std::int32_t>{7, 8}))
          << dictionary;
    }
  }
  for (const char* descr : {"<V2", "|V2", "V2", "bfloat16"}) {
    write(file_of(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (2,)}}", descr), elements));
    EXPECT_EQ(values_of<std::uint16_t>(load(path(), DType::bf16).get()), (std::vector<std::uint16_t>{7, 0})) << descr;
  }
}

TEST_F(Npy, MalformedHeadersAreIoErrors) {
  const char* dictionaries[] = {
      "",
      "{",
      "{}",
      "[]",
      "{'descr': '<i4', 'fortran_order': False}",
      "{'descr': '<i4', 'shape': (2,)}",
      "{'fortran_order': False, 'shape': (2,)}",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2)}",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2,,)}",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (-2,)}",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2.0,)}",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2,",
      "{'descr': '<i4', 'fortran_order': False, 'shape': [2]}",
      "{'descr': '<i4', 'fortran_order': 0, 'shape': (2,)}",
      "{'descr': '<i4', 'fortran_order': False 'shape': (2,)}",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)} x",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'extra': 1}",
      "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (2,)}",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'x}",
      "{'descr: <i4",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
      "{'descr': __import__('os').system('true'), 'fortran_order': False, 'shape': (2,)}",
  };
  for (const char* dictionary : dictionaries) {
    write(file_of(dictionary, std::string(64, '\0')));
    expect_error<IoError>([&] { load(path(), DType::i32); }, {"[load_npy]", "x.npy", "main.cpp:7"});
  }
}

TEST_F(Npy, EveryTruncationIsAnIoError) {
  const std::string whole =
      file_of("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", bytes_of<std::int32_t>({7, 8}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    expect_error<IoError>([&] { load(path(), DType::i32); }, {"[load_npy]", "x.npy", "main.cpp:7"});
  }
  write(whole + "more");  // NumPy reads several arrays from one file
  EXPECT_EQ(values_of<std::int32_t>(load(path(), DType::i32).get()), (std::vector<std::int32_t>{7, 8}));
}

/// Damage to any byte of a header gives an error of the family or a valid array, never anything else.
TEST_F(Npy, DamagedHeadersNeverCrash) {
  const std::string whole =
      file_of("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", bytes_of<std::int32_t>({7, 8}));
  int errors = 0;
  for (std::size_t i = 0; i + 8 < whole.size(); ++i) {
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      write(damaged);
      try {
        load(path(), DType::i32);
      } catch (const InternalError& error) {
        ADD_FAILURE() << "byte " << i << ": " << error.what();
      } catch (const Error&) {
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 200);
}

TEST_F(Npy, HugeShapesAreCheckedAgainstTheFile) {
  const auto try_shape = [&](const char* shape) {
    write(file_of(fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': {}}}", shape), "12345678"));
    load(path(), DType::f64);
  };
  expect_error<IoError>([&] { try_shape("(1000000000000,)"); }, {"truncated", "8000000000000 bytes", "only 8 follow"});
  expect_error<ShapeError>([&] { try_shape("(4294967296, 4294967296)"); }, {"2^63"});
  expect_error<ShapeError>([&] { try_shape("(4611686018427387904,)"); }, {"2^63 bytes"});
  expect_error<ShapeError>([&] { try_shape("(1, 1, 1, 1, 1, 1, 1, 1, 1)"); }, {"x.npy", "at most 8"});
}

TEST_F(Npy, TypesThatDoNotFitSayWhatToUse) {
  write(file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", "12345678"));
  expect_error<TypeError>([&] { load(path(), DType::f32); },
                          {"x.npy", "f64", "f32", "load_npy<double>", "astype<float>", "npy_info", "main.cpp:7"});
  for (const char* descr : {"'<U5'", "'|O'", "'<M8[ns]'", "'<f16'", "'|S3'", "[('a', '<i4')]", "''"}) {
    write(file_of(fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': (1,)}}", descr), "12345678"));
    expect_error<TypeError>([&] { load(path(), DType::f32); }, {"x.npy", "NumPy", "main.cpp:7"});
  }
}

TEST_F(Npy, FilesThatAreNotNpy) {
  expect_error<IoError>([&] { load(path("missing.npy"), DType::f32); }, {"missing.npy", "No such file"});
  expect_error<IoError>([&] { load(directory_.string(), DType::f32); }, {"kiln-npy-"});
  write("PK\x03\x04 a zip archive");
  expect_error<IoError>([&] { load(path(), DType::f32); }, {"not a .npy file", "50 4b 03 04"});
  write(file_of("{}", "", 9));
  expect_error<IoError>([&] { load(path(), DType::f32); }, {"version 9.0", "1.0, 2.0 and 3.0"});
}

TEST_F(Npy, SaveReplacesInOneStepAndKeepsTheModeAndLinks) {
  const std::int64_t one = 1, value = 5;
  const OwnedHandle a(kiln::detail::from_host(DType::i64, &value, &one, 1));
  write("old contents");
  ::chmod(path().c_str(), 0640);
  std::filesystem::create_symlink(path(), path("link.npy"));
  std::ifstream reader(path(), std::ios::binary);  // a reader keeps the old file
  kiln::detail::save_npy(path("link.npy").c_str(), a.get(), here);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old contents");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.npy")));
  EXPECT_EQ(values_of<std::int64_t>(load(path(), DType::i64).get()), Numbers{5});
  struct stat status = {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
  EXPECT_EQ(files(), 2u);
}

TEST_F(Npy, FailedSavesLeaveNothingBehind) {
  const std::int64_t one = 1, value = 5;
  const OwnedHandle a(kiln::detail::from_host(DType::i64, &value, &one, 1));
  expect_error<IoError>([&] { kiln::detail::save_npy(path("no/such/x.npy").c_str(), a.get(), here); },
                        {"[save_npy]", "no/such/x.npy", "main.cpp:7"});
  expect_error<IoError>([&] { kiln::detail::save_npy(directory_.c_str(), a.get(), here); }, {"is a directory"});
  expect_error<IoError>([&] { kiln::detail::save_npy("/dev/full", a.get(), here); }, {"/dev/full"});
  expect_error<ShapeError>([&] { kiln::detail::save_npy(path().c_str(), {}, here); }, {"x.npy"});
  EXPECT_EQ(files(), 0u);
}

}  // namespace
