"""Functions of values, and layers that fewer networks have. Axes count from 1: 0 is the batch."""
from __future__ import annotations

from typing import Sequence, Union

from ._layers import Extent, Layer, Linear, Value, _fail


def _plain(name: str, op: str, text: str, has_weights: bool = False) -> type[Layer]:
    return type(name, (Layer,), {"op": op, "has_weights": has_weights, "__doc__": text, "__module__": "syrtos.nn"})


Softplus = _plain("Softplus", "softplus", "log(1 + exp(x)).")
HardSigmoid = _plain("HardSigmoid", "hard_sigmoid", "x / 6 + 1 / 2, within 0 and 1.")
HardSwish = _plain("HardSwish", "hard_swish", "x * hard_sigmoid(x).")
SiLU = _plain("SiLU", "silu", "x * sigmoid(x), which is called swish too.")
Exp = _plain("Exp", "exp", "e to the power of x.")
Log = _plain("Log", "log", "Natural logarithm.")
Sqrt = _plain("Sqrt", "sqrt", "Square root.")
Abs = _plain("Abs", "abs", "Absolute value.")
Subtract = _plain("Subtract", "subtract", "a - b, which makes it; an axis of 1 is repeated.")
Multiply = _plain("Multiply", "multiply", "The product of values; a * b makes it; an axis of 1 is repeated.")
Divide = _plain("Divide", "divide", "a / b, which makes it; an axis of 1 is repeated.")
Minimum = _plain("Minimum", "minimum", "The smaller of values, element by element.")
Maximum = _plain("Maximum", "maximum", "The larger of values, element by element.")
MatMul = _plain("MatMul", "matmul", "Matrices [..., rows, n] and [..., n, columns]; a @ b makes it.")
PositionEmbedding = _plain("PositionEmbedding", "positions",
                           "x and values that are learnt, one for each of a sample's: what is where.",
                           has_weights=True)


class LeakyReLU(Layer):
    """x, below 0 slope * x."""

    op = "leaky_relu"

    def __init__(self, slope: float = 0.01, name: str | None = None):
        super().__init__(name, slope=slope)


class PReLU(Layer):
    """x, below 0 times a slope that is learnt for each channel."""

    op = "prelu"
    has_weights = True

    def __init__(self, start: float = 0.25, name: str | None = None):
        super().__init__(name, start=start)


class ELU(Layer):
    """x, below 0 alpha * (exp(x) - 1)."""

    op = "elu"

    def __init__(self, alpha: float = 1, name: str | None = None):
        super().__init__(name, alpha=alpha)


class Clip(Layer):
    """x within two numbers; those of ReLU6 unless others are given."""

    op = "clip"

    def __init__(self, least: float = 0, most: float = 6, name: str | None = None):
        super().__init__(name, least=least, most=most)


class Softmax(Layer):
    """Probabilities along an axis. Not for the end of a network: the loss has it already."""

    op = "softmax"

    def __init__(self, axis: int = -1, name: str | None = None):
        super().__init__(name, axis=axis)


class LogSoftmax(Softmax):
    """Their logarithms."""

    op = "log_softmax"


class _Over(Layer):
    def __init__(self, axes: Union[int, Sequence[int]], keep: bool = False, name: str | None = None):
        super().__init__(name, axes=axes, keep=keep)


class Mean(_Over):
    """The mean over axes, which disappear, or with keep are 1."""

    op = "mean"


class Sum(_Over):
    """The sum over axes."""

    op = "sum"


class Max(_Over):
    """The largest over axes."""

    op = "max"


class Reshape(Layer):
    """A sample's values in another shape; one extent may be -1: what is left."""

    op = "reshape"

    def __init__(self, *shape: int, name: str | None = None):
        super().__init__(name, shape=list(shape))


class Transpose(Layer):
    """A sample's axes in another order: Transpose(2, 1) of [tokens, features]."""

    op = "transpose"

    def __init__(self, *order: int, name: str | None = None):
        super().__init__(name, order=list(order))


class Slice(Layer):
    """From start to before end along an axis; below 0 they count from the end."""

    op = "slice"

    def __init__(self, axis: int, start: int = 0, end: int | None = None, name: str | None = None):
        super().__init__(name, axis=axis, start=start, end=end)


class LayerNorm(Layer):
    """Normalises over the last axes of each sample."""

    op = "layer_norm"
    has_weights = True

    def __init__(self, axes: int = 1, epsilon: float = 1e-5, name: str | None = None):
        super().__init__(name, axes=axes, epsilon=epsilon)


class GroupNorm(Layer):
    """Normalises over groups of channels of each sample."""

    op = "group_norm"
    has_weights = True

    def __init__(self, groups: int, epsilon: float = 1e-5, name: str | None = None):
        super().__init__(name, groups=groups, epsilon=epsilon)


class InstanceNorm(Layer):
    """Normalises each channel of each sample."""

    op = "group_norm"
    has_weights = True

    def __init__(self, epsilon: float = 1e-5, name: str | None = None):
        super().__init__(name, epsilon=epsilon)


class ConvTranspose2d(Layer):
    """Transposed convolution, which makes pictures larger."""

    op = "conv_transpose"
    has_weights = True

    def __init__(self, out: int, kernel: Extent, stride: Extent = 1, padding: Extent = 0, output_padding: Extent = 0,
                 dilation: Extent = 1, groups: int = 1, bias: bool = True, name: str | None = None):
        super().__init__(name, out=out, kernel=kernel, stride=stride, padding=padding, output_padding=output_padding,
                         dilation=dilation, groups=groups, bias=bias)


class Upsample(Layer):
    """A picture so many times as high and wide; mode is nearest or linear."""

    op = "upsample"

    def __init__(self, scale: int = 2, mode: str = "nearest", name: str | None = None):
        super().__init__(name, scale=scale, mode=mode)


def attention(value: Value, features: int, heads: int = 1) -> Value:
    """Multi-head self-attention of [tokens, features]."""
    if features % heads != 0:
        _fail(f"attention: expected heads that divide {features} features, found {heads}")
    each = features // heads

    def part() -> Value:
        return Reshape(-1, heads, each)(Linear(features)(value))

    query, key, what = Transpose(2, 1, 3)(part()), Transpose(2, 3, 1)(part()), Transpose(2, 1, 3)(part())
    weights = Softmax()((query @ key) * each ** -0.5)
    return Linear(features)(Reshape(-1, features)(Transpose(2, 1, 3)(weights @ what)))
