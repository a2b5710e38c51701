#!/usr/bin/env python3
"""Study L: a network with a branch for each of four instruments, too large for one host, on five hosts.

Scenes are made up by examples/make_land_cover.py. The network is cut layer by layer over all branches at once, into
equal numbers of consecutive layers, by branches, by hand as a person would do it, and where a plan finds it best. Of
each: what the plan expects of a step, what it then takes with computing replayed over links of 1 Gbit/s (the
hosts share the cores of this machine), and in a run that really computes, each host with so little memory
that one alone cannot train: CPU seconds and memory of each host, bytes on the wire, accuracy.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import (CLUSTER, OUT, QUICK, ROOT, SYRTOS, as_markdown, call, host_file, inside_cluster, machine,
                    note, save)

sys.path.insert(0, str(ROOT / "bench"))
from scaling import steady_step  # noqa: E402

HOSTS, RATE, MEMORY = 5, "1gbit", 400  # MB of each host
BATCH, MICRO = 64, 8
BRANCHES = {"optical": 6, "radar": 6, "elevation": 5, "spectrum": 5}  # convolutions; a dense layer each
WARM_UP, STEPS = 4, 8 if QUICK else 24


def layers():
    """The network's layers with weights in its order, with how many layers there are before each."""
    found = [(f"{branch}.{'fc' if n == count else f'conv{n + 1}'}", n) for branch, count in BRANCHES.items()
             for n in range(count + 1)]
    return found + [(f"head.fc{n + 1}", max(BRANCHES.values()) + 1 + n) for n in range(3)]


def by_depth():
    """Every host has two of the ten levels, of all branches."""
    return ",".join(f"{name}={depth // 2 + 1}" for name, depth in layers())


def by_count():
    names = [name for name, _ in layers()]
    return ",".join(names[round(part * len(names) / HOSTS)] for part in range(1, HOSTS))


BY_HAND = "optical.conv1=1,optical.conv4=2,radar.conv1=3,elevation.conv1=4,head.fc1=5"
WAYS = {"layer by layer": by_depth(), "equal layers": by_count(), "branches": "branches", "by hand": BY_HAND,
        "auto": "auto"}
