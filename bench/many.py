#!/usr/bin/env python3
"""Many models: how well searches use hosts, what halving saves, what ensembles and teachers give.

  replay    8 trials on 4 hosts (network namespaces, computing replayed) against 8 times one
  search    LeNet-5 on Fashion-MNIST: a grid of 64 variants, the same halved, and Optuna driving PyTorch
  together  8 LeNet-5 in one program against 8 processes on the same cores, interleaved
  distil    an ensemble of 5 teaches LeNet-5 on CIFAR-10; beside it LeNet-5 trained on labels alone

`many.py search together` does some of them; what a run directory in --out already has is not trained again. Prints
tables as Markdown. Standard library only, but for Optuna and PyTorch (PEERS_PYTHON; without them that row is left out).
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
from ranks import CLUSTER  # noqa: E402
from train_step import OUT, PEERS, ROOT, machine, note  # noqa: E402

SPACE = {"optimizer.lr": [0.003, 0.01, 0.03, 0.1], "batch": [32, 64, 128, 256],
         "optimizer.momentum": [0.8, 0.95], "label_smoothing": [0.0, 0.1]}
PEER_NAMES = {"optimizer.lr": "lr", "optimizer.momentum": "momentum"}
SEARCH_EPOCHS, HALVING = 12, 6
MEMBERS = 8


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=[], help="replay, search, together, distil (default: all)")
    parser.add_argument("--out", type=Path, default=OUT / "many")
    parser.add_argument("--syrtos", type=Path, default=ROOT / "build/release/syrtos")
    parser.add_argument("--quick", action="store_true", help="small versions of all, to see that they run")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.what = args.what or ["replay", "search", "together", "distil"]
    args.out, args.syrtos = args.out.resolve(), args.syrtos.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    return args


def call(args, *words, **options):
    done = subprocess.run([str(args.syrtos), *map(str, words)], capture_output=True, text=True, cwd=args.out, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stderr.strip()[-1500:]}")
    return done.stdout


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    print("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n", flush=True)


def events(directory):
    with open(directory / "trials.jsonl") as file:
        return [json.loads(line) for line in file]


# ---- replay

def times_file(args, step_s):
    """What is measured here, stretched to this length."""
    path = args.out / "times.json"
    call(args, "probe", "compute", "--network", "lenet5", "--batch", 16, "--precision", "f32", "--input", "1x28x28",
         "--threads", 1, "--seconds", 0.2, "--times", path)
    times = json.loads(path.read_text())
    found = times["passes"][0]
    factor = step_s / sum(found["items"])
    whole = {**found, "batch": 16, "seconds": step_s, "load": 0.0,
             **{key: [factor * s for s in found[key]] for key in ("items", "needed", "ready")}}
    times.update(update=0.0, jitter=0.0, passes=[whole])
    path.write_text(json.dumps(times))


def replay_space(args, trials, epochs):
    path = args.out / f"replay-{trials}.toml"
    path.write_text(f'network = "lenet5"\nepochs = {epochs}\nbatch = 16\nprecision = "f32"\nthreads = 1\n'
                    f'[data]\nname = "random"\nsamples = 16000\n[measure]\nsample_seconds = 0\n'
                    f'[distribute]\nreplay = "times.json"\n'
                    f'[space]\nseed = {list(range(1, trials + 1))}\n[search]\nsampler = "grid"\n')
    return path


def seconds_of_trials(directory):
    """From the first start of a trial to the last end."""
    told = events(directory)
    return (max(event["at"] for event in told if event["event"] == "end")
            - min(event["at"] for event in told if event["event"] == "start"))


def replay_inside(args):
    step_s, epochs = (0.004, 1) if args.quick else (0.03, 2)
    times_file(args, step_s)
    names = os.environ["SYRTOS_HOSTS"].split(",")
    result = {}
    for trials, hosts in ((1, 1), (8, 4)):
        run = args.out / f"replay-{trials}"
        shutil.rmtree(run, ignore_errors=True)
        lines = [f"{name} slots=2 address=10.77.0.{i + 1}\n" for i, name in enumerate(names[:hosts])]
        (args.out / "hosts").write_text("".join(lines))
        call(args, "search", replay_space(args, trials, epochs), "--run", run, "--hosts", "hosts", "--installed",
             "--remote-shell", f"{CLUSTER} ssh", timeout=1800)
        result[trials] = seconds_of_trials(run)
    (args.out / "replay.json").write_text(json.dumps(result))


def replay(args):
    command = [str(CLUSTER), "--hosts", "4", "--rate", "1gbit", "--on", "a", "--", sys.executable, __file__, "--inside",
               "replay", "--out", str(args.out), "--syrtos", str(args.syrtos), *(["--quick"] if args.quick else [])]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    result = json.loads((args.out / "replay.json").read_text())
    share = result["1"] / result["8"]
    table(["trials", "hosts", "seconds", "of 8 times one"],
          [["1", "1", f"{result['1']:.2f}", ""], ["8", "4", f"{result['8']:.2f}", f"{share:.3f}"]])


# ---- search

def search_space(args):
    path = args.out / "lenet5.toml"
    space = "".join(f"{key} = {json.dumps(choices)}\n" for key, choices in SPACE.items())
    path.write_text(f'network = "lenet5"\ndata = "fashion-mnist"\nepochs = {2 if args.quick else SEARCH_EPOCHS}\n'
                    f'[space]\n{space}[search]\nsampler = "grid"\n')
    return path


def cpu_seconds():
    """Of all processes that have ended: what others do on the machine does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def our_search(args, name, *options):
    run = args.out / name
    if not (run / "done.json").exists():
        shutil.rmtree(run, ignore_errors=True)
        before = cpu_seconds()
        call(args, "search", search_space(args), "--run", run, "--json", "--slots", os.cpu_count(),
             *(["--trials", 4] if args.quick else []), *options)
        (run / "done.json").write_text(json.dumps({"cpu_s": cpu_seconds() - before}))
    told = events(run)
    ended = [event for event in told if event["event"] in ("epoch", "end")]
    curve, best = [], 0.0
    for event in told:
        if event["event"] == "epoch" and event.get("value", 0) > best:
            best = event["value"]
            curve.append([event["at"], best])
    return {"seconds": max(event["at"] for event in ended), "best": best, "curve": curve,
            "cpu_s": json.loads((run / "done.json").read_text())["cpu_s"],
            "epochs": sum(event["event"] == "epoch" for event in told),
            "trials": sum(event["event"] == "trial" for event in told)}


