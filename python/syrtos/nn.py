"""Networks, layer by layer.

    net = Sequential(Conv2d(32, 3, padding="same"), BatchNorm(), ReLU(), MaxPool2d(),
                     Flatten(), Linear(10), input=(3, 32, 32))

or, with branches, as functions of values:

    x = Input(3, 32, 32)
    y = ReLU()(Conv2d(32, 3, padding="same")(x))
    y = y + Sequential(Conv2d(32, 3, padding="same"), BatchNorm())(y)
    net = Model(x, Linear(10)(GlobalAvgPool()(y)))

Shapes are those of one sample, channels first. A linear layer at the end gives one value for each
class, Linear() as many as the data has. print(net) shows every layer with its output and parameters.
"""
from __future__ import annotations

import json
from typing import Any, Sequence, Union

from . import _core

Extent = Union[int, Sequence[int]]


def _fail(text: str) -> None:
    raise _core.RequestError(text)


class Value:
    """The result of a layer, for further layers: +, concat() and layers take it."""

    def __init__(self, layer: "Layer | None", inputs: tuple["Value", ...], input: tuple[int, ...] = ()):
        self._layer = layer
        self._inputs = inputs
        self._input = input

    def __add__(self, other: "Value") -> "Value":
        if not isinstance(other, Value):
            return NotImplemented
        return Add()(self, other)

    def __mul__(self, factor: float) -> "Value":
        if not isinstance(factor, (int, float)):
            return NotImplemented
        return Scale(factor)(self)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"Input{self._input}" if self._layer is None else f"{self._layer!r}(...)"


