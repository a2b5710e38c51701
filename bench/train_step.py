#!/usr/bin/env python3
"""Training steps side by side: PyTorch, TensorFlow and Syrtos, interleaved in one run.

Every measurement is a process of its own, so that its peak memory is its own. The first
round measures every variant; later rounds only those peers that can still be the fastest
(or PyTorch's smallest), and Syrtos. Standard library only: the peers run in their own
environment, build/peers, or with the interpreter that PEERS_PYTHON names.
"""

import argparse
import dataclasses
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"
OUT = ROOT / "build" / "bench"
sys.dont_write_bytecode = True
sys.path.insert(0, str(PEERS))
from measure import CHARACTERS, IMPORTED, INPUTS, SEQUENCES  # noqa: E402

BATCH = 42
NEAR_FASTEST = 1.25  # peers within this factor of round one's fastest stay in the race
TIMEOUT_S = 900
OURS = "Syrtos"
SIZES = INPUTS | IMPORTED | SEQUENCES
# Networks of our own that are measured by their ONNX file too.
BY_FILE = ("resnet18",)
OURS_BY_FILE = "Syrtos, ONNX file"


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    script: str
    options: tuple
    compiled: bool = False


VARIANTS = (
    Variant("PyTorch", "torch_step.py", ("--mode", "eager")),
    Variant("PyTorch cl", "torch_step.py", ("--mode", "eager", "--layout", "channels_last")),
    Variant("PyTorch comp", "torch_step.py", ("--mode", "compile"), True),
    Variant("PyTorch comp cl", "torch_step.py",
            ("--mode", "compile", "--layout", "channels_last"), True),
    Variant("TF", "tensorflow_step.py", ("--mode", "function")),
    Variant("TF XLA", "tensorflow_step.py", ("--mode", "xla"), True),
)


def note(text):
    print(text, file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--networks", default=",".join(INPUTS | IMPORTED), help="comma-separated")
    has_bf16 = "_bf16" in machine()
    parser.add_argument("--precisions", default="f32,bf16" if has_bf16 else "f32",
                        help="comma-separated; bf16 where the CPU computes in it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="per measurement of a peer")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu-time", action="store_true",
                        help="processor time of steps in place of their duration, for a machine that is busy; "
                             "PyTorch alone, best with --threads 1")
    parser.add_argument("--quick", action="store_true", help="skip the compiled variants")
    parser.add_argument("--all", action="store_true", help="every peer in every round")
    parser.add_argument("--peers-only", action="store_true", help="without Syrtos")
    parser.add_argument("--syrtos", default=str(ROOT / "build/release/syrtos"), help="its binary")
    args = parser.parse_args()
    args.networks = args.networks.split(",")
    args.precisions = args.precisions.split(",")
    for given, known in ((args.networks, SIZES), (args.precisions, ("f32", "bf16"))):
        for name in given:
            if name not in known:
                parser.error(f'"{name}" is unknown; expected one of {", ".join(known)}')
    if args.rounds < 1:
        parser.error(f"--rounds: expected at least 1, found {args.rounds}")
    if not args.peers_only and not Path(args.syrtos).is_file():
        parser.error(f"{args.syrtos} is not there: run make build, or use --peers-only")
    return args


def peers_python():
    python = os.environ.get("PEERS_PYTHON") or str(ROOT / "build/peers/bin/python")
    if not Path(python).is_file():
        sys.exit(f"bench: no interpreter with the peers\n  expected: {python}\n  found:    nothing"
                 "\n  to do:    run tools/bootstrap bench, or set PEERS_PYTHON")
    return python


def wait(process):
    """Waits for the process; what it used as the kernel counts it, None if too late."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage
        time.sleep(0.02)
    process.kill()
    process.wait()
    return None


def run(command, figure="t_step_ms"):
    """Runs one measurement; returns (result, None) or (None, why it failed)."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1",
                       TORCHINDUCTOR_CACHE_DIR=str(OUT / "inductor"))
    with open(OUT / "last.stdout", "w+") as output, open(OUT / "last.stderr", "w+") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=environment)
        usage = wait(process)
        if usage is None:
            return None, f"no result after {TIMEOUT_S} s"
        output.seek(0)
        errors.seek(0)
        lines = output.read().strip().splitlines()
        said = [line.strip() for line in errors if line.strip()]
    if process.returncode != 0:
        telling = [line for line in said if "rror" in line] or said
        return None, f"exit {process.returncode}: {telling[0][:160] if telling else 'no message'}"
    try:
        result = json.loads(lines[-1])
        if not (math.isfinite(result[figure]) and result[figure] > 0):
            return None, f"{figure} is {result[figure]}"
        # Peers count without the compilers they start; who says nothing or less is corrected.
        if "framework" not in result:
            result["peak_rss_mb"] = max(result.get("peak_rss_mb", 0), usage.ru_maxrss / 1024)
        result["cpu_s"] = usage.ru_utime + usage.ru_stime
        return result, None
    except (ValueError, KeyError, IndexError) as error:
        return None, f"no JSON with {figure} on stdout ({error})"


