"""Searching: many variants of a training, and the best of them."""
from __future__ import annotations

import json
import os
from typing import Any, Callable, Mapping, Union

from . import _core, _data, _pack, nn
from ._networks import Listing, NetworkLike, as_keywords, as_network
from ._run import Path, Run

_SETTINGS = ("sampler", "trials", "total_epochs", "hours", "halving", "first_epochs", "hopeless", "attempts")


class Trial:
    """One variant: its values, what it came to, and its run."""

    def __init__(self, data: dict[str, Any], network: nn.Network | None, given: Any):
        self._network, self._given = network, given
        self.data = data  #: all of it, as 'syrtos search --json' prints it
        self.number: int = data["trial"]
        self.values: dict[str, str] = data["values"]  #: by the keys of a job file
        self.state: str = data["state"]
        self.best: float | None = data.get("best")  #: of the metric that was searched for
        self.epochs: int = data["epochs"]

    @property
    def run(self) -> Run:
        """Its run, to predict with or to explain."""
        return Run(self.data["run"], self._network, self._given)

    def __repr__(self) -> str:
        return f"<syrtos.Trial {self.number}: {self.best}, {self.values}>"


class Search:
    """What a search has found. print() shows its trials, the best first."""

    def __init__(self, data: dict[str, Any], network: nn.Network | None = None, given: Any = None):
        self.data = data  #: all of it, as 'syrtos search --json' prints it
        self.path: str = data["search"]
        self.metric: str = data["metric"]
        sign = -1 if data["higher_is_better"] else 1
        trials = [Trial(trial, network, given) for trial in data["trials"]]
        self.trials = sorted(trials, key=lambda t: (t.best is None, sign * (t.best or 0), t.number))

    @property
    def best(self) -> Trial | None:
        """The best trial; None: none has a value yet."""
        return self.trials[0] if self.trials and self.trials[0].best is not None else None

    @property
    def importance(self) -> dict[str, float]:
        """Of each parameter: the share of the differences between trials that it explains alone."""
        return {row["key"]: row["share"] for row in self.data.get("importance", [])}

    def _table(self) -> Listing:
        rows = [{"trial": t.number, self.metric: "-" if t.best is None else f"{t.best:.4f}",
                 "epochs": t.epochs, "state": t.state, **t.values} for t in self.trials]
        columns = list(dict.fromkeys(key for row in rows for key in row))
        return Listing([{c: row.get(c, "") for c in columns} for row in rows], columns)

    def __str__(self) -> str:
        return str(self._table())

    def __repr__(self) -> str:
        return f"<syrtos.Search {self.path}: {len(self.trials)} trials, best {self.best}>"

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


def _toml(value: Any) -> str:
    value = getattr(value, "item", lambda: value)()  # of NumPy
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _space_text(space: Mapping[str, Any]) -> str:
    """The section [space] of a file: words of options become the keys of job files."""
    keys = {row["name"]: row["key"] for row in json.loads(_core.options_json())}

    def key(word: str) -> str:
        return keys.get(word, word)

    lines = []
    for word, values in space.items():
        if isinstance(values, Mapping) and "when" in values:
            values = {**values, "when": {key(other): one for other, one in values["when"].items()}}
        lines.append(f"{key(word)} = {_toml(values)}")
    return "[space]\n" + "\n".join(lines) + "\n"


def search(space: Union[Mapping[str, Any], Path, None] = None, network: NetworkLike | None = None,
           data: Any = None, *, test: Any = None, resume: Search | Path | None = None, slots: int = 0,
           run: Path | None = None, on_trial: Callable[[dict[str, Any]], Any] | None = None,
           **options: Any) -> Search:
    """Trains many variants and finds the best; returns what was found.

    space: what is tried, by the names of options: {"lr": {"log": [0.001, 0.3]}, "batch": [32, 64],
        "momentum": {"range": [0.5, 0.99], "when": {"optimizer": "momentum"}}}; or a file, a job file
        with a section [space].
    network, data, test: as in train().
    resume: a search to go on with, or its directory.
    slots: trials at once; 0: what is fastest here, measured. They are threads of this process.
    run: the directory of the search.
    on_trial: called with a dict whenever a trial has ended or pauses; False ends the search.
    options: how it is searched: sampler ("grid", "random", "quasi", "tpe"), trials, total_epochs,
        hours, halving (3: only the best third goes on), first_epochs, hopeless, attempts; and all options
        of train().

    Ctrl-C saves all trials and raises KeyboardInterrupt."""
    settings = {name: options.pop(name) for name in _SETTINGS if name in options}
    if resume is not None:
        resume = resume.path if isinstance(resume, Search) else os.fspath(resume)
    elif space is None:
        raise _core.RequestError("space: expected what is tried, such as {'lr': {'log': [0.001, 0.3]}}")
    spec, given = _pack.prepared(network, data, test, options, options.pop("loss", None), "")
    name, own = (None, None) if network is None else (None, spec.core()) if spec else as_network(network, given.sample)
    named = given.name if given.train is None else None if resume else "arrays"
    keywords = as_keywords({"network": name or ("own" if own and not resume else None), "data": named,
                            **options})
    if resume and keywords:
        raise _core.RequestError(f"{keywords[0][0]}: cannot change when a search goes on")
    train_data, test_data = given.cores()
    told = None if on_trial is None else lambda text: on_trial(json.loads(text))
    found = _core.search("" if space is None or isinstance(space, Mapping) else os.fspath(space),
                         _space_text(space) if isinstance(space, Mapping) else "", resume or "", as_keywords(settings),
                         keywords, "" if run is None else os.fspath(run), slots, own, train_data, test_data,
                         told)
    return Search(json.loads(found), network if isinstance(network, nn.Network) else None, given)


def open_search(path: Path) -> Search:
    """A search that is there, also one that still runs."""
    return Search(json.loads(_core.search_json(os.fspath(path))))
