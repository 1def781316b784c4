#!/usr/bin/env python3
"""benchmarks/peers.py -- the cases of elementwise and reductions in PyTorch, JAX and CuPy, on the same shapes and by the same bytes.

  peers.py [--only PART,...] [--peers torch,torch.compile,jax,cupy] [--seconds 190] [--case-seconds 25]

Prints a line per case and library: time (median of 15), bytes that must move per second, and the part of a copy or read of the
device in the same run; benchmarks/table.py puts these beside kiln's lines. Libraries that cannot be imported are left out. Each
runs in a process of its own, which is ended when a case takes longer than --case-seconds (compiling included) and started anew for
the next; after --seconds nothing more is started. Cases are in order of importance. PyTorch and CuPy are timed by events around one
call, after another 256 MB were read where a case is compared with a read. JAX offers no events: its time is that of calls back to
back, by the host's clock, which leaves its host time out too. Each library is used as its manual would have it: its own softmax,
layer_norm, rms_norm where it has one.
"""
import argparse
import json
import os
import select
import statistics
import subprocess
import sys
import time

from peer_cases import CASES, PEERS

REPEATS = 15


def knows(library, case):
    return case.kind in library.FUNCTIONS and all(entry[1] in library.ELEMENTS for entry in case.inputs)


# ---------------------------------------------------------------------------------------------------- one library, one process
def time_with_events(event, elapsed, call, flush):
    times = []
    for _ in range(REPEATS):
        if flush:
            flush()
        begin, end = event(), event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(elapsed(begin, end))
        if sum(times) > 2000:  # a call of 11 GB/s need not be repeated 15 times
            break
    return 1e3 * statistics.median(times)


def time_back_to_back(call, wait):
    begin = time.perf_counter()
    wait(call())
    once = time.perf_counter() - begin
    calls = max(1, min(50, int(0.01 / max(once, 1e-6))))
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        for _ in range(calls):
            result = call()
        wait(result)
        times.append((time.perf_counter() - begin) / calls)
        if sum(times) * calls > 2:
            break
    return 1e6 * statistics.median(times)


def last_kept(prepare):
    """`prepare`, which makes the call of a case, but not again for the case that it was last asked for."""
    last = [None, None]

    def of(case):
        if last[0] != case.name:
            last[:] = [None, None]  # its arrays go before others come
            last[:] = [case.name, prepare(case)]
        return last[1]

    return of


def torch_timer(compiled):
    import torch
    import peer_torch

    other = torch.zeros(1 << 26, device="cuda")
    flush = lambda: other.sum()

    @last_kept
    def prepared(case):
        torch.cuda.empty_cache()
        if compiled:
            torch._dynamo.reset()
        function, arguments = peer_torch.prepare(case)
        if compiled:
            function = torch.compile(function, mode="max-autotune-no-cudagraphs", dynamic=False)
        return lambda: function(*arguments)

    def run(case):
        if not knows(peer_torch, case):
            return None
        with torch.inference_mode():
            call = prepared(case)
            for _ in range(3):
                call()
            event = lambda: torch.cuda.Event(enable_timing=True)
            return time_with_events(event, lambda a, b: a.elapsed_time(b), call, flush if case.limit == "read" else None)

    return run


def cupy_timer():
    import cupy
    import peer_cupy

    other = cupy.zeros(1 << 26, dtype=cupy.float32)
    flush = lambda: other.sum()

    @last_kept
    def prepared(case):
        cupy.get_default_memory_pool().free_all_blocks()
        function, arguments = peer_cupy.prepare(case)
        return lambda: function(*arguments)

    def run(case):
        if not knows(peer_cupy, case):
            return None
        call = prepared(case)
        for _ in range(3):
            call()
        return time_with_events(cupy.cuda.Event, cupy.cuda.get_elapsed_time, call, flush if case.limit == "read" else None)

    return run


def jax_timer():
    import jax
    import peer_jax

    @last_kept
    def prepared(case):
        function, arguments = peer_jax.prepare(case)
        function = jax.jit(function)
        return lambda: function(*arguments)

    def run(case):
        if not knows(peer_jax, case):
            return None
        call = prepared(case)
        for _ in range(3):
            jax.block_until_ready(call())
        return time_back_to_back(call, jax.block_until_ready)

    return run