def run_for_cpu_time(command):
    """Of our program: what longer measuring costs more, by the steps that it takes more."""
    found = []
    for times in (1, 4):
        at = command.index("--seconds") + 1
        longer = [*command[:at], str(float(command[at]) * times), *command[at + 1:]]
        result, failure = run(longer)
        if failure:
            return None, failure
        found.append(result)
    short, long = found
    if long["steps"] <= short["steps"]:
        return None, f"no more steps in {command[command.index('--seconds') + 1]} s times 4: use --seconds"
    cpu_ms = 1e3 * (long["cpu_s"] - short["cpu_s"]) / (long["steps"] - short["steps"])
    return {**long, "t_step_ms": cpu_ms, "t_fastest_ms": cpu_ms}, None


def command_of(variant, network, precision, args, python):
    size = SIZES[network]
    common = ["--batch", str(BATCH), "--input", str(size), "--precision", precision,
              "--threads", str(args.threads), "--seconds", str(args.seconds)]
    if variant in (OURS, OURS_BY_FILE):
        image, classes = (f"1x1x{size}", CHARACTERS) if network in SEQUENCES else (f"3x{size}x{size}", 10)
        by_file = network in IMPORTED or variant == OURS_BY_FILE
        return [args.syrtos, "probe", "compute", "--network",
                str(onnx_file(network)) if by_file else network, *common, "--input", image,
                "--classes", str(classes), "--json"]
    return [python, str(PEERS / variant.script), *variant.options, "--network", network, *common,
            *(["--cpu-time"] if args.cpu_time else [])]


def onnx_file(network):
    return OUT / "onnx" / f"{network}-{SIZES[network]}.onnx"


