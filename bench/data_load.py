#!/usr/bin/env python3
"""Input pipelines side by side: PyTorch, TensorFlow and Syrtos, interleaved in one run.

First how many augmented CIFAR-10 images per second each delivers, then what share of LeNet-5's
training each spends waiting for them. Every measurement is a process of its own. Standard
library only: the peers run in their own environment, as in train_step.py.
"""

import argparse
import dataclasses
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
from train_step import (  # noqa: E402
    OUT, OURS, PEERS, ROOT, as_markdown, as_text, machine, note, number, peers_python, run)

BATCH = 128
TRAIN_BATCH = 126
AUGMENT = "crop:4,flip,cutout:8"
ARRAYS = OUT / "cifar10.npz"
FOLDER = OUT / "cifar10-folder"
RUNS = OUT / "runs"


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    script: str
    pipeline: str
    workers: int = 0
    by_hand: bool = False  # more than the framework brings: counts only for the second ratio

    @property
    def framework(self):
        return "TF" if self.script.startswith("tensorflow") else "PyTorch"


PIPELINES = (
    *(Variant(f"PyTorch v2, {w} workers", "torch_data.py", "v2", w) for w in (0, 1, 2)),
    *(Variant(f"PyTorch v2-late, {w} workers", "torch_data.py", "v2-late", w) for w in (0, 1, 2)),
    *(Variant(f"PyTorch by hand, {w} workers", "torch_data.py", "batch", w, True)
      for w in (0, 1, 2)),
    *(Variant(f"TF {p}", "tensorflow_data.py", p)
      for p in ("sample", "batch", "sample-private", "batch-private")),
)


@dataclasses.dataclass(frozen=True)
class Case:
    """One row of the second table."""
    name: str
    folder: bool
    cache: str
    ahead: bool


CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
CASES = tuple(Case(f"{where}, {'prefetch' if ahead else 'no prefetch'}", folder, cache, ahead)
              for where, folder, cache in (("packed", False, "none"), ("folder", True, "none"),
                                           ("folder in memory", True, "memory"))
              for ahead in (False, True))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=str(CACHE / "syrtos/data/cifar10"),
                        help="CIFAR-10 as `syrtos data get` leaves it; others: bench/peers/cifar10.py")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="per measurement")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--prefetch", type=int, default=4, help="batches that Syrtos reads ahead")
    parser.add_argument("--only", choices=["throughput", "training"], help="one of the two tables")
    parser.add_argument("--peers-only", action="store_true", help="without Syrtos")
    parser.add_argument("--syrtos", default=str(ROOT / "build/release/syrtos"), help="its binary")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error(f"--rounds: expected at least 1, found {args.rounds}")
    if not args.peers_only and not Path(args.syrtos).is_file():
        parser.error(f"{args.syrtos} is not there: run make build, or use --peers-only")
    if not Path(args.data).exists():
        parser.error(f"{args.data} is not there: run {args.syrtos} data get cifar10, or use --data")
    return args


def prepare(args, python):
    """The same images for everybody: as arrays for the peers, and a folder for all."""
    if ARRAYS.is_file() and FOLDER.is_dir():
        return
    note(f"preparing {ARRAYS.relative_to(ROOT)} and {FOLDER.relative_to(ROOT)}")
    shutil.rmtree(FOLDER, ignore_errors=True)
    subprocess.run([python, str(PEERS / "cifar10.py"), args.data, str(ARRAYS), str(FOLDER)],
                   check=True, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))


def peer_command(variant, args, python, threads, *further):
    return [python, str(PEERS / variant.script), "--arrays", str(ARRAYS), "--pipeline",
            variant.pipeline, "--workers", str(variant.workers), "--threads", str(threads),
            "--seconds", str(args.seconds), *further]


def our_probe(args):
    return [args.syrtos, "probe", "data", "--data", args.data, "--augment", AUGMENT, "--batch",
            str(BATCH), "--threads", str(args.threads), "--seconds", str(args.seconds), "--json"]


