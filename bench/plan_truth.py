#!/usr/bin/env python3
"""What `syrtos plan` predicts from probes alone, beside what is then measured on real hosts.

Hosts are network namespaces with shaped links (tools/cluster). On each cluster the network is
probed first (`syrtos probe network`), every network's computing once (`syrtos probe compute`); then
each configuration is predicted and trained. Most replay their computing, since the hosts share the
cores of this machine; some really compute, one thread on each of two hosts.
Standard library only.
"""

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from ranks import CLUSTER  # noqa: E402
from scaling import (BATCH, CLASSES, INPUTS, Way, call, host_names, steps_for,  # noqa: E402
                     train_steps)
from train_step import OUT, ROOT, as_markdown, as_text, machine, ms, note, number  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Setting:
    """A cluster and what is trained there: (network, workers, ways)."""

    title: str
    hosts: int
    rates: tuple
    work: tuple
    computes: bool = False  # really, instead of replaying


RING, DOUBLING, TREE = Way("allreduce:ring"), Way("allreduce:halving-doubling"), Way("allreduce:tree")
SPLIT, ROUNDED = Way("allreduce:ring", "split"), Way("allreduce:ring", wire="bf16")
LOCAL = Way("allreduce:ring", "local:8")
PS, PS_ASYNC, PS_SSP = Way("ps"), Way("ps", "async"), Way("ps", "ssp:2")
PS_BACKUP, SHARDED, SHARDED_ASYNC = Way("ps", "backup:1"), Way("ps-sharded:2"), Way("ps-sharded:2",
                                                                                  "async")
OWN, OWN_ASYNC, OWN_SPLIT = Way("ps-colocated"), Way("ps-colocated", "async"), Way("ps-colocated",
                                                                                 "split")

SETTINGS = {
    "100mbit": Setting("4 hosts at 100 Mbit/s", 5, ("100mbit",), (
        ("lenet5", 4, (RING, TREE, SPLIT, PS, PS_ASYNC, OWN)),
        ("squeezenet", 4, (RING, ROUNDED, LOCAL, PS, OWN_ASYNC)),
        ("resnet18", 2, (RING, ROUNDED, LOCAL)))),
    "1gbit": Setting("2 to 8 hosts at 1 Gbit/s", 9, ("1gbit",), (
        ("lenet5", 4, (RING, TREE, PS)),
        ("squeezenet", 8, (RING, DOUBLING, SPLIT, PS_SSP)),
        ("resnet56v2", 4, (RING, OWN, PS, PS_BACKUP, SHARDED)),
        ("resnet18", 8, (RING, ROUNDED, LOCAL, OWN, OWN_ASYNC)),
        ("resnet50", 4, (RING, DOUBLING, ROUNDED, SHARDED, SHARDED_ASYNC, PS_ASYNC)),
        ("alexnet", 4, (RING, ROUNDED, LOCAL, OWN)),
        ("alexnet", 2, (RING, PS)))),
    "2.5gbit": Setting("4 hosts at 2.5 Gbit/s", 5, ("2.5gbit",), (
        ("squeezenet", 4, (RING, SPLIT, OWN_SPLIT)),
        ("resnet18", 4, (RING, DOUBLING, PS, PS_BACKUP, OWN)),
        ("resnet50", 4, (RING, ROUNDED, PS_ASYNC, OWN)),
        ("alexnet", 4, (RING, OWN, LOCAL)))),
    "mixed": Setting("4 hosts at 1 Gbit/s, one of them at 300 Mbit/s", 5, ("1gbit", "c=300mbit"), (
        ("resnet56v2", 4, (RING, OWN, PS, PS_ASYNC, PS_BACKUP)),
        ("resnet18", 4, (RING, ROUNDED, LOCAL, OWN_ASYNC)))),
    "real": Setting("2 hosts at 1 Gbit/s, really computing with one thread each", 2, ("1gbit",), (
        ("lenet5", 2, (RING, SPLIT, OWN)),
        ("squeezenet", 2, (RING, LOCAL, OWN)),
        ("resnet18", 2, (RING, ROUNDED, OWN_ASYNC))), computes=True),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--settings", default=",".join(SETTINGS),
                        help="; ".join(f"{k}: {s.title}" for k, s in SETTINGS.items()))
    parser.add_argument("--json", type=Path, default=OUT / "plan_truth.json")
    parser.add_argument("--picture", type=Path, help="also draw predicted against measured (.svg)")
    parser.add_argument("--syrtos", type=Path, default=ROOT / "build/release/syrtos")
    parser.add_argument("--inside", help=argparse.SUPPRESS)  # the part that runs on host a
    args = parser.parse_args()
    args.settings = args.settings.split(",")
    for name in args.settings:
        if name not in SETTINGS:
            parser.error(f'--settings: expected of {", ".join(SETTINGS)}, found "{name}"')
    if not args.syrtos.is_file():
        parser.error(f"{args.syrtos} is not there: run make build")
    args.syrtos = args.syrtos.resolve()
    return args


@dataclasses.dataclass
class Network:
    name: str
    times_file: Path
    compute_s: float

    def bound(self, way, workers):
        return self.compute_s


