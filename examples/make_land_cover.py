#!/usr/bin/env python3
"""Makes scenes of land to classify by what covers most of them, as four instruments see them. They are made up.

A scene is 64x64 pixels of one cover with patches of another. What each cover looks like follows what is
published of such instruments in rough numbers: reflectance in ten bands of a multispectral camera, backscatter
in two polarisations of a radar with speckle, how rough and steep the land is, and the spectrum of the scene's
middle with the absorption of chlorophyll, water and clay. Covers that one instrument confuses another tells
apart: bare and urban land by radar, shrubs and forest by radar and height, wetland and water by the spectrum;
a third of the scenes is hazy for the camera.

A sample is a picture of 788x64 bytes, one instrument below the other, as the network land-cover takes them.

  examples/make_land_cover.py land-cover.npz     # 640 scenes to train with, 160 to test
"""
import argparse
import array
import math
import random
import struct
import zipfile

SIDE = 64
BANDS = (490, 560, 665, 705, 740, 783, 842, 865, 1610, 2190)  # nm
POINTS = 4 * SIDE  # of a spectrum, 400 to 2400 nm
HAZY = 1 / 3

# Reflectance at BANDS; contrast and grain (pixels) of its texture; backscatter in dB, like and cross polarised;
# roughness and slope of the land in m across a scene; chlorophyll, water and clay in the spectrum.
COVERS = {
    "water": ((.06, .05, .03, .02, .02, .015, .01, .01, .005, .004), .05, 16, (-20, -26), (0.5, 0), (0, 1, 0)),
    "wetland": ((.05, .07, .06, .10, .17, .20, .21, .21, .12, .06), .20, 6, (-12, -18), (1, 1), (.5, .7, 0)),
    "forest": ((.03, .05, .03, .08, .22, .27, .29, .30, .14, .06), .25, 3, (-9, -14), (12, 30), (1, .4, 0)),
    "shrub": ((.04, .06, .05, .10, .20, .24, .26, .26, .18, .10), .25, 4, (-11, -17), (5, 20), (.7, .2, .1)),
    "grass": ((.05, .09, .07, .13, .26, .31, .33, .33, .24, .13), .10, 10, (-13, -20), (2, 8), (.8, .3, 0)),
    "crops": ((.05, .08, .07, .13, .25, .31, .34, .35, .23, .13), .15, 20, (-11, -17), (1, 3), (.9, .3, .1)),
    "urban": ((.11, .13, .15, .16, .18, .19, .20, .21, .23, .20), .40, 3, (-5, -12), (6, 5), (.1, 0, .3)),
    "bare": ((.10, .14, .18, .20, .22, .23, .25, .26, .32, .29), .15, 12, (-14, -23), (3, 12), (0, 0, 1)),
}
NAMES = tuple(COVERS)
NOISE_TABLE = 1 << 16


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.noise = [self.random.gauss(0, 1) for _ in range(NOISE_TABLE)]

    def white(self, count):
        """Normal noise of which no two scenes have the same piece."""
        begin = self.random.randrange(NOISE_TABLE - count)
        return self.noise[begin:begin + count]

    def smooth(self, side, grain):
        """Normal noise whose neighbours within `grain` pixels are alike, by rows."""
        coarse = side // grain + 2
        grid = [[self.random.gauss(0, 1.4) for _ in range(coarse)] for _ in range(coarse)]
        shift = self.random.random()
        places = [divmod(n / grain + shift, 1) for n in range(side)]
        values = []
        for row, down in places:
            above, below = grid[int(row)], grid[min(int(row) + 1, coarse - 1)]
            line = [a + down * (b - a) for a, b in zip(above, below)]
            line.append(line[-1])
            values += [line[int(x)] + part * (line[int(x) + 1] - line[int(x)]) for x, part in places]
        return values

    def covers(self, cover, other):
        """Which of two covers each pixel has: the first one most of them, and the middle."""
        patches = self.smooth(SIDE, 12)
        limit = sorted(patches)[int(len(patches) * self.random.uniform(0.6, 0.95))]
        middle = range(SIDE // 2 - 4, SIDE // 2 + 4)
        return [cover if value <= limit or (n // SIDE in middle and n % SIDE in middle) else other
                for n, value in enumerate(patches)]

    def optical(self, pixels, pair):
        haze = self.random.uniform(0.3, 0.8) if self.random.random() < HAZY else 0
        light = self.random.uniform(0.8, 1.2)
        texture = {name: self.smooth(SIDE, COVERS[name][2]) for name in pair}
        values = []
        for band, wavelength in enumerate(BANDS):
            veil = haze * (500 / wavelength)  # short waves suffer most
            seen = {name: [light * COVERS[name][0][band] * (1 + COVERS[name][1] * t) for t in texture[name]]
                    for name in pair}
            values += [(1 - veil) * seen[name][n] + 0.3 * veil + 0.006 * noise
                       for n, (name, noise) in enumerate(zip(pixels, self.white(SIDE * SIDE)))]
        return [value / 0.6 for value in values]

    def radar(self, pixels):
        wet = self.random.gauss(0, 1)  # dB: of the day
        values = []
        for polarisation in range(2):
            values += [COVERS[name][3][polarisation] + wet + 2.2 * speckle
                       for name, speckle in zip(pixels, self.white(SIDE * SIDE))]
        return [(value + 35) / 40 for value in values]

    def elevation(self, cover):
        side = SIDE // 2
        rough, slope = COVERS[cover][4]
        rough, slope = rough * self.random.lognormvariate(0, 0.3), slope * self.random.lognormvariate(0, 0.5)
        towards = self.random.uniform(0, 2 * math.pi)
        east, north = slope * math.cos(towards) / side, slope * math.sin(towards) / side
        small, large = self.smooth(side, 3), self.smooth(side, 10)
        return [0.5 + (rough * (0.6 * small[n] + large[n]) + east * (n % side - side / 2) +
                       north * (n // side - side / 2)) / 100 for n in range(side * side)]

    def spectrum(self, cover):
        reflectance = COVERS[cover][0]
        chlorophyll, water, clay = COVERS[cover][5]
        light, places = self.random.uniform(0.8, 1.2), (400, *BANDS, 2400)
        ends = (reflectance[0] * 0.8, *reflectance, reflectance[-1] * 0.9)
        values = []
        for point, noise in enumerate(self.white(POINTS)):
            wavelength = 400 + 2000 * point / (POINTS - 1)
            after = next(i for i, place in enumerate(places) if wavelength <= place)
            low, high = places[max(after - 1, 0)], places[after]
            part = (wavelength - low) / (high - low) if high > low else 0
            value = ends[max(after - 1, 0)] + part * (ends[after] - ends[max(after - 1, 0)])
            for centre, width, depth in ((680, 30, chlorophyll), (970, 40, water), (1450, 80, water),
                                         (1940, 90, water), (2200, 30, clay)):
                value *= 1 - 0.5 * depth * math.exp(-0.5 * ((wavelength - centre) / width) ** 2)
            values.append((light * value + 0.01 * noise) / 0.6)
        return values

    def scene(self, cover):
        other = self.random.choice([name for name in NAMES if name != cover])
        pixels = self.covers(cover, other)
        values = self.optical(pixels, (cover, other)) + self.radar(pixels) + self.elevation(cover)
        return bytes(max(0, min(255, int(256 * value))) for value in values + self.spectrum(cover))


def scenes(count, seed):
    maker, labels = Maker(seed), array.array("i", (n % len(NAMES) for n in range(count)))
    return b"".join(maker.scene(NAMES[label]) for label in labels), labels.tobytes()


def npy(data, kind, shape):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def make(path, count, tests):
    with zipfile.ZipFile(path, "w") as archive:
        for name, number, seed in (("train", count, 1), ("test", tests, 2)):
            x, y = scenes(number, seed)
            archive.writestr(f"x_{name}.npy", npy(x, "|u1", (number, len(x) // number // SIDE, SIDE)))
            archive.writestr(f"y_{name}.npy", npy(y, "<i4", (number,)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--scenes", type=int, default=640, help="to train with")
    parser.add_argument("--tests", type=int, default=160, help="to test with")
    given = parser.parse_args()
    make(given.path, given.scenes, given.tests)