def our_training(case, args):
    return [args.syrtos, "train", "--network", "lenet5", "--input", "32",
            "--data", str(FOLDER) if case.folder else args.data, "--augment", AUGMENT,
            "--batch", str(TRAIN_BATCH), "--precision", "f32", "--optimizer", "momentum",
            "--lr", "0.01", "--momentum", "0.9", "--epochs", "2",
            "--threads", str(args.threads), "--prefetch", str(args.prefetch if case.ahead else 0),
            "--cache", case.cache, "--run", str(RUNS / "last"), "--json"]


def train_ourselves(case, args):
    """The last epoch of two: the first also fills the caches."""
    shutil.rmtree(RUNS, ignore_errors=True)
    RUNS.mkdir(parents=True)
    result, failure = run(our_training(case, args), "seconds")
    shutil.rmtree(RUNS, ignore_errors=True)
    if failure:
        return None, failure
    last = result["epochs"][-1]
    parts = {k: last["seconds"][k] for k in ("load", "forward", "backward", "update")}
    total = sum(parts.values())
    return {"images_per_s": last["samples"] / total, "data_share": parts["load"] / total,
            "seconds": parts}, None


class Results:
    """Measurements by row and column, one per round."""

    def __init__(self):
        self.rounds = {}
        self.failures = {}
        self.frameworks = set()
        self.start = time.monotonic()

    def add(self, row, column, outcome, what):
        result, failure = outcome
        where = f"[{time.monotonic() - self.start:5.0f} s] {what} {row}: {column}"
        if failure:
            self.failures[f"{row}: {column}"] = failure
            note(f"{where}: failed: {failure}")
            return
        if "framework" in result:
            self.frameworks.add(result["framework"])
        self.rounds.setdefault(row, {}).setdefault(column, []).append(result)
        share = f", {100 * result['data_share']:.0f} % waiting" if "data_share" in result else ""
        note(f"{where}: {result['images_per_s']:.0f} images/s{share}")

    def median(self, row, column, key="images_per_s"):
        values = [r[key] for r in self.rounds.get(row, {}).get(column, ())]
        return statistics.median(values) if values else None

    def fastest(self, row, columns):
        measured = [c for c in columns if self.median(row, c)]
        return max(measured, key=lambda c: self.median(row, c), default=None)


