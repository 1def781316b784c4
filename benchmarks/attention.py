#!/usr/bin/env python3
# benchmarks/attention.py PROGRAM -- examples/llm/flash_attention beside PyTorch's scaled_dot_product_attention, on one GPU in one run.
"""Prints TFLOP/s of kiln's kernel and of PyTorch's flash and math backends for bf16, and the memory that the math backend takes."""

import subprocess
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

TOKENS = (1024, 2048, 4096, 8192, 16384)


def milliseconds(call, rounds=5, calls=4):
    call()
    best = float("inf")
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        best = min(best, begin.elapsed_time(end) / calls)
    return best


def peers(tokens, head, causal):
    heads, batch = 2048 // head, max(1, 16384 // tokens)
    q, k, v = (torch.randn(batch, heads, tokens, head, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    flops = 4 * batch * heads * tokens**2 * head / (2 if causal else 1)
    rates, memory = [], 0
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        try:
            with sdpa_kernel(backend):
                rates.append(flops / milliseconds(lambda: scaled_dot_product_attention(q, k, v, is_causal=causal)) / 1e9)
            memory = torch.cuda.max_memory_allocated() - before
        except RuntimeError:
            rates.append(float("nan"))
    return rates, memory


def main():
    print(f"{'tokens head':>12} {'':6} {'kiln':>6} {'flash':>6} {'cudnn':>6} {'math':>6}  kiln/flash  GiB that math needs")
    for tokens in TOKENS:
        text = subprocess.run([sys.argv[1], "--figures", str(tokens)], check=True, capture_output=True, text=True).stdout
        for line in text.splitlines():
            words = line.split()
            head, causal, kiln = int(words[2]), words[3] == "causal", float(words[6])
            (flash, cudnn, math), memory = peers(tokens, head, causal)
            print(f"{tokens:7} {head:4} {words[3]:6} {kiln:6.0f} {flash:6.0f} {cudnn:6.0f} {math:6.0f}  {kiln / flash:10.2f}"
                  f"  {memory / 2**30:8.1f}  {' '.join(words[8:])}", flush=True)


if __name__ == "__main__":
    main()
