#!/usr/bin/env python3
"""All-reduce side by side: ours, Gloo and Open MPI, interleaved in one run.

The ranks of all sides are started once on the same hosts (tools/cluster) and wait for requests;
for every size each side is asked in turn, in rounds. Every call that is timed is also checked.
Standard library only: Gloo runs in the peers' environment, build/peers, or with the interpreter
that PEERS_PYTHON names.
"""

import argparse
import dataclasses
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from ranks import CLUSTER, Ranks, on_host  # noqa: E402
from train_step import (OUT, ROOT, as_markdown, as_text, machine, note, number,  # noqa: E402
                        peers_python)

HOSTS = "abcd"
SIZES = [4**i << 10 for i in range(10)]  # 1 KB to 256 MB
BATCH_S = 0.1  # how long calls are repeated, at most


@dataclasses.dataclass(frozen=True)
class Setting:
    title: str
    hosts: int
    ranks: int
    rate: str = ""  # of each host's link
    line: float = 0  # bytes per second; 0: what the raw stream reaches


SETTINGS = {
    "a": Setting("4 hosts at 1 Gbit/s", 4, 4, "1gbit", 125e6),
    "b": Setting("2 hosts, links not shaped", 2, 2),
    "c": Setting("2 processes on one host", 1, 2),
}
# Column, the processes that serve it, the algorithm asked for.
SIDES = (("Syrtos auto", "tcp", "auto"), ("Syrtos ring", "tcp", "ring"),
         ("Syrtos, TLS", "tls", "auto"), ("Gloo", "gloo", ""),
         ("Open MPI", "open-mpi", ""), ("Syrtos over MPI", "mpi", "auto"), ("raw TCP", "raw", ""))
OURS, PEERS = "Syrtos auto", ("Gloo", "Open MPI")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--settings", default="a,b,c",
                        help="; ".join(f"{k}: {s.title}" for k, s in SETTINGS.items()))
    parser.add_argument("--sizes", help="in KB, comma-separated; 1 to 262144 by default")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="2 rounds, up to 16 MB")
    parser.add_argument("--with-mpi-world", action="store_true", help="ours over MPI too")
    parser.add_argument("--json", type=Path, default=OUT / "exchange.json")
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/bench/exchange_bench")
    parser.add_argument("--inside", help=argparse.SUPPRESS)  # the part that runs on host a
    args = parser.parse_args()
    args.settings = args.settings.split(",")
    for name in args.settings:
        if name not in SETTINGS:
            parser.error(f'--settings: expected of {", ".join(SETTINGS)}, found "{name}"')
    if args.quick:
        args.rounds = min(args.rounds, 2)
    args.bytes = [int(s) << 10 for s in args.sizes.split(",")] if args.sizes else \
        [s for s in SIZES if not args.quick or s <= 16 << 20]
    if not args.program.is_file():
        parser.error(f"{args.program} is not there: run make build")
    return args


# ---- inside the cluster ----------------------------------------------------------------------

def start(name, setting, args, directory):
    """The ranks of one side."""
    path = os.path.join(directory, name)
    places = [(rank, rank % setting.hosts) for rank in range(setting.ranks)]
    if name in ("mpi", "open-mpi"):
        commands = [([*mpirun(setting, directory), args.program, name, path], {})]
    elif name == "gloo":
        environment = {"GLOO_SOCKET_IFNAME": "eth0" if setting.hosts > 1 else "lo",
                       "PYTHONDONTWRITEBYTECODE": "1"}
        script = [peers_python(), ROOT / "bench/peers/gloo_exchange.py", path]
        commands = [(on_host(HOSTS[host], [*script, rank, setting.ranks, "10.77.0.1:29500"]),
                     environment) for rank, host in places]
    else:
        commands = [(on_host(HOSTS[host], [args.program, name, path, rank, HOSTS[host],
                                           f"10.77.0.{host + 1}"]), {}) for rank, host in places]
    return Ranks(name, setting.ranks, path, commands)


def ask(ranks, bytes_, calls, batches, algorithm):
    """Seconds of a call, by batch; CPU seconds and bytes of all ranks in all of them."""
    answers = ranks.ask({"bytes": bytes_, "calls": calls, "batches": batches,
                         "algorithm": algorithm})
    wrong = sum(answer["wrong"] for answer in answers)
    if wrong:
        sys.exit(f"exchange: {ranks.name} has {wrong} wrong sums, with {bytes_} bytes")
    result = {key: sum(a[key] for a in answers) for key in ("cpu", "interface", "payload")}
    # A call has ended when it has on every rank.
    result["seconds"] = [max(of_ranks) for of_ranks in zip(*(a["seconds"] for a in answers))]
    result["calls"] = calls * batches
    return result


