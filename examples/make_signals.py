#!/usr/bin/env python3
"""Makes spectra to classify, as text: each line is a class and 256 values.

A spectrum is a slope, noise, and five emission lines whose places all move with the redshift; the
class is the redshift, in ten bins. Which line is which can only be told from their distances.

  examples/make_signals.py signals      # signals/train.csv (8,000 spectra), signals/test.csv (2,000)
"""
import math
import os
import random
import sys

POINTS, CLASSES = 256, 10
LINES = [(20, 1.0), (34, 0.6), (60, 0.9), (75, 0.5), (110, 1.2)]  # place at redshift 0, strength


def spectrum(rng, label):
    redshift = (label + rng.random()) / CLASSES * 1.2
    slope, level, noise = rng.uniform(-0.5, 0.5), rng.uniform(0.5, 1.5), rng.uniform(0.15, 0.3)
    width = rng.uniform(1.5, 3.0)
    values = []
    for x in range(POINTS):
        value = level + slope * x / POINTS + rng.gauss(0, noise)
        for place, strength in LINES:
            distance = (x - place * (1 + redshift)) / width
            if abs(distance) < 5:
                value += strength * math.exp(-0.5 * distance * distance)
        values.append(value)
    return values


def write(path, count, seed):
    rng = random.Random(seed)
    with open(path, "w", encoding="ascii") as file:
        for n in range(count):
            label = n % CLASSES
            print(label, *(f"{value:.4f}" for value in spectrum(rng, label)), sep=",", file=file)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    write(os.path.join(sys.argv[1], "train.csv"), 8000, 1)
    write(os.path.join(sys.argv[1], "test.csv"), 2000, 2)
