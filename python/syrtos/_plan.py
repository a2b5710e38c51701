"""Plans: how to distribute a training, before it starts. And how fast a network is here."""
from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _core, _data, _pack
from ._networks import NetworkLike, as_keywords, as_network


class Plan:
    """How a training is best distributed, what that gains, and how sure that is.

    print() shows it, notebooks show its chart, `data` has everything as numbers, and `best` is what
    train() takes: syrtos.train(net, data, **plan.best)."""

    def __init__(self, core: Any):
        self._core = core
        self._data: dict[str, Any] | None = None

    @property
    def data(self) -> dict[str, Any]:
        """All of it, as 'syrtos plan --json' prints it. Seconds."""
        if self._data is None:
            self._data = json.loads(self._core.json())
        return self._data

    @property
    def best(self) -> dict[str, Any]:
        """The options of the way that is recommended; empty: train alone."""
        return {name: _number(value) for name, value in self._core.best()}

    def text(self, top: int = 0) -> str:
        """For people; with `top` so many of the best ways."""
        return self._core.text(top)

    def svg(self) -> str:
        """Speed-up over the number of workers, as a picture."""
        return self._core.svg()

    def __str__(self) -> str:
        return self.text().rstrip()

    def __repr__(self) -> str:
        return f"<syrtos.Plan: {self.best or 'train alone'}>"

    def _repr_html_(self) -> str:
        from html import escape
        return f"<pre>{escape(str(self))}</pre>{self.svg()}"


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _words(value: Any) -> str:
    if value is None:
        return ""
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def plan(network: NetworkLike = "lenet5", data: Any = "random", *, test: Any = None, cluster: str = "",
         workers: Any = None, exchange: Any = None, sync: Any = None, wire: Any = None,
         bucket_mb: float = 0, goal: str = "result", compute: str = "", hosts: str = "",
         seconds: float = 1, what_if: bool = False, **options: Any) -> Plan:
    """Plans a training for a cluster: runs every sensible strategy in a simulation of it.

    network, data, test, options: as in train().
    cluster: "16 hosts, 10 Gbit/s, 50 us", or a profile that 'syrtos probe network' wrote; without it,
        processes on this machine.
    workers: up to so many, or a list of numbers; exchange, sync, wire: only these, or lists of them.
    goal: "result", "time", "cost" or "efficiency".
    compute: file of computing times; without it the network is measured here, `seconds` for each
        batch size.
    what_if: also what would help most.
    """
    spec = _pack.spec_of(network)
    if callable(options.get("loss")) or (spec is not None and spec.outputs):
        options["loss"] = _pack.loss_option(options.get("loss", "squared-error"), spec)
    if not _data.is_named(data):
        data, test = _pack.packed(spec, data), _pack.packed(spec, test, "test")
    given = _data.Given(data, test, options)
    name, own = as_network(network, None if spec is not None else given.sample)
    keywords = as_keywords({"network": name, "data": given.name or "arrays", **options})
    train, tested = given.cores()
    return Plan(_core.Plan(keywords, cluster, str(compute), str(hosts), _words(workers), _words(exchange),
                           _words(sync), _words(wire), float(bucket_mb), goal, float(seconds), what_if,
                           own, train, tested))


_PROBED = ("batch", "input", "classes", "precision", "threads", "seconds", "profile")


def probe(network: NetworkLike = "resnet18", **options: Any) -> dict[str, Any]:
    """Measures the training steps of a network on this machine: milliseconds of a step and its parts,
    and with profile=True of each kind of kernel.

    options: batch, input, classes, precision, threads, seconds (how long to measure), profile."""
    for option in options:
        if option not in _PROBED:
            raise _core.RequestError(f"unknown option '{option}': expected one of {', '.join(_PROBED)}")
    name, own = as_network(network)
    profile = options.pop("profile", False)
    keywords = as_keywords({"network": name, **options}) + [("profile", str(bool(profile)))]
    return json.loads(_core.probe_json(keywords, own))


class Estimate:
    """What several workers gain, by formulas: arrays with a value for each number of workers from 1 on.

    print() shows the largest speed-up, notebooks show the chart, `data` has everything as numbers."""

    def __init__(self, data: dict[str, Any], svg: str):
        self.data = data  #: as 'syrtos estimate --json' prints it; seconds
        self._svg = svg
        rows = data["speed_ups"]
        self.workers = np.arange(1, len(rows) + 1)
        self.speed_up = np.array([row["estimate"] for row in rows])  #: how many times as fast as one worker alone
        self.best = np.array([row["best"] for row in rows])  #: where the formulas have bounds
        self.worst = np.array([row["worst"] for row in rows])

    @property
    def fastest(self) -> int:
        """The number of workers with the largest speed-up."""
        return int(self.workers[np.argmax(self.speed_up)])

    def svg(self) -> str:
        """Speed-up over the number of workers, as a picture."""
        return self._svg

    def __repr__(self) -> str:
        return f"<syrtos.Estimate: {self.fastest} workers, {self.speed_up.max():.4g} times as fast as one>"

    def __str__(self) -> str:
        source = f"\n{self.data['source']}" if "source" in self.data else ""
        return (f"{self.data['type']}, {self.data['server']} server: fastest with {self.fastest} workers, "
                f"{self.speed_up.max():.4g} times as fast as one{source}")

    def _repr_html_(self) -> str:
        from html import escape
        return f"<pre>{escape(str(self))}</pre>{self._svg}"


def estimate(network: NetworkLike | None = None, *, t_grad: float = 0, t_comm: float = 0, type: str = "sync-join",  # noqa: A002
             server: str = "central", workers: int = 8, batches: int = 128, bandwidth: str = "1 Gbit/s",
             bounds: bool = False, **options: Any) -> Estimate:
    """Estimates the speed-up of 1 to `workers` workers by formulas (docs/estimate.md), as 'syrtos estimate' does; plan()
    simulates instead, and knows more.

    network: measured here for the times that are not given; it may be left out where both are.
    t_grad: seconds to compute the gradients of one batch; t_comm: to move all weights once over the link.
    type: "sync-join", "sync-split" or "async"; server: "central" or "distributed".
    batches: to train on in all; bandwidth: of the link, for t_comm; bounds: the chart shows best and worst too.
    options: of the measurement: batch, input, classes, precision, threads, seconds."""
    if network is None and not (t_grad and t_comm):
        raise _core.RequestError("estimate: expected a network to measure, or t_grad= and t_comm=, seconds")
    known = [option for option in _PROBED if option != "profile"]
    for option in options:
        if option not in known:
            raise _core.RequestError(f"unknown option '{option}': expected one of {', '.join(known)}")
    name, own = (None, None) if network is None else as_network(network)
    text, svg = _core.estimate(type, server, bandwidth, float(t_grad), float(t_comm), int(workers), int(batches), bool(bounds),
                               as_keywords({"network": name, **options}), own)
    return Estimate(json.loads(text), svg)
