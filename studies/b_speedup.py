#!/usr/bin/env python3
"""Study B: speed-ups of asynchronous, joined and split training with a central and a distributed server, by
formulas, in simulation and measured.

t_grad and t_comm are those that were measured on nodes with a GTX 970 and 1 Gbit/s Ethernet. Hosts are
network namespaces; computing is replayed (workers sleep for t_grad), the bytes are real, and links are
shaped so that moving all weights takes t_comm. Where that would need links faster than this machine, both
times are longer by one factor, which leaves speed-ups as they are.
"""

import argparse
import csv
import json
import re
import shutil
import tempfile
from pathlib import Path

from common import (CLUSTER, OUT, QUICK, SYRTOS, as_markdown, call, host_file, inside_cluster,
                    machine, note, plot, save)

# Network -> (t_grad, t_comm) in seconds.
NETWORKS = {"vgg16e": (0.719, 5.153), "googlenet": (0.763, 0.210), "squeezenet": (0.758, 0.033),
            "resnet34": (0.821, 0.811)}
WAYS = {("async", "central"): ("ps", "async"), ("async", "distributed"): ("ps-colocated", "async"),
        ("sync-join", "central"): ("ps", "join"), ("sync-join", "distributed"): ("ps-colocated", "join"),
        ("sync-split", "central"): ("ps", "split"),
        ("sync-split", "distributed"): ("ps-colocated", "split")}
BATCH = 8
FASTEST_LINK = 1.5e9  # bit/s that this machine moves between namespaces without its cores deciding
TIMED = 5.0  # seconds of a measurement, about
WARM_UP = 2


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--networks", default="squeezenet" if QUICK else ",".join(NETWORKS))
    parser.add_argument("--workers", default="2,4" if QUICK else "1,2,4,8")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.networks = args.networks.split(",")
    args.workers = [int(n) for n in args.workers.split(",")]
    return args


class Network:
    def __init__(self, name):
        self.name = name
        self.grad, self.comm = NETWORKS[name]
        shown = json.loads(call(SYRTOS, "models", "show", name, "--json"))
        self.parameters = shown["parameters"]
        self.input = "x".join(map(str, shown["input"]))
        self.classes = shown["classes"]
        wanted = 32 * self.parameters / self.comm  # bit/s
        self.slower = max(1.0, wanted / FASTEST_LINK)
        self.rate = wanted / self.slower

    def times(self, directory):
        """What 'probe compute --times' finds here, stretched to t_grad and proportional to the batch."""
        path = Path(directory) / f"{self.name}.times.json"
        kept = OUT / f"b-{self.name}.probe.json"
        if not kept.exists():
            call(SYRTOS, "probe", "compute", "--network", self.name, "--batch", BATCH, "--precision", "f32",
                 "--input", self.input, "--classes", self.classes, "--threads", 1, "--seconds", 0.2,
                 "--times", kept)
        times = json.loads(kept.read_text())
        found = times["passes"][0]

        def stretched(batch):
            factor = self.grad * self.slower * batch / BATCH / sum(found["items"])
            return {**found, "batch": batch, "seconds": factor * sum(found["items"]), "load": 0.0,
                    **{key: [factor * s for s in found[key]] for key in ("items", "needed", "ready")}}

        times.update(update=0.0, jitter=0.0, passes=[stretched(b) for b in (1, 2, 4, BATCH)])
        path.write_text(json.dumps(times))
        return path

    def formula(self, kind, server, most):
        text = call(SYRTOS, "estimate", "--t-grad", self.grad, "--t-comm", self.comm, "--type", kind,
                    "--server", server, "--workers", most, "--output", "csv")
        return [float(value) for value in re.split(r"[;\s]+", text.strip()) if value]

    def simulated(self, kind, server, workers, times):
        exchange, sync = WAYS[kind, server]
        plan = json.loads(call(
            SYRTOS, "plan", "--network", self.name, "--input", self.input, "--classes", self.classes,
            "--data", "random", "--samples", BATCH * 128, "--batch", BATCH, "--compute", times,
            "--cluster", f"{workers + 1} hosts, {self.rate / 1e9:.4f} Gbit/s, 60 us", "--workers", workers,
            "--exchange", exchange, "--sync", sync, "--wire", "f32", "--replayed", "--goal", "time",
            "--json"))
        for way in plan["ranked"]:
            if (way["exchange"], way["sync"], way["workers"]) == (exchange, sync, workers):
                batches = 1 if sync == "split" else workers
                return batches * self.grad * self.slower / way["step"]
        return None


