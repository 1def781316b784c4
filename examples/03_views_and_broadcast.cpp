// examples/03_views_and_broadcast.cpp -- slices, transposes and broadcasting: layout only, nothing is copied.
#include <kiln/kiln.h>

#include <cstdio>
#include <vector>

namespace kl = kiln;

namespace {

void print(const char* title, const std::vector<float>& values, std::size_t columns) {
  std::printf("%s\n", title);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%6g%s", double(values[i]), (i + 1) % columns == 0 ? "\n" : " ");
  }
}

}  // namespace

int main() {
  kl::Array<float> table = kl::eval(kl::arange<float>(0, 12, 1).reshape({3, 4}));
  print("table", table.to_host(), 4);

  // A row vector is broadcast over the rows, a column over the columns.
  kl::Array<float> row = kl::arange<float>(0, 4, 1);
  kl::Array<float> column = kl::arange<float>(0, 3, 1);
  kl::Array<float> sum = kl::eval(table + 10.0f * row + 100.0f * column.unsqueeze(1));
  print("table + 10 row + 100 column", sum.to_host(), 4);

  // NumPy's slices, negative steps included; assigning to a view writes the elements it refers to.
  sum(kl::all, kl::range(kl::none, kl::none, -1)) = table;
  print("columns reversed", sum.to_host(), 4);
  table(1, kl::all) = 0.0f;
  table(kl::range(0, 2), kl::range(1, 3)) = -1.0f;
  print("patched", table.to_host(), 4);

  // Overlap is safe: the right side is complete before the first element is written.
  kl::Array<float> line = kl::arange<float>(0, 6, 1);
  line(kl::range(1, kl::none)) = line(kl::range(0, -1));
  print("shifted by one", line.to_host(), 6);

  kl::Array<float> square = kl::eval(table.t() + 0.5f);
  print("transposed", square.to_host(), 3);

  const bool right = sum.to_host() == std::vector<float>{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8} &&
                     table.to_host() == std::vector<float>{0, -1, -1, 3, 0, -1, -1, 0, 8, 9, 10, 11} &&
                     line.to_host() == std::vector<float>{0, 0, 1, 2, 3, 4} &&
                     square.to_host() == std::vector<float>{0.5f,  0.5f,  8.5f,  -0.5f, -0.5f, 9.5f,
                                                            -0.5f, -0.5f, 10.5f, 3.5f,  0.5f,  11.5f};
  std::printf("%s\n", right ? "all as NumPy has it" : "WRONG");
  return right ? 0 : 1;
}