def child(peer):
    """Answers each case name on stdin with a line of JSON: {"us": microseconds, or null without a form for it} or {"error": ...}."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not look like an answer
    try:
        run = {"torch": lambda: torch_timer(False), "torch.compile": lambda: torch_timer(True), "jax": jax_timer,
               "cupy": cupy_timer}[peer]()
    except Exception as error:  # not installed, or it finds no GPU: whatever it is, this library is left out
        answers.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")
        return
    answers.write(json.dumps({"ready": True}) + "\n")
    by_name = {case.name: case for case in CASES}
    for line in sys.stdin:
        try:
            answer = {"us": run(by_name[line.strip()])}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        answers.write(json.dumps(answer) + "\n")


# ---------------------------------------------------------------------------------------------------- all of them
class Peer:
    def __init__(self, name, log):
        self.name, self.log, self.process, self.ready = name, log, None, False
        self.start()

    def start(self):
        environment = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false", JAX_ENABLE_X64="1")
        self.ready = False
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child", self.name], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=environment)

    def answer(self, seconds):
        """The next answer of the process, or None if none comes in time."""
        ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, seconds))
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        return {"error": "the process ended"} if ready else None

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def wait_until_ready(self):
        """"" or why it cannot be used."""
        if self.process is None:
            self.start()
        if not self.ready:
            started = self.answer(90) or {"error": "it does not start"}
            if "ready" not in started:
                self.stop()
                return "left out: " + started["error"]
            self.ready = True
        return ""

    def ask(self, case, seconds):
        """Microseconds, or None and the reason, "" if it has no form for the case."""
        reason = self.wait_until_ready()
        if reason:
            return None, reason
        try:
            self.process.stdin.write(case.name + "\n")
            answer = self.answer(seconds)
        except OSError as error:
            answer = {"error": str(error)}
        if answer is None:
            self.stop()
            return None, f"no answer within {seconds:.0f} s"
        if "error" in answer:
            if self.process.poll() is not None:
                self.stop()
            return None, answer["error"]
        return answer["us"], ""


def print_line(case, peer, us, limits):
    rate = 1e-3 * case.bytes / us
    part = f"  {rate / limits[case.limit]:.3f} of {case.limit}" if case.limit in limits else ""
    print(f"{case.name:28} {peer:14} {us:10.1f} us {rate:8.0f} GB/s{part}", flush=True)
    return rate


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name contains one of these parts, separated by commas")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--seconds", type=float, default=190)
    parser.add_argument("--case-seconds", type=float, default=25)
    parser.add_argument("--log", default=os.devnull, help="file for what the libraries print")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.child)

    end = time.monotonic() + arguments.seconds
    parts = [part for part in arguments.only.split(",") if part]
    cases = [case for case in CASES if not parts or case.is_limit or any(part in case.name for part in parts)]
    limits = {}
    with open(arguments.log, "w") as log:
        peers = [Peer(name, log) for name in arguments.peers.split(",")]  # all import at once; they run one at a time
        for peer in list(peers):
            reason = peer.wait_until_ready()
            if reason:
                print(f"{peer.name}: {reason}", flush=True)
                peers.remove(peer)
        for case in cases:
            for peer in list(peers):
                left = end - time.monotonic()
                if left <= 0 or peer.name in case.skip or (case.is_limit and case.limit in limits):
                    continue
                us, reason = peer.ask(case, min(left, arguments.case_seconds))
                if us is None:
                    if reason:
                        print(f"{case.name:28} {peer.name:14} {reason}", flush=True)
                    if reason.startswith("left out"):
                        peers.remove(peer)
                    continue
                rate = print_line(case, peer.name, us, {} if case.is_limit else limits)
                if case.is_limit:
                    limits[case.limit] = rate
        skipped = time.monotonic() > end
        for peer in peers:
            peer.stop()
    if skipped:
        print(f"stopped after {arguments.seconds:.0f} s: cases that are not listed were not run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
