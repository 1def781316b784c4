"""benchmarks/peer_torch.py -- the cases as a user of PyTorch writes them."""
import torch
import torch.nn.functional as F

ELEMENTS = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}


def gelu_written(x, bias):
    u = x + bias
    return 0.5 * u * (1 + torch.tanh(0.7978845608 * (u + 0.044715 * u * u * u)))


def black_scholes(a, b, c):
    spot, strike, years = a * 25 + 5, b * 99 + 1, c * 9.75 + 0.25
    return spot, strike, years


def prices(spot, strike, years, rate=0.02, volatility=0.3):
    normal = lambda d: 0.5 * torch.erfc(d * -0.7071067811865476)
    deviation = volatility * torch.sqrt(years)
    d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * torch.exp(-rate * years)
    return spot * normal(d1) - discounted * normal(d2), discounted * normal(-d2) - spot * normal(-d1)


def add_rms_norm(x, residual, weight):
    total = x + residual
    return F.rms_norm(total, (total.shape[-1],), weight, 1e-5), total


FUNCTIONS = {
    "copy": lambda x: x.clone(),
    "max": lambda x: x.amax(),
    "saxpy": lambda x, y: 0.5 * x + y,
    "affine_relu": lambda x: torch.relu(1.5 * x + 0.25),
    "swiglu": lambda x, up: F.silu(x) * up,
    "gelu_written": gelu_written,
    "gelu_tanh": lambda x, bias: F.gelu(x + bias, approximate="tanh"),
    "gelu_erf": lambda x, bias: F.gelu(x + bias),
    "add_transposed": lambda a, b: a + b.t(),
    "black_scholes": prices,
    "sum": lambda x: x.sum(),
    "sum_f32": lambda x: x.sum(dtype=torch.float32),
    "dot": lambda x, y: (x * y).sum(),
    "norm": lambda x: torch.linalg.vector_norm(x),
    "mean_var": lambda x: torch.var_mean(x, correction=0),
    "column_mean_var": lambda x: torch.var_mean(x, 0, correction=0),
    "argmax": lambda x: x.argmax(),
    "sum_0": lambda x: x.sum(0),
    "sum_1": lambda x: x.sum(1),
    "softmax": lambda x: torch.softmax(x, -1),
    "layernorm": lambda x, weight, bias: F.layer_norm(x, (x.shape[-1],), weight, bias, 1e-5),
    "rms_norm": lambda x, weight: F.rms_norm(x, (x.shape[-1],), weight, 1e-5),
    "add_rms_norm": add_rms_norm,
    "logsumexp": lambda x: torch.logsumexp(x.float(), 1),
}


def prepare(case):
    function = FUNCTIONS[case.kind]
    arguments = [(torch.rand(shape, device="cuda") + low).to(ELEMENTS[element]) for shape, element, low in case.inputs]
    if case.kind == "black_scholes":
        arguments = list(black_scholes(*arguments))
    return function, arguments
