"""Arrays as data sets: what shapes and types mean, and what is wrong with them."""
from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core

_CHUNK = 1 << 24  # values that are looked at together


def as_array(value: Any, what: str) -> np.ndarray:
    """Without a copy where it has DLPack, the array interface or a buffer."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise _core.RequestError(f"{what}: expected an array, found {type(value).__name__}: {error}")


def _list(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def _check_type(x: np.ndarray, what: str) -> None:
    if x.dtype in (np.uint8, np.float32) and x.dtype.isnative:
        return
    hint = (f": {what}.astype('float32') converts it" if x.dtype.kind in "fiub" else
            ": are its rows of different lengths?" if x.dtype == object else "")
    raise _core.RequestError(f"{what}: expected uint8 or float32, found {x.dtype}{hint}")


def _check_finite(x: np.ndarray, what: str) -> None:
    if x.dtype != np.float32 or x.size == 0:
        return
    rows = max(1, _CHUNK // max(1, x[0].size))
    for first in range(0, len(x), rows):
        part = x[first:first + rows]
        # The sum of finite values may overflow, but a NaN or infinity always shows in it.
        if np.isfinite(np.sum(part, dtype=np.float64)):
            continue
        wrong = np.argwhere(~np.isfinite(part))
        if len(wrong):
            index = (first + int(wrong[0][0]), *map(int, wrong[0][1:]))
            raise _core.RequestError(
                f"{what}: expected finite values, found {x[index]} at {list(index)}")


def as_samples(x: Any, what: str = "x") -> np.ndarray:
    """The array as [samples, channels, height, width], without a copy.

    Of 4 axes it is just that, of 3 [samples, height, width] (uint8, or as high as wide) or
    [samples, channels, length], of 2 [samples, features]."""
    x = as_array(x, what)
    _check_type(x, what)
    if x.ndim not in (2, 3, 4):
        raise _core.RequestError(
            f"{what}: expected [samples, channels, height, width], [samples, channels, length] or "
            f"[samples, features], found {_list(x.shape)}")
    if x.size == 0:
        raise _core.RequestError(f"{what}: expected samples, found none in {_list(x.shape)}")
    if x.ndim == 4 and x.shape[3] <= 4 < x.shape[1]:
        raise _core.RequestError(
            f"{what}: expected [samples, channels, height, width], found {_list(x.shape)}, which looks "
            f"like channels last: {what}.transpose(0, 3, 1, 2) gives them as expected, without a copy")
    _check_finite(x, what)
    if x.ndim == 2:
        return x[:, None, None, :]
    if x.ndim == 3:
        pictures = x.dtype == np.uint8 or x.shape[1] == x.shape[2]
        return x[:, None] if pictures else x[:, :, None, :]
    return x


def as_labels(y: Any, samples: int, classes: int | None, what: str = "y") -> np.ndarray:
    """Numbers of classes, one for each sample."""
    y = as_array(y, what)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        hint = f": {what}.argmax(axis=1) makes labels of it" if y.ndim == 2 else ""
        raise _core.RequestError(
            f"{what}: expected a label for each of {samples} samples, found {_list(y.shape)}{hint}")
    if len(y) != samples:
        raise _core.RequestError(f"{what}: expected {samples} labels, one for each sample, found {len(y)}")
    if y.dtype.kind not in "iu":
        raise _core.RequestError(
            f"{what}: expected whole numbers from 0 on, found {y.dtype}: {what}.astype('int32') converts "
            "them; numpy.unique(y, return_inverse=True)[1] makes them of names")
    _check_range(y, classes, what)
    return np.ascontiguousarray(y, dtype=np.int32)


def _check_range(labels: np.ndarray, classes: int | None, what: str) -> None:
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or (classes is not None and high >= classes):
        wrong = low if low < 0 else high
        expected = "0 on" if classes is None else f"0 to {classes - 1}"
        raise _core.RequestError(f"{what}: expected labels from {expected}, found {wrong} for sample "
                                 f"{int(np.argmax(labels == wrong))}")


def as_targets(y: Any, samples: int, what: str = "y") -> np.ndarray:
    """Numbers of any shape beside each sample, as float32 [samples, numbers of each]."""
    y = as_array(y, what)
    if y.ndim < 1 or len(y) != samples:
        raise _core.RequestError(f"{what}: expected a label or values for each of {samples} samples, found "
                                 f"{_list(y.shape)}")
    if y.dtype.kind not in "iufb":
        hint = ("numpy.unique(y, return_inverse=True)[1] makes numbers of names" if y.dtype.kind in "USO" else
                "they must be numbers")
        raise _core.RequestError(f"{what}: expected numbers, found {y.dtype}: {hint}")
    if y.size == 0:
        raise _core.RequestError(f"{what}: expected a label or values for each sample, found {_list(y.shape)}")
    values = np.ascontiguousarray(y, dtype=np.float32).reshape(samples, -1)
    _check_finite(values, what)
    return values


def kind_of(loss: Any) -> str:
    """What numbers beside samples are, as a loss has it."""
    if loss in (None, "auto"):
        return "auto"
    if str(loss).startswith("{"):  # of one's own
        of = json.loads(loss).get("of")
        return "auto" if of is None else "classes" if of == "classes" else "values"
    return "classes" if str(loss) in ("cross-entropy", "ce") else "values"


class Arrays:
    """Samples, and what is to be found out about them: checked."""

    def __init__(self, x: Any, y: Any, classes: int | None = None, names: tuple[str, str] = ("x", "y"),
                 kind: str = "auto", like: "Arrays | Items | None" = None):
        original = as_array(x, names[0])
        self.values = as_samples(original, names[0])
        targets = as_array(y, names[1])
        self.original = (original, targets)  #: as they were given
        self.targets = as_targets(targets, len(self.values), names[1])
        if isinstance(like, Items):
            kind = "values" if like.classes == 0 else "classes"
        self.meaning: Any = like.meaning if isinstance(like, Arrays) else \
            _core.Meaning(names[1], self.targets, list(targets.shape[1:]), kind)
        self.classes = self.meaning.classes  #: 0: they are values
        if self.classes and classes is not None and self.targets.shape[1] == 1:
            _check_range(self.targets[:, 0], classes, names[1])
        self.sample = tuple(int(n) for n in original.shape[1:])
        if original.ndim == 3 and self.values.shape[1] == 1 and self.values.shape[2] > 1:
            self.sample = (1, *self.sample)

    def core(self) -> Any:
        return _core.array_data("arrays", self.values, self.targets, self.meaning)


class Items:
    """Samples of a Python object with __len__ and __getitem__, which gives (x, y). They are read while
    steps are computed, by the threads that prepare batches, one at a time."""

    def __init__(self, items: Any, classes: int | None, what: str = "data", kind: str = "auto"):
        self._items: Any = items
        self._what = what
        self.size = len(items)
        if self.size == 0:
            raise _core.RequestError(f"{what}: expected samples, found none")
        x, y = self._pair(0)
        first = self._planes(x, 0)
        self._shape, self._dtype = first.shape, first.dtype
        self.sample = tuple(as_array(x, f"{what}[0]").shape)
        target = np.asarray(y)
        self._target = target.shape
        is_label = target.size == 1 and target.dtype.kind in "iu"
        self.classes = 0 if kind == "values" or (kind == "auto" and not is_label) else \
            self._count(classes)  #: 0: they are values

    def _count(self, classes: int | None) -> int:
        found: Any = classes or getattr(self._items, "classes", None)
        if not isinstance(found, int):
            found = len(found) if hasattr(found, "__len__") else None
        if found is None:
            raise _core.RequestError(
                f"{self._what}: the labels of {type(self._items).__name__} are not known before they are "
                "read: give classes=, their number")
        return found

    def _pair(self, index: int) -> tuple[Any, Any]:
        return as_pair(self._items[index], f"{self._what}[{index}]", "a sample and its label (x, y)")

    def _planes(self, x: Any, index: int) -> np.ndarray:
        what = f"{self._what}[{index}]"
        return as_samples(as_array(x, what)[None], what)[0]

    def _read(self, index: int) -> tuple[np.ndarray, Any]:
        x, y = self._pair(index)
        planes = self._planes(x, index)
        if planes.shape != self._shape or planes.dtype != self._dtype:
            raise _core.RequestError(f"expected {self._dtype} of {_list(self._shape)}, as of sample 0, found "
                                     f"{planes.dtype} of {_list(planes.shape)}")
        return planes, self._values(y) if self.classes == 0 else self._label(y)

    def _label(self, y: Any) -> int:
        label = int(y)
        if label != y or not 0 <= label < self.classes:
            raise _core.RequestError(f"expected a label from 0 to {self.classes - 1}, found {y!r}")
        return label

    def _values(self, y: Any) -> np.ndarray:
        values = np.asarray(y, dtype=np.float32)
        if values.shape != self._target:
            raise _core.RequestError(f"expected values of {_list(self._target)}, as of sample 0, found "
                                     f"{_list(values.shape)}")
        if not np.isfinite(values).all():
            raise _core.RequestError(f"expected finite values, found {y!r}")
        return np.ascontiguousarray(values).reshape(-1)

    def core(self) -> Any:
        return _core.item_data(type(self._items).__name__, self.size, list(self._shape),
                               self._dtype == np.uint8, self.classes, list(self._target), self._read)


def _is_items(data: Any) -> bool:
    return (hasattr(data, "__getitem__") and hasattr(data, "__len__")
            and not isinstance(data, (tuple, list, dict, np.ndarray)) and not hasattr(data, "__array__"))


def _is_iterable(data: Any) -> bool:
    """Of samples: what gives one after the other, or a list of pairs."""
    if isinstance(data, list):
        return len(data) != 2 and all(isinstance(each, (tuple, list)) and len(each) == 2 for each in data)
    return hasattr(data, "__iter__") and not isinstance(data, (tuple, dict, np.ndarray)) and not hasattr(data, "__array__")


def _collected(data: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Every sample that an iterable gives, read once and to its end, as arrays."""
    samples: list[np.ndarray] = []
    targets: list[np.ndarray] = []
    for i, each in enumerate(data):
        x, y = as_pair(each, f"{what}: sample {i}", "a sample and its label (x, y)")
        array, target = as_array(x, f"{what}: x of sample {i}"), np.asarray(y)
        first, first_target = (samples or [array])[0], (targets or [target])[0]
        if (array.shape, array.dtype) != (first.shape, first.dtype) or target.shape != first_target.shape:
            raise _core.RequestError(
                f"{what}: expected samples as the first one, {first.dtype} of {_list(first.shape)} with a target of "
                f"{_list(first_target.shape)}, found {array.dtype} of {_list(array.shape)} with {_list(target.shape)} "
                f"for sample {i}")
        samples.append(array)
        targets.append(target)
    if not samples:
        raise _core.RequestError(f"{what}: expected samples, found none")
    return np.stack(samples), np.stack(targets)


