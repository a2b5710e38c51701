#!/usr/bin/env python3
"""Makes a folder of few pictures, to see what weights of another task are good for: Fashion-MNIST's
first 20 of each of ten classes to learn from and 200 of each to measure with, as colour pictures of
32x32 pixels.

  syrtos data get fashion-mnist
  examples/few_pictures.py ~/.cache/syrtos/data/fashion-mnist fashion-200
"""
import os
import struct
import sys

CLASSES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle-boot")
SIDE, BORDER = 28, 2


def samples_of(file):
    """(label, pixels) of a pack of raw samples; src/syrtos/data/pack/pack.h has the layout."""
    with open(file, "rb") as pack:
        data = pack.read()
    directory, samples, blocks, _, payload = struct.unpack_from("<QQQQI", data, len(data) - 64)
    if data[:8] != b"SYRTOSPK" or payload != 0:
        sys.exit(f"few_pictures: expected a pack of raw samples, found another file: {file}")
    labels = struct.unpack_from(f"<{samples}i", data, directory)
    at = directory + (4 * samples + 7) // 8 * 8
    table = [struct.unpack_from("<QQQ", data, at + 24 * block) for block in range(blocks)]
    size = SIDE * SIDE
    for (offset, first, _), after in zip(table, [*(block[1] for block in table[1:]), samples]):
        for i in range(after - first):
            yield labels[first + i], data[offset + i * size:offset + (i + 1) * size]


def as_picture(pixels):
    """In colour, with a border of black."""
    black = bytes(SIDE + 2 * BORDER)
    rows = [black] * BORDER
    rows += [bytes(BORDER) + pixels[y * SIDE:(y + 1) * SIDE] + bytes(BORDER) for y in range(SIDE)]
    rows += [black] * BORDER
    grey = b"".join(rows)
    return b"P6\n%d %d\n255\n" % (len(black), len(rows)) + bytes(v for value in grey for v in (value,) * 3)


def write(pack, folder, of_each):
    written = [0] * len(CLASSES)
    for label, pixels in samples_of(pack):
        if written[label] == of_each:
            continue
        place = os.path.join(folder, CLASSES[label])
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, f"{written[label]:03}.ppm"), "wb") as out:
            out.write(as_picture(pixels))
        written[label] += 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(os.path.join(sys.argv[1], "train.pack"), os.path.join(sys.argv[2], "train"), 20)
    write(os.path.join(sys.argv[1], "test.pack"), os.path.join(sys.argv[2], "test"), 200)
