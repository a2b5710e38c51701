"""What the studies share: the program, hosts on this machine, tables, plots."""

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLUSTER = ROOT / "tools" / "cluster"
OUT = ROOT / "build" / "studies"
SYRTOS = Path(os.environ.get("SYRTOS_BIN") or ROOT / "build" / "release" / "syrtos")
QUICK = os.environ.get("QUICK", "") not in ("", "0")


def note(text):
    print(text, file=sys.stderr, flush=True)


def call(*words, timeout=600, **options):
    """Standard output of a command; raises with what it said otherwise."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=timeout, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stderr.strip()[-1500:]}")
    return done.stdout


def inside_cluster(script, arguments, hosts, rates, memory=(), on="a"):
    """Runs the script on a host of a cluster of network namespaces. rates, memory: for --rate and --memory."""
    words = [CLUSTER, "--hosts", hosts, *(w for rate in rates for w in ("--rate", rate)),
             *(w for size in memory for w in ("--memory", size)), "--on", on, "--", sys.executable, script, *arguments]
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(done.returncode)


def host_file(path, count):
    names = os.environ["SYRTOS_HOSTS"].split(",")[:count]
    Path(path).write_text("".join(f"{name} slots=1 address=10.77.0.{i + 1}\n"
                                  for i, name in enumerate(names)))
    return path


def machine():
    with open("/proc/cpuinfo") as info:
        model = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")),
                     "unknown")
    return f"{model}, {os.cpu_count()} CPUs, {datetime.date.today()}"


def as_markdown(head, body):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def save(name, data):
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / name
    path.write_text(json.dumps(data, indent=1) + "\n")
    return path


COLOURS = ("#2a6f97", "#e07a1f", "#2f9460", "#8d6cc0", "#b3361f", "#4aa5ad")


def plot(path, title, panels, x_label, y_label):
    """Line plots beside each other as SVG. panels: [(title, [(name, style, [(x, y)...])...])...];
    style: "line", "dashes" or "points"."""
    width, height, left, top = 300, 250, 44, 74
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width * len(panels) + 20} '
           f'{height + top + 40}" font-family="system-ui, sans-serif" font-size="12">',
           f'<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="16" y="24" font-size="16" font-weight="600" fill="#222">{title}</text>']
    names = list(dict.fromkeys(name for _, lines in panels for name, _, _ in lines))
    x = 16
    for i, name in enumerate(names):
        out.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{COLOURS[i % 6]}"/>'
                   f'<text x="{x + 17}" y="46" fill="#444">{name}</text>')
        x += 40 + 7 * len(name)
    for k, (panel, lines) in enumerate(panels):
        x0, inner = k * width + left, width - left - 16
        xs = [x for _, _, points in lines for x, _ in points] or [1]
        top_y = max([y for _, _, points in lines for _, y in points] + [1]) * 1.08
        low, high = min(xs), max(max(xs), min(xs) + 1)

        def at(x, y):
            return (x0 + inner * (x - low) / (high - low), top + height - height * y / top_y)

        out.append(f'<text x="{x0}" y="{top - 8}" font-weight="600" fill="#222">{panel}</text>')
        out.append(f'<path d="M{x0},{top}V{top + height}H{x0 + inner}" stroke="#999" fill="none"/>')
        step = 1 if top_y < 5 else 2 if top_y < 11 else 10 if top_y < 60 else 20
        for tick in range(0, int(top_y) + 1, step):
            y = at(low, tick)[1]
            out.append(f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#666">{tick}</text>'
                       f'<path d="M{x0},{y:.1f}h{inner}" stroke="#e5e5e5"/>')
        for x in sorted(set(xs))[:: max(1, len(set(xs)) // 8)]:
            out.append(f'<text x="{at(x, 0)[0]:.1f}" y="{top + height + 16}" text-anchor="middle" '
                       f'fill="#666">{x:g}</text>')
        for name, style, points in lines:
            colour = COLOURS[names.index(name) % 6]
            if style == "points":
                out += [f'<circle cx="{at(x, y)[0]:.1f}" cy="{at(x, y)[1]:.1f}" r="4" fill="{colour}"/>'
                        for x, y in points]
                continue
            path_text = "L".join(f"{at(x, y)[0]:.1f},{at(x, y)[1]:.1f}" for x, y in points)
            dashes = ' stroke-dasharray="5 4"' if style == "dashes" else ""
            out.append(f'<path d="M{path_text}" stroke="{colour}" stroke-width="2" fill="none"{dashes}/>')
    out.append(f'<text x="16" y="{height + top + 34}" fill="#444">{y_label} against {x_label}</text></svg>')
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("\n".join(out) + "\n")