def probe_network(name, args, directory, threads):
    """Computing times of a network; with one thread they are measured on both cores at once, as
    two hosts on one machine will use them."""
    files = [Path(directory) / f"{name}-{i}.json" for i in range(2 if threads else 1)]
    words = [args.syrtos, "probe", "compute", "--network", name, "--batch", BATCH, "--precision",
             "f32", "--input", INPUTS[name], "--classes", CLASSES, "--seconds", 2]
    if threads:  # also half a batch, for split
        words += ["--threads", threads, "--more-batches", (BATCH + 1) // 2]
    running = [subprocess.Popen([str(w) for w in [*words, "--times", file]],
                                stdout=subprocess.DEVNULL) for file in files]
    if any(process.wait() for process in running):
        raise RuntimeError(f"probe compute {name} failed")
    times = json.loads(files[0].read_text())
    pass_s = max(p["seconds"] for p in times["passes"])
    return Network(name, files[0], pass_s + times["update"])


def predict(network, way, workers, setting, args, directory):
    words = [args.syrtos, "plan", "--compute", network.times_file, "--cluster",
             Path(directory) / "cluster.toml", "--data", "random", "--samples", 1000 * BATCH,
             "--batch", BATCH, "--workers", f"1,{workers}", "--exchange", way.exchange,
             "--sync", way.sync, "--wire", way.wire, "--json"]
    if not setting.computes:
        words.append("--replayed")
    answer = json.loads(call(words))
    return next(r for r in answer["ranked"] if r["workers"] == workers)


def measure(args):
    setting = SETTINGS[args.inside]
    measured = []
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="truth-") as directory:
        threads = 1 if setting.computes else 0
        networks = {name: probe_network(name, args, directory, threads)
                    for name in dict.fromkeys(name for name, _, _ in setting.work)}
        hosts = Path(directory) / "all"
        hosts.write_text("".join(f"{name} address=10.77.0.{i + 1}\n"
                                 for i, name in enumerate(host_names())))
        call([args.syrtos, "probe", "network", "--hosts", hosts, "--remote-shell",
              f"{CLUSTER} ssh", "--to", Path(directory) / "cluster.toml"], cwd=directory)
        if setting.computes:  # the hosts share this machine's two cores: one each
            profile = Path(directory) / "cluster.toml"
            text = [line if not line.startswith("cores") else "cores = 1"
                    for line in profile.read_text().splitlines()]
            profile.write_text("\n".join(text) + "\n")
        for name, workers, ways in setting.work:
            for way in ways:
                expected = predict(networks[name], way, workers, setting, args, directory)
                steps = steps_for(expected["step"])
                seconds = train_steps(networks[name], way, workers, steps, args, directory,
                                      replay=not setting.computes, threads=threads)
                error = expected["step"] / seconds - 1
                measured.append({"setting": args.inside, "network": name, "workers": workers,
                                 "way": way.name, "predicted": expected["step"],
                                 "measured": seconds, "error": error,
                                 "split": way.sync == "split"})
                note(f"[{time.monotonic() - start:4.0f} s] {args.inside}, {name}, {workers} hosts, "
                     f"{way.name}: predicted {1e3 * expected['step']:.1f} ms, measured "
                     f"{1e3 * seconds:.1f} ms ({100 * error:+.1f} %)")
    return measured


# ---- outside ---------------------------------------------------------------------------------

def run_inside(name, args):
    setting = SETTINGS[name]
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        words = [CLUSTER, "--hosts", setting.hosts]
        for rate in setting.rates:
            words += ["--rate", rate]
        words += ["--on", "a", "--", sys.executable, Path(__file__).resolve(), "--inside", name,
                  "--json", file.name, "--syrtos", args.syrtos]
        code = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL).returncode
        if code:
            sys.exit(code)
        return json.loads(Path(file.name).read_text())


def per_sample(row, key):
    return row[key] / (1 if row["split"] else row["workers"])


def picks(measured):
    """Of every setting, network and number of workers: how much slower than the best measured way
    the one is that the plan puts first."""
    groups = {}
    for row in measured:
        groups.setdefault((row["setting"], row["network"], row["workers"]), []).append(row)
    result = {}
    for case, rows in groups.items():
        picked = min(rows, key=lambda row: per_sample(row, "predicted"))
        best = min(per_sample(row, "measured") for row in rows)
        result[case] = (picked["way"], per_sample(picked, "measured") / best - 1)
    return result


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main():
    args = arguments()
    if args.inside:
        args.json.write_text(json.dumps(measure(args)))
        return
    load = os.getloadavg()[0]
    if load > 0.5:
        note(f"the machine is busy (load {load:.1f}): times will be rough")
    args.json.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    measured = [row for name in args.settings for row in run_inside(name, args)]
    head = ["cluster", "network", "hosts", "way", "predicted ms", "measured ms", "error %"]
    body = [[row["setting"], row["network"], str(row["workers"]), row["way"],
             ms(1e3 * row["predicted"]), ms(1e3 * row["measured"]),
             f"{100 * row['error']:+.1f}"] for row in measured]
    errors = [abs(row["error"]) for row in measured]
    chosen = picks(measured)
    good = sum(1 for _, loss in chosen.values() if loss <= 0.05)
    summary = (f"{len(measured)} configurations: median error {100 * statistics.median(errors):.1f} %, "
               f"90th percentile {100 * percentile(errors, 0.9):.1f} %; the first pick within 5 % of "
               f"the best in {good} of {len(chosen)} cases; {machine()}")
    print(as_text(head, body) + "\n\n" + summary)
    for (setting, network, workers), (way, loss) in chosen.items():
        print(f"  {setting}, {network}, {workers} hosts: picked {way}, "
              f"{number(100 * loss, 1)} % slower than the best measured")
    args.json.write_text(json.dumps({"summary": summary, "measured": measured}, indent=1) + "\n")
    args.json.with_suffix(".md").write_text(as_markdown(head, body) + "\n\n" + summary + "\n")
    if args.picture:
        call([ROOT / "build/release/bench/truth_chart", args.json, args.picture])
    note(f"{time.monotonic() - start:.0f} s; written: {args.json} and .md")


if __name__ == "__main__":
    main()
