// tests/golden/cases.cpp -- the kernels whose text is compared: one of each kind that users meet.
#include "codegen/ir/loop.h"
#include "tests/golden/reduction_cases.h"

namespace kiln::golden {
namespace {

using codegen::IndexWidth;
using codegen::NodeId;
using codegen::NodeKind;

constexpr IndexWidth narrow = IndexWidth::bits32, wide = IndexWidth::bits64;

Case saxpy() {
  Builder b(1, narrow, "y = s0 * x + y");
  const NodeId s = b.parameter(DType::f32), x = b.load(DType::f32, "c"), y = b.load(DType::f32, "c", 16, true);
  b.store(b.op(Op::add, {b.op(Op::mul, {s, x}), y}), "c");
  return {"saxpy_f32", b.finish(), {{1 << 28}}};
}

Case swiglu() {
  Builder b(1, narrow, "y = silu(gate) * up");
  const NodeId g = b.load(DType::bf16, "c"), u = b.load(DType::bf16, "c");
  b.store(b.op(Op::mul, {b.op(Op::silu, {g}), u}), "c");
  return {"swiglu_bf16", b.finish_legalised(), {{16384 * 8192}}};
}

/// The user's own division is correctly rounded, whatever is stored.
Case swiglu_by_hand() {
  Builder b(1, narrow, "y = gate / (1 + exp(-gate)) * up");
  const NodeId g = b.load(DType::bf16, "c"), u = b.load(DType::bf16, "c");
  const NodeId e = b.op(Op::add, {b.number(DType::bf16, 1), b.op(Op::exp, {b.op(Op::neg, {g})})});
  b.store(b.op(Op::mul, {b.op(Op::div, {g, e}), u}), "c");
  return {"swiglu_by_hand_bf16", b.finish_legalised(), {{16384 * 8192}}};
}

Case activations() {
  Builder b(1, narrow, "sigmoid, silu, gelu and gelu_tanh of x");
  const NodeId x = b.load(DType::f32, "c");
  for (const Op op : {Op::sigmoid, Op::silu, Op::gelu, Op::gelu_tanh}) b.store(b.op(op, {x}), "c");
  return {"activations_f32", b.finish_legalised(), {{1 << 20}}};
}

/// Prices of European calls and puts: the tails of both signs come from one.
Case prices(DType type) {
  Builder b(1, narrow, "call, put = Black-Scholes(spot, strike, years)");
  const NodeId spot = b.load(type, "c"), strike = b.load(type, "c"), years = b.load(type, "c");
  const auto number = [&](double value) { return b.number(type, value); };
  const auto times = [&](NodeId x, NodeId y) { return b.op(Op::mul, {x, y}); };
  const NodeId deviation = times(number(0.3), b.op(Op::sqrt, {years}));
  const NodeId growth = b.op(Op::add, {b.op(Op::log, {b.op(Op::div, {spot, strike})}), times(number(0.065), years)});
  const NodeId d1 = b.op(Op::div, {growth, deviation}), d2 = b.op(Op::sub, {d1, deviation});
  const NodeId discounted = times(strike, b.op(Op::exp, {times(number(-0.02), years)}));
  const auto normal = [&](NodeId d) {
    return times(number(0.5), b.op(Op::erfc, {times(d, number(-0.7071067811865476))}));
  };
  const auto minus = [&](NodeId x) { return b.op(Op::neg, {x}); };
  b.store(b.op(Op::sub, {times(spot, normal(d1)), times(discounted, normal(d2))}), "c");
  b.store(b.op(Op::sub, {times(discounted, normal(minus(d2))), times(spot, normal(minus(d1)))}), "c");
  return {type == DType::f32 ? "prices_f32" : "prices_f64", b.finish_legalised(), {{1 << 26}}};
}

Case gelu_bias() {
  Builder b(2, narrow, "y = gelu(x + bias)");
  const NodeId x = b.load(DType::bf16, "sc"), c = b.load(DType::bf16, "bc");
  b.store(b.op(Op::gelu, {b.op(Op::add, {x, c})}), "sc");
  return {"gelu_bias_bf16", b.finish_legalised(), {{16384, 8192}}};
}

/// Every second element of a vector that starts at an odd address.
Case strided() {
  Builder b(1, narrow, "y = sqrt(x(::2)) - z");
  const NodeId x = b.load(DType::f32, "s", 4), z = b.load(DType::f32, "c", 4);
  b.store(b.op(Op::sub, {b.op(Op::sqrt, {x}), z}), "c");
  return {"strided_f32", b.finish(), {{1000003}}};
}

Case transpose_add() {
  Builder b(2, narrow, "c = a + transpose(b)");
  const NodeId x = b.load(DType::f32, "sc"), y = b.load(DType::f32, "cs");
  b.store(b.op(Op::add, {x, y}), "sc");
  return {"transpose_add_f32", b.finish(), {{16384, 16384}}};
}

/// A batch of 8-byte matrices, transposed: the tile is smaller and the batch axis is decoded.
Case transpose_batch() {
  Builder b(3, narrow, "y = permute(x, {0, 2, 1}) * s0");
  const NodeId x = b.load(DType::f64, "scs"), s = b.parameter(DType::f64);
  b.store(b.op(Op::mul, {x, s}), "ssc");
  return {"transpose_batch_f64", b.finish(), {{16, 500, 300}}};
}

/// Exposure and vignette of an interleaved 8-bit image: index along rows and columns, three channels.
Case image() {
  Builder b(3, narrow, "y = u8(clip(gain * f32(x) * vignette(row, column)))");
  const NodeId x = b.cast(b.load(DType::u8, "ssc", 1), DType::f32), gain = b.parameter(DType::f32);
  const NodeId row = b.cast(b.iota("cbb"), DType::f32), column = b.cast(b.iota("bcb"), DType::f32);
  const NodeId r2 = b.op(Op::fma, {row, row, b.op(Op::mul, {column, column})});
  const NodeId v = b.op(Op::sub, {b.number(DType::f32, 1), b.op(Op::mul, {r2, b.number(DType::f32, 0x1p-20)})});
  const NodeId lit = b.op(Op::mul, {b.op(Op::mul, {gain, x}), v});
  const NodeId clipped =
      b.op(Op::minimum, {b.op(Op::maximum, {lit, b.number(DType::f32, 0)}), b.number(DType::f32, 255)});
  b.store(b.cast(clipped, DType::u8), "ssc", 1);
  return {"image_u8_index", b.finish(), {{512, 512, 3}}};
}

/// The same image without gaps, with a gain for each channel: vectors cross pixels and rows.
Case dense_image() {
  Builder b(3, narrow, "y = u8(clip(f32(x) * gain(channel) - (row + column)))");
  const NodeId x = b.cast(b.load(DType::u8, "ssc", 1), DType::f32), gain = b.load(DType::f32, "bbc", 4);
  const NodeId row = b.cast(b.iota("cbb"), DType::f32), column = b.cast(b.iota("bcb"), DType::f32);
  const NodeId lit = b.op(Op::sub, {b.op(Op::mul, {x, gain}), b.op(Op::add, {row, column})});
  const NodeId clipped =
      b.op(Op::minimum, {b.op(Op::maximum, {lit, b.number(DType::f32, 0)}), b.number(DType::f32, 255)});
  b.store(b.cast(clipped, DType::u8), "ssc", 1);
  b.dense();
  return {"dense_image_u8", b.finish(), {{512, 512, 3}}};
}

/// Points of three coordinates whose number is no multiple of the vector, moved by a vector and scaled one by one.
Case dense_points() {
  Builder b(2, narrow, "y = x * scale(point) + shift");
  const NodeId x = b.load(DType::f32, "sc", 4), scale = b.load(DType::f32, "cb", 4),
               shift = b.load(DType::f32, "bc", 4);
  b.store(b.op(Op::add, {b.op(Op::mul, {x, scale}), shift}), "sc", 4);
  b.dense(8);
  return {"dense_points_f32", b.finish(), {{1001, 3}}};
}

Case complex_product() {
  Builder b(1, narrow, "y = s0 * conj(x)");
  const NodeId x = b.load(DType::c64, "c"), s = b.parameter(DType::c64);
  const NodeId xr = b.node(NodeKind::real_part, DType::f32, {x}), xi = b.node(NodeKind::imag_part, DType::f32, {x});
  const NodeId sr = b.node(NodeKind::real_part, DType::f32, {s}), si = b.node(NodeKind::imag_part, DType::f32, {s});
  const NodeId re = b.op(Op::add, {b.op(Op::mul, {sr, xr}), b.op(Op::mul, {si, xi})});
  const NodeId im = b.op(Op::sub, {b.op(Op::mul, {si, xr}), b.op(Op::mul, {sr, xi})});
  b.store(b.node(NodeKind::complex, DType::c64, {re, im}), "c");
  return {"complex_c64", b.finish(), {{100001}}};
}

Case big_index() {
  Builder b(3, wide, "y = x + index(0) * MIN");
  const NodeId x = b.load(DType::i64, "ssc"), i = b.iota("cbb");
  const NodeId least = b.kernel.body.literal(DType::i64, 0x8000000000000000ull);
  b.store(b.op(Op::add, {x, b.op(Op::mul, {i, least})}), "ssc");
  return {"big_index_i64", b.finish(), {{5, 65537, 16384}}};
}

Case mask() {
  Builder b(1, narrow, "y = (x > s0) & m");
  const NodeId x = b.load(DType::f32, "c"), m = b.load(DType::b1, "c"), s = b.parameter(DType::f32);
  b.store(b.op(Op::bit_and, {b.op(Op::gt, {x, s}), m}), "c");
  return {"mask_b1", b.finish(), {{4099}}};
}

Case where_clip() {
  Builder b(2, narrow, "y = where(c, clip(x, -1.5, inf), -0.0)");
  const NodeId c = b.load(DType::b1, "sb", 1), x = b.load(DType::f64, "sc");
  const NodeId infinity = b.kernel.body.literal(DType::f64, 0x7ff0000000000000ull);
  const NodeId zero = b.kernel.body.literal(DType::f64, 0x8000000000000000ull);
  const NodeId low = b.op(Op::maximum, {x, b.number(DType::f64, -1.5)});
  b.store(b.op(Op::where, {c, b.op(Op::minimum, {low, infinity}), zero}), "sc");
  return {"where_clip_f64", b.finish(), {{1000, 77}}};
}

Case two_outputs() {
  Builder b(1, narrow, "s = x + y; d = f16(x - y)");
  const NodeId x = b.load(DType::f32, "c"), y = b.load(DType::f32, "c");
  b.store(b.op(Op::add, {x, y}), "c");
  b.store(b.cast(b.op(Op::sub, {x, y}), DType::f16), "c");
  return {"two_outputs_f32_f16", b.finish(), {{1 << 20}}};
}

/// Every row has its own scale, every column its own offset; rows have an odd length.
Case scalar_broadcast() {
  Builder b(2, narrow, "y = x * scale(row) + offset(column) + t");
  const NodeId x = b.load(DType::f32, "sc", 16), s = b.load(DType::f32, "cb", 4), o = b.load(DType::f32, "bc", 16);
  const NodeId t = b.load(DType::f32, "bb", 4);
  b.store(b.op(Op::add, {b.op(Op::add, {b.op(Op::mul, {x, s}), o}), t}), "sc", 16);
  return {"row_column_scalars_f32", b.finish(), {{300, 1021}}};
}

Case zero_dimensional() {
  Builder b(0, narrow, "y = exp(x) + s0");
  const NodeId x = b.load(DType::f32, "", 4), s = b.parameter(DType::f32);
  b.store(b.op(Op::add, {b.op(Op::exp, {x}), s}), "", 4);
  return {"zero_dimensional_f32", b.finish(), {{}}};
}

/// x = x x + c, at most s0 times, until x > 4; both states are stored.
Case repeat() {
  Builder b(1, narrow, "y, turns = repeat(s0, (x, 0), x x + c unless x > 4)");
  const NodeId x = b.load(DType::f32, "c"), c = b.load(DType::f32, "c"), most = b.parameter(DType::i32);
  auto loop = std::make_shared<codegen::Loop>();
  loop->states = 2;
  loop->breaks = true;
  codegen::Graph& body = loop->body;
  const NodeId state = body.parameter(0, DType::f32), turns = body.parameter(1, DType::i32);
  const auto op = [&](Op which, DType type, NodeId left, NodeId right) {
    const NodeId operands[] = {left, right};
    return body.operation(which, type, operands);
  };
  const NodeId square = op(Op::mul, DType::f32, state, state);
  body.outputs = {op(Op::add, DType::f32, square, body.parameter(2, DType::f32)),
                  op(Op::add, DType::i32, turns, body.literal_value(DType::i32, 1)),
                  op(Op::gt, DType::b1, state, body.literal_value(DType::f32, 4))};
  codegen::Function function;
  function.name = "repeat";
  function.parameters = {DType::i32, DType::f32, DType::i32, DType::f32};
  function.parameter_names = {"n", "s0", "s1", "c0"};
  function.text = "a loop of a test\n" + codegen::to_text(body);
  function.loop = loop;
  const NodeId operands[] = {most, x, b.number(DType::i32, 0), c};
  for (const DType result : {DType::f32, DType::i32}) {
    function.result = result;
    b.store(b.kernel.body.call(std::make_shared<const codegen::Function>(function), operands), "c");
    function.component = 1;
  }
  return {"repeat_f32", b.finish(), {{1 << 20}}};
}

/// The user's text, with a helper, beside an operation.
Case user_function() {
  Builder b(2, narrow, "y = smooth(low(row), s0, x) * x");
  const NodeId x = b.load(DType::f32, "sc"), low = b.load(DType::f32, "cb", 4), high = b.parameter(DType::f32);
  auto smooth = std::make_shared<codegen::Function>();
  smooth->name = "smooth";
  smooth->parameters = {DType::f32, DType::f32, DType::f32};
  smooth->parameter_names = {"a", "b", "x"};
  smooth->preamble = "__device__ float cubic(float t) { return t * t * (3.f - 2.f * t); }";
  smooth->text = "float t = fminf(fmaxf((x - a) / (b - a), 0.f), 1.f);\nreturn cubic(t);";
  const NodeId operands[] = {low, high, x};
  b.store(b.op(Op::mul, {b.kernel.body.call(smooth, operands), x}), "sc");
  return {"user_function_f32", b.finish(), {{300, 1024}}};
}

/// The caller's block, elements per thread and number of blocks.
Case product_in_turns() {
  Builder b(1, narrow, "y = s0 * x * y");
  const NodeId s = b.parameter(DType::f32), x = b.load(DType::f32, "c"), y = b.load(DType::f32, "c", 16, true);
  b.store(b.op(Op::mul, {b.op(Op::mul, {s, x}), y}), "c");
  Case test{"product_turns_f32", b.finish(), {{1 << 28}}};
  test.wish.block[0] = 128;
  test.wish.items = 6;
  test.wish.grid = 2;
  return test;
}

/// A transposed operand in tiles that the caller's blocks and elements per thread make.
Case transpose_wished() {
  Builder b(2, narrow, "c = a - transpose(b)");
  const NodeId x = b.load(DType::f32, "sc"), y = b.load(DType::f32, "cs");
  b.store(b.op(Op::sub, {x, y}), "sc");
  Case test{"transpose_wished_f32", b.finish(), {{16384, 16384}}};
  test.wish.block[0] = 128;
  test.wish.items = 8;
  return test;
}

}  // namespace

std::vector<Case> cases() {
  std::vector<Case> all = {saxpy(),           swiglu(),      gelu_bias(),        strided(),          transpose_add(),
                           transpose_batch(), image(),       complex_product(),  big_index(),        mask(),
                           where_clip(),      two_outputs(), scalar_broadcast(), zero_dimensional(), swiglu_by_hand(),
                           activations(),     dense_image(), dense_points(),     product_in_turns(), transpose_wished(),
                           user_function(),   repeat(),      prices(DType::f32), prices(DType::f64)};
  for (auto* more : {&golden_reductions, &golden_columns, &golden_scans, &golden_gathers}) {
    for (Case& test : more()) all.push_back(std::move(test));
  }
  return all;
}

}  // namespace kiln::golden