def optuna(args):
    python = os.environ.get("PEERS_PYTHON", str(ROOT / "build/peers/bin/python"))
    done = args.out / "optuna.json"
    if not done.exists():
        if subprocess.run([python, "-c", "import optuna, torch"], capture_output=True).returncode:
            note("many: no Optuna and PyTorch (PEERS_PYTHON): that row is left out")
            return None
        home = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")
        data = Path(home) / "syrtos" / "data" / "fashion-mnist"
        journal = args.out / "optuna.journal"
        journal.unlink(missing_ok=True)
        space = {PEER_NAMES.get(key, key): choices for key, choices in SPACE.items()}
        before = cpu_seconds()
        result = subprocess.run(
            [python, PEERS / "optuna_search.py", "--data", data, "--space", json.dumps(space),
             "--trials", "4" if args.quick else "64", "--epochs", "2" if args.quick else str(SEARCH_EPOCHS), "--halving",
             str(HALVING), "--processes", str(os.cpu_count()), "--journal", journal], capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError(result.stderr[-1500:])
        done.write_text(json.dumps({**json.loads(result.stdout), "cpu_s": cpu_seconds() - before}))
    return json.loads(done.read_text())


def reached(curve, value):
    return next((f"{at:.0f} s" for at, best in curve if best >= value), "never")


def search(args):
    found = {"grid": our_search(args, "grid"), "halved": our_search(args, "halved", "--halving", HALVING)}
    if peer := optuna(args):
        found["Optuna, PyTorch"] = peer
    whole = found["grid"]
    goal = whole["best"] - 0.002
    table(["search", "epochs", "CPU seconds", "of the grid's", "seconds", "of the grid's", "best accuracy",
           f"{100 * goal:.2f} % after"],
          [[name, one["epochs"], f"{one['cpu_s']:.0f}", f"{one['cpu_s'] / whole['cpu_s']:.2f}", f"{one['seconds']:.0f}",
            f"{one['seconds'] / whole['seconds']:.2f}", f"{100 * one['best']:.2f} %", reached(one["curve"], goal)]
           for name, one in found.items()])
    (args.out / "search.json").write_text(json.dumps(found, indent=1))


# ---- together

SHORT, LONG = 50, 350  # steps: what both runs have, such as starting, is not compared


def train_words(args, network, run, seed, steps, threads):
    return [str(args.syrtos), "train", "--network", network, "--data", "fashion-mnist", "--batch", "64", "--precision",
            args.precision, "--seed", str(seed), "--run", str(run), "--evaluate-every", "0", "--json", "--sample-seconds",
            "0", "--steps", str(steps), "--threads", str(threads)]


def run_at_once(args, commands):
    """Seconds until all have ended, and CPU seconds of all of them."""
    for command in commands:
        shutil.rmtree(command[command.index("--run") + 1], ignore_errors=True)
    before, begun = cpu_seconds(), time.monotonic()
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}  # who waits does not use up CPU time
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
                                cwd=args.out) for command in commands]
    for process in running:
        _, said = process.communicate()
        if process.returncode:
            raise RuntimeError(said[-1500:])
    return time.monotonic() - begun, cpu_seconds() - before


