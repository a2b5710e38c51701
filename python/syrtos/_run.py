"""Runs: what a training leaves behind, and what is done with it."""
from __future__ import annotations

import html
import json
import os
import shutil
import sys
from typing import Any, Mapping, Sequence, Union

import numpy as np

from . import _core, _data, _pack, nn

Path = Union[str, "os.PathLike[str]"]


class Evaluation:
    """How good a trained network is on some samples.

    loss, samples, seconds; and, as its task has it: accuracy, top5 (classes); mae, rmse, r2 (values);
    f1, accuracy (labels). print() shows them class by class, label by label or value by value;
    `report` has that as numbers."""

    def __init__(self, data: Mapping[str, Any]):
        self.loss: float = data["loss"]
        self.samples: int = data["samples"]
        self.seconds: float = data["seconds"]
        self.scores: dict[str, float] = dict(data["scores"])  #: by name
        self.report: dict[str, Any] = data["report"]  #: as 'syrtos eval --report --json' has it
        self._text: str = data["text"]
        self.svg: str = data["svg"]  #: the same as a picture

    def __getattr__(self, name: str) -> float:
        if not name.startswith("_") and name in self.scores:
            return self.scores[name]
        raise AttributeError(f"an evaluation has no '{name}'; its scores are {', '.join(self.scores)}"
                             if not name.startswith("_") else name)

    def __dir__(self) -> Sequence[str]:
        return [*super().__dir__(), *self.scores]

    def __repr__(self) -> str:
        scores = ", ".join(f"{name}={value:.6g}" for name, value in self.scores.items())
        return f"Evaluation(loss={self.loss:.6g}, {scores}, samples={self.samples})"

    def __str__(self) -> str:
        return f"{self!r}\n\n{self._text.rstrip()}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>{self.svg}"


#: Scores that people see, by name, and how they are written.
SHOWN = {"f1": "F1 {:.4f}".format, "accuracy": lambda value: f"accuracy {100 * value:.2f} %",
         "mae": "MAE {:.4g}".format, "r2": "R2 {:.4f}".format}


class Explanation:
    """Where the time of a run went, why, and what to do about it.

    print() shows it, notebooks show its page, `data` has everything as numbers."""

    def __init__(self, core: Any, path: str):
        self._core = core
        self.path = path
        self._data: dict[str, Any] | None = None

    @property
    def data(self) -> dict[str, Any]:
        """All of it, as 'syrtos explain --json' prints it. Seconds."""
        if self._data is None:
            self._data = json.loads(self._core.json())
        return self._data

    def text(self, by: str = "layer", top: int = 6, columns: int | None = None) -> str:
        """One screen; operators by layer, kind or phase, so many of them."""
        width = columns or min(120, shutil.get_terminal_size((100, 24)).columns)
        unicode = (getattr(sys.stdout, "encoding", "") or "").lower().startswith("utf")
        return self._core.text(width, unicode, by, top)

    def html(self) -> str:
        """A page with charts, in one file that fetches nothing."""
        return self._core.html()

    def save(self, file: Path) -> None:
        """Writes the page."""
        with open(file, "w", encoding="utf-8") as page:
            page.write(self.html())

    def __str__(self) -> str:
        return self.text().rstrip()

    def __repr__(self) -> str:
        return f"<syrtos.Explanation of {self.path}>"

    def _repr_html_(self) -> str:
        page = html.escape(self.html(), quote=True)
        return (f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:1px solid #ccc" '
                f'title="explanation of {html.escape(self.path, quote=True)}"></iframe>')


def explain(run: Union["Run", Path]) -> Explanation:
    """Says where the time of a run went: a Run, or its directory."""
    path = run.path if isinstance(run, Run) else os.fspath(run)
    return Explanation(_core.Explained(path), path)


def open_run(path: Path, network: nn.Network | None = None) -> "Run":
    """A run by its directory, which has its network too. `network` is needed to predict and evaluate with a checkpoint
    that lies elsewhere."""
    return Run(os.fspath(path), network)


