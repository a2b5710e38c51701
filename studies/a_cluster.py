#!/usr/bin/env python3
"""Study A: LeNet-5, AlexNet, ResNet-18 and ResNet-50 on three hosts, batch 42 each: ours and every peer that
is installed, synchronous and asynchronous, beside the published figures.

Hosts are network namespaces of this machine and share its cores, so computing takes longer than on three
machines, for everybody alike; few steps are taken.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

from common import (CLUSTER, OUT, QUICK, SYRTOS, as_markdown, call, host_file, inside_cluster, machine,
                    note, save)

# Published seconds of 10 epochs of 396 steps: total, load, forward, backward, network.
PUBLISHED = {
    "lenet5": {"tensorflow sync": (126.81, 7.9, 31.56, 47.64, 39.7),
               "tensorflow async": (131.57, 23.1, 31.56, 47.64, 29.26),
               "pytorch sync": (110.91, 53.02, 24.21, 21.29, 12.39),
               "mxnet sync": (197.29, 54.37, 29.81, 50.65, 62.46),
               "mxnet async": (146.02, 54.37, 29.81, 50.65, 11.19)},
    "alexnet": {"tensorflow sync": (4665.84, 10.06, 225.84, 1459.75, 2970.17),
                "tensorflow async": (2582.86, 29.26, 225.84, 1459.75, 867.99),
                "pytorch sync": (1711.26, 15.66, 337.22, 438.87, 919.51),
                "mxnet sync": (1590.56, 17.04, 306.13, 787.5, 479.89),
                "mxnet async": (1553.29, 17.04, 306.13, 787.5, 442.62)},
    "resnet18": {"tensorflow sync": (6720.62, 8.55, 159.12, 4782.03, 1770.89),
                 "pytorch sync": (2321.08, 11.39, 388.68, 1076.5, 844.51),
                 "mxnet sync": (1858.04, 13.05, 287.31, 937.97, 619.71),
                 "mxnet async": (1700.4, 13.05, 287.31, 937.97, 462.07)},
    "resnet50": {"tensorflow sync": (12944.71, 8.59, 414.08, 9735.55, 2786.47),
                 "pytorch sync": (5156.35, 10.78, 1087.33, 2356.63, 1701.61),
                 "mxnet sync": (3321.58, 12.2, 561.45, 1725.25, 1022.68),
                 "mxnet async": (3025.18, 12.2, 561.45, 1725.25, 726.28)},
}
INPUTS = {"lenet5": "3x32x32", "alexnet": "3x64x64", "resnet18": "3x32x32", "resnet50": "3x32x32"}
STEPS = 3960
HOSTS = 3


def installed():
    return [peer["name"] for peer in json.loads(call(SYRTOS, "compare", "setup", "--json"))
            if peer["installed"] and peer["name"] != "numpy"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--networks", default="lenet5" if QUICK else ",".join(INPUTS))
    parser.add_argument("--with", dest="peers", default=None, help="default: all that are installed")
    parser.add_argument("--repeat", type=int, default=1 if QUICK else 3)
    parser.add_argument("--steps", type=int, default=5 if QUICK else 10)
    parser.add_argument("--seconds", type=float, default=1 if QUICK else 2)
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.peers = args.peers if args.peers is not None else ",".join(installed())
    return args


def measure_inside(args):
    found = []
    for name in args.networks.split(","):
        where = OUT / "a" / name
        where.mkdir(parents=True, exist_ok=True)
        words = [SYRTOS, "compare", "--network", name, "--input", INPUTS[name], "--with", args.peers,
                 "--phases", "1,2,3", "--modes", "sync,async", "--hosts",
                 host_file(where / "hosts", HOSTS), "--remote-shell", f"{CLUSTER} ssh", "--threads",
                 max(1, os.cpu_count() // HOSTS), "--repeat", args.repeat, "--timed-steps", args.steps,
                 "--seconds", args.seconds, "--dir", where, "--html", OUT / f"a-{name}.html"]
        done = subprocess.run([str(w) for w in [*words, "--json"]], stdout=subprocess.PIPE, text=True)
        if not done.stdout:
            raise SystemExit(done.returncode)
        found += json.loads(done.stdout)["times"]
    Path(args.inside).write_text(json.dumps(found))


def rows_of(times):
    """One row per side: ours on this machine, and the published one."""
    alone = {side["name"]: side.get("parts", {}) for side in times["sides"] if side["mode"] == "sync"}
    for side in times["sides"]:
        cluster = side.get("cluster")
        if not cluster:
            continue
        parts = {part: 1e3 * alone[side["name"]][part]["median"] for part in alone.get(side["name"], {})}
        step = 1e3 * cluster["step_s"]["median"]
        network = max(step - sum(parts.values()), 0) if parts else None
        published = PUBLISHED[times["network"]].get(f'{side["name"]} {side["mode"]}')
        yield [times["network"], side["name"], side["mode"],
               f"{step:.1f}" + (f' ±{100 * cluster["step_s"]["spread"]:.0f}%'
                                if len(cluster["step_s"]["values"]) > 1 else ""),
               *(f"{parts[p]:.1f}" if p in parts else "-" for p in ("load", "forward", "backward", "update")),
               f"{network:.1f}" if network is not None else "-",
               f'{cluster["bytes_per_step"] / 1e6:.1f}',
               f"{1e3 * published[0] / STEPS:.1f}" if published else "-",
               " / ".join(f"{1e3 * p / STEPS:.1f}" for p in published[1:]) if published else "-"]


def main():
    args = arguments()
    if args.inside:
        return measure_inside(args)
    note(f"study A: {args.networks} with {args.peers or 'nobody'}, three hosts at {args.rate}")
    OUT.mkdir(parents=True, exist_ok=True)
    part = OUT / "a.part.json"
    inside_cluster(Path(__file__).resolve(),
                   ["--networks", args.networks, "--with", args.peers, "--repeat", args.repeat, "--steps",
                    args.steps, "--seconds", args.seconds, "--inside", part], HOSTS, [args.rate])
    found = json.loads(part.read_text())
    part.unlink()
    save("a.json", {"machine": machine(), "times": found})
    table = as_markdown(
        ["network", "system", "mode", "ms per step", "load", "forward", "backward", "update", "network",
         "MB sent", "published, ms per step", "published load / forward / backward / network"],
        [row for times in found for row in rows_of(times)])
    walks = [walk["text"] + "." for times in found for walk in times["walk"]]
    (OUT / "a.md").write_text(f"{machine()}\n\n{table}\n\n" + "\n".join(f"- {w}" for w in walks) + "\n")
    print(table)
    print("\n".join(walks))
    note(f"written: {OUT}/a.json, a.md, a-*.html")


if __name__ == "__main__":
    main()
