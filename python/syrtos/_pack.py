"""Several inputs and outputs in one: how the arrays of a network that has them become samples and targets, and back."""
from __future__ import annotations

import json
import os
from typing import Any, Mapping, Sequence

import numpy as np

from . import _core, _data, nn
from ._losses import loss_of_parts, own_loss

_ROW = 8192  # as packed_shape() of the library has it


def _list(shape: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


class Spec:
    """What a network with several inputs or outputs takes and gives, of its description."""

    def __init__(self, description: Mapping[str, Any]):
        self.description = dict(description)
        self.inputs = [(one["name"], tuple(one["shape"])) for one in description.get("inputs", [])]
        names = description.get("output_names") or []
        self.outputs = list(zip(names, map(tuple, description.get("output_shapes") or [])))
        self.by_name = bool(description.get("by_name"))

    @property
    def packed(self) -> tuple[int, ...]:
        """The shape of a sample of all inputs."""
        count = sum(int(np.prod(shape)) for _, shape in self.inputs)
        return (1, 1, count) if count <= _ROW else (1, -(-count // _ROW), _ROW)

    def _each(self, values: Any, of: Sequence[tuple[str, Any]], what: str) -> list[np.ndarray]:
        names = [name for name, _ in of]
        if isinstance(values, Mapping):
            if set(values) != set(names):
                raise _core.RequestError(f"{what}: expected arrays for {', '.join(names)}, found {', '.join(map(str, values))}")
            values = [values[name] for name in names]
        if not isinstance(values, (tuple, list)) or len(values) != len(names):
            found = f"{len(values)} things" if isinstance(values, (tuple, list)) else type(values).__name__
            raise _core.RequestError(f"{what}: expected {len(names)} arrays ({', '.join(names)}), found {found}")
        arrays = [_data.as_array(one, f"{what} {name}") for name, one in zip(names, values)]
        for name, array in zip(names, arrays):
            if array.ndim < 1 or len(array) != len(arrays[0]):
                raise _core.RequestError(f"{what} {name}: expected {len(arrays[0])} samples, as in {names[0]}, found "
                                         f"{_list(array.shape)}")
            if array.dtype.kind not in "iufb":
                raise _core.RequestError(f"{what} {name}: expected numbers, found {array.dtype}")
        return arrays

    def pack_x(self, x: Any, what: str = "x") -> Any:
        """Samples of all inputs, float32; as they are where there is one input."""
        if not self.inputs:
            return x
        arrays = self._each(x, self.inputs, what)
        samples, packed = len(arrays[0]), self.packed
        rows = np.zeros((samples, int(np.prod(packed))), np.float32)
        at = 0
        for (name, shape), array, about in zip(self.inputs, arrays, self.description["inputs"]):
            count = int(np.prod(shape))
            if array[0].size != count or (array.ndim > 2 and array.shape[1:] != shape):
                raise _core.RequestError(f"{what} {name}: expected {_list((samples, *shape))}, found {_list(array.shape)}")
            part = array.reshape(samples, *shape).astype(np.float32)
            if "mean" in about:
                ends = (1,) * (len(shape) - 1)
                part -= np.asarray(about["mean"], np.float32).reshape(-1, *ends)
                part /= np.asarray(about["deviation"], np.float32).reshape(-1, *ends)
            rows[:, at:at + count] = part.reshape(samples, count)
            at += count
        return rows.reshape(samples, *packed)

    def pack_y(self, y: Any, what: str = "y") -> Any:
        """Targets of all outputs, one behind the other; as they are where there is one output."""
        if not self.outputs:
            return y
        arrays = self._each(y, self.outputs, what)
        columns = [_target(array, shape, f"{what} {name}") for (name, shape), array in zip(self.outputs, arrays)]
        return np.ascontiguousarray(np.concatenate(columns, axis=1))

    def split(self, rows: np.ndarray) -> Any:
        """What the network gives for each output: a dict or a tuple, as the network has its outputs."""
        if not self.outputs:
            return rows
        rows = rows.reshape(len(rows), -1)
        parts, at = {}, 0
        for name, shape in self.outputs:
            count = int(np.prod(shape))
            parts[name] = rows[:, at:at + count].reshape(len(rows), *shape)
            at += count
        return parts if self.by_name else tuple(parts.values())

    def with_scales_of(self, x: Any) -> "Spec":
        """The same with mean and deviation of each channel of each input, by which its values are normalised."""
        if not self.inputs:
            return self
        about = []
        for (name, shape), array in zip(self.inputs, self._each(x, self.inputs, "x")):
            if array.size == 0:
                raise _core.RequestError(f"x {name}: expected samples, found none")
            values = array.reshape(len(array), *shape).astype(np.float64)
            axes = (0, *range(2, values.ndim))
            deviation = values.std(axis=axes)
            about.append({"name": name, "shape": list(shape), "mean": values.mean(axis=axes).tolist(),
                          "deviation": np.where(deviation > 0, deviation, 1).tolist()})
        return Spec({**self.description, "inputs": about})

    def core(self) -> Any:
        return _core.Network.described(json.dumps(self.description))

    def loss(self, loss: Any) -> Any:
        if not self.outputs:
            return loss
        return loss_of_parts(loss, [name for name, _ in self.outputs], [shape for _, shape in self.outputs], self.by_name)


def _target(array: np.ndarray, shape: tuple[int, ...], what: str) -> np.ndarray:
    """[samples, values]; the numbers of classes become a one among zeros."""
    count = int(np.prod(shape))
    if array.dtype.kind in "iu" and array[0].size == 1 and count > 1:
        labels = array.reshape(-1)
        if labels.size and (labels.min() < 0 or labels.max() >= count):
            raise _core.RequestError(f"{what}: expected classes from 0 to {count - 1}, found "
                                     f"{int(labels.min() if labels.min() < 0 else labels.max())}")
        return (labels[:, None] == np.arange(count)).astype(np.float32)
    if array[0].size != count:
        raise _core.RequestError(f"{what}: expected {_list((len(array), *shape))}, found {_list(array.shape)}")
    return array.reshape(len(array), count).astype(np.float32)


def spec_of(network: Any) -> Spec | None:
    """None: it has one input and one output."""
    if not isinstance(network, nn.Model) or not network.has_several:
        return None
    return Spec(network.description())


def spec_in(run: str) -> Spec | None:
    """That of the network that a run keeps."""
    try:
        with open(os.path.join(run, "network.json"), encoding="utf-8") as file:
            description = json.load(file)
    except (OSError, ValueError):
        return None
    return Spec(description) if "inputs" in description or "outputs" in description else None


def loss_option(loss: Any, spec: Spec | None, of: str | None = None) -> Any:
    """loss= as the program's option takes it."""
    if spec is not None and spec.outputs:
        return spec.loss(loss)
    return own_loss(loss, of) if callable(loss) else loss


def packed(spec: Spec | None, data: Any, what: str = "data", names: tuple[str, str] = ("x", "y")) -> Any:
    """Arrays (x, y) as samples and targets."""
    if spec is None or data is None:
        return data
    if _data.is_named(data) or not isinstance(data, (tuple, list)):
        raise _core.RequestError(f"{what}: a network with several inputs or outputs takes arrays (x, y), found "
                                 f"{data if _data.is_named(data) else type(data).__name__}")
    x, y = _data.as_pair(data, what, "arrays (x, y)")
    return spec.pack_x(x, names[0]), spec.pack_y(y, names[1])


def refuse_for_packed(spec: Spec | None, options: Mapping[str, Any]) -> None:
    if spec is not None and spec.inputs and options.get("augment") not in (None, "", "none"):
        raise _core.RequestError("augment: the samples of a network with several inputs are not pictures: augment the arrays "
                                 "before, or leave it out")


def prepared(network: Any, data: Any, test: Any, asked: dict[str, Any], loss: Any,
             goes_on: str) -> tuple[Spec | None, _data.Given]:
    """What train() and search() have in common: data as samples, and the loss among the options."""
    spec = spec_in(goes_on) if goes_on else spec_of(network)
    refuse_for_packed(spec, asked)
    if spec is not None and not goes_on and data is not None and not _data.is_named(data):
        spec = spec.with_scales_of(_data.as_pair(data, "data", "arrays (x, y)")[0])
    if loss is not None or (not goes_on and spec is not None and spec.outputs):
        asked["loss"] = loss_option(loss, spec)
    names = ("x of test", "y of test")
    return spec, _data.Given(packed(spec, data), packed(spec, test, "test", names), asked)
