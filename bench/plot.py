#!/usr/bin/env python3
"""Draws build/bench/train_step.json as an SVG: how many times faster than the fastest peer.

  bench/plot.py docs/images/train_step.svg
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLOURS = {"f32": "#2a6f97", "bf16": "#e07a1f"}
WIDTH, LEFT, RIGHT, ROW, TOP = 760, 150, 70, 44, 64


def bars(results):
    """(network, precision, ratio, our ms, peer's name, peer's ms) of every measured pair."""
    for network in next(iter(results.values())):
        for precision, networks in results.items():
            row = networks[network]
            if row.get("ratio"):
                peer = row["fastest_peer"]
                yield network, precision, row["ratio"], row["ms"]["Syrtos"], peer, row["ms"][peer]


def draw(data):
    rows = list(bars(data["precisions"]))
    networks = list(dict.fromkeys(row[0] for row in rows))
    largest = max(max(row[2] for row in rows), 1.5)
    unit = (WIDTH - LEFT - RIGHT) / largest
    notes = [part.strip() for part in data["setting"].split(";")]
    height = TOP + ROW * len(networks) + 34 + 15 * len(notes)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<text x="20" y="26" font-size="17" font-weight="600" fill="#222">Training steps: times '
        'faster than the fastest of PyTorch and TensorFlow</text>',
    ]
    for i, (precision, colour) in enumerate(COLOURS.items()):
        out.append(f'<rect x="{LEFT + i * 80}" y="38" width="12" height="12" fill="{colour}"/>'
                   f'<text x="{LEFT + 18 + i * 80}" y="49" fill="#444">{precision}</text>')
    for network, precision, ratio, ours, peer, theirs in rows:
        index = list(COLOURS).index(precision)
        y = TOP + networks.index(network) * ROW + index * 19
        if index == 0:
            out.append(f'<text x="{LEFT - 10}" y="{y + 22}" text-anchor="end" fill="#222">'
                       f'{network}</text>')
        out.append(f'<rect x="{LEFT}" y="{y}" width="{ratio * unit:.1f}" height="16" '
                   f'fill="{COLOURS[precision]}"><title>{ours:.1f} ms against {theirs:.1f} ms '
                   f'({peer})</title></rect>')
        out.append(f'<text x="{LEFT + ratio * unit + 6:.1f}" y="{y + 13}" fill="#222">'
                   f'{ratio:.2f}</text>')
    bottom = TOP + ROW * len(networks)
    x = LEFT + unit
    out.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}" stroke="#888" '
               'stroke-dasharray="4 3"/>')
    out.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" fill="#666">'
               'fastest peer</text>')
    for i, text in enumerate(notes):
        out.append(f'<text x="20" y="{bottom + 36 + 15 * i}" font-size="11" fill="#666">{text}'
                   '</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    data = json.loads((ROOT / "build" / "bench" / "train_step.json").read_text())
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(draw(data))


main()
