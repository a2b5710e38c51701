"""Trains, and logs every epoch to MLflow or to Weights & Biases; ten lines each.

    pip install mlflow        # or wandb
    python examples/log_elsewhere.py mlflow
"""
import contextlib
import numbers
import sys
from typing import Any, Callable, Iterator

import syrtos

OPTIONS: dict[str, Any] = {"epochs": 3, "batch": 32, "lr": 0.05}
Log = Callable[[dict[str, Any]], None]


def numbers_of(metrics: dict[str, Any]) -> dict[str, float]:
    """Accuracies, losses, rates and times; not lists and texts."""
    return {key: float(value) for key, value in metrics.items() if isinstance(value, numbers.Real)}


@contextlib.contextmanager
def mlflow_log() -> Iterator[Log]:
    import mlflow
    with mlflow.start_run():
        mlflow.log_params(OPTIONS)
        yield lambda metrics: mlflow.log_metrics(numbers_of(metrics), step=metrics["epoch"])


@contextlib.contextmanager
def wandb_log() -> Iterator[Log]:
    import wandb
    with wandb.init(project="syrtos", config=OPTIONS) as run:
        yield lambda metrics: run.log(numbers_of(metrics), step=metrics["epoch"])


def main() -> None:
    with {"mlflow": mlflow_log, "wandb": wandb_log}[sys.argv[1]]() as log:
        run = syrtos.train("lenet5", "mnist", on_epoch=log, **OPTIONS)
    print(run)


if __name__ == "__main__":
    main()
