#!/usr/bin/env python3
"""What `syrtos explain` promises of its first advice, beside what following it gains.

Each case is a run with a cause of its own making: a slow link, an exchange that does not pay, a
small batch, too many threads, a program beside a rank ... The first advice is followed (its options
are added, or what it wants repaired is repaired) and the run repeated. Hosts are network namespaces
with shaped links (tools/cluster); those on several of them replay their computing, since they share
the cores of this machine. Standard library only.
"""

import argparse
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from ranks import CLUSTER  # noqa: E402
from scaling import BATCH, CLASSES, INPUTS, call, host_names  # noqa: E402
from train_step import OUT, ROOT, as_markdown, as_text, machine, note  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Case:
    """A run and what is wrong with it."""

    cause: str  # that must be named first, as explain's JSON names it
    network: str = "lenet5"
    workers: int = 1
    options: tuple = ()  # of `syrtos train`
    rates: tuple = ("1gbit",)  # of links; the last may be that of one host
    names: str = ""  # what the first cause must contain: the host
    steps: int = 60
    epochs: int = 1
    computes: bool = False  # really, instead of replaying
    beside: str = ""  # "hog": a program takes a CPU; "pause": the process stands still for 2 s


def servers_of(options):
    way = dict(zip(options[::2], options[1::2])).get("--exchange", "allreduce")
    return 1 if way == "ps" else int(way.split(":")[1]) if way.startswith("ps-sharded") else 0