WORKERS = {"branches": 4}  # the last branch's host has the head too; elsewhere all five hosts


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scenes", type=int, default=160 if QUICK else 640)
    parser.add_argument("--epochs", type=int, default=1 if QUICK else 3)
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def data_of(scenes):
    path = OUT / f"l-scenes-{scenes}.npz"
    if not path.exists():
        note(f"making {scenes} scenes and a quarter as many to test with")
        OUT.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        call(sys.executable, ROOT / "examples/make_land_cover.py", unfinished, "--scenes", scenes, "--tests",
             scenes // 4)
        unfinished.rename(path)
    return path


def measure_computing():
    """On one core, alone: micro-batches, and a batch for one host."""
    path = OUT / "l-times.json"
    if not path.exists():
        call(SYRTOS, "probe", "compute", "--network", "land-cover", "--batch", BATCH // MICRO, "--more-batches",
             BATCH, "--precision", "f32", "--threads", 1, "--seconds", 2, "--times", path, timeout=900)
    return path


def plan(split, workers, times, memory=None, graph=None):
    answer = json.loads(call(
        SYRTOS, "plan", "--network", "land-cover", "--compute", times, "--data", "random", "--samples", 3200,
        "--batch", BATCH, "--accumulate", MICRO, "--workers", f"1,{workers}", "--split", split, "--sync", "split",
        "--wire", "f32", "--pipeline", "1f1b", "--cluster",
        f"{HOSTS} hosts, 1 Gbit/s, 60 us, 1 cores" + (f", {memory} GB" if memory else ""), "--replayed", "--json",
        *(("--graph", graph) if graph else ())))
    return next(way for way in answer["ranked"] if way["workers"] == workers)


def train(directory, workers, run, *more):
    hosts = host_file(Path(directory) / "hosts", workers)
    return call(SYRTOS, "train", "--network", "land-cover", "--batch", BATCH, "--accumulate", MICRO, "--precision",
                "f32", "--optimizer", "momentum", "--lr", 0.005, "--sync", "split", "--exchange", "allreduce:ring",
                "--workers", workers, "--hosts", hosts, "--remote-shell", f"{CLUSTER} ssh", "--run", run, "--json",
                *more, cwd=directory, timeout=3000)


def replayed(way, times, directory):
    """Seconds of a step and the bytes that cross in one; weights at the start and the end are none of a step's."""
    def once(steps):
        run = Path(directory) / "replayed"
        try:
            train(directory, way["workers"], run, "--split", way["split"], "--replay", times, "--data", "random",
                  "--samples", steps * BATCH, "--epochs", 1, "--evaluate-every", 0)
            with open(run / "steps.csv", newline="") as file:
                rows = list(csv.DictReader(file))
            return rows, json.loads((run / "exchange.json").read_text())["bytes_sent"]
        finally:
            shutil.rmtree(run, ignore_errors=True)

    _, few = once(1)
    rows, many = once(STEPS + WARM_UP)
    by_rank = [[row for row in rows if row["rank"] == rank] for rank in sorted({row["rank"] for row in rows})]
    return {"step": max(steady_step(rank) for rank in by_rank), "bytes": (many - few) / (STEPS + WARM_UP - 1)}


def computed(way, data, epochs, directory):
    """CPU seconds and peak memory of each host, and how well the network learns."""
    run = Path(directory) / "computed"
    try:
        train(directory, way["workers"], run, "--split", way["split"], "--threads", 1, "--data", data, "--epochs", epochs,
              "--evaluate-every", epochs)
        ranks = json.loads((run / "exchange.json").read_text())["ranks"]
        samples = json.loads((run / "hosts.json").read_text())
        last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    finally:
        shutil.rmtree(run, ignore_errors=True)
    rss = {host: max((one.get("rss", 0) for one in curve), default=0) for host, curve in samples.items()}
    return {"cpu": [rank["cpu_s"] for rank in ranks], "rss": [rss[rank["host"]] for rank in ranks],
            "accuracy": 100 * last["test_accuracy"]}


def alone(data, directory):
    """What one host says."""
    done = subprocess.run([str(word) for word in (
        CLUSTER, "exec", "a", "--", SYRTOS, "train", "--network", "land-cover", "--batch", BATCH, "--accumulate", MICRO, "--precision", "f32",
        "--threads", 1, "--data", data, "--epochs", 1, "--run", Path(directory) / "alone")],
        capture_output=True, text=True, timeout=1200)
    return f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ''}"


def measure_inside(args):
    """Replayed runs have memory as they like, those that compute the limit of their hosts."""
    what, file = args.inside
    asked = json.loads(Path(file).read_text())
    with tempfile.TemporaryDirectory(prefix="study-l-") as directory:
        if what == "computed":
            asked["alone"] = alone(asked["data"], directory)
            note(f"one host with {MEMORY} MB: {asked['alone']}")
        for name, way in asked["ways"].items():
            try:
                way[what] = (computed(way, asked["data"], args.epochs, directory)
                             if what == "computed" else replayed(way, asked["times"], directory))
                note(f"{name}, {what}: {way[what]}")
            except RuntimeError as error:
                lines = [line for line in str(error).splitlines() if line.startswith("error")]
                way[what] = {"failed": (lines or str(error).splitlines())[-1][-300:]}
                note(f"{name}, {what}: {way[what]['failed']}")
    Path(file).write_text(json.dumps(asked))


def bars(path, title, groups, unit):
    """Bars of each host, side by side for each way. groups: [(name, [value of each host])]."""
    width, height, left, top = 150, 200, 50, 50
    most = max(max(values) for _, values in groups) * 1.1
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width * len(groups) + 20} '
           f'{top + height + 50}" font-family="system-ui, sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="16" y="24" font-size="16" font-weight="600" fill="#222">{title}</text>']
    for tick in range(5):
        y = top + height - height * tick / 4 / 1.1
        out.append(f'<path d="M{left},{y:.1f}h{width * len(groups)}" stroke="#e5e5e5"/><text x="{left - 6}" '
                   f'y="{y + 4:.1f}" text-anchor="end" fill="#666">{most / 1.1 * tick / 4:.3g}</text>')
    for group, (name, values) in enumerate(groups):
        for host, value in enumerate(values):
            tall = height * value / most
            x = left + group * width + 12 + host * (width - 24) / len(values)
            out.append(f'<rect x="{x:.1f}" y="{top + height - tall:.1f}" width="{(width - 24) / len(values) - 3:.1f}"'
                       f' height="{tall:.1f}" fill="{"#e07a1f" if value == max(values) else "#2a6f97"}"/>')
        out.append(f'<text x="{left + group * width + width / 2}" y="{top + height + 18}" text-anchor="middle" '
                   f'fill="#222">{name}</text>')
    out.append(f'<text x="16" y="{top + height + 40}" fill="#444">{unit}, hosts a to e side by side</text></svg>')
    path.write_text("\n".join(out) + "\n")


