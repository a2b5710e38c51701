#!/usr/bin/env python3
"""Training steps on few and on all cores, in both precisions, beside PyTorch; and what threads bring.

For a machine that is at hand for minutes and on which nothing can be installed: it runs the package of
tools/package --with tests/ops_native_test --with tests/ops_cpu_test, or a program that --syrtos names,
and any interpreter with PyTorch. It stops starting measurements when --minutes are over, and prints
what it has after every part. Standard library only.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"
sys.dont_write_bytecode = True
sys.path.insert(0, str(PEERS))
from measure import INPUTS  # noqa: E402
sys.path.insert(0, str(ROOT / "bench"))
from train_step import as_markdown, machine, ms  # noqa: E402

BATCH = 42
CURVE_BATCH = 128


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--syrtos", default=str(ROOT / "build/dist/syrtos"),
                        help="the package, or another program")
    parser.add_argument("--python", default=os.environ.get("PEERS_PYTHON", sys.executable),
                        help="an interpreter with PyTorch")
    parser.add_argument("--networks", default=",".join(INPUTS))
    parser.add_argument("--curve", default="lenet5,resnet18", help="networks of the curve")
    parser.add_argument("--threads", help="of the table: 2,16 (default: 2 and all)")
    parser.add_argument("--seconds", type=float, default=1.5, help="per measurement")
    parser.add_argument("--minutes", type=float, default=9, help="for everything")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--no-tests", action="store_true", help="leave the kernels' tests out")
    parser.add_argument("--out", help="a folder for the results as files")
    return parser.parse_args()


class Clock:
    def __init__(self, minutes):
        self.end = time.monotonic() + 60 * minutes

    def left(self):
        return self.end - time.monotonic()


def last_json(command, clock, environment=None):
    """The last line of what a command prints, as JSON; None with a reason on standard error."""
    if clock.left() < 5:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=clock.left(),
                              env=dict(os.environ, **(environment or {})), check=False)
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        said = [line for line in done.stderr.splitlines() if line.strip()]
        print(f"{' '.join(command[:6])}: {said[-1][:200] if said else 'no result'}",
              file=sys.stderr)
    except subprocess.TimeoutExpired:
        print(f"{' '.join(command[:6])}: out of time", file=sys.stderr)
    return None


def ours(args, clock, network, precision, threads, batch=BATCH, environment=None):
    side = INPUTS[network]
    result = last_json([args.syrtos, "probe", "compute", "--network", network, "--batch",
                        str(batch), "--input", f"3x{side}x{side}", "--classes", "10",
                        "--precision", precision, "--threads", str(threads), "--seconds",
                        str(args.seconds), "--json"], clock, environment)
    return result and result["t_step_ms"]


def peer(args, clock, network, precision, threads):
    """The better of two layouts."""
    times = []
    for layout in ("contiguous", "channels_last"):
        result = last_json([args.python, str(PEERS / "torch_step.py"), "--network", network,
                            "--batch", str(BATCH), "--input", str(INPUTS[network]), "--precision",
                            precision, "--threads", str(threads), "--mode", "eager", "--layout",
                            layout, "--seconds", str(args.seconds)], clock)
        if result:
            times.append(result["t_step_ms"])
    return min(times, default=None)


def ratio(a, b):
    return f"{a / b:.2f}" if a and b else "-"


def steps(args, clock, threads, show):
    head = ["network", "ours f32", "peer f32", "ours bf16", "peer bf16", "f32 / bf16",
            "peer / ours", "auto takes"]
    body = []
    for network in args.networks.split(","):
        times = {}
        for precision in ("f32", "bf16"):
            times["ours", precision] = ours(args, clock, network, precision, threads)
            times["peer", precision] = \
                None if args.no_peers else peer(args, clock, network, precision, threads)
        best = [min((t for (who, _), t in times.items() if who == whose and t), default=None)
                for whose in ("peer", "ours")]
        auto = ours(args, clock, network, "auto", threads)
        body.append([network, *(ms(times[who, p]) for p in ("f32", "bf16")
                                for who in ("ours", "peer")),
                     ratio(times["ours", "f32"], times["ours", "bf16"]), ratio(*best), ms(auto)])
        show(f"steps-{threads}", f"ms per step, batch {BATCH}, {threads} threads",
             as_markdown(head, body))


def counts(cores):
    """Powers of two, and all cores but none, one and two: one that is late holds up the others."""
    result = {2 ** i for i in range(20) if 2 ** i <= cores}
    return sorted(result | {n for n in (cores - 2, cores - 1, cores) if n > 0})


def held_back_ms():
    """How long a limit on this group's computing time has held it back so far."""
    for path, key, scale in (("/sys/fs/cgroup/cpu.stat", "throttled_usec", 1e-3),
                             ("/sys/fs/cgroup/cpu/cpu.stat", "throttled_time", 1e-6)):
        try:
            facts = dict(line.split() for line in Path(path).read_text().splitlines())
            return int(facts[key]) * scale
        except (OSError, ValueError, KeyError):
            continue
    return 0


