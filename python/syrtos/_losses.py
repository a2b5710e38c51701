"""Losses made of operations: functions of what a network gives and of what it should give."""
from __future__ import annotations

import json
from typing import Any, Callable, Sequence

from ._functions import Abs, Clip, LogSoftmax, Mean, Softplus, Sum
from ._layers import Flatten, ReLU, Value, _fail


def cross_entropy(output: Value, target: Value) -> Value:
    """Of each sample: -sum(target * log softmax(output)). The target is 1 for the class and 0 for the others."""
    return -Sum(1)(target * LogSoftmax()(output))


def squared_error(output: Value, target: Value) -> Value:
    """Of each sample: half the square of the difference, the mean over all values."""
    return 0.5 * Mean(1)(Flatten()((output - target) ** 2))


def l1(output: Value, target: Value) -> Value:
    """Of each sample: the absolute difference, the mean over all values."""
    return Mean(1)(Flatten()(Abs()(output - target)))


def huber(output: Value, target: Value, delta: float = 1) -> Value:
    """Of each sample: half the square up to delta, then along a line; the mean over all values."""
    off = Abs()(output - target)
    near = Clip(0, delta)(off)
    return Mean(1)(Flatten()(0.5 * near ** 2 + delta * (off - near)))


def binary_cross_entropy(output: Value, target: Value) -> Value:
    """Of each sample: that of sigmoid(output) for labels that are there (1) or not (0), the mean over all of them."""
    return Mean(1)(Flatten()(ReLU()(output) - output * target + Softplus()(-Abs()(output))))


_BY_NAME: dict[str, Callable[[Value, Value], Value]] = {
    "cross-entropy": cross_entropy, "squared-error": squared_error, "l1": l1, "huber": huber,
    "binary-cross-entropy": binary_cross_entropy}


def _function(loss: Any, what: str) -> Callable[[Value, Value], Value]:
    if callable(loss):
        return loss
    if isinstance(loss, str) and loss in _BY_NAME:
        return _BY_NAME[loss]
    _fail(f"{what}: expected a function of (output, target), or one of {', '.join(_BY_NAME)}, found {loss!r}")
    raise AssertionError


def _text(result: Any, inputs: dict[int, str], extra: dict[str, Any]) -> str:
    from .nn import described_layers
    if not isinstance(result, Value) or result._layer is None:
        _fail("loss: expected a function that gives a value made of operations of syrtos.nn, found "
              f"{type(result).__name__}")
    layers, _ = described_layers([result], inputs, "loss")
    return json.dumps({**extra, "layers": layers})


def own_loss(function: Callable[[Value, Value], Value], of: str | None = None) -> str:
    """What a function of (output, target) computes, as data."""
    output, target = Value(None, ()), Value(None, ())
    return _text(function(output, target), {id(output): "output", id(target): "target"}, {"of": of} if of else {})


def loss_of_parts(loss: Any, names: Sequence[str], shapes: Sequence[Sequence[int]], by_name: bool) -> str:
    """The same for a network of several outputs: a function of all outputs and all targets, as the network has them
    (dicts or tuples); or a loss for each, which are added; or one for all."""
    outputs = {name: Value(None, ()) for name in names}
    targets = {name: Value(None, ()) for name in names}
    if callable(loss):
        result = loss(outputs, targets) if by_name else loss(tuple(outputs.values()), tuple(targets.values()))
    else:
        if isinstance(loss, dict) and set(loss) == set(names):
            each = [loss[name] for name in names]
        elif isinstance(loss, (tuple, list)) and len(loss) == len(names):
            each = list(loss)
        elif isinstance(loss, str) and loss != "auto":
            each = [loss] * len(names)
        else:
            _fail(f"loss: expected a function of (outputs, targets), or a loss for each of {', '.join(names)}, found {loss!r}")
        losses = [_function(one, f"loss of {name}")(outputs[name], targets[name]) for name, one in zip(names, each)]
        result = losses[0]
        for one in losses[1:]:
            result = result + one
    inputs = {id(value): f"output.{name}" for name, value in outputs.items()}
    inputs |= {id(value): f"target.{name}" for name, value in targets.items()}
    parts = [{"name": name, "shape": list(shape)} for name, shape in zip(names, shapes)]
    return _text(result, inputs, {"of": "values", "parts": parts})
