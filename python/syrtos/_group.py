"""Loops of one's own on several processes, which mpirun, torchrun, srun or the like have started."""
from __future__ import annotations

import atexit
from typing import Any

import numpy as np

from . import _core, _data

_KINDS = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.int64}
_joined: Group | None = None


class Group:
    """The processes that train together, one for each worker. Made by init().

    All of them call the same methods in the same order, with arrays of the same shapes; a call waits until the others
    have come to it. Where one is lost the others get a RunError that names it. At the end of the program, and of a
    with block, a process leaves the group."""

    def __init__(self, core: Any):
        self._core = core

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""
        return self._core.rank

    @property
    def size(self) -> int:
        """How many there are; 1: this process is alone."""
        return self._core.size

    @property
    def local_size(self) -> int:
        """How many of them are on this host."""
        return self._core.here

    def all_reduce(self, values: Any, reduction: str = "mean") -> Any:
        """The mean, sum, min or max of every process's values, the same bits for all: of an array a new one of the same
        shape and type, of a number a number."""
        array = _data.as_array(values, "all_reduce")
        if array.dtype.kind not in _KINDS:
            raise _core.RequestError(f"all_reduce: expected numbers, found {array.dtype}")
        how = "sum" if reduction == "mean" else reduction
        kind = np.float32 if array.dtype == np.float32 else \
            np.float64 if reduction == "mean" else _KINDS[array.dtype.kind]
        result: Any = np.array(array, dtype=kind, order="C")
        self._core.all_reduce(result.reshape(-1), how)
        if reduction == "mean":
            result = result / result.dtype.type(self.size)
        if not isinstance(values, np.ndarray) and array.ndim == 0:
            return result.item()
        return result if reduction == "mean" and array.dtype.kind != "f" else result.astype(array.dtype, copy=False)

    def broadcast(self, values: Any, root: int = 0) -> Any:
        """What the process of this rank has, for all: of an array a new one, of a number a number. The others give an
        array of the same shape and type, whatever its values are."""
        array = _data.as_array(values, "broadcast")
        if array.dtype.hasobject:
            raise _core.RequestError(f"broadcast: expected numbers, found {array.dtype}")
        result = np.array(array, order="C")
        self._core.broadcast(result.reshape(-1).view(np.uint8), root)
        return result.item() if not isinstance(values, np.ndarray) and array.ndim == 0 else result

    def barrier(self) -> None:
        """Nobody goes on before all have come."""
        self._core.barrier()

    def leave(self) -> None:
        """Leaves the group, which ends it for the others too where they still expect something of this process."""
        self._core.leave()

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, *_: Any) -> None:
        self.leave()

    def __repr__(self) -> str:
        return f"<syrtos.Group: rank {self.rank} of {self.size}>"


def init(*, patience: int = 10, encryption: str = "tls") -> Group:
    """The group of this process: those that were started with it by mpirun, torchrun, srun, Kubernetes or whatever else
    sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Alone, a group of one, so that the same loop runs anywhere.
    Waits until all have come; a second call gives the same group.

    patience: seconds that the network may be cut, or a process be stopped, without loss.
    encryption: "tls", what crosses between hosts is encrypted, or "none"."""
    global _joined
    if encryption not in ("tls", "none"):
        raise _core.RequestError(f"encryption: expected tls or none, found '{encryption}'")
    if _joined is None:
        _joined = Group(_core.Group(patience, encryption == "tls"))
        if _joined.size > 1:
            atexit.register(_joined.leave)
    return _joined
