"""What every peer's process shares: its arguments, the timing loop, its one line of JSON."""

import argparse
import json
import math
import statistics
import time

# The networks of bench/train_step.py and the side of their square input.
INPUTS = {"lenet5": 32, "alexnet": 64, "resnet18": 32, "resnet50": 32, "resnet18-cifar": 32}
# torchvision's networks that we read as ONNX files, and the side of their square input.
IMPORTED = {"mobilenet_v2": 64, "efficientnet_b0": 64, "vit_b_16": 64, "convnext_tiny": 64}
# Those of sequences, measured where they are asked for, and the length of their input.
SEQUENCES = {"char-lstm": 64}
CLASSES = 10
CHARACTERS = 96
LEARNING_RATE = 0.01
MOMENTUM = 0.9


def arguments(modes):
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", choices=INPUTS | IMPORTED | SEQUENCES, required=True)
    parser.add_argument("--batch", type=int, default=42)
    parser.add_argument("--input", type=int, default=0, help="side of the image, 0: the usual one")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--mode", choices=modes, default=modes[0])
    parser.add_argument("--layout", choices=["contiguous", "channels_last"], default="contiguous")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--cpu-time", action="store_true", help="processor time of steps, not their duration")
    args = parser.parse_args()
    args.input = args.input or (INPUTS | IMPORTED | SEQUENCES)[args.network]
    return args


def peak_rss_mb():
    """High-water mark of this process alone; compilers started as children do not count."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    raise RuntimeError("no VmHWM in /proc/self/status")


def run(step, seconds, cpu_time=False, **facts):
    """Times step(), which trains once and returns the loss as a float; prints the result."""
    now = time.process_time if cpu_time else time.perf_counter
    start = time.perf_counter()
    loss = first_loss = step()  # builds, traces and compiles
    build_s = time.perf_counter() - start

    start = time.perf_counter()
    warm_up = 0
    while warm_up < 3 or (time.perf_counter() - start < seconds / 3 and warm_up < 100):
        loss = step()
        warm_up += 1

    times = []
    start = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < seconds:
        before = now()
        loss = step()
        times.append(now() - before)
    if not (math.isfinite(first_loss) and math.isfinite(loss)):
        raise SystemExit(f"the loss is not finite: {first_loss} at first, {loss} at the end")

    print(json.dumps({
        "t_step_ms": statistics.median(times) * 1e3,
        "t_fastest_ms": min(times) * 1e3,
        "steps": len(times),
        "build_s": build_s,
        "first_loss": first_loss,
        "last_loss": loss,
        "peak_rss_mb": peak_rss_mb(),
        **facts,
    }))
