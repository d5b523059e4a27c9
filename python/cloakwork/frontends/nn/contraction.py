"""Torch's products that sum over axes, of values of the network and known tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from string import ascii_letters
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.nn.arithmetic import sum_of
from cloakwork.frontends.nn.call import BATCH_FIRST, TorchCall, array_of
from cloakwork.frontends.nn.known import first_of_batch
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g

_ELLIPSIS = "..."


@dataclass(frozen=True, slots=True, eq=False)
class _Labelled:
    """A value of the network, or known numbers, with a letter for each axis but the batch.

    Axes of size 1, which match any other size, have none.
    """

    letters: str
    value: Term | g.Array


def einsum(call: TorchCall) -> Term:
    """Sums of products by torch.einsum's letters, two operands at a time, from the left."""
    operands: list[Any] = list(call.arguments["tensors"])
    return contracted_terms(call, *_equation(call, operands), operands)


def matrix_product(call: TorchCall) -> Term:
    """self @ other, as torch.matmul lines up their axes from the last."""
    other = "mat2" if "mat2" in call.arguments else "other"
    operands = [call.arguments["self"], call.arguments[other]]
    left, right = (_axes(call, operand) for operand in operands)
    lead = ascii_letters[: max(left, right, 2) - 2]
    inputs = [
        "Z" if left == 1 else lead[len(lead) + 2 - left :] + "XZ",
        "Z" if right == 1 else lead[len(lead) + 2 - right :] + "ZY",
    ]
    return contracted_terms(call, inputs, lead + "X" * (left > 1) + "Y" * (right > 1), operands)


def added_product(call: TorchCall) -> Term:
    """beta * self + alpha * the product of two matrices."""
    names = ("batch1", "batch2") if "batch1" in call.arguments else ("mat1", "mat2")
    left, right = (call.arguments[name] for name in names)
    if isinstance(left, Term) or isinstance(right, Term):
        product: Any = matrix_product(replace(call, arguments={"self": left, "mat2": right}))
        product = call.trace.scaled(call.layer, product, call.number("alpha"), 0.0)
    else:
        product = call.number("alpha") * (array_of(left) @ array_of(right))
    return sum_of(call, product, call.arguments["self"], call.number("beta"))


def bilinear(call: TorchCall) -> Term:
    """input1 @ weight @ input2 for each matrix of the weight, and a bias."""
    left, right = call.arguments["input1"], call.arguments["input2"]
    if not (isinstance(left, Term) and isinstance(right, Term)):
        raise call.unsupported("a known input", "use Linear of the other one")
    weight = call.array("weight")
    assert weight is not None
    made, size, other = weight.shape
    rows = weight.transpose(0, 2, 1).reshape(made * other, size)
    product = call.append(g.LinearLayer(rows, np.zeros(len(rows))), left)
    lead = call.trace.shape(left)[:-1]
    apart = call.reshaped(product, (*lead, made, other))
    letters = ascii_letters[: len(lead) + 1]
    found = contracted_terms(call, [letters + "YZ", letters + "Z"], letters + "Y", [apart, right])
    bias = call.array("bias")
    return found if bias is None else sum_of(call, found, bias, 1.0)


def _axes(call: TorchCall, operand: Any) -> int:
    """The axes of an operand, the batch among them."""
    if isinstance(operand, Term):
        return len(call.trace.shape(operand)) + 1
    return array_of(operand).ndim


def _equation(call: TorchCall, operands: Sequence[Any]) -> tuple[list[str], str]:
    """The letters of operands and result, those that an ellipsis stands for among them."""
    left, arrow, output = str(call.arguments["equation"]).replace(" ", "").partition("->")
    inputs = left.split(",")
    hidden = [
        _axes(call, operand) - len(letters.replace(_ELLIPSIS, ""))
        for letters, operand in zip(inputs, operands, strict=True)
    ]
    stand = "".join(each for each in ascii_letters if each not in left)[: max(hidden)]
    inputs = [
        letters.replace(_ELLIPSIS, stand[len(stand) - count :])
        for letters, count in zip(inputs, hidden, strict=True)
    ]
    if not arrow:
        once = sorted(each for each in set(left) - set(",.") if left.count(each) == 1)
        output = _ELLIPSIS + "".join(once)
    return inputs, output.replace(_ELLIPSIS, stand)


