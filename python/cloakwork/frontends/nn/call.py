"""One call of torch's operations in an exported network: its arguments, and its refusal."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cloakwork.base.source_line import is_users
from cloakwork.errors import UnsupportedLayerError
from cloakwork.frontends.nn.masked import Masked
from cloakwork.frontends.nn.trace import Term, Trace
from cloakwork.programs.ir import layers as g

if TYPE_CHECKING:
    import torch

    from cloakwork.frontends.nn.compared import Compared
    from cloakwork.frontends.nn.folded import Folded
    from cloakwork.frontends.nn.turned import Turned
    from cloakwork.frontends.nn.words import Rows, Words

Value: TypeAlias = (
    "Term | Masked | Compared | Folded | Turned | Words | Rows | torch.Tensor | float | list[Value]"
)

_SUPPORTED = (
    "Linear, convolutions, recurrent layers, average and maximum pooling, batch norm, "
    "reshapes, sums, products, einsum, concatenation, polynomials and activations such as ReLU, "
    "SiLU, GELU, sigmoid, tanh, ELU and Softplus"
)
_AFTER = "leave it out and apply it to the decrypted result"
_ACTIVATION = "use ReLU, SiLU, GELU, sigmoid, tanh, ELU, Softplus or a polynomial"
_COMPARISON = (
    "encrypted numbers cannot be compared but where nothing jumps, as in torch.where(x > 0, x, "
    "0.1 * x); use ReLU, another activation or a polynomial instead"
)
_DIVISION = "encrypted numbers have no whole parts; leave rounding_mode out"
_WHOLE = "encrypted numbers have no whole parts; divide by / and keep what it gives"
BATCH_FIRST = "keep the batch as the first axis of values and of the result"
_PARTS = "put parts side by side by torch.cat"
_ROOT = "use a whole power from 0 up, -1, 1/2 or -1/2, an activation, or a polynomial near it"
_LOGARITHM = "use log, the natural one, and known factors"
TRACKED = "set track_running_stats=True and train it again"
_CHANCE = (
    "give dropout training=self.training, so that it is off after module.eval(), and put other "
    "random numbers in a buffer"
)

# A call in the text of a traceback.
_CALLED = re.compile(r'File "(.+?)", line (\d+), in .*\n +(?! |File ")(.+)')

# What users write for operations that torch.export names otherwise.
_WRITTEN: Mapping[str, str] = MappingProxyType(
    {
        "_adaptive_avg_pool3d": "adaptive_avg_pool3d",
        "_add_batch_dim": "vmap",
        "_cdist_forward": "cdist",
        "_log_softmax": "log_softmax",
        "_softmax": "softmax",
        "_to_copy": "to",
        "col2im": "fold",
        "feature_dropout": "dropout2d",
        "fft_fft": "fft.fft",
        "fft_ifft": "fft.ifft",
        "fft_irfft": "fft.irfft",
        "fft_rfft": "fft.rfft",
        "im2col": "unfold",
        "linalg_vector_norm": "norm",
        "max_pool2d_with_indices": "max_pool2d",
        "native_dropout": "dropout",
        "native_layer_norm": "layer_norm",
        "numpy_T": "T",
        "sym_size": "a size that depends on numbers",
    }
)

# What works instead of an operation of this name.
_INSTEAD_OF: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("eq", "ne"), _COMPARISON),
        **dict.fromkeys(("ceil", "floor", "round", "sign", "trunc"), _COMPARISON),
        "div": _DIVISION,
        **dict.fromkeys(("floor_divide", "remainder"), _WHOLE),
        "linalg_norm": "use torch.linalg.vector_norm",
        "numpy_T": "keep the batch first, and permute the axes behind it",
        "logsumexp": "use exp, sum and log",
        "sym_size": "take places by integers where they are taken by booleans",
        "pow": _ROOT,
        **dict.fromkeys(("column_stack", "copy", "index_put", "vstack"), _PARTS),
        **dict.fromkeys(("hardshrink", "softsign"), _ACTIVATION),
    }
)

# What works instead of a layer of torch's that is made of operations of other names.
_INSTEAD_OF_KIND: Mapping[str, str] = MappingProxyType(
    {"LocalResponseNorm": "use BatchNorm2d or GroupNorm, and train the network with it"}
)

# The same for names that begin so.
_INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "batch_norm": TRACKED,
        "max_pool": "use MaxPool1d or MaxPool2d without return_indices",
        "argmax": _AFTER,
        "argmin": _AFTER,
        "topk": _AFTER,
        "sort": _AFTER,
        "max": _AFTER,
        "log": _LOGARITHM,
        "empty": "use torch.zeros",
        "new_empty": "use torch.zeros",
        "bernoulli": _CHANCE,
        "native_dropout": _CHANCE,
        "dropout": _CHANCE,
        "feature_dropout": _CHANCE,
        "normal": _CHANCE,
        "rand": _CHANCE,
        "uniform": _CHANCE,
        "prelu": "use LeakyReLU, or PReLU of one parameter",
    }
)


@dataclass(frozen=True, slots=True)
class TorchCall:
    """One operation of an exported network.

    Args:
        trace: The graph so far.
        layer: The module it is in, by its qualified name.
        name: The operation's name in torch, such as conv2d.
        arguments: Its arguments by torch's names, defaults among them.
        function: Torch's function, for running it on other tensors.
        batch: How many inputs the sample has.
        stack: The calls that led to it, as torch writes them; empty where it does not know.
        kind: The layer of torch's that it is of, such as Conv2d; empty for any other's.
    """

    trace: Trace
    layer: str
    name: str
    arguments: Mapping[str, Any]
    function: Any
    batch: int
    stack: str = ""
    kind: str = ""

    def value(self) -> Term:
        """The first argument, which depends on the network's input."""
        first = next(iter(self.arguments))
        value = self.arguments[first]
        if isinstance(value, Term):
            return value
        raise self.unsupported(f"{first} does not depend on the network's input")

    def number(self, argument: str) -> float:
        """An argument that is a known number."""
        value = self.arguments[argument]
        if isinstance(value, Term):
            raise self.unsupported(f"{argument} depends on the network's input")
        numbers = array_of(value)
        if numbers.size != 1:
            raise self.unsupported(f"{argument} is a tensor of {numbers.size} numbers, not one")
        return float(numbers.item())

    def array(self, argument: str) -> g.Array | None:
        """An argument that is a known tensor, or was left out."""
        value = self.arguments[argument]
        if value is None:
            return None
        if isinstance(value, Term):
            raise self.unsupported(f"{argument} depends on the network's input")
        known = array_of(value)
        if not np.isfinite(known).all():
            raise self.unsupported(f"{argument} with NaN or an infinity", "leave it out")
        return known

    def pair(self, argument: str) -> g.Pair:
        """Numbers for down and to the right, of which one stands for both."""
        values = self.arguments[argument]
        first, *_ = last = tuple(values) if isinstance(values, (list, tuple)) else (values,)
        return int(first), int(last[-1])

    def numbers(self, argument: str, count: int) -> tuple[int, ...]:
        """Whole numbers, one for each of some axes, of which one stands for all."""
        values = self.arguments[argument]
        given = tuple(values) if isinstance(values, (list, tuple)) else (values,)
        return tuple(map(int, given * count if len(given) == 1 else given))

    def append(self, operation: g.Operation, *values: Term) -> Term:
        """The value of a new node of this layer."""
        return self.trace.append(self.layer, operation, *values)

    def reshaped(self, value: Term, shape: g.Shape) -> Term:
        """The same elements in another shape."""
        if self.trace.shape(value) == shape:
            return value
        return self.append(g.Rearrange(np.arange(math.prod(shape)), shape), value)

    def unsupported(self, why: str = "", instead: str = "") -> UnsupportedLayerError:
        """The refusal of this call: the layer, the operation, and what to use instead."""
        instead = (
            instead
            or _INSTEAD_OF.get(self.name)
            or next(
                (advice for start, advice in _INSTEAD.items() if self.name.startswith(start)),
                f"use supported layers: {_SUPPORTED}",
            )
        )
        reason = f" ({why})" if why else ""
        name = as_written(self.name)
        if self.kind in _INSTEAD_OF_KIND:
            name, instead = f"{self.kind}, by its {name}", _INSTEAD_OF_KIND[self.kind]
        # Hardshrink is one operation of nearly its own name; LPPool2d is eight of other names.
        elif self.kind and self.kind.lower() != name.replace("_", ""):
            name = f"{name} of {self.kind}"
        return unsupported_layer(self.layer, f"{name}{reason}", instead, self.stack)


def unsupported_layer(layer: str, got: str, instead: str, stack: str = "") -> UnsupportedLayerError:
    """The refusal of a layer: what it does, where the user wrote it, and what to use instead."""
    return UnsupportedLayerError(
        f"cannot compute layer {layer!r} on encrypted numbers: expected operations that are "
        f"supported, got {got}{written_at(stack)}; {instead}"
    )


def as_written(name: str) -> str:
    """What users write for an operation that torch.export gives a name."""
    return _WRITTEN.get(name, name)


def written_at(stack: str) -> str:
    """Where the user wrote the innermost of some calls, as a message goes on; empty if nowhere.

    Args:
        stack: The calls, as Python and torch write them.
    """
    import torch  # noqa: PLC0415

    library = str(Path(torch.__file__).parent)
    calls = _CALLED.findall(stack)
    # Torch writes code of its own into files of such names.
    others = (library, "<eval_with_key>")
    own = [each for each in calls if is_users(each[0]) and not each[0].startswith(others)]
    return ", at {}:{}: {}".format(*own[-1]) if own else ""


def array_of(value: Any) -> g.Array:
    """A tensor, an array or a number as numpy holds it."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (int, float)):
        return np.asarray(float(value))
    return np.array(value.detach().cpu().double().numpy())