def mpirun(setting, directory):
    slots = setting.ranks // setting.hosts
    hosts = ",".join(f"{host}:{slots}" for host in HOSTS[:setting.hosts])
    options = {"plm_rsh_agent": f"{CLUSTER} ssh", "routed": "direct", "orte_tmpdir_base": directory,
               "oob_tcp_if_include": "10.77.0.0/16"}
    if setting.hosts > 1:
        options.update(btl="tcp,self", btl_tcp_if_include="10.77.0.0/16")
    if setting.ranks > os.cpu_count():
        options.update(mpi_yield_when_idle="1")  # the hosts share their cores
    words = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--host", hosts]
    for name, value in options.items():
        words += ["--mca", name, value]
    return words


def measure_setting(name, args):
    setting = SETTINGS[name]
    wanted = [s for s in SIDES if (s[1] != "mpi" or args.with_mpi_world) and
              (s[1] != "raw" or name == "b") and (s[1] != "tls" or setting.hosts > 1)]
    most_calls = int(100 / math.log2(setting.ranks))  # sums of sums must stay exact
    results = {}  # (column, bytes) -> answers
    with tempfile.TemporaryDirectory(prefix="exchange-") as directory:
        sides = {p: start(p, setting, args, directory) for p in dict.fromkeys(s[1] for s in wanted)}
        for bytes_ in args.bytes:
            calls, batches = {}, {}
            for column, side, algorithm in wanted:  # to warm up, and to see how long a call takes
                once = ask(sides[side], bytes_, 2 if bytes_ < 64 << 20 else 1, 1, algorithm)
                call_s = once["seconds"][0]
                calls[column] = max(1, min(most_calls, int(BATCH_S / call_s)))
                # Ranks that just woke up may share a core for some milliseconds: go on for longer.
                batches[column] = 1 if calls[column] == 1 and bytes_ >= 64 << 20 else \
                    max(5, min(100, int(BATCH_S / (calls[column] * call_s))))
            for round_ in range(args.rounds):
                turn = wanted if round_ % 2 == 0 else wanted[::-1]
                for column, side, algorithm in turn:
                    answer = ask(sides[side], bytes_, calls[column], batches[column], algorithm)
                    results.setdefault((column, bytes_), []).append(answer)
            said = ", ".join(f"{c} {microseconds(median_seconds(results[c, bytes_]))}"
                             for c, _, _ in wanted)
            note(f"({name}) {size_text(bytes_)}: {said}")
        versions = [side.members[0]["version"] for side in sides.values()
                    if "version" in side.members[0]]
        for side in sides.values():
            side.end()
    return {"title": setting.title, "versions": versions,
            "measured": [{"side": column, "bytes": bytes_, "answers": answers}
                         for (column, bytes_), answers in results.items()]}


# ---- outside ---------------------------------------------------------------------------------

def median_seconds(answers):
    return statistics.median(s for answer in answers for s in answer["seconds"])


def microseconds(seconds):
    return f"{seconds * 1e6:.0f} us" if seconds < 0.1 else f"{seconds:.2f} s"


def size_text(bytes_):
    return f"{bytes_ >> 20} MB" if bytes_ >= 1 << 20 else f"{bytes_ >> 10} KB"


class Cells:
    """What one setting measured, by side and size."""

    def __init__(self, setting, report):
        self.setting = setting
        self.answers = {(m["side"], m["bytes"]): m["answers"] for m in report["measured"]}
        self.sides = list(dict.fromkeys(side for side, _ in self.answers))
        self.sizes = list(dict.fromkeys(bytes_ for _, bytes_ in self.answers))

    def sent(self, bytes_):
        """By one rank in an all-reduce that sends as little as possible."""
        ranks = self.setting.ranks
        return 2 * (ranks - 1) / ranks * bytes_

    def seconds(self, side, bytes_):
        return median_seconds(self.answers[side, bytes_])

    def bandwidth(self, side, bytes_):
        return self.sent(bytes_) / self.seconds(side, bytes_)

    def line(self, bytes_):
        if self.setting.line:
            return self.setting.line
        return self.bandwidth("raw TCP", bytes_) if "raw TCP" in self.sides else None

    def per_byte(self, side, bytes_, what):
        """Of all ranks and calls, by the bytes that the formula says they send."""
        total = sum(answer[what] for answer in self.answers[side, bytes_])
        calls = sum(answer["calls"] for answer in self.answers[side, bytes_])
        return total / (calls * self.setting.ranks * self.sent(bytes_))