def export_networks(args, python):
    """What we read as ONNX files, written by PyTorch; once."""
    if args.peers_only:
        return
    for network in args.networks:
        file = onnx_file(network)
        if (network not in IMPORTED and network not in BY_FILE) or file.is_file():
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        done = subprocess.run([python, str(PEERS / "torchvision_networks.py"), network, str(SIZES[network]),
                               str(partial)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"bench: PyTorch could not export {network}: {done.stderr.strip()[-500:]}")
        partial.replace(file)


class Cell:
    """All measurements of one network in one precision, per variant."""

    def __init__(self):
        self.results = {}  # name -> one result per round
        self.failures = {}  # name -> reason

    def median(self, name, key):
        values = [r[key] for r in self.results.get(name, ()) if key in r]
        return statistics.median(values) if values else None

    def peers(self, prefix=""):
        return [n for n in self.results if n not in (OURS, OURS_BY_FILE) and n.startswith(prefix)]

    def fastest(self, prefix=""):
        return min(self.peers(prefix), key=lambda n: self.median(n, "t_step_ms"), default=None)

    def smallest(self, prefix):
        return min(self.peers(prefix), key=lambda n: self.median(n, "peak_rss_mb"), default=None)

    def summary(self):
        best, torch = self.fastest(), self.fastest("PyTorch")
        small = self.smallest("PyTorch")
        row = {
            "ms": {n: self.median(n, "t_step_ms") for n in self.results},
            "peak_mb": {n: self.median(n, "peak_rss_mb") for n in self.results},
            "fastest_peer": best,
            "torch_fastest_mb": self.median(torch, "peak_rss_mb") if torch else None,
            "torch_smallest_mb": self.median(small, "peak_rss_mb") if small else None,
            "failures": self.failures,
        }
        ours, ours_mb = self.median(OURS, "t_step_ms"), self.median(OURS, "peak_rss_mb")
        row["ratio"] = self.median(best, "t_step_ms") / ours if best and ours else None
        # Against the fastest PyTorch: the two columns of a row then mean the same program.
        row["mb_ratio"] = (row["torch_fastest_mb"] / ours_mb) if torch and ours_mb else None
        row["mb_ratio_smallest"] = (row["torch_smallest_mb"] / ours_mb) if small and ours_mb else None
        return row


def contenders(cell, variants, args, round_):
    if round_ == 0 or args.all:
        return list(variants)
    best, small = cell.fastest(), cell.smallest("PyTorch")
    torch = cell.fastest("PyTorch")
    # By the fastest step, not the median: a disturbed round must not throw a peer out.
    shortest = {n: min(r["t_fastest_ms"] for r in cell.results[n]) for n in cell.peers()}
    limit = NEAR_FASTEST * min(shortest.values(), default=math.inf)
    return [v for v in variants if v.name in shortest and
            (v.name in (best, small, torch) or shortest[v.name] <= limit)]


def has_network(variant, network):
    if network in SEQUENCES:  # in one layout
        return variant.name in ("PyTorch", "PyTorch comp")
    return network in INPUTS or variant.name.startswith("PyTorch")


def measure_all(args, python):
    variants = [v for v in VARIANTS if not (args.quick and v.compiled)]
    cells = {(n, p): Cell() for p in args.precisions for n in args.networks}
    facts = {}
    start = time.monotonic()
    for round_ in range(args.rounds):
        for (network, precision), cell in cells.items():
            of_network = [v for v in variants if has_network(v, network) and
                          (v.name.startswith("PyTorch") or not args.cpu_time)]
            runs = contenders(cell, of_network, args, round_)
            if round_ % 2:
                runs.reverse()  # drift of the machine hits first and last alike
            if not args.peers_only:
                ours = [OURS, OURS_BY_FILE] if network in BY_FILE else [OURS]
                runs[len(runs) // 2:len(runs) // 2] = ours[::-1] if round_ % 2 else ours
            for variant in runs:
                name = variant if isinstance(variant, str) else variant.name
                command = command_of(variant, network, precision, args, python)
                is_ours = isinstance(variant, str)
                result, failure = run_for_cpu_time(command) if is_ours and args.cpu_time else run(command)
                where = f"[{time.monotonic() - start:5.0f} s] round {round_ + 1}/{args.rounds} " \
                        f"{network} {precision} {name}"
                if failure:
                    cell.failures[name] = failure
                    note(f"{where}: failed: {failure}")
                    continue
                cell.results.setdefault(name, []).append(result)
                if "framework" in result:
                    facts[result["framework"]] = True
                note(f"{where}: {result['t_step_ms']:.2f} ms, "
                     f"{result.get('peak_rss_mb', float('nan')):.0f} MB")
    for (network, _), cell in cells.items():
        counts = {n: rs[0]["parameters"] for n, rs in cell.results.items() if "parameters" in rs[0]}
        if len(set(counts.values())) > 1:
            sys.exit(f"bench: {network} is not the same network everywhere: parameters {counts}")
    return cells, sorted(facts)


def geometric_mean(values):
    values = [v for v in values if v]
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else None


def number(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def ms(value):
    return number(value, 2 if value is not None and value < 10 else 0 if value and value >= 100 else 1)


def table(precision, rows, names, peers_only):
    """Header and body, as text cells; the last row holds the geometric means."""
    head = ["network", *names]
    if not peers_only:
        head += [OURS, "ratio"]
    head += ["PT MB", "PT min MB"]
    if not peers_only:
        head += ["our MB", "MB ratio", "(min)"]
    body = []
    for network, row in rows.items():
        # A star marks the fastest peer.
        line = [network] + [ms(row["ms"].get(n)) + ("*" if n == row["fastest_peer"] else "")
                            for n in names]
        if not peers_only:
            line += [ms(row["ms"].get(OURS)), number(row["ratio"], 2)]
        line += [number(row["torch_fastest_mb"], 0), number(row["torch_smallest_mb"], 0)]
        if not peers_only:
            line += [number(row["peak_mb"].get(OURS), 0), number(row["mb_ratio"], 2),
                     number(row["mb_ratio_smallest"], 2)]
        body.append(line)
    if not peers_only:
        means = {key: number(geometric_mean(r[key] for r in rows.values()), 2)
                 for key in ("ratio", "mb_ratio", "mb_ratio_smallest")}
        body.append(["geometric mean"] + [""] * (len(names) + 1) + [means["ratio"], "", "", "",
                                                                     means["mb_ratio"],
                                                                     means["mb_ratio_smallest"]])
    return head, body


def as_text(head, body):
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    lines = []
    for line in [head, *body]:
        cells = [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * max(len(line) for line in lines))
    return "\n".join(lines)


def as_markdown(head, body):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine():
    model, flags = platform.machine(), ""
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
            elif line.startswith("flags"):
                flags = line
                break
    has = [f for f in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if f" {f}" in flags]
    return f"{model}, {os.cpu_count()} CPUs, {' '.join(has)}"


def main():
    args = arguments()
    python = peers_python()
    OUT.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    if load > 0.5:
        note(f"the machine is busy (load {load:.1f}): times will be rough")
    export_networks(args, python)
    cells, frameworks = measure_all(args, python)

    setting = (f"{'processor time; ' if args.cpu_time else ''}batch {BATCH}, SGD with momentum 0.9, {args.threads} threads, median of "
               f"{args.rounds} rounds; {machine()}; {', '.join(frameworks)}")
    names = [v.name for v in VARIANTS if not (args.quick and v.compiled)]
    report = {"setting": setting, "precisions": {}}
    text, markdown = [setting], [setting]
    for precision in args.precisions:
        rows = {n: cells[n, precision].summary() for n in args.networks}
        report["precisions"][precision] = {
            n: {**row, "rounds": cells[n, precision].results} for n, row in rows.items()}
        head, body = table(precision, rows, names, args.peers_only)
        text += [f"\n{precision}: ms per training step (* fastest peer), peak memory in MB",
                 as_text(head, body)]
        markdown += [f"\n### {precision}\n", as_markdown(head, body)]
        for network, row in rows.items():
            text += [f"{network}: {n} failed: {why}" for n, why in row["failures"].items()]
            by_file, ours = row["ms"].get(OURS_BY_FILE), row["ms"].get(OURS)
            if by_file and ours:
                said = f"{network}: {ms(by_file)} ms by its ONNX file, {by_file / ours:.3f} of the network's that is built in"
                text.append(said)
                markdown.append(f"\n{said}")
    legend = ("ratio: fastest peer / Syrtos. cl: channels last; comp: torch.compile. PT MB: peak of "
              "the fastest PyTorch, PT min MB: of its smallest variant; MB ratio: those / Syrtos.")
    text.append("\n" + legend)
    markdown.append("\n" + legend)
    print("\n".join(text))
    for path, content in ((OUT / "train_step.json", json.dumps(report, indent=1)),
                          (OUT / "train_step.md", "\n".join(markdown))):
        partial = path.with_suffix(path.suffix + ".partial")
        partial.write_text(content + "\n")
        partial.replace(path)
    note(f"written: {OUT.relative_to(ROOT)}/train_step.json and .md")
    if any(OURS in cell.failures for cell in cells.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
