"""Defines a network, plans its training, trains it with two workers, and asks where the time went.

    pip install build/dist/syrtos-*.whl
    python examples/own_network.py [where the run goes]
"""
import sys

import numpy as np

import syrtos
from syrtos import nn


def stripes(samples: int, side: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Pictures of stripes, upright (0) or lying (1), that begin at different places."""
    index = np.arange(samples)
    labels = index % 2
    row = np.arange(side)
    bright = (row[None] + index[:, None] // 2) % 4 < 2
    upright = np.broadcast_to(bright[:, None, :], (samples, side, side))
    lying = np.broadcast_to(bright[:, :, None], (samples, side, side))
    pictures = np.where(labels[:, None, None] == 0, upright, lying)
    return np.where(pictures, 200, 50).astype(np.uint8)[:, None], labels


def network() -> nn.Network:
    """A convolution with a branch around the second one."""
    x = nn.Input(1, 12, 12)
    y = nn.ReLU()(nn.Conv2d(8, 3, padding="same")(x))
    y = y + nn.Sequential(nn.Conv2d(8, 3, padding="same", bias=False), nn.BatchNorm(), nn.ReLU())(y)
    return nn.Model(x, nn.Linear(2)(nn.Flatten()(nn.MaxPool2d()(y))), name="stripes-net")


def main() -> None:
    net, data = network(), stripes(512)
    print(net, end="\n\n")
    print(syrtos.plan(net, data, cluster="4 hosts, 1 Gbit/s, 60 us", batch=32, seconds=0.2), end="\n\n")

    def until_learnt(metrics: dict) -> bool:
        return metrics["test_accuracy"] < 1  # or wandb.log(metrics), mlflow.log_metrics(metrics), ...

    run = syrtos.train(net, data, test=stripes(128), batch=32, epochs=10, workers=2, sync="split",
                       on_epoch=until_learnt, run=sys.argv[1] if len(sys.argv) > 1 else None)
    print(run)
    print("probabilities of the first pictures:", *run.predict(data[0][:3]).round(3).tolist())
    print(run.explain())


if __name__ == "__main__":
    main()