def time_table(cells):
    peers = [p for p in PEERS if p in cells.sides]
    head = ["us", *cells.sides, "peer / ours"]
    body = []
    for bytes_ in cells.sizes:
        best = min(cells.seconds(p, bytes_) for p in peers)
        row = [size_text(bytes_)]
        row += [f"{cells.seconds(side, bytes_) * 1e6:.0f}" for side in cells.sides]
        body.append([*row, number(best / cells.seconds(OURS, bytes_), 2)])
    return head, body


def bandwidth_table(cells):
    """Bus bandwidth, as a share of the line where there is one and in GB/s otherwise."""
    shaped = cells.line(cells.sizes[0]) is not None
    head = ["of the line" if shaped else "GB/s", *cells.sides]
    body = []
    for bytes_ in cells.sizes:
        unit = cells.line(bytes_) if shaped else 1e9
        body.append([size_text(bytes_), *(number(cells.bandwidth(side, bytes_) / unit, 3)
                                          for side in cells.sides)])
    return head, body


def cost_table(cells):
    sides = [s for s in cells.sides if s != "raw TCP"]
    head = ["core-s per GB", *sides, "payload / formula", "interface / formula"]
    body = []
    for bytes_ in cells.sizes:
        row = [number(1e9 * cells.per_byte(side, bytes_, "cpu"), 2) for side in sides]
        seen = cells.per_byte(OURS, bytes_, "interface")
        body.append([size_text(bytes_), *row,
                     number(cells.per_byte(OURS, bytes_, "payload"), 4),
                     number(seen, 3) if cells.setting.hosts > 1 else "-"])
    return head, body


def inside_cluster(name, args):
    """Runs this program on host a of a cluster; what it measured."""
    setting = SETTINGS[name]
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        words = [CLUSTER, "--hosts", setting.hosts, "--on", "a"]
        words += ["--rate", setting.rate] if setting.rate else []
        words += ["--", sys.executable, Path(__file__).resolve(), "--inside", name, "--json",
                  file.name, "--rounds", args.rounds, "--program", args.program.resolve(),
                  "--sizes", ",".join(str(b >> 10) for b in args.bytes)]
        words += ["--with-mpi-world"] if args.with_mpi_world else []
        code = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL).returncode
        if code:
            sys.exit(code)
        return json.loads(Path(file.name).read_text())


def main():
    args = arguments()
    if args.inside:
        args.json.write_text(json.dumps(measure_setting(args.inside, args)))
        return
    peers_python()
    load = os.getloadavg()[0]
    if load > 0.5:
        note(f"the machine is busy (load {load:.1f}): times will be rough")
    args.json.parent.mkdir(parents=True, exist_ok=True)
    mpi = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    mpi = f"Open MPI {mpi.splitlines()[0].split()[-1]}" if mpi else "Open MPI"
    start = time.monotonic()
    reports = {name: inside_cluster(name, args) for name in args.settings}
    versions = dict.fromkeys(v for r in reports.values() for v in r["versions"])
    setting = f"median of {args.rounds} rounds; {machine()}; {', '.join([*versions, mpi])}"
    text, markdown = [setting], [setting]
    for name, report in reports.items():
        cells = Cells(SETTINGS[name], report)
        title = f"({name}) {report['title']}"
        text.append(f"\n{title}")
        markdown.append(f"\n**{title}**")
        for head, body in (time_table(cells), bandwidth_table(cells), cost_table(cells)):
            text.append("\n" + as_text(head, body))
            markdown.append("\n" + as_markdown(head, body))
    print("\n".join(text))
    args.json.write_text(json.dumps({"setting": setting, "settings": reports}, indent=1) + "\n")
    args.json.with_suffix(".md").write_text("\n".join(markdown) + "\n")
    note(f"{time.monotonic() - start:.0f} s; written: {args.json} and .md")


if __name__ == "__main__":
    main()
