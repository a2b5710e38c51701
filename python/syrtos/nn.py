"""Networks, layer by layer.

    net = Sequential(Conv2d(32, 3, padding="same"), BatchNorm(), ReLU(), MaxPool2d(),
                     Flatten(), Linear(10), input=(3, 32, 32))

or, with branches, as functions of values:

    x = Input(3, 32, 32)
    y = ReLU()(Conv2d(32, 3, padding="same")(x))
    y = y + Sequential(Conv2d(32, 3, padding="same"), BatchNorm())(y)
    net = Model(x, Linear(10)(GlobalAvgPool()(y)))

Shapes are those of one sample, channels first. A linear layer at the end gives one value for each
class, Linear() as many as the data has. A layer that is used several times has the same weights each
time. print(net) shows every layer with its output and parameters.
"""
from __future__ import annotations

import json
from typing import Any, Mapping, Sequence, Union

from . import _core
from ._functions import (ELU, Abs, Clip, ConvTranspose2d, Divide, Exp, GroupNorm, HardSigmoid, HardSwish,
                         InstanceNorm, LayerNorm, LeakyReLU, Log, LogSoftmax, MatMul, Max, Maximum, Mean, Minimum,
                         Multiply, PositionEmbedding, PReLU, Reshape, SiLU, Slice, Softmax, Softplus, Sqrt, Subtract,
                         Sum, Transpose, Upsample, attention)
from ._layers import (GELU, LRN, AdaptiveAvgPool2d, Add, AvgPool1d, AvgPool2d, BatchNorm, Concat, Conv1d, Conv2d,
                      Dropout, Flatten, GlobalAvgPool, Input, Layer, Linear, MaxPool1d, MaxPool2d, Power, ReLU,
                      Scale, Shift, Sigmoid, Tanh, Value, _checked_input, _fail, concat)
from ._losses import binary_cross_entropy, cross_entropy, huber, l1, squared_error
from ._sequences import GRU, LSTM, RNN, Embedding

__all__ = ["Abs", "AdaptiveAvgPool2d", "Add", "AvgPool1d", "AvgPool2d", "BatchNorm", "Clip", "Concat", "Conv1d",
           "Conv2d", "ConvTranspose2d", "Divide", "Dropout", "ELU", "Embedding", "Exp", "Flatten", "GELU", "GRU",
           "GlobalAvgPool", "GroupNorm", "HardSigmoid", "HardSwish", "Input", "InstanceNorm", "LRN", "LSTM", "Layer",
           "LayerNorm", "LeakyReLU", "Linear", "Log", "LogSoftmax", "MatMul", "Max", "MaxPool1d", "MaxPool2d",
           "Maximum", "Mean", "Minimum", "Model", "Multiply", "Network", "PReLU", "PositionEmbedding", "Power",
           "RNN", "ReLU", "Reshape", "Scale", "Sequential", "Shift", "SiLU", "Sigmoid", "Slice", "Softmax",
           "Softplus", "Sqrt", "Subtract", "Sum", "Tanh", "Transpose", "Upsample", "Value", "attention",
           "binary_cross_entropy", "concat", "cross_entropy", "huber", "l1", "squared_error"]

_SHORT = {"batch_norm": "norm", "max_pool": "pool", "avg_pool": "pool", "adaptive_avg_pool": "pool",
          "global_avg_pool": "pool"}