class Run:
    """A training and its directory.

    Metrics are arrays with one value for each epoch: train_loss, train_accuracy, test_loss,
    test_accuracy, images_per_s and others, see `metrics`."""

    def __init__(self, path: str, network: nn.Network | None = None, given: _data.Given | None = None,
                 outcome: dict[str, Any] | None = None):
        self.path = path
        self._network = network
        self._given = given
        self._outcome = outcome
        self._about = json.loads(_core.about_json(path))
        self._spec = _pack.spec_in(path)  # of several inputs and outputs
        self._metrics: dict[str, np.ndarray] | None = None
        self._predictors: dict[tuple[Any, ...], Any] = {}

    @property
    def network(self) -> str:
        """Its name."""
        return self._about["network"]

    @property
    def options(self) -> dict[str, str]:
        """What was asked for, as texts."""
        return self._about["options"]

    @property
    def end(self) -> str:
        """"complete", "stopped early" or "interrupted"."""
        if self._outcome:
            return self._outcome["end"]
        return "complete" if self._about["complete"] else "interrupted"

    @property
    def metrics(self) -> dict[str, np.ndarray]:
        """Every number that is known of each epoch; NaN where an epoch was not evaluated."""
        if self._metrics is None:
            rows = json.loads(_core.metrics_json(self.path))
            keys = dict.fromkeys(key for row in rows for key, value in row.items()
                                 if isinstance(value, (int, float)) and not isinstance(value, bool))
            self._metrics = {}
            for key in keys:
                values = [row.get(key) for row in rows]
                whole = all(isinstance(value, int) for value in values)
                self._metrics[key] = np.array([np.nan if value is None else value for value in values],
                                              dtype=np.int64 if whole else np.float64)
        return self._metrics

    def __getattr__(self, name: str) -> np.ndarray:
        if not name.startswith("_") and name in self.metrics:
            return self.metrics[name]
        raise AttributeError(f"a run has no '{name}'; its metrics are {', '.join(self.metrics)}"
                             if not name.startswith("_") else name)

    def __dir__(self) -> Sequence[str]:
        return [*super().__dir__(), *self.metrics]

    def _core_network(self) -> Any:
        """None where the run knows its network, by name or as its directory keeps it."""
        if self._spec is not None:
            return None
        return self._network.core(self._given.sample if self._given else None) if self._network else None

    def _predictor(self, batch: int, precision: str, threads: int, views: str) -> Any:
        key = (batch, precision, threads, views)
        if key not in self._predictors:
            self._predictors[key] = _core.Predictor(self.path, self._core_network(), "", precision, threads, batch,
                                                    views)
        return self._predictors[key]

    @property
    def class_names(self) -> list[str]:
        """Names of the classes, in the order of predict()'s columns."""
        return json.loads(self._predictor(64, "auto", 0, "none").about())["class_names"]

    def predict(self, x: Any, *, batch: int = 64, precision: str = "auto", threads: int = 0,
                views: str = "none") -> np.ndarray:
        """Probabilities of each class or label, or values: [samples, ...] of an array as train() takes
        it, or of a path as 'syrtos predict' takes it (a folder of pictures, .npz, .csv, a pack), or of
        'test'. Of a single picture by its path, or of 'test:7', without that axis. Of a network with several inputs x is
        a tuple or dict of arrays; with several outputs a tuple or dict of arrays comes back, what the network gives."""
        named = os.fspath(x) if _data.is_named(x) else None
        single = named is not None and (named.startswith("test:") or _data.is_picture(named))
        predictor = self._predictor(1 if single else batch, precision, threads, views)
        if named is None:
            rows = predictor.predict(_data.unlabelled(self._spec.pack_x(x) if self._spec else x))
        else:
            rows = predictor.predict_input(named)
        if self._spec and self._spec.outputs:
            return self._spec.split(rows)
        rows = rows.reshape(len(rows), *json.loads(predictor.about())["answer_shape"])
        return rows[0] if single else rows

    def evaluate(self, data: Any = None, *, batch: int = 64, precision: str = "auto", threads: int = 0,
                 views: str = "none") -> Evaluation:
        """Measures the network: on arrays (x, y), or without them on the test data it was trained
        with."""
        predictor = self._predictor(batch, precision, threads, views)
        if data is not None:
            about = json.loads(predictor.about())
            classes = {"classes": about["classes"]} if about["has_classes"] else {}
            core, _ = _data.Given(_pack.packed(self._spec, data), None, {"loss": about["loss"], **classes}).cores()
        elif self._given and self._given.train:
            core = self._given.test_core()
        elif self._about["data"] == "arrays":
            raise _core.RequestError(f"{self.path}: it was trained on arrays that are not at hand: "
                                     "expected evaluate((x, y))")
        else:
            core = None
        return Evaluation(json.loads(predictor.evaluate(core)))

    def export(self, file: Path) -> dict[str, Any]:
        """Writes the network of the best epoch for programs of others: .onnx, or its weights alone as
        .safetensors or .npz. Returns what was written."""
        return json.loads(_core.export_json(self.path, self._core_network(), os.fspath(file)))

    def explain(self) -> Explanation:
        """Says where the time went, and what to do about it."""
        return explain(self)

    def __repr__(self) -> str:
        last = ""
        if len(self.metrics.get("epoch", ())):
            last = f", epoch {int(self.metrics['epoch'][-1])}"
            for name, text in SHOWN.items():
                values = self.metrics.get("test_" + name)
                if values is not None and np.isfinite(values[-1]):
                    last += ", test " + text(values[-1])
        return f"<syrtos.Run {self.path}: {self.network} on {self._about['data']}, {self.end}{last}>"
