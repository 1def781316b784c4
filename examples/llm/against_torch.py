#!/usr/bin/env python3
"""examples/llm/against_torch.py -- the programs of this folder beside PyTorch: their results, then their times in one run.

  against_torch.py BIN [--times] [--small]

BIN is the folder of llm_norms, llm_blocks, llm_loss, llm_optimizer, llm_quantize and llm_attention. Each program runs at a
small size and saves operands and results, which PyTorch computes again. With --times (a GPU, kiln's own sizes; with --small
small ones) each operation is then timed in kiln and through torch.compile, back to back, by the same bytes. Exit 77 (skipped)
where torch or numpy is not installed, 1 where results differ.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import torch
    import torch.nn.functional as F

    import torch_operations as ops
except ImportError as error:
    print(f"skipped: {error}; python3 -m pip install torch numpy")
    sys.exit(77)

SMALL = {"norms": 96, "blocks": 64, "loss": 8, "optimizer": 100_003, "quantize": 96, "attention": 40}
LARGE = {"norms": 65536, "blocks": 16384, "loss": 8192, "optimizer": 1 << 28, "quantize": 65536, "attention": 512}


# ------------------------------------------------------------------------------------------------------------ the results
def load(folder, name, device):
    values = np.load(folder / f"{name}.npy")
    if values.dtype.kind == "V":  # bfloat16, for which NumPy has no letter
        return torch.from_numpy(values.view(np.int16).copy()).view(ops.BF16).to(device)
    return torch.from_numpy(values).to(device)


def compare(name, kiln, expected, allowed):
    kiln, expected = kiln.double().reshape(expected.shape), expected.double()
    worst = ((kiln - expected).abs() / expected.abs().clamp(min=1)).max().item()
    print(f"  {name:34} {worst:9.2e} of {allowed:.0e}{'' if worst <= allowed else '  WRONG'}")
    return worst <= allowed


def check(folder, get, program):
    coarse, fine = 1.6e-2, 1e-4  # two roundings to bf16 that fell apart; orders of summation. Codes: one apart
    if program == "norms":
        x, residual, dy, w, b = map(get, ("x", "residual", "dy", "weight", "bias"))
        total, y = ops.add_rmsnorm(x, residual, w)
        wide = x.float().requires_grad_()
        weight, bias = w.clone().requires_grad_(), b.clone().requires_grad_()
        F.layer_norm(wide, (x.shape[-1],), weight, bias, 1e-5).backward(dy.float())  # gradients by autograd
        return [("sum", total, coarse), ("rmsnorm", y, coarse), ("layernorm", ops.layernorm(x, w, b), coarse),
                ("dx", wide.grad, coarse), ("dweight", weight.grad, fine), ("dbias", bias.grad, fine)]
    if program == "blocks":
        return [("rotary", ops.rotary(get("x")), coarse), ("swiglu", ops.swiglu(get("gate"), get("up")), coarse),
                ("softmax", ops.masked_softmax(get("scores")), coarse)]
    if program == "loss":
        logits, labels = get("logits").float().requires_grad_(), get("labels").long().flatten()
        loss = ops.cross_entropy(logits, labels)
        (1024.0 * loss).sum().backward()
        return [("loss", loss.detach(), fine), ("gradient", logits.grad, coarse)]
    if program == "optimizer":
        start, gradient = get("start"), get("gradient").float()
        p = torch.nn.Parameter(start.clone())
        p.grad = gradient
        torch.optim.AdamW([p], lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01).step()
        return [("p", p.detach(), 1e-6), ("m", 0.1 * gradient, 1e-6), ("v", 0.001 * gradient**2, 1e-6)]
    if program == "quantize":
        (q, scale), (codes, scale8) = ops.int8(get("x")), ops.fp8(get("x"))
        return [("int8", q, 1), ("scale", scale, 1e-6), ("fp8", codes.view(torch.uint8), 1), ("scale8", scale8, 1e-6)]
    q, k, v = get("q"), get("k"), get("v")
    return [("out", ops.attention(q, k, v, True), fine)]


# -------------------------------------------------------------------------------------------------------------- the times
def cases(program, n, device):
    """(kiln's name of the operation, function, operands)"""
    normal = lambda *shape: torch.randn(shape, device=device, dtype=ops.BF16)
    wide = lambda *shape: torch.randn(shape, device=device)
    if program == "norms":
        x, y, w, b, mean, rstd = normal(n, 4096), normal(n, 4096), wide(4096), wide(4096), wide(n, 1), wide(n, 1)
        yield "add + RMSNorm", ops.add_rmsnorm, (x, y, w)
        yield "layernorm", ops.layernorm, (x, w, b)
        yield "layernorm backward, dx", ops.layernorm_dx, (y, x, w, mean, rstd)
        yield "layernorm backward, weights", ops.layernorm_dw, (y, x, mean, rstd)
    elif program == "blocks":
        yield "rotary embedding, 32 heads of 128", ops.rotary, (normal(n, 32, 128),)
        yield "SwiGLU, 14336 wide", ops.swiglu, (normal(n, 14336), normal(n, 14336))
        yield "softmax, temperature, causal, padding", ops.masked_softmax, (normal(n, n),)
    elif program == "loss":
        logits, labels = normal(n, 128256), torch.arange(n, device=device) * 7919 % 128256
        yield "forward: loss and logsumexp", ops.cross_entropy, (logits, labels)
        yield "backward: gradient of the logits", ops.cross_entropy_dx, (logits, labels, wide(n, 1) + 12)
    elif program == "optimizer":
        yield "AdamW, 10 steps checked", ops.adamw, (wide(n), wide(n) * 0, wide(n) * 0, normal(n))
    elif program == "quantize":
        x = normal(n, 4096)
        yield "bf16 to int8 and scale", ops.int8, (x,)
        yield "int8 to bf16", ops.dequantize, ops.int8(x)
        yield "bf16 to fp8 and scale", ops.fp8, (x,)
        yield "fp8 to bf16", ops.dequantize, ops.fp8(x)


def milliseconds(function, operands, device):
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    repeats = 20 if device == "cuda" else 2
    for _ in range(3):
        function(*operands)
    wait()
    begin = time.perf_counter()
    for _ in range(repeats):
        function(*operands)
    wait()
    return 1e3 * (time.perf_counter() - begin) / repeats


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    good = True
    for program, size in SMALL.items():
        print(f"llm_{program}: kiln's results, recomputed by PyTorch {torch.__version__}")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([options.bin / f"llm_{program}", "--size", str(size), "--save", folder], check=True,
                           stdout=subprocess.DEVNULL)
            get = lambda name: load(pathlib.Path(folder), name, device)
            for name, expected, allowed in check(folder, get, program):
                good &= compare(name, get(name), expected, allowed)
    for program, size in (SMALL if options.small else LARGE).items() if options.times else ():
        run = subprocess.run([options.bin / f"llm_{program}", "--size", str(size)], capture_output=True, text=True, check=True)
        rows = {line[:40].strip(): line[40:].split() for line in run.stdout.splitlines()}  # kernels, ms, GB/s, ...
        for name, function, operands in cases(program, size, device):
            torch.compiler.reset()
            compiled = torch.compile(function, mode="max-autotune-no-cudagraphs", dynamic=False)
            theirs, ours, rate = milliseconds(compiled, operands, device), float(rows[name][1]), float(rows[name][2])
            print(f"{name:40}  kiln {ours:8.3f} ms {rate:6.0f} GB/s   torch.compile {theirs:8.3f} ms "
                  f"{rate * ours / theirs:6.0f} GB/s   {theirs / ours:5.2f} x", flush=True)
        torch.cuda.empty_cache() if device == "cuda" else None
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
