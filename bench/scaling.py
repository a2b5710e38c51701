#!/usr/bin/env python3
"""Training on several hosts: ours, every exchange and mode, beside PyTorch's DDP with Gloo.

Hosts are network namespaces with links of 1 Gbit/s (tools/cluster). They share the cores of this
machine, so computing is replayed: its times are measured once, alone, and then every worker sleeps
for them while the real bytes cross. Standard library only.
"""

import argparse
import csv
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from ranks import CLUSTER, Ranks, on_host  # noqa: E402
from train_step import (OUT, ROOT, as_markdown, as_text, machine, ms, note, number,  # noqa: E402
                        peers_python)

INPUTS = {"lenet5": "3x32x32", "resnet18": "3x32x32", "resnet50": "3x32x32", "alexnet": "3x64x64",
          "squeezenet": "3x32x32", "resnet56v2": "3x32x32"}
USUAL = "lenet5,resnet18,resnet50,alexnet"
CLASSES = 10
BATCH = 42
LINE = 125e6  # bytes per second
SERVER_HOSTS = 2  # beside those of the workers
EPOCH_S = 4.0  # of a run, without its start and end
WARM_UP = 3  # steps: memory is touched, connections open up


@dataclasses.dataclass(frozen=True)
class Way:
    exchange: str
    sync: str = "join"
    wire: str = "f32"

    @property
    def name(self):
        return " ".join([self.exchange, self.sync] + ([self.wire] if self.wire != "f32" else []))

    @property
    def servers(self):
        if self.exchange == "ps":
            return 1
        return int(self.exchange.split(":")[1]) if self.exchange.startswith("ps-sharded") else 0

    def wire_seconds(self, workers, bytes_):
        """What the busiest link needs for a step, in each direction at once."""
        bytes_ /= 2 if self.wire == "bf16" else 1
        if self.servers:
            return max(1, workers / self.servers) * bytes_ / LINE
        crossing = 2 * (workers - 1) / workers * bytes_ / LINE
        return crossing / int(self.sync.split(":")[1]) if self.sync.startswith("local") else crossing


FIRST = Way("allreduce")
ELSEWHERE = (Way("allreduce:ring"), Way("allreduce:halving-doubling"), Way("allreduce", wire="bf16"),
             Way("allreduce", "local:8"), Way("ps-colocated"), Way("ps-colocated", "async"),
             Way("ps-sharded:2"), Way("ps-sharded:2", "async"), Way("ps"), Way("ps", "async"),
             Way("ps", "backup:1"))
DDP = "PyTorch DDP"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--networks", default=USUAL, help="comma-separated")
    parser.add_argument("--workers", default="1,2,4,8", help="comma-separated")
    parser.add_argument("--all-ways-with", type=int, default=4,
                        help="workers with which every exchange and mode is measured")
    parser.add_argument("--quick", action="store_true", help="LeNet-5 and ResNet-18, 1, 2, 4 hosts")
    parser.add_argument("--json", type=Path, default=OUT / "scaling.json")
    parser.add_argument("--syrtos", type=Path, default=ROOT / "build/release/syrtos")
    parser.add_argument("--times", type=Path,
                        help="directory of times that were measured before; what is not there is "
                        "measured (default: everything anew, kept in build/bench/times)")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.quick:
        args.networks, args.workers = "lenet5,resnet18", "1,2,4"
    args.networks = args.networks.split(",")
    args.workers = [int(n) for n in args.workers.split(",")]
    for name in args.networks:
        if name not in INPUTS:
            parser.error(f'--networks: expected of {", ".join(INPUTS)}, found "{name}"')
    if not args.syrtos.is_file():
        parser.error(f"{args.syrtos} is not there: run make build")
    args.syrtos = args.syrtos.resolve()
    return args


class Network:
    """Its layers and the times to replay, forward and backward by multiply-adds."""

    def __init__(self, name, args, directory):
        self.name = name
        shape = ["--input", INPUTS[name], "--classes", CLASSES]
        self.times_file = Path(directory) / f"{name}.json"
        facts_file = Path(directory) / f"{name}.facts.json"
        if not self.times_file.exists():
            facts = call([args.syrtos, "probe", "compute", "--network", name, "--batch", BATCH,
                          "--precision", "f32", "--times", self.times_file, "--json", *shape])
            facts_file.write_text(facts)
        facts = json.loads(facts_file.read_text())
        times = json.loads(self.times_file.read_text())
        self.update_s = times["update"]
        items = times["passes"][0]["items"]
        self.compute_s = sum(items) + self.update_s
        # Residual networks on one small image would have one value per channel at their end.
        shown = "3x64x64" if name.startswith("resnet") else INPUTS[name]
        layers = json.loads(call([args.syrtos, "models", "show", name, "--json", "--input", shown,
                                  "--classes", CLASSES]))["layers"]
        layers = [layer for layer in layers if layer["parameters"] > 0]
        self.bytes = 4 * sum(layer["parameters"] for layer in layers)
        work = sum(layer["multiply_adds"] for layer in layers)
        forward = facts["t_forward_ms"] / (facts["t_forward_ms"] + facts["t_backward_ms"])
        kernels = sum(items)
        self.layers = [{"parameters": layer["parameters"],
                        "forward": kernels * forward * layer["multiply_adds"] / work,
                        "backward": kernels * (1 - forward) * layer["multiply_adds"] / work}
                       for layer in layers]

    def bound(self, way, workers):
        wire = way.wire_seconds(workers, self.bytes) if workers > 1 else 0
        if way.sync.startswith("local"):  # weights cross after all of the steps' computing
            return self.compute_s + wire
        return max(self.compute_s, wire)