def curve(args, clock, show):
    threads = counts(os.cpu_count())
    head = ["network", *(str(n) for n in threads), "all, no spinning", f"1 / {threads[-1]}"]
    body, held = [], []
    for network in args.curve.split(","):
        for precision in ("f32", "bf16"):
            times, stops = [], []
            for n in threads:
                before = held_back_ms()
                times.append(ours(args, clock, network, precision, n, CURVE_BATCH))
                stops.append(held_back_ms() - before)
            passive = ours(args, clock, network, precision, threads[-1], CURVE_BATCH,
                           {"OMP_WAIT_POLICY": "passive"})
            body.append([f"{network} {precision}", *(ms(t) for t in times), ms(passive),
                         ratio(times[0], times[-1])])
            held.append([f"{network} {precision}", *(f"{t:.0f}" for t in stops), "", ""])
            show("curve", f"ms per step, batch {CURVE_BATCH}, by threads",
                 as_markdown(head, body))
            show("held", "ms for which a limit on computing time held a measurement back",
                 as_markdown(head, held))


def profile(args, clock, show):
    """Where the time goes on all cores."""
    for network in args.curve.split(","):
        if clock.left() < 20:
            return
        side = INPUTS[network]
        done = subprocess.run([args.syrtos, "probe", "compute", "--network", network, "--input",
                               f"3x{side}x{side}", "--profile", "--seconds", str(args.seconds)],
                              capture_output=True, text=True, check=False)
        show(f"profile-{network}", f"{network}, all cores, operation by operation",
             "\n".join(done.stdout.splitlines()[:40]))


def tests(args, clock, show):
    folder = Path(tempfile.mkdtemp())
    for name, chosen in (("ops_native_test", "*Amx*"), ("ops_cpu_test", "*")):
        if clock.left() < 60:
            continue
        (folder / name).symlink_to(Path(args.syrtos).resolve())  # a package starts what it is called
        done = subprocess.run([str(folder / name), f"--gtest_filter={chosen}"],
                              capture_output=True, text=True, check=False)
        if "gtest" not in done.stdout and "[===" not in done.stdout:
            continue  # it was packed without
        told = [line for line in done.stdout.splitlines()
                if "PASSED" in line or "FAILED" in line or "SKIPPED" in line]
        show(name, f"{name}, exit {done.returncode}", "\n".join(told[:20]))


def main():
    args = arguments()
    clock = Clock(args.minutes)
    print(f"{machine()}\n", flush=True)
    kept = {}

    def show(name, title, text):
        kept[name] = f"### {title}\n\n{text}\n"
        if args.out:
            Path(args.out).mkdir(parents=True, exist_ok=True)
            (Path(args.out) / "cores.md").write_text("\n".join(kept.values()))

    cores = os.cpu_count()
    if not args.no_tests:
        tests(args, clock, show)
    for threads in [int(n) for n in args.threads.split(",")] if args.threads else [2, cores]:
        steps(args, clock, threads, show)
    curve(args, clock, show)
    profile(args, clock, show)
    print("\n".join(kept.values()))


if __name__ == "__main__":
    main()
