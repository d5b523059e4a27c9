"""The array API of tensors for the consortium's suite: each call runs on tensors, in the clear.

The suite looks at the numbers of its arrays, so an array here holds them. A function, operator or
method that it calls gets tensors that stand for floating numbers, comparisons for truths and, in
Fourier transforms, pairs of tensors for complex numbers; what tracing records is then computed in
the clear. Integers, other complex numbers and calls with arrays without elements are numpy's, and
so is what the suite's own helpers compute to look at results, and what Hypothesis does to draw
arrays.

CONTRIBUTING.md says how to run it.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, NotFiniteError
from cloakwork.frontends.tensors.numpy.array_api import namespace_of
from cloakwork.frontends.tensors.numpy.complex_tensors import ComplexTensor
from cloakwork.frontends.tensors.tracing import Trace, TracedTensor
from cloakwork.plan.functions.clear import values_of
from cloakwork.plan.functions.intervals import of_spec
from cloakwork.plan.functions.observed import MARGIN
from cloakwork.programs.ir.tensors import Source

_LOOKING = ("array_helpers", "pytest_helpers", "hypothesis_helpers", "dtype_helpers")


class _Call:
    """One call: the sources that stand for arrays, and their numbers."""

    def __init__(self, arrays: Sequence[np.ndarray[Any, Any]], is_sample: bool) -> None:
        parts = [part for array in arrays for part in _parts(array)]
        self.sources = [Source(f"x{number}", part.shape) for number, part in enumerate(parts)]
        self.values = dict(zip(self.sources, parts, strict=True))
        ranges = {source: of_spec(_spec(part)) for source, part in self.values.items()}
        self.trace = Trace(ranges, [self.values] if is_sample and parts else [], MARGIN)
        self._next = iter(self.sources)

    def tensor(self, array: np.ndarray[Any, Any]) -> Any:
        """What stands for an array."""
        made = [TracedTensor(next(self._next), self.trace) for _ in _parts(array)]
        if array.dtype.kind == "b":
            return made[0] > 0
        return ComplexTensor(*made) if array.dtype.kind == "c" else made[0]

    def read(self, result: Any) -> Any:
        """What a result is in the clear."""
        if isinstance(result, TracedTensor):
            with np.errstate(all="ignore"):
                found = values_of([result.node()], self.values)[result.node()]
            return Array(np.asarray(found, dtype=result.dtype))
        if isinstance(result, ComplexTensor):
            real, imag = (self.read(each) for each in (result.real, result.imag))
            return Array(real.values + 1j * imag.values)
        if isinstance(result, np.ndarray | np.generic):
            return Array(result)
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*map(self.read, result))
        if isinstance(result, list | tuple):
            return type(result)(map(self.read, result))
        return result


def _parts(array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The real tensors that an array takes."""
    if array.dtype.kind == "b":
        return [np.where(array, 1.0, -1.0)]
    return [array.real, array.imag] if array.dtype.kind == "c" else [array]


def _spec(part: np.ndarray[Any, Any]) -> cw.Spec:
    known = part[np.isfinite(part)]
    low, high = float(known.min(initial=0.0)), float(known.max(initial=0.0))
    return cw.Spec(part.shape, low=low, high=high if high > low else low + 1.0)


def _is_encrypted(array: Array, function: Callable[..., Any]) -> bool:
    is_transform = getattr(function, "__module__", "") == "numpy.fft"
    return array.dtype.kind in ("bfc" if is_transform else "bf")


def _is_looking() -> bool:
    """Whether the suite's helpers or Hypothesis ask, rather than a test."""
    frame = sys._getframe(2)
    name = str(frame.f_globals.get("__name__", ""))
    if frame.f_code.co_name.startswith("assert_"):
        return True
    return name.startswith("hypothesis.") or name.rpartition(".")[2] in _LOOKING