def one_program(args, steps):
    return run_at_once(args, [train_words(args, f"lenet5:members={MEMBERS}", args.out / "program", 1, steps,
                                          os.cpu_count())])


def processes(args, steps):
    return run_at_once(args, [train_words(args, "lenet5", args.out / f"process-{i}", i, steps, 1)
                              for i in range(MEMBERS)])


def together(args):
    rows = []
    samples = (LONG - SHORT) * 64 * MEMBERS
    for args.precision in ("f32", "bf16"):
        times = {one_program: [], processes: []}
        for _ in range(1 if args.quick else 3):
            for way, found in times.items():
                short, long = way(args, SHORT), way(args, LONG)
                found.append([b - a for a, b in zip(short, long)])
        wall, cpu = ({way: statistics.median(one[k] for one in found) for way, found in times.items()} for k in (0, 1))
        rows.append([args.precision, *(f"{samples / cpu[way]:,.0f}" for way in times),
                     f"{cpu[processes] / cpu[one_program]:.2f}", *(f"{samples / wall[way]:,.0f}" for way in times),
                     f"{wall[processes] / wall[one_program]:.2f}"])
    table(["precision", "one program, samples per CPU second", "8 processes", "ratio", "one program, samples/s",
           "8 processes", "ratio"], rows)


# ---- distil

def trained(args, name, *options):
    run = args.out / name
    done = run / "done"
    if not done.exists():
        shutil.rmtree(run, ignore_errors=True)
        note(f"many: {name}")
        call(args, "train", "--data", "cifar10", "--run", run, *options)
        done.touch()
    return run


def last_accuracy(run):
    with open(run / "metrics.jsonl") as file:
        return 100 * json.loads(file.readlines()[-1])["test_accuracy"]


def distil(args):
    of_teacher, of_pupil = (1, 1) if args.quick else (12, 6)
    alike = ["--network", "lenet5", "--batch", "64", "--optimizer", "adam", "--lr", "0.002", "--schedule", "cosine",
             "--precision", "f32", "--threads", "1"]
    teachers = trained(args, "teachers", *alike, "--ensemble", "2" if args.quick else "5", "--together", "yes", "--epochs",
                       of_teacher, "--augment", "crop:4,flip")
    taught = ["--teacher", teachers, "--temperature", "3", "--teacher-share", "0.9"]
    accuracies = {"labels alone": [], "taught": []}
    for seed in (1, 2, 3):
        for name, options in (("labels alone", []), ("taught", taught)):
            run = trained(args, f"{name.split()[0]}-{seed}", *alike, "--epochs", of_pupil, "--seed", seed, *options)
            accuracies[name].append(last_accuracy(run))
    rows = [[name, *(f"{value:.2f}" for value in values), f"{statistics.mean(values):.2f}"]
            for name, values in accuracies.items()]
    gains = [b - a for a, b in zip(*accuracies.values())]
    rows.append(["gain", *(f"{gain:+.2f}" for gain in gains), f"{statistics.mean(gains):+.2f}"])
    print(call(args, "eval", teachers))
    table(["LeNet-5, accuracy in %", "seed 1", "seed 2", "seed 3", "mean"], rows)


def main():
    args = arguments()
    if args.inside:
        replay_inside(args)
        return
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}\n")
    for what in args.what:
        if what not in ("replay", "search", "together", "distil"):
            sys.exit(f"many: expected replay, search, together or distil, found {what!r}")
        globals()[what](args)


if __name__ == "__main__":
    main()
