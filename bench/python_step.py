#!/usr/bin/env python3
"""What a training step called from Python costs more than one in C++: step(x, y) of syrtos.compile beside
'syrtos probe compute', the same network, batch, precision and number of threads, in turn.

  bench/python_step.py [--rounds 9] [--syrtos build/release/syrtos]

Batches that lie channels-last at a multiple of 64 bytes are read in place; others are copied. Needs the package of the
build (target syrtos_python) or one that is installed.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = os.path.join(ROOT, "build", "python", "bin", "python")
if os.path.exists(PYTHON) and os.path.abspath(sys.executable) != PYTHON:
    os.execv(PYTHON, [PYTHON, *sys.argv])
sys.path.insert(0, os.path.join(ROOT, "build", "release", "python"))

import numpy as np  # noqa: E402
import syrtos  # noqa: E402

# Short steps: what a call costs does not grow with them, and other programs interrupt few of them.
CASES = (("lenet5", (3, 32, 32), 1), ("lenet5", (3, 32, 32), 4), ("mlp", (1, 28, 28), 8))
THREADS, SECONDS = 1, 1.0


def in_cpp(program, network, shape, batch):
    done = subprocess.run([program, "probe", "compute", "--network", network, "--input", "x".join(map(str, shape)),
                           "--batch", str(batch), "--classes", "10", "--threads", str(THREADS), "--precision", "f32",
                           "--seconds", str(SECONDS), "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["t_step_ms"] * 1e3


def batch_of(shape, batch, in_place):
    """Random images, channels-last in memory and aligned, or as NumPy makes them."""
    random = np.random.default_rng(0)
    images = random.standard_normal((batch, *shape)).astype(np.float32)
    if not in_place:
        return images
    memory = np.zeros(images.size + 16, np.float32)
    first = (-memory.ctypes.data % 64) // 4
    last = memory[first:first + images.size].reshape(batch, *shape[1:], shape[0])
    last[...] = images.transpose(0, 2, 3, 1)
    return last.transpose(0, 3, 1, 2)


def in_python(network, shape, batch, in_place):
    step = syrtos.compile(network, "momentum", batch=batch, input=shape, classes=10, lr=1e-5, threads=THREADS,
                          precision="f32")
    x, y = batch_of(shape, batch, in_place), (np.arange(batch) % 10).astype(np.int32)
    for _ in range(20):
        step(x, y)
    times, start = [], time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        before = time.perf_counter()
        step(x, y)
        times.append(time.perf_counter() - before)
    return statistics.median(times) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--syrtos", default=os.path.join(ROOT, "build", "release", "syrtos"))
    options = parser.parse_args()
    print("| network | batch | C++, us | Python, in place, us | more, us | Python, copied, us |")
    print("|---|---:|---:|---:|---:|---:|")
    for network, shape, batch in CASES:
        found = []
        for _ in range(options.rounds):
            found.append((in_cpp(options.syrtos, network, shape, batch), in_python(network, shape, batch, True),
                          in_python(network, shape, batch, False)))
        # The least of each: other programs only ever add to it.
        cpp, placed, copied = (min(column) for column in zip(*found))
        print(f"| {network} | {batch} | {cpp:.1f} | {placed:.1f} | {placed - cpp:.1f} | {copied:.1f} |", flush=True)


if __name__ == "__main__":
    main()
