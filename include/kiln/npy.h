// kiln/npy.h -- NumPy's file format: every dtype, C and Fortran order.
//
// bfloat16, which NumPy lacks, is stored as ml_dtypes stores it: two opaque bytes, '<V2'. In NumPy:
// np.load(path).view(ml_dtypes.bfloat16). A save replaces the file in one step or leaves it as it was.
#pragma once

#include <kiln/array.h>

namespace kiln {

/// What a file holds, from its header alone.
struct NpyInfo {
  DType dtype = DType::f32;
  Shape shape;
  bool fortran_order = false;
};
inline NpyInfo npy_info(const char* path, detail::Where w = detail::Where::current()) {
  NpyInfo info;
  std::int64_t extents[detail::max_rank] = {};
  const int rank = detail::npy_info(path, info.dtype, extents, info.fortran_order, w);
  info.shape = Shape(extents, rank);
  return info;
}
template <class Path>
  requires(requires(const Path& p) { p.c_str(); })
NpyInfo npy_info(const Path& path, detail::Where w = detail::Where::current()) {
  return npy_info(path.c_str(), w);
}

/// Reads an array; its dtype in the file must be T's. IoError names the file and what is wrong with it.
template <class T>
Array<T> load_npy(const char* path, detail::Where w = detail::Where::current()) {
  return Array<T>(detail::load_npy(path, dtype_of<T>, w));
}
template <class T, class Path>
  requires(requires(const Path& p) { p.c_str(); })
Array<T> load_npy(const Path& path, detail::Where w = detail::Where::current()) {
  return load_npy<T>(path.c_str(), w);
}

/// Writes an array, view or expression.
template <class X>
  requires(detail::array_operand<X>)
void save_npy(const char* path, const X& x, detail::Where w = detail::Where::current()) {
  if constexpr (requires { x.handle(); }) {
    detail::save_npy(path, x.handle(), w);
  } else {
    detail::save_npy(path, Array<typename X::value_type>(x).handle(), w);
  }
}
template <class Path, class X>
  requires(requires(const Path& p) { p.c_str(); } && detail::array_operand<X>)
void save_npy(const Path& path, const X& x, detail::Where w = detail::Where::current()) {
  save_npy(path.c_str(), x, w);
}

template <class X, class Path>
  requires(detail::array_operand<X>)
void save_npy(const X&, const Path&) {
  static_assert(detail::no_dtype<X>::value, "kiln: the path comes first: kl::save_npy(\"y.npy\", x)");
}

}  // namespace kiln