def contracted_terms(
    call: TorchCall, inputs: Sequence[str], output: str, operands: Sequence[Any]
) -> Term:
    """The sum of products of operands, each axis of which has a letter, the batch as well."""
    batch = output[:1]
    pairs = list(zip(inputs, operands, strict=True))
    if {letters[0] for letters, operand in pairs if isinstance(operand, Term)} != {batch}:
        raise call.unsupported("a product over the batch, or one that moves it", BATCH_FIRST)
    labelled = [_labelled(call, letters, operand, batch) for letters, operand in pairs]
    sizes: dict[str, int] = {}
    for each in labelled:
        sizes.update(zip(each.letters, _shape(call, each), strict=True))
    wanted = "".join(letter for letter in output[1:] if letter in sizes)
    product = _Product(call, sizes)
    found = labelled[0]
    for number, other in enumerate(labelled[1:], start=2):
        later = (each.letters for each in labelled[number:])
        found = product.of(found, other, set(wanted).union(*later))
    value = product.summed(found, wanted)
    return call.reshaped(value, tuple(sizes.get(letter, 1) for letter in output[1:]))


def _labelled(call: TorchCall, letters: str, operand: Any, batch: str) -> _Labelled:
    """An operand without its batch."""
    if isinstance(operand, Term):
        letters = letters[1:]
        if len(set(letters + batch)) <= len(letters):
            raise call.unsupported("a letter twice in one operand", "take its diagonal before")
        shape = call.trace.shape(operand)
        kept = [axis for axis, size in enumerate(shape) if size != 1]
        value: Term | g.Array = call.reshaped(operand, tuple(shape[axis] for axis in kept))
        return _Labelled("".join(letters[axis] for axis in kept), value)
    # Of a letter that stands twice the diagonal; the batch comes first.
    known = array_of(operand)
    once = "".join(dict.fromkeys(letters.replace(batch, "")))
    known = np.einsum(f"{letters}->{batch if batch in letters else ''}{once}", known)
    known = first_of_batch(call, known if batch in letters else known[None])
    kept = [axis for axis, size in enumerate(known.shape) if size != 1]
    return _Labelled("".join(once[axis] for axis in kept), known.squeeze())


def _shape(call: TorchCall, labelled: _Labelled) -> g.Shape:
    value = labelled.value
    return call.trace.shape(value) if isinstance(value, Term) else value.shape


def _repeats_both(left: _Labelled, right: _Labelled) -> bool:
    """Whether each operand has an axis that the other lacks, as products of matrices have."""
    return bool({*left.letters} - {*right.letters}) and bool({*right.letters} - {*left.letters})


