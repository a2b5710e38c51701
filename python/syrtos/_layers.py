"""Values, and the layers that most networks have."""
from __future__ import annotations

from typing import Any, Sequence, Union

from . import _core

Extent = Union[int, Sequence[int]]


def _fail(text: str) -> None:
    raise _core.RequestError(text)


class Value:
    """The result of a layer, for further layers: +, -, *, /, @, **, concat() and layers take it."""

    def __init__(self, layer: "Layer | None", inputs: tuple["Value", ...], input: tuple[int, ...] = ()):
        self._layer = layer
        self._inputs = inputs
        self._input = input

    def __add__(self, other: "Union[Value, float]") -> "Value":
        if isinstance(other, (int, float)):
            return Shift(other)(self)
        if not isinstance(other, Value):
            return NotImplemented
        return Add()(self, other)

    __radd__ = __add__

    def __sub__(self, other: "Union[Value, float]") -> "Value":
        if isinstance(other, (int, float)):
            return Shift(-other)(self)
        return self._with("Subtract", other)

    def __rsub__(self, other: float) -> "Value":
        return Shift(other)(Scale(-1)(self)) if isinstance(other, (int, float)) else NotImplemented

    def __pow__(self, exponent: float) -> "Value":
        if not isinstance(exponent, (int, float)):
            return NotImplemented
        return self * self if exponent == 2 else Power(exponent)(self)

    def __mul__(self, other: "Union[Value, float]") -> "Value":
        if isinstance(other, (int, float)):
            return Scale(other)(self)
        return self._with("Multiply", other)

    __rmul__ = __mul__

    def __truediv__(self, other: "Union[Value, float]") -> "Value":
        if isinstance(other, (int, float)):
            return Scale(1 / other)(self)
        return self._with("Divide", other)

    def __matmul__(self, other: "Value") -> "Value":
        return self._with("MatMul", other)

    def __neg__(self) -> "Value":
        return Scale(-1)(self)

    def _with(self, layer: str, other: Any) -> Any:
        from . import _functions
        return getattr(_functions, layer)()(self, other) if isinstance(other, Value) else NotImplemented

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
    """One layer. Calling it with a Value gives the Value of its result; each time with the same weights."""

    op = ""
    has_weights = False

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
    has_weights = True

    def __init__(self, out: int, kernel: Extent, stride: Extent = 1, padding: Union[str, Extent] = 0,
                 dilation: Extent = 1, groups: int = 1, bias: bool = True, name: str | None = None):
        super().__init__(name, out=out, kernel=kernel, stride=stride, padding=padding,
                         dilation=dilation, groups=groups, bias=bias)


class Conv1d(Layer):
    """Convolution of signals [channels, length]."""

    op = "conv"
    has_weights = True

    def __init__(self, out: int, kernel: int, stride: int = 1, padding: Union[str, int] = 0,
                 dilation: int = 1, groups: int = 1, bias: bool = True, name: str | None = None):
        super().__init__(name, out=out, kernel=_along(kernel), stride=_along(stride),
                         padding=[0, padding] if isinstance(padding, int) else padding,
                         dilation=_along(dilation), groups=groups, bias=bias)


class Linear(Layer):
    """Dense layer of [features], or of each token of [tokens, features]. At the end of a network `out` may be left out: one for each class."""

    op = "linear"
    has_weights = True

    def __init__(self, out: int | None = None, bias: bool = True, name: str | None = None):
        super().__init__(name, out=out, bias=bias)


class BatchNorm(Layer):
    """Batch normalisation over each channel, or feature. `momentum` is the weight of the new batch."""

    op = "batch_norm"
    has_weights = True

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


class Shift(Layer):
    """Every value and a number; x + 1 makes it."""

    op = "shift"

    def __init__(self, by: float, name: str | None = None):
        super().__init__(name, by=by)


class Power(Layer):
    """Every value to the power of a number; x ** 1.5 makes it."""

    op = "power"

    def __init__(self, exponent: float, name: str | None = None):
        super().__init__(name, exponent=exponent)
