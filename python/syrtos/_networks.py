"""What a network argument means, and lists of networks and options."""
from __future__ import annotations

import json
import os
from typing import Any, Union

from . import _core, nn

NetworkLike = Union[str, "os.PathLike[str]", nn.Network]


class Listing(list):
    """Rows that print as a table."""

    def __init__(self, rows: list[dict[str, Any]], columns: list[str]):
        super().__init__(rows)
        self._columns = columns

    def _cells(self) -> list[list[str]]:
        def cell(value: Any) -> str:
            if isinstance(value, list):
                return "x".join(map(str, value))
            return f"{value:,}" if isinstance(value, int) else str(value)
        return [self._columns] + [[cell(row[c]) for c in self._columns] for row in self]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(len(self._columns))]
        return "\n".join("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip()
                         for row in cells)

    def _repr_html_(self) -> str:
        from html import escape
        head, *rows = self._cells()
        lines = ["".join(f"<td>{escape(text)}</td>" for text in row) for row in rows]
        return ("<table><tr>" + "".join(f"<th>{escape(text)}</th>" for text in head) + "</tr>"
                + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>")


def networks() -> Listing:
    """The networks that are built in: name, input, classes, parameters, multiply-adds, description
    and source of each. Prints as a table."""
    return Listing(json.loads(_core.networks_json()),
                   ["name", "parameters", "multiply_adds", "input", "classes", "description"])


def options() -> Listing:
    """The options that train() takes as keywords: name, type, default and help of each. Prints as a
    table."""
    return Listing(json.loads(_core.options_json()), ["name", "default", "help"])


class NamedNetwork(nn.Network):
    """A network that is built in."""

    def __init__(self, called: str):
        self.called = called  #: what finds it: its name, or the path of its file
        core = _core.Network.named(called)
        self.name = core.name
        self.input = tuple(core.input)

    def description(self, input: tuple[int, ...] | None = None) -> dict[str, Any]:
        raise _core.RequestError(f"{self!r}: it is known by its name and not described layer by layer")

    def core(self, input: tuple[int, ...] | None = None) -> Any:
        return _core.Network.named(self.called)

    def summary(self, input: tuple[int, ...] | None = None, classes: int | None = None) -> dict[str, Any]:
        shape = self._known_input(input)
        full = {1: (1, 1, *shape), 2: (shape[0], 1, *shape[1:])}.get(len(shape), shape)
        return json.loads(self.core().json(list(full), classes or 0))

    def __repr__(self) -> str:
        return f"network({self.called!r})"


class OnnxNetwork(NamedNetwork):
    """A network of an ONNX file, with its weights."""

    def __init__(self, path: Union[str, os.PathLike]):
        super().__init__(os.path.abspath(os.fspath(path)))

    def __repr__(self) -> str:
        return f"load_onnx({self.called!r})"


def network(name: str) -> NamedNetwork:
    """A network that is built in, by its name as networks() lists it: print() shows its layers, and train(), plan() and
    compile() take it, as they take its name."""
    if name.endswith(".onnx"):
        raise _core.RequestError(f"network: expected a name, found a file: load_onnx({name!r}) reads it")
    return NamedNetwork(name)


def load_onnx(path: Union[str, os.PathLike]) -> OnnxNetwork:
    """The network of an ONNX file: print() shows its layers; train(), plan() and compile() take it, as they
    take its path. Training starts from its weights, unless weights="none"."""
    if not os.fspath(path).endswith(".onnx"):
        raise _core.RequestError(f"load_onnx: expected a file that ends in .onnx, found '{os.fspath(path)}'")
    return OnnxNetwork(path)


def as_network(network: NetworkLike, input: tuple[int, ...] | None = None):
    """The name of a network and None, or None and the network itself."""
    if isinstance(network, NamedNetwork):
        return network.called, None  # of a file: so that its weights are the start
    if isinstance(network, nn.Network):
        return None, network.core(input)
    if isinstance(network, (str, os.PathLike)):
        return os.fspath(network), None
    raise _core.RequestError(
        "network: expected a name such as 'resnet18', or a network of syrtos.nn, found "
        f"{type(network).__name__}")


def as_keywords(options: dict[str, Any]) -> list[tuple[str, str]]:
    """Values as the program's options take them; None leaves one out."""
    keywords = []
    for name, value in options.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike, tuple, list)):
            value = getattr(value, "item", lambda value=value: value)()  # of NumPy
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                raise _core.RequestError(
                    f"{name}: expected a text or a number, found {type(value).__name__}")
        if isinstance(value, (tuple, list)):
            value = "x".join(map(str, value)) if name == "input" else ",".join(map(str, value))
        keywords.append((name, repr(value) if isinstance(value, float) else os.fspath(value)
                         if isinstance(value, os.PathLike) else str(value)))
    return keywords