def unlabelled(x: Any, what: str = "x") -> Any:
    """Samples to predict."""
    return _core.array_data("arrays", as_samples(x, what), None, None)


def is_named(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


def is_picture(path: str) -> bool:
    return path.lower().endswith((".jpg", ".jpeg", ".png", ".webp", ".bmp", ".pgm", ".ppm", ".pnm"))


def as_pair(data: Any, what: str, example: str) -> tuple[Any, Any]:
    if isinstance(data, (tuple, list)) and len(data) == 2:
        return data[0], data[1]
    found = f"{len(data)} things" if isinstance(data, (tuple, list)) else type(data).__name__
    raise _core.RequestError(f"{what}: expected {example}, found {found}")


class Given:
    """What data= and test= mean: a name, arrays, or an object that reads samples."""

    def __init__(self, data: Any, test: Any, options: Mapping[str, Any]):
        classes = options.get("classes")
        self._kind = kind_of(options.get("loss"))
        self._validation = float(options.get("validation") or 0)
        self._seed = int(options.get("seed", 1))
        self.name: str | None = None
        self.train: Arrays | Items | None = None
        self.test: Arrays | Items | None = None
        if data is None or is_named(data):
            self.name = None if data is None else os.fspath(data)
            if test is not None:
                raise _core.RequestError("test: it is for arrays; data that is named has its own")
            return
        self.train = self._source(data, classes, "data", ("x", "y"))
        if test is None:
            return
        self.test = self._source(test, classes or self.train.classes or None, "test",
                                 ("x of test", "y of test"), self.train)
        if self._planes(self.test) != self._planes(self.train):
            raise _core.RequestError(
                f"test: expected samples as those to train on, {_list(self._planes(self.train))}, "
                f"found {_list(self._planes(self.test))}")

    def _source(self, data: Any, classes: int | None, what: str, names: tuple[str, str],
                like: Any = None) -> Any:
        if _is_items(data):
            return Items(data, classes, what, self._kind)
        if _is_iterable(data):
            data = _collected(data, what)
        example = ("arrays (x, y), or an object with __len__ and __getitem__" if what == "test" else
                   "a name such as 'mnist', a path, arrays (x, y), or an object with __len__ and __getitem__")
        return Arrays(*as_pair(data, what, example), classes, names, self._kind, like)

    @staticmethod
    def _planes(source: Any) -> tuple[int, ...]:
        return source._shape if isinstance(source, Items) else source.values.shape[1:]

    @property
    def sample(self) -> tuple[int, ...] | None:
        return self.train.sample if self.train else None

    def cores(self) -> tuple[Any, Any]:
        if self.train is None:
            return None, None
        return self.train.core(), self.test.core() if self.test else None

    def test_core(self) -> Any:
        """What a run on these samples was measured with."""
        return _core.test_data(*self.cores(), self._validation, self._seed)
