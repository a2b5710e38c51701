#!/usr/bin/env python3
"""Draws the accuracy of runs over their epochs as one SVG, a panel for each run.

  bench/plot_runs.py docs/images/accuracy.svg "LeNet-5, MNIST"=runs/a "LeNet-5, CIFAR-10"=runs/b
"""
import json
import sys
from pathlib import Path

PANEL_W, PANEL_H, LEFT, TOP, GAP = 300, 190, 46, 56, 34
TRAIN, TEST = "#9db8c9", "#2a6f97"


def points(run):
    for line in (Path(run) / "metrics.jsonl").read_text().splitlines():
        yield json.loads(line)


def ticks(low):
    step = 1 if low >= 97 else 5 if low >= 75 else 10 if low >= 50 else 20
    return [v for v in range(0, 101, step) if v >= low]


def panel(title, epochs, x0, y0):
    shown = [100 * e["train_accuracy"] for e in epochs]
    tests = [(e["epoch"], 100 * e["test_accuracy"]) for e in epochs if "test_accuracy" in e]
    low = max(0, min(min(shown), min(v for _, v in tests)) - 1)
    last = epochs[-1]["epoch"]

    def x(epoch):
        return x0 + LEFT + (PANEL_W - LEFT - 10) * ((epoch - 1) / max(1, last - 1))

    def y(value):
        return y0 + PANEL_H * (100 - value) / (100 - low)

    out = [f'<text x="{x0 + LEFT}" y="{y0 - 12}" font-weight="600" fill="#222">{title}: '
           f'{tests[-1][1]:.2f} %</text>']
    for value in ticks(low):
        out.append(f'<line x1="{x0 + LEFT}" y1="{y(value):.1f}" x2="{x0 + PANEL_W - 10}" '
                   f'y2="{y(value):.1f}" stroke="#e4e4e4"/><text x="{x0 + LEFT - 6}" '
                   f'y="{y(value) + 4:.1f}" text-anchor="end" fill="#666">{value} %</text>')
    for epoch in sorted({1, last, (1 + last) // 2}):
        out.append(f'<text x="{x(epoch):.1f}" y="{y0 + PANEL_H + 16}" text-anchor="middle" '
                   f'fill="#666">{epoch}</text>')
    for colour, line in ((TRAIN, [(e["epoch"], v) for e, v in zip(epochs, shown)]), (TEST, tests)):
        path = " ".join(f"{x(e):.1f},{y(v):.1f}" for e, v in line)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x(e):.1f}" cy="{y(v):.1f}" r="2.5" fill="{colour}"/>'
                for e, v in line]
    return out


def main():
    if len(sys.argv) < 3 or any("=" not in run for run in sys.argv[2:]):
        sys.exit(__doc__)
    runs = [argument.split("=", 1) for argument in sys.argv[2:]]
    rows = (len(runs) + 1) // 2
    width, height = 2 * PANEL_W + GAP + 20, TOP + rows * (PANEL_H + 64) + 6
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           'font-family="system-ui, sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           f'<circle cx="{LEFT + 4}" cy="18" r="4" fill="{TEST}"/><text x="{LEFT + 14}" y="22" '
           'fill="#444">test accuracy</text>'
           f'<circle cx="{LEFT + 124}" cy="18" r="4" fill="{TRAIN}"/><text x="{LEFT + 134}" y="22" '
           'fill="#444">training accuracy (augmented, while learning), over epochs</text>']
    for n, (title, run) in enumerate(runs):
        out += panel(title, list(points(run)), (n % 2) * (PANEL_W + GAP),
                     TOP + 8 + (n // 2) * (PANEL_H + 64))
    Path(sys.argv[1]).write_text("\n".join([*out, "</svg>"]) + "\n")


main()
