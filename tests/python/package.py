"""What tests of the Python package share. Importing it goes on in the environment that the package is
built with, build/python, with the package of this build."""
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(FOLDER))
PLACE = os.path.join(SOURCE, "build", "python")
PYTHON = os.path.join(PLACE, "bin", "python")
BUILT = os.path.join(os.environ.get("SYRTOS_BUILD", os.path.join(SOURCE, "build", "release")), "python")

if not os.path.exists(os.path.join(PLACE, "pinned")):
    print(f"skipped: {PLACE} is not there: run tools/bootstrap test")
    sys.exit(77)
if os.path.realpath(sys.prefix) != os.path.realpath(PLACE):
    os.execv(PYTHON, [PYTHON, *sys.argv])

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(FOLDER), "cli"))
sys.path.insert(0, BUILT)

import numpy as np  # noqa: E402

import syrtos  # noqa: E402
from support import check  # noqa: E402

# Small and quick; one thread, so that other tests may run at the same time.
QUICK = {"batch": 16, "threads": 1, "precision": "f32", "progress": False}


def refuses(call, *says, error=None):
    """The call must raise this error with a message that has every text."""
    try:
        result = call()
    except error or syrtos.RequestError as found:
        for text in says:
            check(text in str(found), f"expected {text!r} in the message: {found}")
        return str(found)
    raise AssertionError(f"expected an error that says {says}, found {result!r}")


def stripes(samples=256, side=8, seed=0):
    """Pictures of stripes with noise, upright (0) or lying (1): [samples, 1, side, side], u8."""
    random = np.random.default_rng(seed)
    labels = np.arange(samples, dtype=np.int64) % 2
    row = (np.arange(side) // 2 % 2) * 150 + 40
    lying = np.broadcast_to(row[:, None], (side, side))
    pictures = np.where(labels[:, None, None] == 0, lying.T[None], lying[None])
    pictures = pictures + random.integers(0, 40, pictures.shape)
    return pictures[:, None].astype(np.uint8), labels


def blobs(samples=200, features=6, classes=3, seed=0):
    """Points around a centre for each class: [samples, features], f32."""
    random = np.random.default_rng(seed)
    labels = np.arange(samples) % classes
    centres = 4 * random.standard_normal((classes, features))
    return (centres[labels] + random.standard_normal((samples, features))).astype(np.float32), labels
