#!/usr/bin/env python3
"""Networks that are split: pipelines beside PyTorch's torch.distributed.pipelining, large dense layers by columns
beside every data-parallel way, plans beside what is then measured.

Hosts are network namespaces with links of 1 Gbit/s (tools/cluster). They share the cores of this machine, so
computing is replayed: its times are measured once, alone, and then every worker sleeps for them while the real
bytes cross. Memory is that of really computing processes. Standard library only.
"""

import argparse
import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from ranks import CLUSTER, Ranks, on_host  # noqa: E402
from scaling import call, host_names, steady_step  # noqa: E402
from train_step import OUT, ROOT, as_markdown, as_text, machine, ms, note, number, peers_python  # noqa: E402

PIPELINES = {"resnet18": ("3x32x32", 128), "vgg16e": ("3x64x64", 64), "land-cover": ("1x788x64", 64)}
PARTS, MICROS = 4, (4, 8, 16, 32)
DATA_PARALLEL = (["allreduce:ring", "join"], ["allreduce:halving-doubling", "join"], ["ps-colocated", "join"])
BATCH = 42  # of a worker, of the hybrid
PLANNED = {"alexnet": ("3x64x64", 128), "vgg16e": ("3x64x64", 64), "resnet50": ("3x32x32", 128),
           "land-cover": ("1x788x64", 64)}
CLUSTER_IN_WORDS = "8 hosts, 1 Gbit/s, 60 us"
# Of nodes with a GTX 970 and 1 Gbit/s: seconds of a batch's gradients, and of moving all weights once.
SEEDS = {"network": "vgg16e", "grad": 0.719, "comm": 5.153, "batch": 16, "input": "3x224x224", "classes": 256}
WARM_UP, TIMED = 3, 4.0
SECTIONS = ("pipelines", "hybrid", "seeds", "plans", "memory")
# Really computed, for memory: units at which the peer's parts begin, and our names of them.
REAL = {"resnet18": {"begins": [2, 3, 4], "names": "layer2,layer3,layer4", "input": "3x64x64", "side": 64},
        "vgg16e": {"begins": [4, 8, 12], "names": "features.10,features.19,features.28", "input": "3x32x32",
                   "side": 32}}
REAL_BATCH, REAL_MICROS, REAL_STEPS = 64, 8, 4


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sections", default=",".join(SECTIONS), help="of these: " + ", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="one network, few micro-batches")
    parser.add_argument("--json", type=Path, default=OUT / "split.json")
    parser.add_argument("--syrtos", type=Path, default=ROOT / "build/release/syrtos")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.sections = args.sections.split(",")
    for name in args.sections:
        if name not in SECTIONS:
            parser.error(f'--sections: expected of {", ".join(SECTIONS)}, found "{name}"')
    if not args.syrtos.is_file():
        parser.error(f"{args.syrtos} is not there: run make build")
    args.syrtos = args.syrtos.resolve()
    return args


def times_of(args, network, input_, batches, classes=10):
    """Measured once, alone, and kept for this program."""
    path = OUT / "times" / f"split-{network}-{input_}-{'-'.join(map(str, batches))}.json"
    if not path.exists() or path.stat().st_mtime < args.syrtos.stat().st_mtime:
        path.parent.mkdir(parents=True, exist_ok=True)
        call([args.syrtos, "probe", "compute", "--network", network, "--input", input_, "--classes", classes,
              "--batch", batches[0], *(("--more-batches", ",".join(map(str, batches[1:]))) if batches[1:] else ()),
              "--precision", "f32", "--seconds", 1, "--times", path], timeout=600)
    return path


