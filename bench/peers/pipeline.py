"""What the input pipelines' processes share: arguments, the two measurements, one line of JSON."""

import argparse
import json
import time

import measure

BATCH = 128
TRAIN_BATCH = 126


def arguments(pipelines):
    parser = argparse.ArgumentParser()
    parser.add_argument("--arrays", required=True, help="the .npz of cifar10.py")
    parser.add_argument("--folder", default="", help="its folder of PNG files, read instead")
    parser.add_argument("--cache", choices=["none", "memory"], default="none", help="of the folder")
    parser.add_argument("--pipeline", choices=pipelines, default=pipelines[0])
    parser.add_argument("--workers", type=int, default=0, help="processes; 0: no prefetching")
    parser.add_argument("--train", action="store_true", help="also train LeNet-5")
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0)
    args = parser.parse_args()
    args.batch = args.batch or (TRAIN_BATCH if args.train else BATCH)
    return args


def endless(loader):
    while True:
        yield from loader


def check(images, args, side_axes):
    """A pipeline that gives something else is not worth timing."""
    shape = tuple(images.shape)
    side = [shape[axis] for axis in side_axes]
    low, high, mean = float(images.min()), float(images.max()), float(images.mean())
    if shape[0] != args.batch or side != [32, 32] or "float32" not in str(images.dtype):
        raise SystemExit(f"a batch is {shape} of {images.dtype}, "
                         f"expected {args.batch} of 32x32 f32")
    # Normalised values lie in [-2, 2.2]; black borders pull the mean a little below 0.
    if not (-2.2 < low < -1 and 1 < high < 2.4 and -0.6 < mean < 0.3):
        raise SystemExit(f"a batch has values {low:.2f} to {high:.2f}, mean {mean:.2f}: "
                         "not normalised as expected")


def throughput(batches, args, **facts):
    """Takes batches as fast as they come, after a warm-up that fills every queue."""
    start = time.perf_counter()
    while time.perf_counter() - start < max(1.0, args.seconds / 3):
        next(batches)
    count = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < args.seconds:
        next(batches)
        count += 1
    print(json.dumps({"images_per_s": count * args.batch / elapsed, "batches": count,
                      "peak_rss_mb": measure.peak_rss_mb(), **facts}))


def training(batches, step, args, **facts):
    """Trains; the share of the time that the loop spent waiting for its batches."""
    start = time.perf_counter()
    while time.perf_counter() - start < max(1.0, args.seconds / 3):
        step(*next(batches))
    waited, count, loss = 0.0, 0, 0.0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < args.seconds:
        before = time.perf_counter()
        batch = next(batches)
        waited += time.perf_counter() - before
        loss = step(*batch)
        count += 1
    if not 0 < loss < 10:
        raise SystemExit(f"the loss is {loss}")
    print(json.dumps({"images_per_s": count * args.batch / elapsed, "data_share": waited / elapsed,
                      "t_step_ms": elapsed / count * 1e3, "last_loss": loss, **facts}))
