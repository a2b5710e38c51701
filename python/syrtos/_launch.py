"""Training whose workers are processes: of this machine, or on other hosts."""
from __future__ import annotations

import json
import os
import sys
from typing import Any, Sequence, Union

from . import _core, _data

_SELDOM = 1e9  # seconds

Hosts = Union[str, "os.PathLike[str]", Sequence[str]]


def _program() -> list[str]:
    """What a rank is: this Python with this package, found again by their paths."""
    if not sys.executable:
        raise _core.RequestError("hosts, processes: expected to run in a Python whose program is known, found none in "
                                 "sys.executable; workers= alone makes threads of this process")
    return [sys.executable, "-P", os.path.join(os.path.dirname(os.path.abspath(__file__)), "_rank.py")]


def hosts_text(hosts: Hosts | None) -> str:
    if hosts is None:
        return ""
    text = os.fspath(hosts) if isinstance(hosts, (str, os.PathLike)) else ",".join(hosts)
    if not text:
        raise _core.RequestError("hosts: expected names of hosts or a file of them, found none")
    return text


def check_data(given: _data.Given, hosts: str) -> None:
    """Ranks get data as data: names, paths, or memory that they see."""
    if isinstance(given.train, _data.Items) or isinstance(given.test, _data.Items):
        raise _core.RequestError(
            "data: an object with __getitem__ is code, which does not travel to other processes: give a name, a path or "
            "arrays, or leave hosts= and processes= out (workers= alone makes threads of this process)")
    if hosts and given.train is not None:
        raise _core.RequestError(
            "data: other hosts do not see the arrays of this process: write them to a file that all hosts see, "
            "numpy.savez('/shared/data.npz', x=x, y=y), and give its path; processes=True needs no file")


class Listener:
    """Takes what the ranks print: worker 0's news for the callbacks, and words for people."""

    def __init__(self, told: Any):
        self._told = told
        self.outcome: dict[str, Any] | None = None

    def __call__(self, line: str) -> Any:
        if not line.startswith("{"):
            print(line, file=sys.stderr)
            return None
        news = json.loads(line)
        value = news["value"]
        if news["is"] == "start":
            return self._told.started(json.dumps(value))
        if news["is"] == "step":
            return self._told.step(*(float("nan") if each is None else each for each in value))
        if news["is"] == "epoch":
            return self._told.epoch(json.dumps(value))
        if news["is"] == "end":
            self.outcome = value
        elif news["is"] == "note":
            print(f"note: {value}", file=sys.stderr)
        return None


def train_in_ranks(job: str, resume: str, keywords: Any, own: Any, given: _data.Given, options: dict[str, Any],
                   hosts: str, remote_shell: str, told: Any) -> tuple[str, dict[str, Any] | None]:
    """The run's directory, and how it ended."""
    from ._shared import Shared
    program = _program()
    shared = Shared(given, options) if given.train is not None else None
    try:
        command = [*program, "--tell-every", str(told.tell_every if told.wants_steps() else _SELDOM)]
        if shared:
            command += ["--arrays", json.dumps(shared.description)]
        listener = Listener(told)
        train, test = given.cores()
        path = _core.train_in_ranks(job, resume, keywords, own, train, test, command, [*program, "--identity"],
                                    f"syrtos in {sys.executable}", hosts, remote_shell, listener)
    finally:
        if shared:
            shared.close()
    if not os.path.exists(os.path.join(path, "job.toml")):
        raise _core.RunError(f"{path}: the training has ended, and its directory is on the host of worker 0, whose files this "
                             "one does not see: give run= in a folder that both see")
    return path, listener.outcome