def _run(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> Any:
    """A function of tensors that stand for the arrays among its arguments."""
    found: list[Array] = []
    _turned([*args, *named.values()], found.append)
    if not all(each.size for each in found):
        return _clear(function, args, named)
    encrypted = [each.values for each in found if _is_encrypted(each, function)]
    try:
        return _run_on(_Call(encrypted, is_sample=True), function, args, named)
    except NotFiniteError:
        # No sample is infinite, nor what is made of it.
        return _run_on(_Call(encrypted, is_sample=False), function, args, named)


def _run_on(
    call: _Call, function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]
) -> Any:
    def stand_in(array: Array) -> Any:
        return call.tensor(array.values) if _is_encrypted(array, function) else array.values

    turned = _turned([*args, *named.values()], stand_in)
    made = function(*turned[: len(args)], **dict(zip(named, turned[len(args) :], strict=True)))
    return call.read(made)


def _clear(function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> Any:
    with np.errstate(all="ignore"):
        plain = _turned([*args, *named.values()], lambda each: each.values)
        return _Call([], is_sample=False).read(
            function(*plain[: len(args)], **dict(zip(named, plain[len(args) :], strict=True)))
        )


def _turned(value: Any, turn: Callable[[Array], Any]) -> Any:
    if isinstance(value, Array):
        return turn(value)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(_turned(each, turn) for each in value)
    return value


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def called(*args: Any, **named: Any) -> Any:
        return (_clear if _is_looking() else _run)(function, args, named)

    called.__name__ = getattr(function, "__name__", "function")
    called.__wrapped__ = function  # type: ignore[attr-defined]
    return called


def _operator(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def called(self: Array, *others: Any) -> Any:
        return (_clear if _is_looking() else _run)(function, (self, *others), {})

    return called


def _reflected(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def called(self: Array, other: Any) -> Any:
        return _run(lambda x, y: function(y, x), (self, other), {})

    return called


class Array:
    """An array of the suite."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    dtype = property(lambda self: self.values.dtype)
    shape = property(lambda self: self.values.shape)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)
    device = property(lambda self: "cpu")
    T = property(lambda self: _run(operator.attrgetter("T"), (self,), {}))
    mT = property(lambda self: _run(operator.attrgetter("mT"), (self,), {}))  # noqa: N815

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        namespace_of(api_version)
        return xp

    def to_device(self, device: str, /, *, stream: object = None) -> Any:
        return _run(lambda x: x.to_device(device, stream=stream), (self,), {})

    def __getitem__(self, index: Any) -> Any:
        known = _turned(index, lambda each: each.values)
        return (_clear if _is_looking() else _run)(lambda x: x[known], (self,), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        if not _is_looking():
            raise InvalidArgumentError("cannot set elements: a tensor never changes")
        self.values[_turned(index, lambda each: each.values)] = _turned(value, lambda e: e.values)

    def __len__(self) -> int:
        return len(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __int__(self) -> int:
        return int(self.values)

    def __index__(self) -> int:
        return operator.index(self.values)

    def __float__(self) -> float:
        return float(self.values)

    def __complex__(self) -> complex:
        return complex(self.values)

    def __repr__(self) -> str:
        return f"Array({self.values!r})"


for _name in (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
):
    setattr(Array, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(Array, f"__r{_name}__", _reflected(f"__{_name}__"))
for _name in ("abs", "invert", "neg", "pos", "eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Array, f"__{_name}__", _operator(f"__{_name}__"))


def _adapted(module: ModuleType) -> ModuleType:
    """A namespace whose functions take arrays of the suite."""
    made = ModuleType(module.__name__)
    for name, each in vars(module).items():
        if isinstance(each, ModuleType):
            setattr(made, name, _adapted(each))
        elif name == "__array_namespace_info__" or not name.startswith("__"):
            is_function = callable(each) and not isinstance(each, type)
            setattr(made, name, _wrapped(each) if is_function else each)
    return made


def _known_array(*args: Any, **named: Any) -> Any:
    return _clear(np.asarray, args, named)


# What the suite is given as the module that it tests.
xp = _adapted(namespace_of())
xp.__array_api_version__ = namespace_of().__array_api_version__  # type: ignore[attr-defined]
_known_array.__wrapped__ = namespace_of().asarray  # type: ignore[attr-defined]
# The suite makes arrays of what it has read of others.
xp.asarray = _known_array  # type: ignore[attr-defined]
xp.__version__ = cw.__version__  # type: ignore[attr-defined]
