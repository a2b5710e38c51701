"""Layers of sequences: [steps, features] of each sample."""
from __future__ import annotations

from ._layers import Layer


class Embedding(Layer):
    """A row of `rows` for each whole number below that: [steps] to [steps, out]. As the first layer it
    takes the numbers of a sample as they are, such as those of characters or words."""

    op = "embedding"
    has_weights = True

    def __init__(self, rows: int, out: int, name: str | None = None):
        super().__init__(name, rows=rows, out=out)


class _Recurrent(Layer):
    def __init__(self, out: int, layers: int = 1, bidirectional: bool = False, dropout: float = 0,
                 sequence: bool = True, name: str | None = None):
        super().__init__(name, out=out, layers=layers, bidirectional=bidirectional, dropout=dropout,
                         sequence=sequence)


class LSTM(_Recurrent):
    """Long short-term memory of `out` units: [steps, features] to [steps, out] or, with
    sequence=False, to the [out] values of its last step. Of a picture the rows are steps.
    bidirectional walks both ways and gives twice as many; dropout is between `layers`."""

    op = "lstm"
    has_weights = True


class GRU(_Recurrent):
    """Gated recurrent units, with the arguments of LSTM; as PyTorch's, the reset gate comes after the
    product."""

    op = "gru"
    has_weights = True


class RNN(Layer):
    """A plain recurrent layer, with the arguments of LSTM; activation is tanh or relu."""

    op = "rnn"
    has_weights = True

    def __init__(self, out: int, layers: int = 1, bidirectional: bool = False, dropout: float = 0,
                 sequence: bool = True, activation: str = "tanh", name: str | None = None):
        super().__init__(name, out=out, layers=layers, bidirectional=bidirectional, dropout=dropout,
                         sequence=sequence, activation=activation)
