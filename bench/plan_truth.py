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
import shlex
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

PS_SSP3, OWN_SSP = Way("ps", "ssp:3"), Way("ps-colocated", "ssp:1")
SHARDED_BF16, OWN_BF16 = Way("ps-sharded:2", wire="bf16"), Way("ps-colocated", wire="bf16")
DOUBLING_SPLIT, DOUBLING_BF16 = (Way("allreduce:halving-doubling", "split"),
                                 Way("allreduce:halving-doubling", wire="bf16"))
LOCAL4, PS_SPLIT = Way("allreduce:halving-doubling", "local:4"), Way("ps", "split")

# To work with: what the model is improved by.
WORK = {
    "100mbit": Setting("4 hosts at 100 Mbit/s", 5, ("100mbit",), (
        ("lenet5", 4, (RING, TREE, SPLIT, PS, PS_ASYNC, OWN)),
        ("squeezenet", 4, (RING, ROUNDED, LOCAL, PS, OWN_ASYNC)),
        ("resnet18", 2, (RING, ROUNDED, LOCAL)))),
    "200mbit": Setting("6 hosts at 200 Mbit/s", 7, ("200mbit",), (
        ("lenet5", 6, (RING, DOUBLING, OWN, PS)),
        ("squeezenet", 6, (RING, DOUBLING, OWN, PS)),
        ("squeezenet", 3, (DOUBLING, OWN, PS_SSP)))),
    "1gbit": Setting("2 to 8 hosts at 1 Gbit/s", 9, ("1gbit",), (
        ("lenet5", 4, (RING, TREE, PS)),
        ("squeezenet", 8, (RING, DOUBLING, SPLIT, PS_SSP)),
        ("resnet56v2", 4, (RING, OWN, PS, PS_BACKUP, SHARDED)),
        ("resnet18", 8, (RING, ROUNDED, LOCAL, OWN, OWN_ASYNC)),
        ("resnet18", 6, (DOUBLING, OWN)),
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

# Kept aside: other clusters, networks and modes. Whoever changes the model does not look at their
# results before the change is done; only they say how good it is.
ASIDE = {
    "300mbit": Setting("3 hosts at 300 Mbit/s", 4, ("300mbit",), (
        ("mnist-cnn", 3, (RING, DOUBLING, OWN, PS)),
        ("cifar10-fast", 3, (RING, DOUBLING_SPLIT, OWN_SSP, PS_SSP3)))),
    "500mbit": Setting("6 hosts at 500 Mbit/s", 8, ("500mbit",), (
        ("squeezenet", 6, (DOUBLING, OWN, SHARDED, LOCAL4)),
        ("resnet34", 5, (RING, DOUBLING_BF16, OWN_BF16)),
        ("resnet18", 6, (RING, SHARDED_BF16, PS_ASYNC)))),
    "1.5gbit": Setting("7 hosts at 1.5 Gbit/s", 8, ("1.5gbit",), (
        ("resnet34", 7, (RING, DOUBLING, OWN)),
        ("resnet50", 5, (ROUNDED, OWN_ASYNC, PS_SPLIT)),
        ("mnist-cnn", 7, (SPLIT, OWN_SPLIT)))),
    "unequal": Setting("6 hosts at 600 Mbit/s, two of them at 200 Mbit/s", 7,
                       ("600mbit", "b=200mbit", "e=200mbit"), (
        ("squeezenet", 6, (RING, DOUBLING, PS_SSP3, OWN)),
        ("resnet18", 3, (RING, OWN, PS)),
        ("resnet34", 6, (RING, LOCAL4, OWN_ASYNC)))),
    "really": Setting("2 hosts at 500 Mbit/s, really computing with one thread each", 2, ("500mbit",), (
        ("mnist-cnn", 2, (RING, SPLIT)),
        ("cifar10-fast", 2, (RING, OWN_SSP)),
        ("resnet34", 2, (ROUNDED, OWN))), computes=True),
}
SETS = {"work": WORK, "aside": ASIDE}
SETTINGS = {**WORK, **ASIDE}
INPUTS.update({"mnist-cnn": "1x28x28", "cifar10-fast": "3x32x32", "resnet34": "3x32x32"})


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", default="work,aside",
                        help="work: to improve the model by; aside: kept aside, to judge it by")
    parser.add_argument("--settings", help="of these sets only: " +
                        "; ".join(f"{k}: {s.title}" for k, s in SETTINGS.items()))
    parser.add_argument("--json", type=Path, default=OUT / "plan_truth.json")
    parser.add_argument("--picture", type=Path, help="also draw predicted against measured (.svg)")
    parser.add_argument("--syrtos", type=Path, default=ROOT / "build/release/syrtos")
    parser.add_argument("--inside", help=argparse.SUPPRESS)  # the part that runs on host a
    args = parser.parse_args()
    args.sets = args.set.split(",")
    for name in args.sets:
        if name not in SETS:
            parser.error(f'--set: expected of {", ".join(SETS)}, found "{name}"')
    inside = [name for chosen in args.sets for name in SETS[chosen]]
    args.settings = args.settings.split(",") if args.settings else inside
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
             Path(directory) / "cluster.toml", "--hosts", Path(directory) / "all", "--data", "random", "--samples", 1000 * BATCH,
             "--batch", BATCH, "--workers", f"1,{workers}", "--exchange", way.exchange,
             "--sync", way.sync, "--wire", way.wire, "--json"]
    if not setting.computes:
        words.append("--replayed")
    answer = json.loads(call(words))
    # With the buckets that a run chooses by itself.
    return next(r for r in answer["ranked"] if r["workers"] == workers and r["bucket_mb"] == 0)


def planned_hosts(expected):
    """Those that the plan's command names, the best of the file; none: the first ones."""
    words = shlex.split(expected["command"])
    _, colon, names = words[words.index("--hosts") + 1].partition(":")
    return names.split(",") if colon else None


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
                try:
                    seconds = train_steps(networks[name], way, workers, steps, args, directory,
                                          replay=not setting.computes, threads=threads,
                                          names=planned_hosts(expected))
                except (RuntimeError, subprocess.TimeoutExpired) as failure:
                    note(f"{args.inside}, {name}, {workers} hosts, {way.name}: failed: {failure}")
                    continue
                error = expected["step"] / seconds - 1
                scale = expected["step"] / expected["epoch"]
                low, high = scale * expected["epoch_low"], scale * expected["epoch_high"]
                measured.append({"setting": args.inside, "network": name, "workers": workers,
                                 "way": way.name, "predicted": expected["step"], "low": low,
                                 "high": high, "inside": low <= seconds <= high,
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


def summaries(name, rows):
    """How good a set's predictions are, and those of each kind of exchange, which show a bias."""
    if not rows:
        return
    chosen = picks(rows).values()
    good = sum(1 for _, loss in chosen if loss <= 0.05)
    yield (f"{name}: {figures(rows)}; the first pick within 5 % of the best in {good} of "
           f"{len(chosen)} cases")
    for kind in sorted({row["way"].split()[0] for row in rows}):
        same = [row for row in rows if row["way"].split()[0] == kind]
        bias = statistics.median(row["error"] for row in same)
        yield f"  {kind}: {figures(same)}, on the whole {100 * bias:+.1f} %"


def figures(rows):
    errors = [abs(row["error"]) for row in rows]
    inside = sum(row["inside"] for row in rows)
    return (f"{len(rows)} configurations: median error {100 * statistics.median(errors):.1f} %, 90th "
            f"percentile {100 * percentile(errors, 0.9):.1f} %, inside the error bar {inside} "
            f"({100 * inside / len(rows):.0f} %)")


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
    head = ["cluster", "network", "hosts", "way", "predicted ms", "from", "to", "measured ms",
            "error %", "inside"]
    body = [[row["setting"], row["network"], str(row["workers"]), row["way"],
             *(ms(1e3 * row[key]) for key in ("predicted", "low", "high", "measured")),
             f"{100 * row['error']:+.1f}", "yes" if row["inside"] else "no"] for row in measured]
    summary = "\n".join([*(line for name in args.sets
                           for line in summaries(name, [row for row in measured
                                                        if row["setting"] in SETS[name]])),
                         machine()])
    print(as_text(head, body) + "\n\n" + summary)
    chosen = picks(measured)
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