def table_of(found):
    rows = []
    naive = found["ways"]["layer by layer"].get("replayed", {}).get("bytes")
    for name, way in found["ways"].items():
        step, real = way.get("replayed", {}), way.get("computed", {})
        row = [name]
        if "step" in step:
            row += [f"{1e3 * way['planned']:.0f}", f"{1e3 * step['step']:.0f}",
                    f"{100 * (way['planned'] / step['step'] - 1):+.1f}", f"{step['bytes'] / 1e6:.1f}",
                    f"{step['bytes'] / naive:.2f}" if naive else "-"]
        else:
            row += ["-"] * 5
        if "cpu" in real:
            mean = sum(real["cpu"]) / len(real["cpu"])
            row += [" ".join(f"{cpu:.0f}" for cpu in real["cpu"]),
                    f"{100 * (max(real['cpu']) / mean - 1):+.0f} {100 * (min(real['cpu']) / mean - 1):+.0f}",
                    " ".join(f"{rss / 1e6:.0f}" for rss in real["rss"]), f"{real['accuracy']:.1f}"]
        else:
            row += [real.get("failed", "-"), "-", "-", "-"]
        rows.append(row)
    return as_markdown(["cut", "planned, ms", "measured, ms", "off by, %", "MB a step", "of layer by layer",
                        "CPU s of each host", "from their mean, %", "memory of each, MB", "test accuracy, %"], rows)


def main():
    args = arguments()
    if args.inside:
        measure_inside(args)
        return
    if os.geteuid() != 0:
        sys.exit("study l limits the memory of hosts by control groups: run it as root")
    data, times = data_of(args.scenes), measure_computing()
    found = {"machine": machine(), "data": str(data), "times": str(times), "ways": {}}
    for name, split in WAYS.items():
        # Where people cut, plans may find that it does not fit.
        way = plan(split, WORKERS.get(name, HOSTS), times, MEMORY / 1000 if name == "auto" else None,
                   OUT / "l-auto.svg" if name == "auto" else None)
        found["ways"][name] = {"split": way["split"], "workers": way["workers"], "planned": way["step"], "memory": way["memory"]}
        note(f"{name}: {way['split']}: planned {1e3 * way['step']:.0f} ms, {way['memory'] / 1e6:.0f} MB")
    with tempfile.NamedTemporaryFile("w+", suffix=".json") as file:
        # Whoever starts them is on a sixth host, so that all five have their memory for themselves.
        limits = [f"{host}={MEMORY}M" for host in "abcde"]
        for what, memory in (("replayed", ()), ("computed", limits)):
            Path(file.name).write_text(json.dumps(found))
            inside_cluster(Path(__file__).resolve(), ["--inside", what, file.name, "--epochs", str(args.epochs)],
                           HOSTS + 1, [RATE], memory, on="f")
            found = json.loads(Path(file.name).read_text())
    save("l.json", found)
    done = [(name, way["computed"]["cpu"]) for name, way in found["ways"].items() if "cpu" in way["computed"]]
    if done:
        bars(OUT / "l-cpu.svg", "Land cover: CPU seconds of each host", done, "CPU seconds of a run")
    table = table_of(found)
    (OUT / "l.md").write_text(f"{machine()}\n\n{table}\n\nOne host with {MEMORY} MB: {found['alone']}\n")
    print(table)
    note(f"written: {OUT}/l.json, l.md, l-*.svg")


if __name__ == "__main__":
    main()
