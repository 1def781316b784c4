"""benchmarks/peer_cases.py -- names, shapes and least bytes of the cases: those of elementwise.cpp and reductions.cpp."""
from dataclasses import dataclass, field

PEERS = ("torch", "torch.compile", "jax", "cupy")
SIZE = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i64": 8}


@dataclass
class Case:
    name: str
    kind: str  # what a library looks up: "softmax", ...
    inputs: list  # (shape, element type, smallest value): random numbers from there to 1 above
    outputs: list  # (shape, element type)
    limit: str  # "copy", or "read" where little is written
    skip: tuple = ()
    is_limit: bool = False
    bytes: float = field(init=False)

    def __post_init__(self):
        self.bytes = float(sum(count(entry[0]) * SIZE[entry[1]] for entry in self.inputs + self.outputs))


def count(shape):
    product = 1
    for extent in shape:
        product *= extent
    return product


N = (1 << 28,)
WIDE = (16384, 8192)
NORM = (65536, 4096)


def full(name, kind, element="f32", operands=1, **more):
    # A result of a few bytes counts nothing, as in reductions.cpp.
    return Case(name, kind, [(N, element, -0.5)] * operands, [], "read", **more)


def sums(name, shape, axis):
    kept = tuple(extent for i, extent in enumerate(shape) if i != axis)
    return Case(name, f"sum_{axis}", [(shape, "f32", 0)], [(kept, "f32")], "read")


def rows(name, kind, element, count_of_rows, columns, weights=0):
    shape = (count_of_rows, columns)
    case = Case(name, kind, [(shape, element, 0)] + [((columns,), element, 0)] * weights, [(shape, element)], "copy")
    case.bytes = 2.0 * count(shape) * SIZE[element]  # weights stay in the caches
    return case


def activation(name, kind):
    return Case(name, kind, [(WIDE, "bf16", -0.5), ((WIDE[1],), "bf16", 0)], [(WIDE, "bf16")], "copy")


def black_scholes(element):
    shape = (1 << 26,)
    return Case(f"black_scholes_{element}", "black_scholes", [(shape, element, 0)] * 3, [(shape, element)] * 2, "copy")


def statistics(name, shape):
    case = Case(name, "column_mean_var", [(shape, "f32", 0)], [], "read")
    return case


def logsumexp():
    return Case("logsumexp_bf16_128256", "logsumexp", [((4096, 128256), "bf16", 0)], [], "read")


def add_rms_norm():
    case = Case("add_rms_norm_bf16_4096", "add_rms_norm", [(NORM, "bf16", 0)] * 2 + [((4096,), "bf16", 0)],
                [(NORM, "bf16")] * 2, "copy")
    case.bytes = 8.0 * count(NORM)
    return case


CASES = [
    Case("copy", "copy", [(N, "f32", 0)], [(N, "f32")], "copy", is_limit=True, skip=("torch.compile", "jax")),
    Case("read", "max", [(N, "f32", 0)], [], "read", is_limit=True, skip=("torch.compile", "jax")),
    Case("saxpy_f32", "saxpy", [(N, "f32", 0)] * 2, [(N, "f32")], "copy"),
    rows("softmax_bf16_4096", "softmax", "bf16", 65536, 4096),
    rows("layernorm_bf16_4096", "layernorm", "bf16", 65536, 4096, weights=2),
    activation("gelu_tanh_bias_bf16", "gelu_tanh"),
    Case("swiglu_bf16", "swiglu", [(WIDE, "bf16", -0.5), (WIDE, "bf16", 0)], [(WIDE, "bf16")], "copy"),
    rows("rms_norm_bf16_4096", "rms_norm", "bf16", 65536, 4096, weights=1),
    add_rms_norm(),
    full("sum_f32", "sum"),
    logsumexp(),
    rows("softmax_bf16_32768", "softmax", "bf16", 8192, 32768),
    statistics("column_mean_var_262144x256", (262144, 256)),
    rows("softmax_f32_1048576", "softmax", "f32", 64, 1 << 20),
    sums("column_sum_16384x16384", (16384, 16384), 0),
    sums("row_sum_4Mx64", (4 << 20, 64), 1),
    sums("column_sum_4Mx64", (4 << 20, 64), 0),
    full("mean_var_f32", "mean_var"),
    rows("layernorm_bf16_32768", "layernorm", "bf16", 8192, 32768, weights=2),
    rows("softmax_bf16_1024", "softmax", "bf16", 262144, 1024),
    rows("softmax_bf16_8192", "softmax", "bf16", 32768, 8192),
    rows("layernorm_bf16_1024", "layernorm", "bf16", 262144, 1024, weights=2),
    rows("softmax_f32_4096", "softmax", "f32", 65536, 4096),
    Case("add_transposed_f32", "add_transposed", [((16384, 16384), "f32", 0)] * 2, [((16384, 16384), "f32")], "copy"),
    Case("affine_relu_f16", "affine_relu", [(N, "f16", 0)], [(N, "f16")], "copy"),
    black_scholes("f32"),
    black_scholes("f64"),
    full("dot_f32", "dot", operands=2),
    full("argmax_f32", "argmax", skip=("torch.compile",)),  # which compiles it for 88 s, to 36 GB/s
    full("sum_bf16_f32", "sum_f32", element="bf16"),
    sums("row_sum_16384x16384", (16384, 16384), 1),
    sums("middle_sum_64x4096x1024", (64, 4096, 1024), 1),
    full("norm_f32", "norm"),
    activation("gelu_bias_bf16", "gelu_written"),
    activation("gelu_erf_bias_bf16", "gelu_erf"),
]
