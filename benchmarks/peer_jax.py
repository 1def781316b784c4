"""benchmarks/peer_jax.py -- the cases as a user of JAX writes them; sums of 16-bit elements in f32, as kiln's."""
import jax
import jax.numpy as jnp

if jax.default_backend() != "gpu":
    raise RuntimeError(f"JAX runs on {jax.default_backend()}")

ELEMENTS = {"f16": jnp.float16, "bf16": jnp.bfloat16, "f32": jnp.float32, "f64": jnp.float64}


def gelu_written(x, bias):
    u = (x + bias).astype(jnp.float32)
    return (0.5 * u * (1 + jnp.tanh(0.7978845608 * (u + 0.044715 * u * u * u)))).astype(x.dtype)


def prices(spot, strike, years, rate=0.02, volatility=0.3):
    normal = lambda d: 0.5 * jax.scipy.special.erfc(d * -0.7071067811865476)
    deviation = volatility * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * jnp.exp(-rate * years)
    return spot * normal(d1) - discounted * normal(d2), discounted * normal(-d2) - spot * normal(-d1)


def layernorm(x, weight, bias):
    wide = x.astype(jnp.float32)
    mean, variance = wide.mean(-1, keepdims=True), wide.var(-1, keepdims=True)
    return ((wide - mean) * jax.lax.rsqrt(variance + 1e-5) * weight + bias).astype(x.dtype)


def rms_norm(x, weight):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-5) * weight).astype(x.dtype)


def add_rms_norm(x, residual, weight):
    total = x + residual
    return rms_norm(total, weight), total


FUNCTIONS = {
    "saxpy": lambda x, y: 0.5 * x + y,
    "affine_relu": lambda x: jax.nn.relu(1.5 * x + 0.25),
    "swiglu": lambda x, up: jax.nn.silu(x) * up,
    "gelu_written": gelu_written,
    "gelu_tanh": lambda x, bias: jax.nn.gelu(x + bias, approximate=True),
    "gelu_erf": lambda x, bias: jax.nn.gelu(x + bias, approximate=False),
    "add_transposed": lambda a, b: a + b.T,
    "black_scholes": prices,
    "sum": lambda x: x.sum(),
    "sum_f32": lambda x: x.sum(dtype=jnp.float32),
    "dot": lambda x, y: (x * y).sum(),
    "norm": lambda x: jnp.linalg.norm(x),
    "mean_var": lambda x: (x.mean(), x.var()),
    "column_mean_var": lambda x: (x.mean(0), x.var(0)),
    "argmax": lambda x: x.argmax(),
    "sum_0": lambda x: x.sum(0),
    "sum_1": lambda x: x.sum(1),
    "softmax": lambda x: jax.nn.softmax(x.astype(jnp.float32), -1).astype(x.dtype),
    "layernorm": layernorm,
    "rms_norm": rms_norm,
    "add_rms_norm": add_rms_norm,
    "logsumexp": lambda x: jax.nn.logsumexp(x.astype(jnp.float32), 1),
}


def prepare(case):
    function = FUNCTIONS[case.kind]
    keys = jax.random.split(jax.random.key(7), len(case.inputs))
    make = jax.jit(lambda key, shape, low, element: (jax.random.uniform(key, shape, jnp.float32) + low).astype(element),
                   static_argnums=(1, 2, 3))
    arguments = [make(key, shape, low, ELEMENTS[element]) for key, (shape, element, low) in zip(keys, case.inputs)]
    if case.kind == "black_scholes":
        spot, strike, years = arguments
        arguments = [spot * 25 + 5, strike * 99 + 1, years * 9.75 + 0.25]
    return function, arguments