@dataclass(frozen=True, slots=True)
class _Product:
    """Products of two operands, summed over the letters that nothing wants any more.

    Args:
        call: The operation.
        sizes: The size of each letter's axis.
    """

    call: TorchCall
    sizes: Mapping[str, int]

    def of(self, left: _Labelled, right: _Labelled, wanted: Set[str]) -> _Labelled:
        """The product of two operands, with the letters that are wanted."""
        left = self._of_letters(left, wanted | set(right.letters))
        right = self._of_letters(right, wanted | set(left.letters))
        both = "".join(dict.fromkeys(left.letters + right.letters))
        kept = "".join(letter for letter in both if letter in wanted)
        gone = "".join(letter for letter in both if letter not in wanted)
        match left.value, right.value:
            case Term() as value, Term() as other if gone and _repeats_both(left, right):
                contraction = g.Contraction(left.letters, right.letters, kept)
                return _Labelled(kept, self.call.append(contraction, value, other))
            case Term() as value, Term() as other:
                operands = (
                    self._arranged(value, left.letters, kept + gone),
                    self._arranged(other, right.letters, kept + gone),
                )
                product = self.call.trace.product(self.call.layer, *operands)
                return _Labelled(kept, self._total(product, kept, gone))
            case Term() as value, np.ndarray() as known:
                return self._by_known(value, left.letters, known, right.letters, gone)
            case np.ndarray() as known, Term() as value:
                return self._by_known(value, right.letters, known, left.letters, gone)
            case one, another:
                assert not isinstance(one, Term)
                assert not isinstance(another, Term)
                text = f"{left.letters},{right.letters}->{kept}"
                return _Labelled(kept, np.einsum(text, one, another))

    def summed(self, found: _Labelled, wanted: str) -> Term:
        """A value of the network with these letters in this order, summed over the others."""
        rest = self._of_letters(found, set(wanted))
        assert isinstance(rest.value, Term)
        return self._arranged(rest.value, rest.letters, wanted)

    def _of_letters(self, operand: _Labelled, wanted: Set[str]) -> _Labelled:
        """An operand summed over all letters that are not wanted."""
        kept = "".join(letter for letter in operand.letters if letter in wanted)
        gone = "".join(letter for letter in operand.letters if letter not in wanted)
        if not gone:
            return operand
        if not isinstance(operand.value, Term):
            return _Labelled(kept, np.einsum(f"{operand.letters}->{kept}", operand.value))
        value = self._arranged(operand.value, operand.letters, kept + gone)
        return _Labelled(kept, self._total(value, kept, gone))

    def _by_known(
        self, value: Term, letters: str, known: g.Array, of_known: str, gone: str
    ) -> _Labelled:
        """The product of a value and known numbers, both of these letters, summed over some.

        It is an affine map where neither has letters of its own, else a product with a matrix,
        or with a matrix for each of the letters that both have and that remain.
        """
        new = "".join(letter for letter in of_known if letter not in letters)
        both = "".join(letter for letter in letters if letter in of_known and letter not in gone)
        free = "".join(letter for letter in letters if letter not in of_known)
        if not new and not gone:
            scale = self._spread(known, of_known, letters)
            return _Labelled(
                letters, self.call.append(g.Affine(scale, np.zeros_like(scale)), value)
            )
        groups, rows, columns, others = map(self._size, (both, new, gone, free))
        weights = np.einsum(f"{of_known}->{both}{new}{gone}", known).reshape(-1, columns)
        if not both:
            lined = self.call.reshaped(
                self._arranged(value, letters, free + gone), (*self._shape(free), columns)
            )
            made = self.call.append(g.LinearLayer(weights, np.zeros(rows)), lined)
            return _Labelled(free + new, self.call.reshaped(made, self._shape(free + new)))
        image = self.call.reshaped(
            self._arranged(value, letters, both + gone + free), (groups * columns, 1, others)
        )
        layer = g.ConvolutionLayer(
            weights[:, :, None, None], np.zeros(groups * rows), groups=groups
        )
        order = both + new + free
        return _Labelled(
            order, self.call.reshaped(self.call.append(layer, image), self._shape(order))
        )

    def _total(self, value: Term, kept: str, gone: str) -> Term:
        """The sum over the last letters of a value that has all in this order."""
        count = self._size(gone)
        if count == 1:
            return self.call.reshaped(value, self._shape(kept))
        lined = self.call.reshaped(value, (self._size(kept), count))
        sums = self.call.append(g.LinearLayer(np.ones((1, count)), np.zeros(1)), lined)
        return self.call.reshaped(sums, self._shape(kept))

    def _arranged(self, value: Term, letters: str, order: str) -> Term:
        """A value's elements in another order of letters, repeated along those that it has not."""
        if letters == order:
            return value
        numbers = np.arange(self._size(letters)).reshape(self._shape(letters))
        indices = np.broadcast_to(self._spread(numbers, letters, order), self._shape(order))
        return self.call.append(g.Rearrange(indices.ravel(), indices.shape), value)

    def _spread(self, array: NDArray[Any], letters: str, order: str) -> NDArray[Any]:
        """An array's axes in another order, with axes of size 1 for letters that it has not."""
        own = [letters.index(letter) for letter in order if letter in letters]
        shape = [self.sizes[letter] if letter in letters else 1 for letter in order]
        return array.transpose(own).reshape(shape)

    def _shape(self, letters: str) -> g.Shape:
        return tuple(self.sizes[letter] for letter in letters)

    def _size(self, letters: str) -> int:
        return math.prod(self._shape(letters))
