"""benchmarks/peer_cupy.py -- the cases that CuPy has a form for: no bfloat16 there, and no fused normalisations."""
import cupy

ELEMENTS = {"f16": cupy.float16, "f32": cupy.float32, "f64": cupy.float64}


@cupy.fuse()
def saxpy(x, y):
    return 0.5 * x + y


@cupy.fuse()
def affine_relu(x):
    return cupy.maximum(cupy.float16(1.5) * x + cupy.float16(0.25), cupy.float16(0))


FUNCTIONS = {
    "copy": lambda x: x.copy(),
    "max": lambda x: x.max(),
    "saxpy": saxpy,
    "affine_relu": affine_relu,
    "add_transposed": lambda a, b: a + b.T,
    "sum": lambda x: x.sum(),
    "dot": lambda x, y: cupy.dot(x, y),
    "norm": lambda x: cupy.linalg.norm(x),
    "argmax": lambda x: x.argmax(),
    "sum_0": lambda x: x.sum(0),
    "sum_1": lambda x: x.sum(1),
}


def prepare(case):
    function = FUNCTIONS[case.kind]
    arguments = [(cupy.random.random(shape, dtype=cupy.float32) + cupy.float32(low)).astype(ELEMENTS[element])
                 for shape, element, low in case.inputs]
    return function, arguments
