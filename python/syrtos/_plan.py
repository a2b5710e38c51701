"""Plans: how to distribute a training, before it starts. And how fast a network is here."""
from __future__ import annotations

import json
from typing import Any

from . import _core, _data
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
    given = _data.Given(data, test, options)
    name, own = as_network(network, given.sample)
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