def train(args, directory, network, input_, batch, workers, times, steps, *more, classes=10, sync="join"):
    """What a replayed run leaves: its steps, by rank, and what crossed."""
    hosts = Path(directory) / "hosts"
    hosts.write_text("".join(f"{name} slots=1 address=10.77.0.{i + 1}\n"
                             for i, name in enumerate(host_names()[:workers])))
    run = Path(directory) / "run"
    samples = (steps + WARM_UP) * batch * (1 if sync == "split" else workers)
    distributed = (["--hosts", hosts, "--remote-shell", f"{CLUSTER} ssh", "--workers", workers, "--sync", sync]
                   if workers > 1 else [])
    try:
        call([args.syrtos, "train", "--network", network, "--input", input_, "--classes", classes, "--data", "random",
              "--samples", samples, "--batch", batch, "--precision", "f32", "--epochs", 1, "--evaluate-every", 0,
              "--optimizer", "momentum", "--lr", 1e-4, "--run", run, *distributed, "--json",
              *(["--replay", times] if times else ["--threads", 1]), *more], cwd=directory, timeout=900)
        with open(run / "steps.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        exchange = json.loads((run / "exchange.json").read_text())
        hosts_json = json.loads((run / "hosts.json").read_text())
    finally:
        shutil.rmtree(run, ignore_errors=True)
    by_rank = [[row for row in rows if int(row["rank"]) == rank]
               for rank in sorted({int(row["rank"]) for row in rows})]
    return {"step": max(steady_step(rank) for rank in by_rank), "ranks": by_rank, "exchange": exchange,
            "rss": {host: max(one.get("rss", 0) for one in curve) for host, curve in hosts_json.items()}}


def sent_on(found):
    """Bytes that each part has sent to the next one."""
    return [{link["to"]: link["bytes"] for link in rank["links"]}.get(rank["rank"] + 1, 0)
            for rank in found["exchange"]["ranks"]]


def part_times(found, micros):
    """What each part computes in a step."""
    parts = []
    for rows in found["ranks"]:
        rows = rows[len(rows) // 4:]
        mean = {key: sum(float(row[key]) for row in rows) / len(rows) for key in ("forward", "backward", "update")}
        parts.append({"forward": mean["forward"] / micros, "backward": mean["backward"] / micros,
                      "update": mean["update"], "computing": sum(mean.values())})
    return parts


def start_peer(directory):
    path = os.path.join(directory, f"pipelining-{time.monotonic()}")
    script = [peers_python(), ROOT / "bench/peers/pipeline_replay.py", path]
    environment = {"GLOO_SOCKET_IFNAME": "eth0", "PYTHONDONTWRITEBYTECODE": "1"}
    return Ranks("pipelining", PARTS, path,
                 [(on_host(host, [*script, rank, PARTS, "10.77.0.1:29544"]), environment)
                  for rank, host in enumerate(host_names()[:PARTS])])


# ---- inside the cluster ----------------------------------------------------------------------

def pipelines(args, directory):
    measured, peer = [], start_peer(directory)
    for network, (input_, batch) in list(PIPELINES.items())[:1 if args.quick else None]:
        times = times_of(args, network, input_, [batch // m for m in MICROS])
        # The weights of the start cross too: so what a sample sends is the difference of two runs.
        few, more = (sent_on(train(args, directory, network, input_, batch, PARTS, times, steps, "--split",
                                   f"layers:{PARTS}", "--accumulate", MICROS[0], sync="split")) for steps in (2, 6))
        sends = [max(1, round((b - a) / 4 / batch / 4)) for a, b in zip(few, more)]  # four steps, f32
        for micros in MICROS[1:3] if args.quick else MICROS:
            whole = sum(json.loads(times.read_text())["passes"][-1]["items"])
            steps = max(6, round(TIMED / whole))
            found = train(args, directory, network, input_, batch, PARTS, times, steps, "--split", f"layers:{PARTS}",
                          "--accumulate", micros, sync="split")
            parts = part_times(found, micros)
            slowest = max(part["computing"] for part in parts)
            peers = peer.ask({"parts": [{**part, "sends": count} for part, count in zip(parts, sends)],
                              "batch": batch, "micros": micros, "steps": steps})
            row = {"network": network, "batch": batch, "micros": micros, "step": found["step"], "slowest": slowest,
                   "bound": (micros + PARTS - 1) / micros * slowest, "peer": max(a["seconds"] for a in peers),
                   "version": peer.members[0]["version"]}
            measured.append(row)
            note(f"{network}, {micros} micro-batches: {ms(1e3 * row['step'])} ms, bound {ms(1e3 * row['bound'])}, "
                 f"PyTorch {ms(1e3 * row['peer'])}")
    peer.end()
    return measured


def hybrid(args, directory):
    """AlexNet, 4 hosts: by columns, beside the data-parallel ways."""
    times = times_of(args, "alexnet", "3x64x64", [BATCH])
    measured = []
    for exchange, sync in DATA_PARALLEL[:1 if args.quick else None]:
        found = train(args, directory, "alexnet", "3x64x64", BATCH, 4, times, 4, "--exchange", exchange)
        measured.append({"way": f"{exchange} {sync}", "step": found["step"]})
        note(f"alexnet, {exchange}: {ms(1e3 * found['step'])} ms")
    found = train(args, directory, "alexnet", "3x64x64", BATCH, 4, times, 12, "--split", "columns")
    measured.append({"way": "columns", "step": found["step"]})
    note(f"alexnet, columns: {ms(1e3 * found['step'])} ms")
    return measured


def seeds_times(args, directory):
    """What is found here, stretched to the seconds of the seeds."""
    kept = times_of(args, SEEDS["network"], SEEDS["input"], [2], SEEDS["classes"])
    times = json.loads(kept.read_text())
    found = times["passes"][0]
    factor = SEEDS["grad"] / sum(found["items"])
    scaled = {key: [factor * s for s in found[key]] for key in ("items", "needed", "ready", "forward", "backward")
              if key in found}
    times.update(update=0.0, jitter=0.0,
                 passes=[{**found, "batch": SEEDS["batch"], "seconds": SEEDS["grad"], "load": 0.0, **scaled}])
    path = Path(directory) / "seeds.json"
    path.write_text(json.dumps(times))
    return path


def seeds_plan(args, times, workers, split):
    answer = json.loads(call([
        args.syrtos, "plan", "--network", SEEDS["network"], "--input", SEEDS["input"], "--classes", SEEDS["classes"],
        "--compute", times, "--data", "random", "--samples", 128 * SEEDS["batch"], "--batch", SEEDS["batch"],
        "--cluster", f"{workers} hosts, {rate_of_seeds() / 1e9:.4f} Gbit/s, 60 us", "--workers", f"1,{workers}",
        "--sync", "join", "--wire", "f32", "--split", split, "--goal", "time", "--replayed", "--json"]))
    way = min((way for way in answer["ranked"] if way["workers"] == workers), key=lambda way: way["step"])
    return workers * SEEDS["grad"] / way["step"]


def rate_of_seeds():
    return 8 * 4 * 140.6e6 / SEEDS["comm"]  # bit/s that move all weights in that time


def seeds(args, directory):
    """VGG16E: speed-ups of 8 hosts, simulated and measured."""
    workers = 4 if args.quick else 8
    times = seeds_times(args, directory)
    measured = []
    for split in ("none", "columns"):
        row = {"way": "columns" if split == "columns" else "data-parallel", "workers": workers,
               "simulated": seeds_plan(args, times, workers, split)}
        found = train(args, directory, SEEDS["network"], SEEDS["input"], SEEDS["batch"], workers, times,
                      6 if split == "columns" else 2, "--split", split, classes=SEEDS["classes"])
        row["measured"] = workers * SEEDS["grad"] / found["step"]
        measured.append(row)
        note(f"vgg16e as the seeds have it, {row['way']}: simulated {row['simulated']:.2f}, "
             f"measured {row['measured']:.2f}")
    return measured


def plans(args, directory):
    """The best of each kind on eight hosts, and what is then measured of some."""
    measured = []
    for network, (input_, batch) in list(PLANNED.items())[:1 if args.quick else None]:
        batches = [batch, *(batch // n for n in (2, 4, 8, 16) if batch // n >= 2)]
        times = times_of(args, network, input_, batches)
        answer = json.loads(call([
            args.syrtos, "plan", "--network", network, "--input", input_, "--compute", times, "--data", "random",
            "--samples", 50 * batch, "--batch", batch, "--cluster", CLUSTER_IN_WORDS, "--replayed", "--goal",
            "time", "--sync", "split", "--wire", "f32", "--json"]))
        best = {}
        for way in answer["ranked"]:
            kind = ("alone" if way["workers"] == 1 else "columns" if way["split"] == "columns" else
                    "data-parallel" if way["split"] == "none" else
                    "pipeline" if way["workers"] == parts_of(way) else "pipeline and replicas")
            if kind not in best:
                best[kind] = way
        for kind, way in best.items():
            row = {"network": network, "batch": batch, "kind": kind, "workers": way["workers"], "way": words_of(way),
                   "planned": way["step"], "low": way["step"] * way["epoch_low"] / way["epoch"],
                   "high": way["step"] * way["epoch_high"] / way["epoch"], "alone": answer["alone"]["step"]}
            if way["workers"] > 1 and kind != "alone":
                steps = max(4, min(20, round(TIMED / way["step"])))
                words = shlex.split(way["command"])
                more = [word for option in ("--split", "--accumulate", "--pipeline", "--exchange", "--bucket-mb")
                        if option in words for word in (option, words[words.index(option) + 1])]
                try:
                    row["measured"] = train(args, directory, network, input_, batch, way["workers"], times, steps,
                                            *more, sync=way["sync"])["step"]
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    row["failed"] = str(error)[-300:]
            measured.append(row)
            note(f"{network}, {kind}: {row['way']}: planned {ms(1e3 * row['planned'])} ms, measured "
                 f"{ms(1e3 * row['measured']) if 'measured' in row else row.get('failed', '-')}")
    return measured


def parts_of(way):
    if way["split"].startswith("layers:"):
        return int(way["split"].split(":")[1])
    return len(way["split"].split(",")) + 1


def words_of(way):
    if way["workers"] == 1:
        return "one host"
    text = f"{way['workers']} x {way['exchange']}"
    if way["split"] != "none":
        text += f" {way['split']}"
    return text + (f", {way['accumulate']} micro-batches" if way["accumulate"] > 1 else "")


def memory(args, directory):
    """Four parts that really compute: the memory of each process."""
    measured = []
    for network, real in REAL.items():
        peer = start_peer(directory)
        peers = peer.ask({"network": network, "side": real["side"], "classes": 10, "begins": real["begins"],
                          "batch": REAL_BATCH, "micros": REAL_MICROS, "steps": REAL_STEPS, "parts": []})
        imported = [member["imported"] for member in peer.members]
        peer.end()
        found = train(args, directory, network, real["input"], REAL_BATCH, PARTS, None, REAL_STEPS, "--split",
                      real["names"], "--accumulate", REAL_MICROS, "--sample-seconds", 0.1, sync="split")
        for part, host in enumerate(host_names()[:PARTS]):
            measured.append({"network": network, "part": part + 1, "ours": found["rss"][host],
                             "peer": peers[part]["peak"], "imported": imported[part]})
        note(f"{network}: ours {[row['ours'] // 10**6 for row in measured[-PARTS:]]} MB, PyTorch "
             f"{[row['peer'] // 10**6 for row in measured[-PARTS:]]} MB")
    return measured


def measure(args):
    section = args.inside
    with tempfile.TemporaryDirectory(prefix="split-") as directory:
        args.json.write_text(json.dumps(globals()[section](args, directory)))


# ---- outside ---------------------------------------------------------------------------------

def run_inside(args, section):
    hosts = {"seeds": 8, "plans": 8}.get(section, PARTS)
    rate = f"{rate_of_seeds() / 1e6:.0f}mbit" if section == "seeds" else "1gbit"
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        words = [CLUSTER, "--hosts", hosts, "--rate", rate, "--on", "a", "--", sys.executable,
                 Path(__file__).resolve(), "--inside", section, "--json", file.name, "--syrtos", args.syrtos,
                 *(["--quick"] if args.quick else [])]
        code = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL).returncode
        if code:
            sys.exit(code)
        return json.loads(Path(file.name).read_text())


def tables(section, found):
    """(title, head, body) of a section."""
    if section == "pipelines":
        return (f"Pipelines of {PARTS} parts, beside {found[0]['version']}",
                ["network", "batch", "micro-batches", "slowest part ms", "(M+P-1)/M of it", "ms", "/ bound",
                 "PyTorch ms", "PyTorch / ours"],
                [[row["network"], str(row["batch"]), str(row["micros"]),
                  *(ms(1e3 * row[key]) for key in ("slowest", "bound", "step")),
                  number(row["step"] / row["bound"], 3), ms(1e3 * row["peer"]),
                  number(row["peer"] / row["step"], 2)] for row in found])
    if section == "hybrid":
        best = min(row["step"] for row in found if row["way"] != "columns")
        return (f"AlexNet, 64x64, {BATCH} samples on each of 4 hosts", ["way", "ms", "best data-parallel / it"],
                [[row["way"], ms(1e3 * row["step"]), number(best / row["step"], 2)] for row in found])
    if section == "seeds":
        return (f"VGG16E, {SEEDS['grad']} s a batch, {SEEDS['comm']} s for all weights, {found[0]['workers']} hosts: "
                "speed-up", ["way", "simulated", "measured"],
                [[row["way"], number(row["simulated"], 2), number(row["measured"], 2)] for row in found])
    if section == "plans":
        return (f'Plans for "{CLUSTER_IN_WORDS}"',
                ["network", "batch", "kind", "way", "planned ms", "from", "to", "speed-up", "measured ms", "off by %"],
                [[row["network"], str(row["batch"]), row["kind"], row["way"],
                  *(ms(1e3 * row[key]) for key in ("planned", "low", "high")),
                  number(row["alone"] / row["planned"], 2),
                  *([ms(1e3 * row["measured"]), f"{100 * (row['planned'] / row['measured'] - 1):+.1f}"]
                    if "measured" in row else ["-", "-"])] for row in found])
    return (f"Memory of each process, batch {REAL_BATCH} in {REAL_MICROS} micro-batches, {PARTS} parts, MB",
            ["network", "part", "ours", "PyTorch", "of it importing", "ours / PyTorch"],
            [[row["network"], str(row["part"]), *(f"{row[name] / 1e6:.0f}" for name in ("ours", "peer", "imported")),
              number(row["ours"] / row["peer"], 2)] for row in found])


def main():
    args = arguments()
    if args.inside:
        measure(args)
        return
    if {"pipelines", "memory"} & set(args.sections):
        peers_python()
    load = os.getloadavg()[0]
    if load > 0.5:
        note(f"the machine is busy (load {load:.1f}): times will be rough")
    args.json.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    report = json.loads(args.json.read_text()) if args.json.exists() else {}
    for section in args.sections:
        report[section] = run_inside(args, section)
        args.json.write_text(json.dumps(report, indent=1) + "\n")
    text = markdown = f"links of 1 Gbit/s, computing replayed; load {load:.1f}; {machine()}"
    for section in (name for name in SECTIONS if name in report):
        title, head, body = tables(section, report[section])
        text += f"\n\n{title}\n{as_text(head, body)}"
        markdown += f"\n\n**{title}**\n\n{as_markdown(head, body)}"
    print(text)
    args.json.with_suffix(".md").write_text(markdown + "\n")
    note(f"{time.monotonic() - start:.0f} s; written: {args.json} and .md")


if __name__ == "__main__":
    main()