def measure_throughput(args, python, results):
    for round_ in range(args.rounds):
        order = list(PIPELINES)
        if round_ % 2:
            order.reverse()  # drift of the machine hits first and last alike
        if not args.peers_only:
            order.insert(len(order) // 2, None)
        for variant in order:
            command = peer_command(variant, args, python, args.threads) if variant else \
                our_probe(args)
            results.add("loading", variant.name if variant else OURS, run(command, "images_per_s"),
                        f"round {round_ + 1}/{args.rounds}")


def throughput_table(results, args):
    ours = results.median("loading", OURS)
    body = []
    for variant in PIPELINES:
        theirs = results.median("loading", variant.name)
        ratio = ours / theirs if ours and theirs else None
        body.append([variant.name, number(theirs, 0), number(ratio, 2)])
    if not args.peers_only:
        body.append([OURS, number(ours, 0), ""])
    summary = {"images_per_s": {c: results.median("loading", c)
                                for c in results.rounds.get("loading", {})}}
    for key, candidates in (("ratio", [v.name for v in PIPELINES if not v.by_hand]),
                            ("ratio_with_by_hand", [v.name for v in PIPELINES])):
        best = results.fastest("loading", candidates)
        summary[key.replace("ratio", "fastest")] = best
        summary[key] = ours / results.median("loading", best) if best and ours else None
    return ["pipeline", "images/s", "Syrtos / it"], body, summary


def training_variants(case, results):
    """The pipelines that were fastest alone."""
    chosen = []
    for framework, default in (("PyTorch", "v2-late"), ("TF", "batch")):
        candidates = [v for v in PIPELINES if v.framework == framework and not v.by_hand]
        best = results.fastest("loading", [v.name for v in candidates])
        pipeline = next((v.pipeline for v in candidates if v.name == best), default)
        script = candidates[0].script
        workers = (0,) if not case.ahead else (1, 2) if framework == "PyTorch" else (1,)
        chosen += [Variant(framework, script, pipeline, w) for w in workers]
    return chosen


def thread_counts(variant, args):
    """PyTorch also with one thread: beside its workers, and for a network this small."""
    return sorted({args.threads, 1}) if variant.framework == "PyTorch" else [args.threads]


def measure_training(args, python, results):
    for round_ in range(args.rounds):
        for case in CASES:
            runs = [(variant, threads) for variant in training_variants(case, results)
                    for threads in thread_counts(variant, args)]
            if round_ % 2:
                runs.reverse()
            if not args.peers_only:
                runs.insert(len(runs) // 2, None)
            for one in runs:
                what = f"round {round_ + 1}/{args.rounds}"
                if one is None:
                    results.add(case.name, OURS, train_ourselves(case, args), what)
                    continue
                variant, threads = one
                further = ["--train", "--batch", str(TRAIN_BATCH), "--cache", case.cache]
                if case.folder:
                    further += ["--folder", str(FOLDER / "train")]
                column = f"{variant.name}, {variant.workers} workers, {threads} threads"
                results.add(case.name, column,
                            run(peer_command(variant, args, python, threads, *further),
                                "images_per_s"), what)


def training_table(results, args):
    """Per framework its fastest setting of each row."""
    columns = ["PyTorch", "TF"] + ([] if args.peers_only else [OURS])
    body, summary = [], {}
    for case in CASES:
        line, row = [case.name], {}
        for name in columns:
            settings = [c for c in results.rounds.get(case.name, {}) if c.startswith(name)]
            best = results.fastest(case.name, settings)
            share = results.median(case.name, best, "data_share") if best else None
            speed = results.median(case.name, best) if best else None
            row[name] = {"setting": best, "data_share": share, "images_per_s": speed}
            line += [number(None if share is None else 100 * share, 1), number(speed, 0)]
        body.append(line)
        summary[case.name] = row
    head = ["LeNet-5 on CIFAR-10"]
    for name in columns:
        head += [f"{name} load %", "images/s"]
    return head, body, summary


def main():
    args = arguments()
    python = peers_python()
    OUT.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    if load > 0.5:
        note(f"the machine is busy (load {load:.1f}): figures will be rough")
    prepare(args, python)
    results = Results()
    tables, report = [], {}
    if args.only != "training":
        measure_throughput(args, python, results)
        head, body, report["throughput"] = throughput_table(results, args)
        tables.append((f"Loading: {AUGMENT}, normalised f32, batches of {BATCH}", head, body))
    if args.only != "throughput":
        measure_training(args, python, results)
        head, body, report["training"] = training_table(results, args)
        tables.append((f"Training: the same augmentation, batch {TRAIN_BATCH}, f32; share of the "
                       "time spent waiting for data", head, body))

    setting = (f"CIFAR-10, {args.threads} threads, median of {args.rounds} rounds; {machine()}; "
               f"{', '.join(sorted(results.frameworks))}; load at the start {load:.1f}")
    text, markdown = [setting], [setting]
    for title, head, body in tables:
        text += ["\n" + title, as_text(head, body)]
        markdown += [f"\n**{title}**\n", as_markdown(head, body)]
    if "throughput" in report:
        found = report["throughput"]
        said = (f"Syrtos over the fastest ({found['fastest']}): {number(found['ratio'], 2)}; "
                f"with those by hand ({found['fastest_with_by_hand']}): "
                f"{number(found['ratio_with_by_hand'], 2)}")
        if not args.peers_only:
            text.append("\n" + said)
            markdown.append("\n" + said)
    text += [f"failed: {where}: {why}" for where, why in results.failures.items()]
    print("\n".join(text))
    report = {"setting": setting, **report, "rounds": results.rounds, "failures": results.failures}
    for path, content in ((OUT / "data_load.json", json.dumps(report, indent=1)),
                          (OUT / "data_load.md", "\n".join(markdown))):
        partial = path.with_suffix(path.suffix + ".partial")
        partial.write_text(content + "\n")
        partial.replace(path)
    note(f"written: {OUT.relative_to(ROOT)}/data_load.json and .md")
    if any(OURS in where for where in results.failures):
        sys.exit(1)


if __name__ == "__main__":
    main()
