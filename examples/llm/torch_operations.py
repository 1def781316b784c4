"""examples/llm/torch_operations.py -- what the programs of this folder compute, as a user of PyTorch writes it."""
import torch
import torch.nn.functional as F

BF16 = torch.bfloat16

def add_rmsnorm(x, residual, weight):
    total = x + residual
    return total, F.rms_norm(total.float(), (total.shape[-1],), weight, 1e-5).to(BF16)


def layernorm(x, weight, bias):
    return F.layer_norm(x.float(), (x.shape[-1],), weight, bias, 1e-5).to(BF16)


def layernorm_dx(dy, x, weight, mean, rstd):
    normal, g = (x.float() - mean) * rstd, dy.float() * weight
    return (rstd * (g - g.mean(-1, True) - normal * (g * normal).mean(-1, True))).to(BF16)


def layernorm_dw(dy, x, mean, rstd):
    g = dy.float()
    return (g * (x.float() - mean) * rstd).sum(0), g.sum(0)


def rotary(x):
    half = x.shape[-1] // 2
    k = torch.arange(half, device=x.device, dtype=torch.float32)
    angle = torch.arange(x.shape[0], device=x.device, dtype=torch.float32)[:, None, None] * 10000.0 ** (-k / half)
    first, second = x[..., :half].float(), x[..., half:].float()
    c, s = angle.cos(), angle.sin()
    return torch.cat([first * c - second * s, second * c + first * s], -1).to(BF16)


def swiglu(gate, up):
    return (F.silu(gate.float()) * up.float()).to(BF16)


def masked_softmax(scores):
    n = scores.shape[0]
    place = torch.arange(n, device=scores.device)
    seen = (place[None, :] <= place[:, None]) & (place % 7 != 3)
    return torch.softmax(torch.where(seen, scores.float() / 0.7, -torch.inf), -1).to(BF16)


def cross_entropy(logits, labels):
    return F.cross_entropy(logits.float(), labels, ignore_index=-100, label_smoothing=0.1, reduction="none")


def cross_entropy_dx(logits, labels, lse):
    words = torch.arange(logits.shape[1], device=logits.device)
    target = torch.where(words == labels[:, None], 0.9, 0.0) + 0.1 / logits.shape[1]
    dx = ((logits.float() - lse).exp() - target) * 1024.0
    return torch.where(labels[:, None] < 0, 0.0, dx).to(BF16)


def adamw(p, m, v, gradient):
    g = gradient.float()
    m.mul_(0.9).add_(0.1 * g)
    v.mul_(0.999).add_(0.001 * g * g)
    p.mul_(1 - 1e-3 * 0.01).sub_(1e-3 / (1 - 0.9) * m / (v.sqrt() / (1 - 0.999) ** 0.5 + 1e-8))
    return p.to(BF16)


def quantize(x, largest, dtype):
    high = x.float().abs().amax(-1, True)
    scale = torch.where(high > 0, high * (1 / largest), 1.0)
    scaled = x.float() / scale
    return (scaled.round().clamp(-127, 127) if dtype == torch.int8 else scaled).to(dtype), scale


def int8(x):
    return quantize(x, 127.0, torch.int8)


def fp8(x):
    return quantize(x, 448.0, torch.float8_e4m3fn)


def dequantize(codes, scale):
    return (codes.float() * scale).to(BF16)


def attention(q, k, v, causal):
    heads = q.shape[1]
    return F.scaled_dot_product_attention(q, k.expand(-1, heads, -1, -1), v.expand(-1, heads, -1, -1), is_causal=causal)
