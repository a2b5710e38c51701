"""Loops of one's own: a compiled training step."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Unpack

import numpy as np

from . import _core, _data, _pack, nn
from ._group import Group
from ._options import StepOptions
from ._networks import NetworkLike, as_keywords, as_network


class Weights(Mapping):
    """Tensors by name, as arrays. Reading one gives a copy in plain order; weights can be assigned."""

    def __init__(self, core: Any, what: str):
        self._core = core
        self._what = what
        self._names = core.state_names() if what == "state" else core.names()

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(name)
        return self._core.get(name, self._what)

    def __setitem__(self, name: str, values: Any) -> None:
        if self._what == "gradient":
            raise TypeError("gradients are computed and not assigned")
        if name not in self._names:
            raise KeyError(name)
        self._core.set(name, np.ascontiguousarray(values, dtype=np.float32))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<syrtos {self._what}s: {', '.join(self._names)}>"


class Step:
    """A training step: step(x, y) computes the loss and the gradients of a batch and changes the
    weights. Made by compile()."""

    def __init__(self, core: Any, spec: _pack.Spec | None = None, one_hot: bool = False):
        self._core = core
        self._spec = spec
        self._one_hot = one_hot  # of a loss of one's own, which takes shares of classes
        self._run = core.run
        self.weights = Weights(core, "weight")
        self.gradients = Weights(core, "gradient")
        self.states = Weights(core, "state")  #: running statistics of batch norm
        self.batch, *sample = core.input
        self._input = (self.batch, *sample)
        self._target = (self.batch,) if core.has_classes else (self.batch, core.classes)
        self._target_type = np.dtype(np.int32 if core.has_classes else np.float32)

    def __call__(self, x: np.ndarray, y: np.ndarray, update: bool = True) -> float:
        """The loss of this batch. x: float32 [batch, channels, height, width] (or as train() takes
        arrays), as the network wants it: nothing is normalised; y: int32 labels, or float32 values or
        labels [batch, outputs], as the loss has it. With update=False the weights stay as they are.
        Of a network with several inputs or outputs x and y are tuples or dicts of arrays."""
        try:
            if x.shape == self._input and x.dtype == np.float32 and y.dtype == self._target_type \
                    and y.shape == self._target and y.flags.c_contiguous:
                return self._run(x, y, update)
        except AttributeError:
            pass
        if self._spec is not None:
            x, y = self._spec.pack_x(x), self._spec.pack_y(y)
        return self._run(*self._checked(x, y), update)

    def _checked(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        x = _data.as_array(x, "x")
        if x.dtype != np.float32:
            raise _core.RequestError(f"x: expected float32, found {x.dtype}")
        expected = self._input[1:]
        if x.ndim != 4 and len(x) and x[0].size == int(np.prod(expected)):
            x = x.reshape((len(x), *expected))
        if x.shape != self._input:
            raise _core.RequestError(f"x: expected {list(self._input)}, found {list(x.shape)}")
        if self._core.has_classes:
            return x, _data.as_labels(y, self.batch, self._core.classes)
        if self._one_hot and np.ndim(y) == 1 and np.asarray(y).dtype.kind in "iu":
            labels = _data.as_labels(y, self.batch, self._core.classes)
            y = labels[:, None] == np.arange(self._core.classes)
        values = _data.as_targets(y, self.batch)
        if values.shape != self._target:
            raise _core.RequestError(f"y: expected {list(self._target)}, found {list(np.shape(y))}")
        return x, values

    def update(self) -> None:
        """Changes the weights by the gradients there are."""
        self._core.update()

    @property
    def lr(self) -> float:
        """The learning rate; it may be assigned."""
        return self._core.learning_rate

    @lr.setter
    def lr(self, rate: float) -> None:
        self._core.learning_rate = rate

    @property
    def steps(self) -> int:
        """Updates so far."""
        return self._core.steps

    @property
    def logits(self) -> np.ndarray:
        """[batch, classes] of the last call, before its update."""
        return self._core.logits()

    @property
    def outputs(self) -> Any:
        """What the network gave at the last call, before its update: the logits, or of several outputs a tuple or dict
        of arrays."""
        return self._spec.split(self.logits) if self._spec is not None else self.logits

    @property
    def precision(self) -> str:
        """What it computes in: f32 or bf16."""
        return self._core.precision


def compile(network: NetworkLike, optimizer: str = "momentum", *, batch: int = 64,  # noqa: A001
            input: tuple[int, ...] | None = None, group: Group | None = None, loss: Any = None,
            **options: Unpack[StepOptions]) -> Step:
    """Compiles the training step of a network for a loop of your own.

    input: the shape of a sample, as in syrtos.nn; without it, the network's own.
    group: the processes that train together, of init(): each calls step(x, y) with a batch of its own, gradients are
        means over all of them, and all start from the weights of rank 0, so all weights stay equal. The loss is that of
        this process's batch, as are the running statistics of batch norm.
    loss: as in train(); the targets of a function are y as it is given, or of numbers of classes 1 for the class and 0
        for the others.
    options: those of train() that a step knows: classes, precision, threads, seed, lr, momentum, beta1,
        beta2, rho, epsilon, weight_decay, class_weights, label_smoothing.
    """
    spec = _pack.spec_of(network)
    if spec is not None and spec.inputs:
        core, shape = spec.core(), spec.packed
    elif isinstance(network, nn.Network):
        shape = network._known_input(input)
        core = network.core(shape)
    else:
        name, _ = as_network(network)
        core = _core.Network.named(name)
        shape = tuple(input) if input is not None else tuple(core.input)
    full = {1: (1, 1, *shape), 2: (shape[0], 1, *shape[1:])}.get(len(shape), shape)
    asked: dict[str, Any] = {"optimizer": optimizer, "batch": batch, **options}
    asked.setdefault("classes", core.classes)
    if loss is not None or (spec is not None and spec.outputs):
        asked["loss"] = _pack.loss_option(loss, spec, of="values")
    members = group._core if group is not None and group.size > 1 else None
    return Step(_core.Step(core, list(full), as_keywords(asked), members), spec, callable(loss))