class _Names:
    """Names of layers: those that were given, and conv1, conv2, ... for the others. A layer of a given name
    that is used again is called name_2, name_3, ..."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._uses: dict[int, int] = {}

    def given(self, layer: Union[Layer, "Sequential"]) -> str:
        uses = self._uses[id(layer)] = self._uses.get(id(layer), 0) + 1
        return str(layer.name) if uses == 1 else f"{layer.name}_{uses}"

    def of(self, layer: Layer) -> str:
        if layer.name is not None:
            return self.given(layer)
        word = _SHORT.get(layer.op, layer.op)
        self._counts[word] = self._counts.get(word, 0) + 1
        return f"{word}{self._counts[word]}"


class _Described:
    """Layers as data, in their order. One that is used again has the weights of its first use."""

    def __init__(self) -> None:
        self.layers: list[dict[str, Any]] = []
        self._first: dict[int, str] = {}

    def add(self, layer: Layer, name: str, of: list[str]) -> None:
        described = {"op": layer.op, "name": name, "of": of, **layer.attributes}
        if layer.has_weights and self._first.setdefault(id(layer), name) != name:
            described["weights"] = self._first[id(layer)]
        self.layers.append(described)


class Network:
    """A network that can be trained, planned and printed: a Sequential or a Model."""

    name = "network"
    input: tuple[int, ...] | None = None

    def _layers(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def description(self, input: tuple[int, ...] | None = None) -> dict[str, Any]:
        """The network as data: what ranks and files get of it."""
        layers = self._layers()
        if not layers:
            _fail(f"network {self.name}: expected layers, found none")
        result = {"name": self.name, "layers": layers, "output": layers[-1]["name"]}
        if self.input or input:
            result["input"] = list(self.input or input or ())
        return result

    def to_json(self) -> str:
        """The description as text."""
        return json.dumps(self.description(), indent=1)

    def core(self, input: tuple[int, ...] | None = None) -> Any:
        """The library's network of the description; with the shape of a sample where it says none."""
        if input and self.input and tuple(self.input) != tuple(input):
            _fail(f"network {self.name}: its input is {list(self.input)}, the data has samples of "
                  f"{list(input)}")
        return _core.Network.described(json.dumps(self.description(input)))

    def summary(self, input: tuple[int, ...] | None = None, classes: int | None = None) -> dict[str, Any]:
        """Layers with their outputs, parameters and multiply-adds, and the sums."""
        core = self.core(self._known_input(input))
        return json.loads(core.json([], classes or 0))

    @property
    def parameters(self) -> int:
        """The number of trained values."""
        return self.summary()["parameters"]

    @property
    def weights(self) -> dict[str, tuple[int, ...]]:
        """The shape of each trained tensor, by its name."""
        return {each["name"]: tuple(each["shape"]) for each in self.summary()["weights"]}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The output of each layer, by its name."""
        return {layer["name"]: tuple(layer["output"]) for layer in self.summary()["layers"]}

    def _known_input(self, input: tuple[int, ...] | None) -> tuple[int, ...]:
        known = _checked_input(input) if input is not None else self.input
        if known is None:
            raise _core.RequestError(f"network {self.name}: its input is not known: give input=(channels, height, width)")
        return known

    def __str__(self) -> str:
        if self.input is None:
            layers = "\n".join(f"  {layer['name']}: {layer['op']}" for layer in self._layers())
            return f"{self.name}: its input is that of the data\n{layers}"
        return self.core().table([], 0).rstrip()


class Sequential(Network):
    """Layers one after the other. `input` is the shape of a sample; without it, that of the data.
    Inside of another network, or called with a Value, it is a block of layers."""

    def __init__(self, *layers: Union[Layer, "Sequential"], input: Any = None, name: str | None = None):
        if len(layers) == 1 and isinstance(layers[0], (list, tuple)):
            layers = tuple(layers[0])
        for layer in layers:
            if not isinstance(layer, (Layer, Sequential)):
                _fail(f"Sequential: expected layers such as Conv2d(32, 3), found {layer!r}")
        self.layers = list(layers)
        self.name = name or "sequential"
        self._is_named = name is not None
        self.input = None if input is None else _checked_input(input)

    def __call__(self, value: Value) -> Value:
        for layer in self.layers:
            value = layer(value)
        return value

    def _flat(self, prefix: str, names: _Names) -> list[tuple[str, Layer]]:
        flat: list[tuple[str, Layer]] = []
        blocks = 0
        for layer in self.layers:
            if isinstance(layer, Sequential):
                blocks += 1
                inner = names.given(layer) if layer._is_named else f"block{blocks}"
                flat += layer._flat(f"{prefix}{inner}.", _Names())
            else:
                flat.append((prefix + names.of(layer), layer))
        return flat

    def _layers(self) -> list[dict[str, Any]]:
        described = _Described()
        before = "input"
        for name, layer in self._flat("", _Names()):
            described.add(layer, name, [before])
            before = name
        return described.layers

    def __repr__(self) -> str:
        return "Sequential(" + ", ".join(map(repr, self.layers)) + ")"


def _ordered(outputs: Sequence[Value]) -> list[Value]:
    """Every value before those that take it."""
    order: list[Value] = []
    seen: set[int] = set()
    stack: list[tuple[Value, bool]] = [(output, False) for output in reversed(outputs)]
    while stack:
        value, ready = stack.pop()
        if ready:
            order.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack += [(each, False) for each in reversed(value._inputs)]
    return order


def described_layers(outputs: Sequence[Value], inputs: dict[int, str],
                     title: str) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """The layers between inputs, whose names are known, and outputs, as data; and the names of all values."""
    names = _Names()
    named = dict(inputs)
    described = _Described()
    for value in _ordered(outputs):
        layer = value._layer
        if layer is None:
            if id(value) not in inputs:
                expected = f"one of its inputs ({', '.join(inputs.values())})" if len(inputs) > 1 else "one input"
                _fail(f"{title}: it also takes another {value!r}: expected {expected}")
            continue
        name = names.of(layer)
        named[id(value)] = name
        described.add(layer, name, [named[id(each)] for each in value._inputs])
    return described.layers, named


Values = Union[Value, Sequence[Value], Mapping[str, Value]]


def _by_name(values: Values, word: str) -> dict[str, Value]:
    if isinstance(values, Mapping):
        return dict(values)
    if isinstance(values, (tuple, list)):
        return {f"{word}{i + 1}": value for i, value in enumerate(values)}
    return {word: values}  # type: ignore[dict-item]


class Model(Network):
    """The network between an Input and the value of its last layer; or between several, tuples or dicts of them:

        Model({"picture": a, "age": b}, {"kind": Linear(10)(x), "price": Linear(1)(y)})

    Arrays are then tuples or dicts too, x and y as the network has its inputs and outputs."""

    def __init__(self, input: Values, output: Values, name: str | None = None):
        self._inputs = _by_name(input, "input")
        self._outputs = _by_name(output, "output")
        for value in self._inputs.values():
            if not isinstance(value, Value) or value._layer is not None:
                _fail("Model: expected an Input(...) as its input")
        for value in self._outputs.values():
            if not isinstance(value, Value) or value._layer is None:
                _fail("Model: expected the value of a layer as its output")
        self.name = name or "model"
        self.has_several = not (isinstance(input, Value) and isinstance(output, Value))
        self._by_name = isinstance(output, Mapping)
        only = next(iter(self._inputs.values()), None)
        self.input = None if isinstance(input, (Mapping, tuple, list)) or only is None else only._input
        self._layers()  # says now what is wrong
        self._shapes: list[list[int]] | None = None

    def _described(self) -> tuple[list[dict[str, Any]], dict[int, str]]:
        return described_layers(list(self._outputs.values()),
                                {id(value): name for name, value in self._inputs.items()}, f"network {self.name}")

    def _layers(self) -> list[dict[str, Any]]:
        return self._described()[0]

    def description(self, input: tuple[int, ...] | None = None) -> dict[str, Any]:
        if not self.has_several:
            return super().description(input)
        layers, named = self._described()
        result: dict[str, Any] = {"name": self.name, "layers": layers}
        if self.input is None:
            result["inputs"] = [{"name": name, "shape": list(value._input)} for name, value in self._inputs.items()]
        else:
            result["input"] = list(self.input)
        if len(self._outputs) == 1:
            return result
        result["outputs"] = [named[id(value)] for value in self._outputs.values()]
        if self._shapes is None:
            core = _core.Network.described(json.dumps(result))
            shapes = {layer["name"]: layer["output"] for layer in json.loads(core.json([], 0))["layers"]}
            self._shapes = [shapes[name] for name in result["outputs"]]
        return {**result, "output_names": list(self._outputs), "output_shapes": self._shapes, "by_name": self._by_name}

    def core(self, input: tuple[int, ...] | None = None) -> Any:
        return _core.Network.described(json.dumps(self.description())) if self.has_several else super().core(input)

    def _known_input(self, input: tuple[int, ...] | None) -> tuple[int, ...]:
        return tuple(self.core().input) if self.has_several and self.input is None else super()._known_input(input)

    def __str__(self) -> str:
        return self.core().table([], 0).rstrip() if self.has_several else super().__str__()

    def __repr__(self) -> str:
        def shown(values: dict[str, Value]) -> str:
            return repr(list(values.values())) if self.has_several else repr(next(iter(values.values())))
        return f"Model({shown(self._inputs)}, {shown(self._outputs)})"
