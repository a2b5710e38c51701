"""Arrays that other processes of this machine read without copies of their own."""
from __future__ import annotations

import mmap
import os
from typing import Any, Mapping

import numpy as np

from . import _core, _data

#: What data sets are to be read as, beside their values.
_MEANING = ("classes", "loss", "validation", "seed")


class Shared:
    """Arrays copied into memory that processes of the same user see by its name while this lives. It has no file that
    could stay behind: when this process ends, however it does, so does the memory, once nobody reads it."""

    def __init__(self, given: _data.Given, options: Mapping[str, Any]):
        self._files: list[int] = []
        try:
            sources = {"train": self._source(given.train)}
            if given.test is not None:
                sources["test"] = self._source(given.test)
        except BaseException:
            self.close()
            raise
        meaning = {name: options[name] for name in _MEANING if options.get(name) is not None}
        #: As JSON has it, for opened().
        self.description = {**sources, "options": {name: getattr(value, "item", lambda value=value: value)()
                                                   for name, value in meaning.items()}}

    def _source(self, source: Any) -> list[dict[str, Any]]:
        return [self._array(array) for array in source.original]

    def _array(self, array: np.ndarray) -> dict[str, Any]:
        file = os.memfd_create("syrtos")
        self._files.append(file)
        try:
            os.ftruncate(file, array.nbytes)
            with mmap.mmap(file, array.nbytes) as memory:
                copy = np.ndarray(array.shape, array.dtype, memory)
                np.copyto(copy, array)
                del copy  # it would keep the memory open
        except OSError as error:
            raise _core.RunError(f"expected {array.nbytes / 1e9:.1f} GB of memory to share arrays with the workers, found "
                                 f"none: {error.strerror}; write them to a file and give its path") from error
        return {"file": f"/proc/{os.getpid()}/fd/{file}", "type": array.dtype.str, "shape": list(array.shape)}

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []


def _mapped(array: Mapping[str, Any]) -> np.ndarray:
    try:
        return np.memmap(array["file"], np.dtype(array["type"]), "r", shape=tuple(array["shape"]))
    except OSError as error:
        raise _core.RequestError(f"expected the launcher's arrays at {array['file']}, found none: {error.strerror}")


def opened(description: Mapping[str, Any] | None) -> tuple[Any, Any]:
    """Both data sets of a description, or neither."""
    if description is None:
        return None, None
    train, test = (None if name not in description else tuple(map(_mapped, description[name]))
                   for name in ("train", "test"))
    return _data.Given(train, test, description["options"]).cores()
