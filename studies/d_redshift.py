#!/usr/bin/env python3
"""Study D: how the redshift of galaxies is learnt by 1 to 8 workers, and what it matters how the spectra are
divided between them.

The spectra are made up, from what is known of galaxies: types with their continuum, break at 4000 A, absorption
and emission lines at rest wavelengths; moved by the redshift, seen with the resolution of a survey's spectrograph,
with noise that is stronger where the sky glows. The class is the redshift, in 16 bins. They lie in the file as a
survey would have them, one kind of galaxy after the other.
"""

import argparse
import array
import json
import math
import random
import shutil
import struct
import zipfile
from pathlib import Path

from common import OUT, QUICK, SYRTOS, as_markdown, call, machine, note, plot, save

POINTS, BINS = 256, 16
SHORTEST, LONGEST = 4000.0, 9200.0  # what the spectrograph sees, in Angstrom; points are even in the logarithm
NEAREST, FARTHEST = 0.02, 0.42
RESOLUTION = 700.0
SKY = ((5577.0, 4.0), (5893.0, 2.0), (6300.0, 3.0), (8400.0, 2.0), (8850.0, 2.0))  # place, noise there

# Rest wavelengths in vacuum (Angstrom) and typical depths or heights beside the continuum.
ABSORBED = {"Ca K": (3934.8, 0.35), "Ca H": (3969.6, 0.30), "G": (4305.6, 0.18), "Mg b": (5176.6, 0.20),
            "Na D": (5895.6, 0.12)}
EMITTED = {"O II": (3728.5, 1.0), "H beta": (4862.7, 0.5), "O III a": (4960.3, 0.35), "O III": (5008.2, 1.05),
           "H alpha": (6564.6, 1.6), "N II": (6585.3, 0.45), "S II": (6725.0, 0.4)}
# Kind -> break at 4000 A, slope of the continuum, strength of absorption, of emission, share of the survey.
KINDS = {"elliptical": (0.55, 0.6, 1.0, 0.03, 0.3), "spiral": (0.35, 0.0, 0.6, 0.5, 0.45),
         "starburst": (0.12, -0.8, 0.2, 1.6, 0.25)}
GRID = [SHORTEST * (LONGEST / SHORTEST) ** (n / (POINTS - 1)) for n in range(POINTS)]
PER_POINT = math.log(LONGEST / SHORTEST) / (POINTS - 1)

POLICIES = ("shuffled", "contiguous", "by-class", "replicated:0.25", "unequal")
WAYS = ("join", "local:32")  # gradients averaged in each step; weights averaged after 32 steps


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=2400 if QUICK else 8000)
    parser.add_argument("--epochs", type=int, default=3 if QUICK else 8)
    parser.add_argument("--workers", default="1,4" if QUICK else "1,2,4,8", help="of the curves by workers")
    parser.add_argument("--of", type=int, default=4, help="workers of the curves by policy")
    args = parser.parse_args()
    args.workers = [int(n) for n in args.workers.split(",")]
    return args


def add_line(values, place, height):
    """A line as wide as the spectrograph makes it; below 0: absorbed."""
    centre = math.log(place / SHORTEST) / PER_POINT
    sigma = max(0.8, 1 / RESOLUTION / 2.35 / PER_POINT)
    for n in range(max(0, int(centre - 5 * sigma)), min(POINTS, int(centre + 5 * sigma) + 2)):
        values[n] += height * math.exp(-0.5 * ((n - centre) / sigma) ** 2)


def spectrum(rng, kind, redshift):
    drop, slope, absorption, emission, _ = KINDS[kind]
    drop, slope = drop * rng.uniform(0.7, 1.2), slope + rng.gauss(0, 0.25)
    values = []
    for wavelength in GRID:
        rest = wavelength / (1 + redshift)
        beyond = 1 / (1 + math.exp(-(rest - 4000) / 25))  # the break, not quite sharp
        values.append((1 - drop + drop * beyond) * (rest / 5500) ** slope)
    age, activity = rng.uniform(0.6, 1.3), rng.lognormvariate(0, 0.5)
    for place, depth in ABSORBED.values():
        add_line(values, place * (1 + redshift), -depth * absorption * age)
    for place, height in EMITTED.values():
        add_line(values, place * (1 + redshift), height * emission * activity * rng.uniform(0.7, 1.3))
    noise, brightness = rng.uniform(0.08, 0.25), rng.uniform(0.5, 2.0)
    for n, wavelength in enumerate(GRID):
        glow = 1 + sum(much for place, much in SKY if abs(wavelength - place) < 20)
        values[n] = brightness * (values[n] + rng.gauss(0, noise * glow))
    return values


