"""Training as one call."""
from __future__ import annotations

import json
import math
import os
import shutil
import sys
import time
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple, Unpack

import numpy as np

from . import _core, _data, _pack, nn
from ._launch import Hosts, check_data, hosts_text, train_in_ranks
from ._networks import NetworkLike, as_keywords, as_network
from ._options import TrainOptions
from ._run import SHOWN, Path, Run


class Progress(NamedTuple):
    """Where a training is, for on_step."""

    epoch: int  #: from 1
    epochs: int
    step_in_epoch: int
    steps_per_epoch: int
    step: int  #: of the whole run
    total_steps: int
    loss: float  #: mean of this epoch so far
    metric: str  #: what the score is: "accuracy", or "mae" (mean absolute error) of values
    score: float  #: of this epoch so far
    images_per_s: float  #: of all workers
    seconds: float  #: of training in this epoch

    @property
    def accuracy(self) -> float:
        """Of classes and labels: the share that is right, of this epoch so far."""
        if self.metric != "accuracy":
            raise AttributeError(f"values have no accuracy; the score is the {self.metric}")
        return self.score


class _Line:
    """The progress of a training, on one line that is drawn again and again."""

    BETWEEN = 0.2  # seconds

    def __init__(self, file: Any):
        self._file = file
        self._shown = 0
        self._began = time.monotonic()
        self._first_step = 0

    def started(self, info: dict[str, Any]) -> None:
        self._first_step = info["first_step"]
        for note in info["notes"]:
            self._print(f"note: {note}")

    def step(self, at: Progress) -> None:
        done = at.step - self._first_step
        left = (time.monotonic() - self._began) / max(1, done) * (at.total_steps - at.step)
        columns = shutil.get_terminal_size((80, 24)).columns
        cells = 20
        full = int(cells * at.step_in_epoch / max(1, at.steps_per_epoch))
        text = (f"epoch {at.epoch}/{at.epochs} [{'#' * full}{'.' * (cells - full)}] "
                f"loss {at.loss:.4f}  {SHOWN[at.metric](at.score)}  "
                f"{at.images_per_s:,.0f}/s  {_duration(left)} left")[:columns - 1]
        self._file.write("\r" + text.ljust(self._shown))
        self._file.flush()
        self._shown = len(text)

    def epoch(self, metrics: dict[str, Any], epochs: int) -> None:
        def scores(before: str, word: str) -> str:
            return "".join(f"  {word}{text(metrics[before + name])}" for name, text in SHOWN.items()
                           if metrics.get(before + name) is not None)

        text = f"epoch {metrics['epoch']}/{epochs}  loss {metrics['train_loss']:.4f}{scores('train_', '')}"
        if metrics.get("test_loss") is not None:
            word = metrics.get("set", "test") + " "
            text += f"  {word}loss {metrics['test_loss']:.4f}{scores('test_', word)}"
        self._print(f"{text}  {metrics['images_per_s']:,.0f}/s")

    def _print(self, text: str) -> None:
        blank = "\r" + " " * self._shown + "\r" if self._shown else ""
        self._shown = 0
        self._file.write(f"{blank}{text}\n")
        self._file.flush()


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 60}:{whole % 60:02d}"


def _shows_progress() -> bool:
    """In terminals and notebooks."""
    try:
        return sys.stderr.isatty() or "ipykernel" in sys.modules
    except (AttributeError, ValueError):
        return False


def _answer(said: Any, may_change: bool) -> Any:
    """What a callback's answer means: False, a learning rate, or nothing."""
    if not isinstance(said, Mapping):
        return False if said is False else None
    unknown = [key for key in said if key != "lr"]
    if unknown:
        raise _core.RequestError(f"callback: expected False, or a dict with 'lr', found {unknown[0]!r}")
    rate = said.get("lr")
    if isinstance(rate, bool) or not isinstance(rate, (int, float, np.number)) or not 0 < rate < math.inf:
        raise _core.RequestError(f"callback: lr: expected a number above 0, found {rate!r}")
    if not may_change:
        raise _core.RequestError(
            "callback: lr: ranks that are processes do not hear of it: expected schedule= and warmup=, or workers that "
            "are threads (without hosts= and processes=)")
    return float(rate)