def measured(network, kind, server, workers, directory):
    exchange, sync = WAYS[kind, server]
    estimate = network.formula(kind, server, workers)[-1]
    batches = 1 if sync == "split" else workers
    step_s = batches * network.grad * network.slower / max(estimate, 0.05)
    steps = max(3, min(40, round(TIMED / step_s))) + WARM_UP
    run = Path(directory) / "run"
    names = workers + (1 if exchange == "ps" else 0)
    try:
        call(SYRTOS, "train", "--network", network.name, "--input", network.input, "--classes",
             network.classes, "--data", "random", "--samples", steps * BATCH * batches, "--batch", BATCH,
             "--precision", "f32", "--epochs", 1, "--evaluate-every", 0, "--optimizer", "sgd", "--run",
             run, "--workers", workers, "--exchange", exchange, "--sync", sync, "--wire", "f32", "--replay",
             network.times(directory), "--hosts", host_file(Path(directory) / "hosts", names),
             "--remote-shell", f"{CLUSTER} ssh", "--json", cwd=directory)
        with open(run / "steps.csv", newline="") as file:
            rows = list(csv.DictReader(file))
    finally:
        shutil.rmtree(run, ignore_errors=True)
    slowest = 0
    for rank in {row["rank"] for row in rows}:
        mine = [row for row in rows if row["rank"] == rank]
        first, last = mine[min(WARM_UP, len(mine) - 2)], mine[-1]
        slowest = max(slowest, (float(last["start"]) - float(first["start"]))
                      / (int(last["step"]) - int(first["step"])))
    return batches * network.grad * network.slower / slowest


def measure_inside(args):
    network, found = Network(args.networks[0]), []
    with tempfile.TemporaryDirectory(prefix="study-b-") as directory:
        times = network.times(directory)
        for kind, server in WAYS:
            formula = network.formula(kind, server, max(args.workers))
            for workers in args.workers:
                row = {"network": network.name, "type": kind, "server": server, "workers": workers,
                       "formula": formula[workers - 1]}
                try:
                    row["simulated"] = network.simulated(kind, server, workers, times)
                    row["measured"] = (measured(network, kind, server, workers, directory)
                                       if workers > 1 else None)
                except (RuntimeError, ValueError, IndexError) as error:
                    row["failed"] = str(error)[-300:]
                note(f"{network.name} {kind} {server}, {workers} workers: " + ", ".join(
                    f"{k} {row[k]:.2f}" for k in ("formula", "simulated", "measured") if row.get(k))
                     + (" failed: " + row["failed"] if "failed" in row else ""))
                found.append(row)
    Path(args.inside).write_text(json.dumps(found))


def main():
    args = arguments()
    if args.inside:
        return measure_inside(args)
    OUT.mkdir(parents=True, exist_ok=True)
    found = []
    for name in args.networks:
        network = Network(name)
        note(f"{name}: {network.parameters / 1e6:.1f} M parameters, links of {network.rate / 1e6:.0f} "
             f"Mbit/s, times longer by {network.slower:.2f}")
        with tempfile.TemporaryDirectory() as directory:
            network.times(directory)  # measured alone
        part = OUT / f"b-{name}.part.json"
        inside_cluster(Path(__file__).resolve(),
                       ["--networks", name, "--workers", ",".join(map(str, args.workers)), "--inside", part],
                       max(args.workers) + 1, [f"{network.rate / 1e6:.0f}mbit"])
        found += json.loads(part.read_text())
        part.unlink()
    save("b.json", {"machine": machine(), "rows": found})
    body = [[row["network"], row["type"], row["server"], row["workers"],
             *(f"{row[k]:.2f}" if row.get(k) else "-" for k in ("formula", "simulated", "measured"))]
            for row in found]
    table = as_markdown(["network", "type", "server", "workers", "formula", "simulated", "measured"], body)
    (OUT / "b.md").write_text(f"{machine()}\n\n{table}\n")
    for name in args.networks:
        panels = []
        for kind, server in WAYS:
            mine = [r for r in found if (r["network"], r["type"], r["server"]) == (name, kind, server)]
            panels.append((f"{kind}, {server}", [
                (key, style, [(r["workers"], r[key]) for r in mine if r.get(key)])
                for key, style in (("formula", "line"), ("simulated", "dashes"), ("measured", "points"))]))
        plot(OUT / f"b-{name}.svg", f"{name}: speed-up", panels, "workers", "speed-up")
    print(table)
    note(f"written: {OUT}/b.json, b.md, b-*.svg")


if __name__ == "__main__":
    main()