SLOW_C = ("1gbit", "c=200mbit")
CASES = {
    "slow-link-ring": Case("slow link", "resnet18", 4, ("--exchange", "allreduce:ring"), SLOW_C,
                           "host c", 12),
    "slow-link-halving": Case("slow link", "squeezenet", 4,
                              ("--exchange", "allreduce:halving-doubling"), SLOW_C, "host c", 40),
    "slow-link-own": Case("slow link", "resnet56v2", 4, ("--exchange", "ps-colocated"), SLOW_C,
                          "host c", 30),
    "slow-link-async": Case("slow link", "resnet56v2", 4, ("--exchange", "ps", "--sync", "async"),
                            SLOW_C, "host c", 30),
    "alexnet": Case("exchange", "alexnet", 4, ("--exchange", "allreduce:ring"), steps=8),
    "resnet50": Case("exchange", "resnet50", 4, ("--exchange", "allreduce:ring"), steps=12),
    "server": Case("server", "resnet18", 4, ("--exchange", "ps"), steps=20),
    "server-async": Case("server", "resnet50", 4, ("--exchange", "ps", "--sync", "async"), steps=12),
    "100mbit": Case("exchange", "squeezenet", 4, ("--exchange", "allreduce:ring"), ("100mbit",)),
    "small": Case("latency", "lenet5", 4, ("--exchange", "allreduce:ring"), steps=400),
    "batch": Case("small batch", options=("--batch", "1"), steps=3000, computes=True),
    "threads": Case("too few CPUs", options=("--threads", "16"), steps=60, computes=True),
    "evaluation": Case("evaluation", options=("--views", "flip+shift"), steps=60, epochs=15,
                       computes=True),
    "saving": Case("checkpoint", "alexnet", options=("--checkpoint-every", "1"), steps=12,
                   computes=True),
    "hog": Case("slow rank", "lenet5", 2, ("--exchange", "allreduce:ring", "--threads", "1"),
                ("10gbit",), "rank 1 on b", 1500, computes=True, beside="hog"),
    "pause": Case("pause", "lenet5", 2, ("--exchange", "allreduce:ring", "--threads", "1"),
                  ("10gbit",), "b", 1500, computes=True, beside="pause"),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", default=",".join(CASES), help=", ".join(CASES))
    parser.add_argument("--json", type=Path, default=OUT / "advice.json")
    parser.add_argument("--syrtos", type=Path, default=ROOT / "build/release/syrtos")
    parser.add_argument("--inside", help=argparse.SUPPRESS)  # the part that runs on host a
    args = parser.parse_args()
    args.cases = args.cases.split(",")
    for name in args.cases:
        if name not in CASES:
            parser.error(f'--cases: expected of {", ".join(CASES)}, found "{name}"')
    if not args.syrtos.is_file():
        parser.error(f"{args.syrtos} is not there: run make build")
    args.syrtos = args.syrtos.resolve()
    return args


# ---- inside the cluster ----------------------------------------------------------------------

def disturb(case, run):
    """Called while it trains."""
    if case.beside == "hog":
        return subprocess.Popen(["taskset", "-c", "1", sys.executable, "-c", "while True: pass"])
    ranks = [pid for pid in os.listdir("/proc") if pid.isdigit() and is_rank(pid, run)]
    if ranks:
        slow = int(sorted(ranks, key=int)[-1])
        os.kill(slow, signal.SIGSTOP)
        time.sleep(2)
        os.kill(slow, signal.SIGCONT)
    return None


def is_rank(pid, run):
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"rank" in words and str(run).encode() in words


def train(case, request, args, directory):
    """Runs it and returns what explain says."""
    run = Path(directory) / "run"
    shutil.rmtree(run, ignore_errors=True)
    samples = request["steps"] * request["batch"] * case.workers
    options = {"--network": case.network, "--input": INPUTS[case.network], "--classes": CLASSES,
               "--data": "random", "--samples": samples, "--epochs": case.epochs,
               "--precision": "f32", "--run": run, "--workers": case.workers}
    for more in (case.options, request["options"]):  # the later ones count
        options.update(zip(more[::2], more[1::2]))
    options["--batch"] = request["batch"]
    words = [args.syrtos, "train", *(word for option in options.items() for word in option)]
    if not case.computes:
        times = Path(directory) / "times.json"
        call([args.syrtos, "probe", "compute", "--network", case.network, "--batch", BATCH,
              "--precision", "f32", "--input", INPUTS[case.network], "--classes", CLASSES,
              "--times", times, "--seconds", 1])
        words += ["--replay", times]
    workers = int(options["--workers"])
    if workers > 1:
        hosts = Path(directory) / "hosts"
        names = host_names()[:workers + servers_of(list(sum(options.items(), ())))]
        hosts.write_text("".join(f"{name} slots=1 address=10.77.0.{i + 1}\n"
                                 for i, name in enumerate(names)))
        words += ["--hosts", hosts, "--remote-shell", f"{CLUSTER} ssh"]
    process = subprocess.Popen([str(word) for word in words], cwd=directory,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    beside = None
    if request["beside"]:
        while process.poll() is None and not (run / "progress.json").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        beside = disturb(case, run)
    error = process.communicate(timeout=600)[1]
    if beside:
        beside.kill()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{error[-1500:]}")
    return json.loads(call([args.syrtos, "explain", run, "--json"]))


def inside(args):
    request = json.loads(args.inside)
    with tempfile.TemporaryDirectory(prefix="advice-") as directory:
        args.json.write_text(json.dumps(train(CASES[request["case"]], request, args, directory)))


# ---- outside ---------------------------------------------------------------------------------

def explained(name, args, rates, options=(), beside=True, batch=None, steps=None):
    case = CASES[name]
    request = {"case": name, "options": list(options), "beside": bool(case.beside) and beside,
               "batch": batch or int(dict(zip(case.options[::2], case.options[1::2]))
                                     .get("--batch", BATCH)),
               "steps": steps or case.steps}
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        words = [CLUSTER, "--hosts", max(1, case.workers + servers_of(case.options))]
        for rate in rates:
            words += ["--rate", rate]
        words += ["--on", "a", "--", sys.executable, Path(__file__).resolve(), "--inside",
                  json.dumps(request), "--json", file.name, "--syrtos", args.syrtos]
        done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(done.returncode)
        return json.loads(Path(file.name).read_text())


def follow(name, advice, args):
    """The run again, as the advice wants it; None: nobody can follow it here."""
    case = CASES[name]
    if advice["options"]:
        words = advice["options"].split()
        given = dict(zip(words[::2], words[1::2]))
        batch = int(given["--batch"]) if "--batch" in given else None
        steps = None
        if batch:  # as many samples
            before = int(dict(zip(case.options[::2], case.options[1::2])).get("--batch", BATCH))
            steps = max(12, case.steps * before // batch)
        return explained(name, args, case.rates, words, batch=batch, steps=steps)
    if "repair the link" in advice["what"]:
        return explained(name, args, case.rates[:1])
    if "ten times as fast" in advice["what"]:
        return explained(name, args, ("10gbit" if case.rates[0] == "1gbit" else "1gbit",))
    if case.beside:
        return explained(name, args, case.rates, beside=False)
    return None


def measure(name, args):
    case = CASES[name]
    before = explained(name, args, case.rates)
    cause = before["causes"][0] if before["causes"] else {"kind": "-", "text": ""}
    named = cause["kind"] == case.cause and case.names in cause["text"]
    row = {"case": name, "expected": case.cause, "cause": cause["kind"], "text": cause["text"],
           "named": named, "advice": "-", "certainty": "-", "promised": None, "measured": None}
    if before["advice"]:
        advice = before["advice"][0]
        row.update(advice=advice["options"] or advice["what"], certainty=advice["certainty"],
                   promised=advice.get("speed_up"))
        after = follow(name, advice, args)
        if after:
            # Of steps, where it was simulated or changes them; else of all the time.
            steps = advice["certainty"] == "simulated" or "--workers" in advice["options"]
            key = "images_per_s" if steps else "images_per_s_in_all"
            row["measured"] = after[key] / before[key]
    note(f"{name}: {row['cause']}{'' if named else ' (expected ' + case.cause + ')'}; "
         f"{row['advice']}: promised {row['promised']}, measured {row['measured']}")
    return row


def fits(row):
    """Within 30 %; what is at most must only not be less than a loss."""
    if row["promised"] is None or row["measured"] is None:
        return None
    if row["certainty"] == "at most":
        return 0.95 <= row["measured"] <= 1.3 * row["promised"]
    return abs(row["measured"] / row["promised"] - 1) <= 0.3


def main():
    args = arguments()
    if args.inside:
        inside(args)
        return
    load = os.getloadavg()[0]
    if load > 0.5:
        note(f"the machine is busy (load {load:.1f}): times will be rough")
    args.json.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    rows = [measure(name, args) for name in args.cases]

    def gain(value):
        return "-" if value is None else f"{value:.2f}"

    head = ["case", "first cause", "named", "first advice", "promised", "measured", "within 30 %"]
    body = [[row["case"], row["cause"], "yes" if row["named"] else "no", row["advice"][:60],
             ("<= " if row["certainty"] == "at most" else "") + gain(row["promised"]),
             gain(row["measured"]), {None: "-", True: "yes", False: "no"}[fits(row)]]
            for row in rows]
    told = [fits(row) for row in rows if fits(row) is not None]
    losses = sum(1 for row in rows if (row["promised"] or 0) > 1.1 and row["measured"]
                 and row["certainty"] != "at most" and row["measured"] < 1)
    summary = (f"{len(rows)} cases: the cause is named first in {sum(r['named'] for r in rows)}, the "
               f"gain within 30 % in {sum(told)} of {len(told)}, a loss where over 1.1 was promised "
               f"in {losses}; {machine()}")
    print(as_text(head, body) + "\n\n" + summary)
    args.json.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")
    args.json.with_suffix(".md").write_text(as_markdown(head, body) + "\n\n" + summary + "\n")
    note(f"{time.monotonic() - start:.0f} s; written: {args.json} and .md")


if __name__ == "__main__":
    main()