class _Callbacks:
    """What is called while it trains: the line of progress, and the caller's functions."""

    def __init__(self, on_step: Callable[..., Any] | None, on_epoch: Callable[..., Any] | None,
                 shows: bool, may_change: bool):
        self._may_change = may_change
        self._on_step = on_step
        self._on_epoch = on_epoch
        self._line = _Line(sys.stderr) if shows else None
        self._drawn = 0.0
        self._epochs = 0
        self.run = ""

    @property
    def tell_every(self) -> float:
        return 0 if self._on_step else _Line.BETWEEN

    def started(self, text: str) -> None:
        info = json.loads(text)
        self.run = info["run"]
        self._epochs = -(-info["total_steps"] // max(1, info["steps_per_epoch"]))
        if self._line:
            self._line.started(info)

    def step(self, *values: Any) -> Any:
        at = Progress(*values)
        now = time.monotonic()
        if self._line and (now - self._drawn >= _Line.BETWEEN or at.step == at.total_steps):
            self._drawn = now
            self._line.step(at)
        return _answer(self._on_step(at), self._may_change) if self._on_step else None

    def epoch(self, text: str) -> Any:
        metrics = json.loads(text)
        if self._line:
            self._line.epoch(metrics, self._epochs)
        return _answer(self._on_epoch(metrics), self._may_change) if self._on_epoch else None

    def wants_steps(self) -> bool:
        return self._on_step is not None or self._line is not None


def train(network: NetworkLike | None = None, data: Any = None, *, test: Any = None,
          job: Path | None = None, resume: Run | Path | None = None,
          on_step: Callable[[Progress], Any] | None = None,
          on_epoch: Callable[[dict[str, Any]], Any] | None = None, progress: bool | None = None,
          loss: Any = None, hosts: Hosts | None = None, processes: bool = False, remote_shell: str = "ssh",
          **options: Unpack[TrainOptions]) -> Run:
    """Trains a network and returns its Run.

    network: a name ('resnet18', see networks()) or a network of syrtos.nn.
    data: a data set by name ('mnist'), a path (folder of pictures, .npz, .csv), arrays (x, y), an object
        with __len__ and __getitem__ that gives (x, y) of a sample, or whatever else gives one after the other
        (a generator, a list of pairs), which is read once, to its end, into memory. Of arrays, x is
        [samples, channels, height, width], [samples, height, width], [samples, channels, length] or
        [samples, features], uint8 or float32; y the number of each sample's class, or what else is
        to be found out about it: values, or zeros and ones for several labels (loss= says what is
        learnt where that is open). Arrays are not
        copied, and must not change meanwhile. An object is read by other threads, one sample at a
        time, while steps are computed; classes= says how many there are.
        Of a network with several inputs x is a tuple or dict of arrays, as its inputs are; of one with several
        outputs y likewise.
    test: the same, to measure with; without it every tenth sample of each class is kept back, or the
        share that validation= says.
    job: a job file, which options override.
    loss: what is learnt, by name ("cross-entropy", "huber:0.5"), or a function of (output, target) that is made of the
        operations of syrtos.nn and gives a value for each sample, or several; their mean is learnt:
            loss=lambda output, target: nn.l1(output, target) + 0.1 * nn.squared_error(output, target)
        output is what the network gives, before any softmax; the target of a class is 1 for it and 0 for the others.
        Of a network with several outputs: a function of all of them and all targets, or a loss for each.
    resume: a run to go on with, from its last checkpoint.
    on_step: called with a Progress after each step; on_epoch: with the metrics of each epoch. They run
        in the thread that called train(). One that returns False ends the run in good order, one that
        returns {"lr": 0.01} changes the learning rate: with the next step or, with several workers and
        on_step, the next epoch; a schedule goes on from it. What it raises comes out of train().
    progress: whether to show it on stderr; by default in terminals and notebooks.
    hosts: train on these hosts: names ("a,b:2" or a list), or a file of them (docs/hosts.md), with a worker for each
        slot unless workers= says how many. They are reached by remote_shell, and need this package at the same path,
        and data that they see by its name or path.
    processes: the workers are processes of this machine instead of threads of this one. Arrays are copied once, into
        memory that all of them read. Of processes, here and on hosts, on_step hears of the newest step, which may leave
        some out, and the workers go on while callbacks run.
    options: all options of 'syrtos train', such as epochs, batch, lr, optimizer, augment, workers,
        exchange, sync, run; options() lists them. Without hosts or processes, workers are threads of this process.

    Ctrl-C ends the run in good order, with a checkpoint, and raises KeyboardInterrupt.
    """
    asked: dict[str, Any] = dict(options)
    goes_on = "" if resume is None else resume.path if isinstance(resume, Run) else os.fspath(resume)
    spec, given = _pack.prepared(network, data, test, asked, loss, goes_on)
    if spec is not None:
        name, own = None, None if goes_on else spec.core()
    else:
        name, own = (None, None) if network is None else as_network(network, given.sample)
    named = given.name if given.train is None else None if goes_on else "arrays"
    keywords = as_keywords({"network": name or ("own" if own and not goes_on else None), "data": named,
                            **asked})
    place = hosts_text(hosts)
    apart = bool(place) or processes
    if apart:
        check_data(given, place)
    shows = _shows_progress() if progress is None else progress
    told = _Callbacks(on_step, on_epoch, shows, not apart)
    file = "" if job is None else os.fspath(job)
    try:
        if apart:
            path, ended = train_in_ranks(file, goes_on, keywords, own, given, asked, place, remote_shell, told)
        else:
            path, text = _core.train(file, goes_on, keywords, own, *given.cores(), told.tell_every, told.started,
                                     told.step if told.wants_steps() else None, told.epoch)
            ended = json.loads(text)
    except KeyboardInterrupt:
        if told.run:
            print(f"interrupted: go on with syrtos.train(resume={told.run!r})", file=sys.stderr)
        raise
    return Run(path, network if isinstance(network, nn.Network) else None, given, ended)