def call(words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stderr.strip()[-1500:]}")
    return done.stdout


# ---- inside the cluster ----------------------------------------------------------------------

def steps_for(bound):
    return max(3, min(400, round(EPOCH_S / bound)))


def train(network, way, workers, args, directory):
    return train_steps(network, way, workers, steps_for(network.bound(way, workers)), args,
                       directory)


def train_steps(network, way, workers, steps, args, directory, replay=True, threads=0, names=None):
    """Seconds of a step, of the slowest worker: without barriers some are ahead. On the first hosts, or
    on those that are named."""
    steps = max(steps, 4) + WARM_UP
    if way.sync.startswith("local"):
        steps = max(32, (steps + 7) // 8 * 8)
    samples = steps * BATCH * (1 if way.sync == "split" else workers)
    hosts = Path(directory) / "hosts"
    names = names or host_names()[:workers + way.servers]
    hosts.write_text("".join(f"{name} slots=1 address=10.77.0.{host_names().index(name) + 1}\n"
                             for name in names))
    run = Path(directory) / "run"
    words = [args.syrtos, "train", "--network", network.name, "--input", INPUTS[network.name],
             "--classes", CLASSES, "--data", "random", "--samples", samples,
             "--batch", BATCH, "--precision", "f32", "--epochs", 1,
             "--optimizer", "momentum", "--run", run, "--workers", workers, "--json"]
    words += ["--replay", network.times_file] if replay else ["--threads", threads]
    if workers > 1:
        words += ["--exchange", way.exchange, "--sync", way.sync, "--wire", way.wire,
                  "--hosts", hosts, "--remote-shell", f"{CLUSTER} ssh"]
    try:
        call(words, cwd=directory, timeout=600)
        with open(run / "steps.csv", newline="") as file:
            records = list(csv.DictReader(file))
    finally:
        shutil.rmtree(run, ignore_errors=True)
    return max(steady_step([r for r in records if r["rank"] == rank])
               for rank in {r["rank"] for r in records})


def steady_step(records):
    """Seconds from one step's start to the next one's, once the first quarter has gone by."""
    first, last = records[max(WARM_UP, len(records) // 4)], records[-1]
    return ((float(last["start"]) - float(first["start"]))
            / (int(last["step"]) - int(first["step"])))


def host_names():
    return os.environ["SYRTOS_HOSTS"].split(",")


def start_ddp(workers, directory):
    path = os.path.join(directory, f"ddp-{workers}")
    environment = {"GLOO_SOCKET_IFNAME": "eth0", "PYTHONDONTWRITEBYTECODE": "1"}
    script = [peers_python(), ROOT / "bench/peers/ddp_replay.py", path]
    commands = [(on_host(host, [*script, rank, workers, f"10.77.0.1:{29500 + workers}"]),
                 environment) for rank, host in enumerate(host_names()[:workers])]
    return Ranks("DDP", workers, path, commands)


def measure(args):
    measured, version = [], ""
    start = time.monotonic()

    def add(network, workers, way, seconds, bound):
        measured.append({"network": network.name, "workers": workers, "way": way,
                         "seconds": seconds, "bound": bound})
        note(f"[{time.monotonic() - start:4.0f} s] {network.name}, {workers} hosts, {way}: "
             f"{1e3 * seconds:.1f} ms, {seconds / bound:.3f} of the bound")

    with tempfile.TemporaryDirectory(prefix="scaling-") as directory:
        networks = [Network(name, args, args.times) for name in args.networks]
        for workers in args.workers:
            ddp = start_ddp(workers, directory)
            version = ddp.members[0]["version"]
            for network in networks:
                ways = [FIRST]
                ways += ELSEWHERE if workers == args.all_ways_with and workers > 1 else []
                for way in ways:
                    bound = network.bound(way, workers)
                    try:
                        seconds = train(network, way, workers, args, directory)
                    except (RuntimeError, subprocess.TimeoutExpired, IndexError) as error:
                        note(f"{network.name}, {workers} hosts, {way.name}: failed: {error}")
                        continue
                    add(network, workers, way.name, seconds, bound)
                bound = network.bound(FIRST, workers)
                answers = ddp.ask({"layers": network.layers, "update": network.update_s,
                                   "steps": steps_for(bound)})
                add(network, workers, DDP, max(a["seconds"] for a in answers), bound)
            ddp.end()
    return {"version": version, "measured": measured,
            "networks": {n.name: {"bytes": n.bytes, "compute": n.compute_s} for n in networks}}


# ---- outside ---------------------------------------------------------------------------------

def scaling_table(report, network):
    """Step times by number of hosts, and how much faster than one host that only computes."""
    cells = {(m["workers"], m["way"]): m for m in report["measured"] if m["network"] == network}
    compute = report["networks"][network]["compute"]
    head = ["hosts", "bound ms"]
    names = [FIRST.name, DDP]
    for name in names:
        head += [f"{name} ms", "/ bound", "speed-up"]
    body = []
    for workers in dict.fromkeys(w for w, _ in cells):
        row = [str(workers), ms(1e3 * cells[workers, DDP]["bound"])]
        for name in names:
            cell = cells.get((workers, name))
            speed_up = workers * compute / cell["seconds"] if cell else None
            row += [ms(1e3 * cell["seconds"]) if cell else "-",
                    number(cell["seconds"] / cell["bound"], 3) if cell else "-",
                    number(speed_up, 2)]
        body.append(row)
    return head, body


def ways_table(report, networks, workers):
    head = [f"{workers} hosts"]
    for network in networks:
        head += [f"{network} ms", "/ bound"]
    cells = {(m["network"], m["way"]): m for m in report["measured"] if m["workers"] == workers}
    body = []
    for way in dict.fromkeys(way for _, way in cells):
        row = [way]
        for network in networks:
            cell = cells.get((network, way))
            row += [ms(1e3 * cell["seconds"]) if cell else "-",
                    number(cell["seconds"] / cell["bound"], 3) if cell else "-"]
        body.append(row)
    return head, body


def run_inside(args):
    """Runs this program on host a; what it measured."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        words = [CLUSTER, "--hosts", max(args.workers) + SERVER_HOSTS, "--rate", "1gbit",
                 "--on", "a", "--", sys.executable, Path(__file__).resolve(), "--inside",
                 "--json", file.name, "--networks", ",".join(args.networks),
                 "--workers", ",".join(map(str, args.workers)), "--all-ways-with",
                 args.all_ways_with, "--syrtos", args.syrtos, "--times", args.times]
        code = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL).returncode
        if code:
            sys.exit(code)
        return json.loads(Path(file.name).read_text())


def main():
    args = arguments()
    if args.inside:
        args.json.write_text(json.dumps(measure(args)))
        return
    peers_python()
    load = os.getloadavg()[0]
    if load > 0.5:
        note(f"the machine is busy (load {load:.1f}): times will be rough")
    args.json.parent.mkdir(parents=True, exist_ok=True)
    if not args.times:  # of another program, perhaps
        shutil.rmtree(OUT / "times", ignore_errors=True)
    args.times = (args.times or OUT / "times").resolve()
    args.times.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    for name in args.networks:  # alone, before anybody else computes
        network = Network(name, args, args.times)
        note(f"{name}: {1e3 * network.compute_s:.1f} ms of computing, {network.bytes / 1e6:.1f} MB "
             f"of gradients")
    report = run_inside(args)
    setting = (f"batch {BATCH} per worker, f32, links of 1 Gbit/s, computing replayed; {machine()}; "
               f"{report['version']}")
    text, markdown = [setting], [setting]
    for name in args.networks:
        facts = report["networks"][name]
        title = (f"{name}: {1e3 * facts['compute']:.1f} ms of computing, "
                 f"{facts['bytes'] / 1e6:.1f} MB of gradients")
        head, body = scaling_table(report, name)
        text += [f"\n{title}", as_text(head, body)]
        markdown += [f"\n**{title}**\n", as_markdown(head, body)]
    if args.all_ways_with in args.workers:
        head, body = ways_table(report, args.networks, args.all_ways_with)
        text += ["", as_text(head, body)]
        markdown += ["", as_markdown(head, body)]
    print("\n".join(text))
    args.json.write_text(json.dumps({"setting": setting, **report}, indent=1) + "\n")
    args.json.with_suffix(".md").write_text("\n".join(markdown) + "\n")
    note(f"{time.monotonic() - start:.0f} s; written: {args.json} and .md")


if __name__ == "__main__":
    main()
