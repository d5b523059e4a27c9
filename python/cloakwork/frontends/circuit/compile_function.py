"""Programs over encrypted integers: Python functions, exact on ciphertexts of BGV or TFHE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial, update_wrapper
from types import MappingProxyType
from typing import Any, Literal

from cloakwork._native import BGV_FAILURE_BITS
from cloakwork.base.arguments import integer, positive, shown, truth
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit.by_polynomials import (
    NOT_FOR_SLOTS,
    ByPolynomials,
    has_many_elements,
)
from cloakwork.frontends.circuit.engines import engine_of, require_none_of_slots
from cloakwork.frontends.circuit.followed import with_conditions
from cloakwork.frontends.circuit.inputs import Declared, for_bits, signed_range
from cloakwork.frontends.circuit.on_bits import compiled_on_bits, values_drawn
from cloakwork.frontends.circuit.on_matrices import large_products
from cloakwork.frontends.circuit.on_slots import BySingleNumbers
from cloakwork.frontends.circuit.result_bits import (
    NO_RANGES,
    bits_of_ranges,
    require_declared_bits,
)
from cloakwork.frontends.circuit.results import taking_results
from cloakwork.frontends.circuit.slot_options import slot_options
from cloakwork.frontends.circuit.staging import (
    Staged,
    called,
    function_title,
    in_clear,
    require_parameters,
    run_on_symbols,
    staged,
)
from cloakwork.plan.circuits.following import following_integers, ring_of_integers
from cloakwork.programs.ir.circuits import beyond_arithmetic
from cloakwork.programs.packing.scalar import (
    MAX_BITS,
)
from cloakwork.runtime.program import Program
from cloakwork.runtime.self_check import require_agreement

_ACTION = "compile a circuit"


class CircuitFunction:
    """A function over encrypted integers, ready to be compiled; see `circuit`.

    Called on clear integers it gives what the compiled circuit does, whatever the bits. Called
    within another circuit it becomes part of that.

    Args:
        function: The function.
        declared: Its encrypted inputs by name.
    """

    def __init__(self, function: Callable[..., Any], declared: Mapping[str, Declared]) -> None:
        require_parameters(function, declared)
        self.function = with_conditions(function)
        self.declared = dict(declared)
        update_wrapper(self, function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return called(self.function, self.declared, arguments, named)

    def staged(self) -> Staged:
        """The scalar circuit that the function is, and the form of its results.

        Raises:
            EncryptedConditionError: The function uses an encrypted value where only a clear one
                will do; the message names the line.
            InvalidArgumentError: It returns something else than integers in lists, tuples and
                dicts, or no encrypted one.
        """
        return staged(self.function, self.declared)

    @names_memory("compile")
    def compile(
        self,
        *,
        on: Literal["slots", "bits"] | None = None,
        bits: int | None = None,
        batch: int = 1,
        effort: float = 1.0,
        seed: int = 0,
        log_n: int | None = None,
        insecure: bool = False,
        public_inputs: bool = False,
        key_budget: int | None = None,
        failure_bits: int = BGV_FAILURE_BITS,
        wrapping: bool = False,
        threads: int | None = None,
        after: Mapping[str, Any] = MappingProxyType({}),
    ) -> Program:
        """Plan the function as one program on ciphertexts.

        Slots (BGV) add and multiply, thousands of numbers at once, and compare and look up those of
        a small range by polynomials. Bits (TFHE) do all that the function may do, of one
        evaluation. Of the arguments `batch` to `wrapping`, but for `insecure` and
        `failure_bits`, are for slots, and `threads` is for bits.

        Args:
            on: Slots or bits; by default slots where sums and products do, with `batch=`, and for
                many elements.
            bits: Results are signed numbers of so many bits. Where the ranges of inputs do not say
                that results have no more, a client computes them in the clear before it encrypts,
                and refuses inputs whose results have more. By default as many as follow from the
                ranges, which all inputs then declare.
            batch: Evaluations that one run must have slots for; they share its work.
            effort: How long to search for a program, 1 for the usual time.
            seed: Of the search; the same seed makes the same program.
            log_n: Base-2 logarithm of the ring degree; by default the smallest that is secure.
            insecure: Whether parameters below 128-bit security are allowed, for tests.
            public_inputs: Whether inputs may be encrypted by a public key, which has more noise
                and so may take larger parameters; see `Client.public_key`.
            key_budget: Bytes for all evaluation keys; the fewer, the more rotations.
            failure_bits: Each bound on noise, of an encryption, a key switch or a division, fails
                with a probability of at most 2^-failure_bits, from 40 to 128. More take larger
                parameters; `Program.log2_failure` says what a run comes to.
            wrapping: Whether results of more bits may wrap around: they become other integers,
                unseen but where these have too many bits themselves. Nothing is then refused that
                declared ranges allow, and a client checks nothing in the clear.
            threads: Threads that a program over bits is to run on, by default those of the engine.
            after: Results of other programs over integers, by the names of the inputs that they
                are; see `cloakwork.result`. The declared ranges of all other inputs have to say
                that results have no more bits.

        Raises:
            EncryptedConditionError: The function uses an encrypted value where only a clear one
                will do, or slots are to compare or look up numbers of too large a range; the
                message names the line.
            CircuitTooDeepError: No parameters take as many products in a row.
            SlotMismatchError: An evaluation, or the batch, takes more slots than the largest ring
                has.
            ResultOverflowError: It returns a clear integer that has more bits, or the declared
                ranges of inputs allow a result that has.
            InsecureParametersError: The ring asked for falls short of 128-bit security.
            KeyBudgetError: The fewest keys that will do take more than the budget.
            InvalidArgumentError: An argument is out of range, or the function returns something
                else than integers in lists, tuples and dicts.

        Example:
            >>> import cloakwork as cw
            >>> @cw.circuit(a=cw.vector(3), b=cw.vector(3))
            ... def distance(a, b):
            ...     return sum((x - y) ** 2 for x, y in zip(a, b))
            >>> distance.compile(bits=24).run_clear(a=[1, 2, 3], b=[4, 6, 8])
            50
        """
        trace = run_on_symbols(self.function, self.declared)
        meaning = partial(in_clear, trace, self.declared)
        if bits is not None:
            bits = integer(bits, "bits", _ACTION, least=1, most=MAX_BITS)
        is_alone = on in (None, "slots") and not after and batch == 1 and not wrapping
        products = large_products(trace.products, self.declared) if is_alone else None
        made = None if products else trace.staged
        if made and engine_of(made.circuit, on, after, for_bits(self.declared), batch) == "bits":
            of_slots = {
                "batch": batch != 1,
                "log_n": log_n is not None,
                "public_inputs": public_inputs,
                "key_budget": key_budget is not None,
                "wrapping": wrapping,
            }
            if on is None and not after and threads is None and has_many_elements(made.circuit):
                with suppress(*NOT_FOR_SLOTS):
                    return self.compile(
                        on="slots",
                        bits=bits,
                        log_n=log_n,
                        insecure=insecure,
                        public_inputs=public_inputs,
                        key_budget=key_budget,
                        failure_bits=failure_bits,
                        wrapping=wrapping,
                    )
            require_none_of_slots(made.circuit, [name for name, given in of_slots.items() if given])
            program = compiled_on_bits(
                made,
                self.declared,
                bits,
                after,
                threads=threads,
                failure_bits=failure_bits,
                insecure=insecure,
            )
            if not after:
                draws = values_drawn(program.inputs)
                require_agreement(program, meaning, error=0.0, draws=draws)
            return program
        wrapping = truth(wrapping, "wrapping", _ACTION)
        seed = integer(seed, "seed", _ACTION, least=0, most=(1 << 63) - 1)
        effort = positive(effort, "effort", _ACTION)
        inputs = taking_results(self.declared, after, _ACTION)
        if after:
            log_n = ring_of_integers([*after.values()], log_n, _ACTION)
            batch = integer(batch, "batch of what follows a program", _ACTION, least=1, most=1)
            made = staged(self.function, inputs)
        way = _planned_by(made, effort, seed, after, wrapping=wrapping) if made else products
        assert way is not None
        if bits is None:
            bits = bits_of_ranges(way.results, inputs)
        bounds = {name: each.bounds or signed_range(bits) for name, each in inputs.items()}
        if not wrapping:
            # Nobody sees inputs of both programs, and computes results in the clear. Comparisons
            # ask for the ranges of all numbers.
            certain = bounds if after or isinstance(way, ByPolynomials) else {}
            declared = {name: each.bounds for name, each in inputs.items() if each.bounds}
            instead = "" if after else NO_RANGES
            require_declared_bits(way.results, {**declared, **certain}, bits, instead)
        options = slot_options(
            _ACTION,
            bits,
            batch=batch,
            log_n=log_n,
            insecure=insecure,
            public_inputs=public_inputs,
            key_budget=key_budget,
            failure_bits=failure_bits,
        )
        program = way.program(bounds, options, wrapping=wrapping)
        if after:
            program = following_integers(program, after, key_budget, insecure=insecure)
        require_agreement(program, meaning, error=0.0)
        return program

    def __repr__(self) -> str:
        return f"CircuitFunction({function_title(self.function)}: {', '.join(self.declared)})"


def _planned_by(
    made: Staged, effort: float, seed: int, after: Mapping[str, Any], *, wrapping: bool
) -> BySingleNumbers | ByPolynomials:
    """What plans a function for slots, number by number."""
    if beyond_arithmetic(made.circuit) is None:
        return BySingleNumbers(made, effort, seed)
    return ByPolynomials(made, after=after, wrapping=wrapping)


def circuit(*bare: Any, **declared: Declared) -> Callable[[Callable[..., Any]], CircuitFunction]:
    """Make a function of integers one that runs on encrypted integers.

    The function is ordinary Python: it is run once, on symbols, when it is compiled. It computes
    with Python's operators on integers. Its `if` statements may depend on encrypted values; how
    often its loops run is clear.

    Args:
        declared: Each encrypted input by the name of its parameter: `cw.scalar()`,
            `cw.vector(n)` or `cw.matrix(m, n)`.

    Raises:
        InputNameError: The names are not those of the function's parameters.
        InvalidArgumentError: An input is declared as something else, or none is.

    Example:
        >>> import cloakwork as cw
        >>> @cw.circuit(x=cw.scalar(), bit=cw.scalar(bounds=(0, 1)))
        ... def negated_where(x, bit):
        ...     return cw.select(bit, -x, x)
        >>> negated_where(5, 1)
        -5
        >>> negated_where.compile(bits=16).run_clear(x=5, bit=1)
        -5
    """
    if bare:
        raise InvalidArgumentError(
            "cannot make a circuit: expected each encrypted input by its name, such as "
            f"@cw.circuit(x=cw.scalar()), got {shown(bare[0])}"
        )
    for name, each in declared.items():
        if not name.isidentifier():
            raise InvalidArgumentError(
                f"cannot make a circuit: expected a name that a parameter can have, "
                f"got {shown(name)}"
            )
        if not isinstance(each, Declared):
            raise InvalidArgumentError(
                f"cannot make a circuit: expected {name} to be declared by cw.scalar(), "
                f"cw.vector(n) or cw.matrix(m, n), got {shown(each)}"
            )
    return lambda function: CircuitFunction(function, declared)