def survey(samples, seed):
    """Spectra and classes, one kind of galaxy after the other."""
    rng, x, y = random.Random(seed), array.array("f"), array.array("i")
    for kind, properties in KINDS.items():
        for _ in range(round(samples * properties[-1])):
            redshift = rng.uniform(NEAREST, FARTHEST)
            x.extend(spectrum(rng, kind, redshift))
            y.append(int((redshift - NEAREST) / (FARTHEST - NEAREST) * BINS))
    return x, y


def npy(values, kind, shape):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values.tobytes()


def make_data(samples):
    path = OUT / f"d-spectra-{samples}.npz"
    if path.exists():
        return path
    note(f"making {samples} spectra and a quarter as many to test with")
    OUT.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w") as archive:
        for name, count, seed in (("train", samples, 1), ("test", samples // 4, 2)):
            x, y = survey(count, seed)
            archive.writestr(f"x_{name}.npy", npy(x, "<f4", (len(y), 1, POINTS)))
            archive.writestr(f"y_{name}.npy", npy(y, "<i4", (len(y),)))
    unfinished.rename(path)
    return path


def policy_of(name, workers):
    """Unequal: half of the data is one worker's."""
    return f"unequal:{','.join([str(workers - 1)] + ['1'] * (workers - 1))}" if name == "unequal" else name


def train(data, args, workers, sync, policy):
    run = OUT / "d-run"
    shutil.rmtree(run, ignore_errors=True)
    try:
        call(SYRTOS, "train", "--network", "redshift-cnn", "--data", data, "--epochs", args.epochs, "--batch", 32,
             "--optimizer", "adam", "--lr", 0.002, "--schedule", "cosine", "--precision", "f32", "--threads", 1,
             "--workers", workers, *(("--sync", sync, "--shard", policy_of(policy, workers)) if workers > 1 else ()),
             "--no-replace", "--seed", 3, "--run", run, "--json", timeout=3600)
        epochs = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    finally:
        shutil.rmtree(run, ignore_errors=True)
    seconds, curve = 0.0, []
    for epoch in epochs:
        seconds += epoch["samples"] / epoch["images_per_s"]
        curve.append({"epoch": epoch["epoch"], "seconds": seconds, "accuracy": 100 * epoch["test_accuracy"],
                      "loss": epoch["train_loss"], "train_accuracy": 100 * epoch["train_accuracy"]})
    note(f"{workers} workers, {sync}, {policy}: {curve[-1]['accuracy']:.1f} % after {seconds:.0f} s")
    return {"workers": workers, "sync": sync, "policy": policy, "curve": curve}


def curves(found, label, x):
    return [(label(one), "line", [(point[x], point["accuracy"]) for point in one["curve"]]) for one in found]


def draw(by_workers, by_policy):
    def name(one):
        return f"{one['workers']} worker{'s' if one['workers'] > 1 else ''}"

    for x, words in (("epoch", "epoch"), ("seconds", "seconds of training")):
        plot(OUT / f"d-workers-{x}.svg", "Redshift: accuracy by number of workers, spectra dealt anew",
             [(f"--sync {sync}", curves([one for one in by_workers if one["sync"] == sync], name, x))
              for sync in WAYS], words, "test accuracy, %")
    plot(OUT / "d-policies.svg", f"Redshift: accuracy by how spectra are divided, {by_policy[0]['workers']} workers",
         [(f"--sync {sync}", curves([one for one in by_policy if one["sync"] == sync],
                                     lambda one: one["policy"], "epoch")) for sync in WAYS], "epoch", "test accuracy, %")


def main():
    args = arguments()
    data = make_data(args.samples)
    by_workers = [train(data, args, workers, sync, "shuffled") for sync in WAYS for workers in args.workers]
    by_policy = [train(data, args, args.of, sync, policy) for sync in WAYS for policy in POLICIES]
    save("d.json", {"machine": machine(), "samples": args.samples, "runs": by_workers + by_policy})
    rows = [[one["sync"], one["workers"], one["policy"], f"{one['curve'][-1]['loss']:.3f}",
             f"{one['curve'][-1]['train_accuracy']:.1f}", f"{one['curve'][-1]['accuracy']:.1f}",
             f"{one['curve'][-1]['seconds']:.0f}"] for one in by_workers + by_policy]
    table = as_markdown(["sync", "workers", "shard", "training loss", "training accuracy, %", "test accuracy, %",
                         "seconds"], rows)
    (OUT / "d.md").write_text(f"{machine()}\n\n{table}\n")
    draw(by_workers, by_policy)
    print(table)
    note(f"written: {OUT}/d.json, d.md, d-*.svg")


if __name__ == "__main__":
    main()