def Input(*shape: int) -> Value:
    """What a network is given: Input(channels, height, width), Input(channels, length) or
    Input(features) of one sample."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    return Value(None, (), _checked_input(shape))


def _checked_input(shape: Any) -> tuple[int, ...]:
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not 1 <= len(shape) <= 3 or not all(isinstance(n, int) and n > 0 for n in shape):
        _fail("input: expected (channels, height, width), (channels, length) or (features,), found "
              f"{shape}")
    return shape


def concat(*values: Value, axis: int = 1) -> Value:
    """The values one behind the other, along the channels."""
    return Concat(axis)(*values)


class Layer:
    """One layer. Calling it with a Value gives the Value of its result."""

    op = ""

    def __init__(self, name: str | None = None, **attributes: Any):
        self.name = name
        self.attributes = {key: value for key, value in attributes.items() if value is not None}

    def __call__(self, *values: Value) -> Value:
        for value in values:
            if not isinstance(value, Value):
                _fail(f"{self!r}: expected the value of an Input or a layer, found "
                      f"{type(value).__name__}")
        return Value(self, values)

    def __repr__(self) -> str:
        inner = [f"{key}={value!r}" for key, value in self.attributes.items()]
        return f"{type(self).__name__}({', '.join(inner)})"


def _along(extent: Any) -> Any:
    """Of signals, which have a height of one: 7 means [1, 7]."""
    return [1, extent] if isinstance(extent, int) else extent


class Conv2d(Layer):
    """Convolution of [channels, height, width]; padding is "same", "valid" or numbers."""

    op = "conv"

    def __init__(self, out: int, kernel: Extent, stride: Extent = 1, padding: Union[str, Extent] = 0,
                 dilation: Extent = 1, groups: int = 1, bias: bool = True, name: str | None = None):
        super().__init__(name, out=out, kernel=kernel, stride=stride, padding=padding,
                         dilation=dilation, groups=groups, bias=bias)


class Conv1d(Layer):
    """Convolution of signals [channels, length]."""

    op = "conv"

    def __init__(self, out: int, kernel: int, stride: int = 1, padding: Union[str, int] = 0,
                 dilation: int = 1, groups: int = 1, bias: bool = True, name: str | None = None):
        super().__init__(name, out=out, kernel=_along(kernel), stride=_along(stride),
                         padding=[0, padding] if isinstance(padding, int) else padding,
                         dilation=_along(dilation), groups=groups, bias=bias)


class Linear(Layer):
    """Dense layer of [features]. At the end of a network `out` may be left out: one for each class."""

    op = "linear"

    def __init__(self, out: int | None = None, bias: bool = True, name: str | None = None):
        super().__init__(name, out=out, bias=bias)


class BatchNorm(Layer):
    """Batch normalisation over each channel, or feature. `momentum` is the weight of the new batch."""

    op = "batch_norm"

    def __init__(self, epsilon: float = 1e-5, momentum: float = 0.1, scale: bool = True,
                 name: str | None = None):
        super().__init__(name, epsilon=epsilon, momentum=momentum, scale=scale)


class ReLU(Layer):
    """max(x, 0)."""

    op = "relu"


class Sigmoid(Layer):
    """1 / (1 + exp(-x))."""

    op = "sigmoid"


class Tanh(Layer):
    """Hyperbolic tangent."""

    op = "tanh"


class GELU(Layer):
    """Gaussian error linear unit."""

    op = "gelu"


class Softmax(Layer):
    """Probabilities. Not for the end of a network: the loss has it already."""

    op = "softmax"


class Dropout(Layer):
    """Leaves out this share of the values, in training alone."""

    op = "dropout"

    def __init__(self, rate: float = 0.5, name: str | None = None):
        super().__init__(name, rate=rate)


class LRN(Layer):
    """Local response normalisation across channels."""

    op = "lrn"

    def __init__(self, size: int = 5, alpha: float = 1e-4, beta: float = 0.75, k: float = 1,
                 name: str | None = None):
        super().__init__(name, size=size, alpha=alpha, beta=beta, k=k)


class _Pool2d(Layer):
    def __init__(self, kernel: Extent = 2, stride: Extent | None = None,
                 padding: Union[str, Extent] = 0, ceil: bool = False, name: str | None = None):
        super().__init__(name, kernel=kernel, stride=stride, padding=padding, ceil=ceil)


class MaxPool2d(_Pool2d):
    """The largest value of each window; the stride is the kernel unless it is given."""

    op = "max_pool"


class AvgPool2d(_Pool2d):
    """The mean of each window; the stride is the kernel unless it is given."""

    op = "avg_pool"


class _Pool1d(Layer):
    def __init__(self, kernel: int = 2, stride: int | None = None, padding: Union[str, int] = 0,
                 ceil: bool = False, name: str | None = None):
        super().__init__(name, kernel=_along(kernel), stride=_along(kernel if stride is None else stride),
                         padding=[0, padding] if isinstance(padding, int) else padding, ceil=ceil)


class MaxPool1d(_Pool1d):
    """The largest value of each window of a signal."""

    op = "max_pool"


class AvgPool1d(_Pool1d):
    """The mean of each window of a signal."""

    op = "avg_pool"


class AdaptiveAvgPool2d(Layer):
    """Means over as many windows as give this output."""

    op = "adaptive_avg_pool"

    def __init__(self, out: Extent = 1, name: str | None = None):
        super().__init__(name, out=out)


class GlobalAvgPool(Layer):
    """The mean over all pixels: [channels, height, width] to [channels]."""

    op = "global_avg_pool"


class Flatten(Layer):
    """All values of a sample in one row."""

    op = "flatten"


class Add(Layer):
    """The sum of two values or more, of one shape; a + b makes it."""

    op = "add"


class Concat(Layer):
    """Values one behind the other along an axis, the channels; concat(a, b) makes it."""

    op = "concat"

    def __init__(self, axis: int = 1, name: str | None = None):
        super().__init__(name, axis=axis)


class Scale(Layer):
    """Every value times a number; 0.5 * x makes it."""

    op = "scale"

    def __init__(self, factor: float, name: str | None = None):
        super().__init__(name, factor=factor)


_SHORT = {"batch_norm": "norm", "max_pool": "pool", "avg_pool": "pool", "adaptive_avg_pool": "pool",
          "global_avg_pool": "pool"}


class _Names:
    """Names of layers: those that were given, and conv1, conv2, ... for the others."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def of(self, layer: Layer) -> str:
        if layer.name is not None:
            return layer.name
        word = _SHORT.get(layer.op, layer.op)
        self._counts[word] = self._counts.get(word, 0) + 1
        return f"{word}{self._counts[word]}"


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
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The output of each layer, by its name."""
        return {layer["name"]: tuple(layer["output"]) for layer in self.summary()["layers"]}

    def _known_input(self, input: tuple[int, ...] | None) -> tuple[int, ...]:
        known = _checked_input(input) if input is not None else self.input
        if known is None:
            _fail(f"network {self.name}: its input is not known: give input=(channels, height, width)")
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
                inner = layer.name if layer._is_named else f"block{blocks}"
                flat += layer._flat(f"{prefix}{inner}.", _Names())
            else:
                flat.append((prefix + names.of(layer), layer))
        return flat

    def _layers(self) -> list[dict[str, Any]]:
        layers: list[dict[str, Any]] = []
        before = "input"
        for name, layer in self._flat("", _Names()):
            layers.append({"op": layer.op, "name": name, "of": [before], **layer.attributes})
            before = name
        return layers

    def __repr__(self) -> str:
        return "Sequential(" + ", ".join(map(repr, self.layers)) + ")"


class Model(Network):
    """The network between an Input and the value of its last layer."""

    def __init__(self, input: Value, output: Value, name: str | None = None):
        if not isinstance(input, Value) or input._layer is not None:
            _fail("Model: expected an Input(...) as its input")
        if not isinstance(output, Value) or output._layer is None:
            _fail("Model: expected the value of a layer as its output")
        self.name = name or "model"
        self.input = input._input
        self._given = input
        self._output = output
        self._layers()  # says now what is wrong

    def _ordered(self) -> list[Value]:
        """Every value before those that take it."""
        order: list[Value] = []
        seen: set[int] = set()
        stack: list[tuple[Value, bool]] = [(self._output, False)]
        while stack:
            value, ready = stack.pop()
            if ready:
                order.append(value)
            elif id(value) not in seen:
                seen.add(id(value))
                stack.append((value, True))
                stack += [(each, False) for each in reversed(value._inputs)]
        return order

    def _layers(self) -> list[dict[str, Any]]:
        names = _Names()
        named: dict[int, str] = {id(self._given): "input"}
        used: dict[int, str] = {}
        layers: list[dict[str, Any]] = []
        for value in self._ordered():
            layer = value._layer
            if layer is None:
                if value is not self._given:
                    _fail(f"network {self.name}: it also takes another {value!r}: expected one input")
                continue
            name = names.of(layer)
            if id(layer) in used:
                _fail(f"network {self.name}: layer {used[id(layer)]} is used twice: weights are not "
                      "shared, so make a second layer")
            used[id(layer)] = name
            named[id(value)] = name
            layers.append({"op": layer.op, "name": name,
                           "of": [named[id(each)] for each in value._inputs], **layer.attributes})
        return layers

    def __repr__(self) -> str:
        return f"Model({self._given!r}, {self._output!r})"
