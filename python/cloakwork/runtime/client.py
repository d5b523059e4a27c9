"""Whoever encrypts: the client, who holds the secret key, and others with its public key."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import SigningKey
from cloakwork.base.arguments import shown, truth
from cloakwork.base.arrays import largest_magnitude, require_precision
from cloakwork.base.record import Fields, Record, digest_of
from cloakwork.base.system_memory import names_memory, physical_bytes
from cloakwork.errors import (
    InputNameError,
    InvalidArgumentError,
    MemoryBudgetError,
    NoiseBudgetError,
    PrecisionLostError,
    ResultOverflowError,
    ValueOutOfRangeError,
)
from cloakwork.programs.packing import Allocate, Packed, Vectors, bound_arguments
from cloakwork.programs.packing.results import arrays_in
from cloakwork.programs.slots import SlotProgram, State
from cloakwork.runtime.array_file import write_array
from cloakwork.runtime.encrypted import KEY_ID_BYTES, Encrypted, require_files, worked_on_together
from cloakwork.runtime.evaluation_keys import EvaluationKeys
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.framed import frames_by_name, in_frames
from cloakwork.runtime.key_holder import KeyHolder
from cloakwork.runtime.ledger import Given, Ledger
from cloakwork.runtime.memory import require_memory
from cloakwork.runtime.rekeying import RekeyingKey
from cloakwork.runtime.row import arguments_of, encrypted_ports, evenly
from cloakwork.runtime.state import EncryptedState, first_state
from cloakwork.runtime.totals import estimates_of_total
from cloakwork.schemes.base import (
    Flooding,
    advice_on_precision,
    flooding,
    levels_of,
    require_failure,
    stored_bytes,
)

if TYPE_CHECKING:
    from cloakwork.runtime.interface import Interface
    from cloakwork.runtime.program import Program

KIND = "client file"
ENCRYPTOR_KIND = "public key file"
# No program is compiled whose errors are so many times its results.
_ABSURD = 1024
# Where a result may lie above its bound by the rounding of doubles.
_ROUNDING = 2.0**-40
_PRECISION_ADVICE = "compile with more precision or tighter bounds, or scale small data up"


class _Encrypting(KeyHolder):
    """Holds a key that encrypts, and one that signs what it encrypted.

    Args:
        program: The program.
        key: The key.
        key_id: What the secret key is known by.
        signing: What signs; None for a new one.
    """

    def __init__(
        self,
        program: Program | Interface,
        key: Any,
        key_id: bytes,
        signing: SigningKey | None = None,
    ) -> None:
        super().__init__(program, key, key_id)
        self._signing = SigningKey.generate() if signing is None else signing

    @property
    def maker(self) -> str:
        """Who signs what is encrypted here: the public key of the signatures, in hexadecimals."""
        return self._signing.public.hex()

    @names_memory("encrypt")
    def encrypt(self, /, *args: Any, **named: Any) -> Encrypted:
        """Encrypt inputs, packed as the program needs them.

        Args:
            args: The inputs in their order. What each is follows from its port: an array of real
                numbers; integers, or lists of them; over bits an integer, bytes, or a row of zeros
                and ones. With one more axis in front it is as many evaluations; an input without
                that axis serves all of them.
            named: The inputs by name. Some may be left out, for others to encrypt or, over
                bits, to be given in the clear.

        Raises:
            InputNameError: There is no input of a name, none is given, or one is missing that lies
                beside others, or without which nobody knows how many bits results have.
            ShapeMismatchError: A shape does not fit, or the numbers of evaluations differ.
            ValueOutOfRangeError: A number lies outside the range of its input, or one that comes
                of it outside what a layer on the way is meant for; the message names the layer.
            ResultOverflowError: A result over integers has more bits than the program was compiled
                for.
            NotFiniteError: There is a NaN or an infinity.
            NotRealError: Data are complex, text or objects.
            NotIntegerError: A number is not an integer.
            MemoryBudgetError: The ciphertexts would take more memory than the machine has.
            InvalidArgumentError: There are too many arguments.

        Example:
            >>> import cloakwork as cw
            >>> client, _ = cw.compile(lambda x, w: x @ w, (4,), (4, 2)).keygen()
            >>> client.encrypt([1.0, 0.5, 0.25, 0.0], w=np.ones((4, 2))).ports
            ('x', 'w')
        """
        program, action = self.program, f"encrypt for {self.program.name}"
        if program.row:
            return self._encrypted_row(args, named, action)
        packed = self._packed(args, named, action)
        if isinstance(program.body, SlotProgram):
            levels = levels_of(program.body, "inputs")
            largest = max((program.scheme.bytes_at(State(level)) for level in levels), default=0)
            needed = largest * sum(map(len, packed.runs))
            advice = "encrypt fewer evaluations at once, or use a machine with more memory"
            require_memory(needed, physical_bytes(), action, advice)
        runs = [self._encrypted_run(vectors) for vectors in packed.runs]
        return self._encrypted("inputs", packed.ports, runs, packed.count, self._signing)

    def _encrypted_row(
        self, args: Sequence[Any], named: Mapping[str, Any], action: str
    ) -> Encrypted:
        """Inputs of all programs of a row, each encrypted for those that take it."""
        program = self.program
        arguments = bound_arguments(program.inputs, args, named, action)
        self._require_some(arguments, action)
        arguments = evenly(program.inputs, arguments)
        if program.held_as == "program" and len(arguments) == len(program.inputs):
            # Of inputs by which numbers leave their ranges on the way it refuses to be run.
            cast("Program", program).run_clear(**arguments)
        made = [
            type(self)(part, self._key, self._key_id, self._signing).encrypt(**own)
            for part in program.parts
            if (own := arguments_of(part, arguments))
        ]
        made[0].beside = tuple(made[1:])
        return made[0]

    def _require_some(self, arguments: Mapping[str, Any], action: str) -> None:
        """Refuse to encrypt nothing, where there is something to encrypt."""
        program = self.program
        own = program.inputs
        if program.scheme.encrypts and not program.row:
            others = {each.input for each in (*program.after, *program.kept)}
            own = tuple(port for port in own if port.name not in others)
        if own and not arguments:
            names = ", ".join(port.name for port in own)
            raise InputNameError(
                f"cannot {action}: expected one or more of the inputs {names}, got none; give it "
                "in its place or by name"
            )

    @names_memory("encrypt")
    def encrypt_into(
        self, folder: str | os.PathLike[str], /, *args: Any, **named: Any
    ) -> Encrypted:
        """Encrypt inputs into the files of a folder, from which runs read what they need.

        No more ciphertexts are in memory than those of one file. Of matrices no more is read at
        once than these hold, so that what lies in a file (`numpy.memmap`) may be larger than
        memory. The files are readable by their owner alone where they are local.

        Args:
            folder: A path, or a URL of fsspec's such as `s3://bucket/inputs`. What was encrypted
                into it before is replaced.
            args: The inputs; see `encrypt`.
            named: The inputs by name.

        Returns:
            The inputs, which stay in the folder. `cloakwork.load` finds them there.

        Raises:
            InvalidArgumentError: There can be nothing at such a place.
            ClusterFolderError: There is something else than a folder.
            MissingDependencyError: fsspec is not installed.
            StorageFullError: There is no space left in the folder.
            CloakworkError: What `encrypt` raises.

        Example:
            >>> import tempfile
            >>> import cloakwork as cw
            >>> program = cw.compile(lambda a, b: a @ b, (16, 6), (6, 16), precision=7)
            >>> client, evaluator = program.keygen()
            >>> sent = client.encrypt_into(tempfile.mkdtemp(), np.eye(16, 6), np.eye(6, 16))
            >>> made = evaluator.run(sent, on=cw.cluster.Files(tempfile.mkdtemp()))
            >>> round(float(client.decrypt(made).sum()), 3)
            6.0
        """
        program, action = self.program, f"encrypt for {self.program.name}"
        require_files(action)
        if program.row:
            raise InvalidArgumentError(
                f"cannot {action} into a folder: expected one program, got a row of "
                f"{len(program.parts)}; encrypt in memory, and save what that gives"
            )
        from cloakwork.runtime.folder import Folder  # noqa: PLC0415
        from cloakwork.runtime.stored import (  # noqa: PLC0415
            HEAD,
            PREFIX,
            new_mark,
            parts_of,
            write_values,
        )

        packed = self._packed(args, named, action)
        place = Folder.made(folder, action)
        # With the head the values of an earlier time are gone.
        place.remove((HEAD,))
        place.remove((PREFIX,))
        runs = [
            [
                (numbers, partial(self._records, vectors, numbers))
                for numbers in parts_of(program, vectors)
            ]
            for vectors in packed.runs
        ]
        like = self._encrypted("inputs", packed.ports, [], packed.count)
        return write_values(place, PREFIX, new_mark(), like, runs)

    def _record(self) -> Record:
        return {**super()._record(), "signing_key": stored_bytes(self._signing)}

    @classmethod
    def _with(cls, program: Program | Interface, fields: Fields) -> Self:
        made = super()._with(program, fields)
        made._signing = SigningKey.from_bytes(fields.secret("signing_key"))
        return made

    def _packed(self, args: Sequence[Any], named: Mapping[str, Any], action: str) -> Packed:
        """Arguments as vectors."""
        program = self.program
        arguments = bound_arguments(program.inputs, args, named, action)
        for each in program.after if program.scheme.encrypts else ():
            if each.input in arguments:
                raise InputNameError(
                    f"cannot {action}: the input {each.input!r} is the result {each.result!r} of "
                    f"{each.name}; give what its run made to the run of this one"
                )
        for own in program.kept if program.scheme.encrypts else ():
            if own.input in arguments:
                raise InputNameError(
                    f"cannot {action}: the input {own.input!r} is the state, which stays with the "
                    "evaluator; start() encrypts the first"
                )
        self._require_some(arguments, action)
        return program.pack(arguments, action)

    def _encrypted_vectors(self, vectors: Vectors, numbers: Sequence[int]) -> dict[int, Any]:
        """Some of the inputs, packed and encrypted."""
        program = self.program
        made: dict[int, Any] = program.scheme.encrypt(
            self._key, vectors.some(numbers), program.body, program.input_bounds
        )
        return made

    def _encrypted_run(self, vectors: Vectors) -> dict[int, Any]:
        """All inputs of a run, encrypted."""
        made: dict[int, Any] = {}
        for numbers in worked_on_together(vectors, self.program.body):
            made.update(self._encrypted_vectors(vectors, numbers))
        return made

    def _records(self, vectors: Vectors, numbers: Sequence[int]) -> list[Record]:
        """The records of some inputs, encrypted."""
        made = self._encrypted_vectors(vectors, numbers)
        return [self.program.scheme.dump(made[number]) for number in numbers]


class Encryptor(_Encrypting):
    """Encrypts inputs of a program for whoever holds the secret key, and decrypts nothing.

    It signs them, so that nobody else can send inputs in its name: give each one who encrypts an
    encryptor of its own. An encryptor need not be honest: see `Client.decrypt_for_others`.

    Args:
        program: The program.
        key: The public key.
        key_id: What the secret key is known by.
        signing: What signs; None for a new one.

    Example:
        >>> import cloakwork as cw
        >>> program = cw.compile(lambda x: x * 2, (3,), public_inputs=True)
        >>> client, evaluator = program.keygen()
        >>> other = client.public_key()
        >>> client.decrypt(evaluator.run(other.encrypt([0.25, 0.5, 0.75]))).round(4).tolist()
        [0.5, 1.0, 1.5]
        >>> hasattr(other, "decrypt")
        False
    """

    _kind = ENCRYPTOR_KIND
    _key_kind = "public_key"


class Client(_Encrypting):
    """Holds the secret key of a program: encrypts its inputs, decrypts its results.

    It keeps what it gives out, public keys and results for others, in its file: the one that it was
    saved to or loaded from last. A copy of the file counts for itself, so there should be one.

    Args:
        program: The program.
        key: The secret key.
        key_id: What it is known by.
        signing: What signs inputs; None for a new one.

    Example:
        >>> import cloakwork as cw
        >>> client, evaluator = cw.compile(lambda x, y: x - y, (3,), (3,)).keygen()
        >>> inputs = client.encrypt([0.5, 0.5, 0.5], y=[0.25, 0.0, -0.25])
        >>> client.decrypt(evaluator.run(inputs)).round(5).tolist()
        [0.25, 0.5, 0.75]
    """

    _kind = KIND
    _key_kind = "secret_key"

    def __init__(
        self,
        program: Program | Interface,
        key: Any,
        key_id: bytes,
        signing: SigningKey | None = None,
    ) -> None:
        super().__init__(program, key, key_id, signing)
        self._ledger = Ledger(KIND, Given(key_id.hex()))

    def _record(self) -> Record:
        return {**super()._record(), **self._ledger.record()}

    @classmethod
    def _with(cls, program: Program | Interface, fields: Fields) -> Self:
        made = super()._with(program, fields)
        made._ledger = Ledger.of(KIND, fields)
        return made

    def _settle(self, path: Path) -> None:
        self._ledger.settle(path)

    def _saving(self, path: Path) -> AbstractContextManager[None]:
        return self._ledger.saving(path)

    @property
    def makers(self) -> tuple[str, ...]:
        """Who may encrypt inputs: this client, and the encryptors that `public_key` gave.

        Whoever runs the program compares `Encrypted.maker` with them.
        """
        return (self.maker, *self._ledger.makers)

    @classmethod
    @names_memory("make a secret key")
    def generate(cls, program: Program | Interface) -> Self:
        """A client with a new secret key; `Program.keygen` adds an evaluator.

        Args:
            program: The program.

        Raises:
            RandomnessError: The operating system gave no random bytes.
        """
        return cls(program, program.scheme.secret_key(), secrets.token_bytes(KEY_ID_BYTES))

    @names_memory("encrypt")
    def start(self) -> EncryptedState:
        """The state before the first step, encrypted, for the evaluator to keep.

        Raises:
            InvalidArgumentError: The program keeps no state.

        Example:
            >>> import cloakwork as cw
            >>> program = cw.compile(lambda sum, x: sum + x, cw.state((), bound=9, steps=9), ())
            >>> client, evaluator = program.keygen()
            >>> state = client.start()
            >>> made = evaluator.run(client.encrypt(x=0.5), state=state)
            >>> round(float(client.decrypt(made)), 4), state.step
            (0.5, 1)
        """
        program, action = self.program, f"start {self.program.name}"
        if not program.kept:
            raise InvalidArgumentError(
                f"cannot {action}: expected a program that keeps state, got one whose inputs are "
                "all encrypted anew; compile it with cloakwork.state"
            )
        packed = program.packing.pack(first_state(program), action)
        runs = [self._encrypted_run(vectors) for vectors in packed.runs]
        return EncryptedState(
            program.fingerprint,
            "inputs",
            packed.ports,
            runs,
            None,
            self._key_id,
            program.scheme.dump,
        )

    @names_memory("decrypt")
    def decrypt(self, outputs: Encrypted, *, like: Any = None) -> Any:
        """Decrypt results for the holder of the secret key alone, in the form the program gives.

        They may show the secret key to others: results over reals have a trace of the ciphertexts'
        noise, and of inputs that somebody else made every result may. Others see what
        `decrypt_for_others` returns.

        Args:
            outputs: What an evaluator's run gave.
            like: Frames or series that were encrypted, the only input or a dict of them by name:
                results have their labels, as those of `Program.run` have.

        Returns:
            Over tensors an array, or a tuple of arrays; otherwise what the function or the module
            returns, or over bits a dict by the names of the outputs. Evaluations lie along the
            first axis.

        Raises:
            InvalidArgumentError: They are not results, or what they are to be like is not a frame.
            InputNameError: There is no input of the name of a frame.
            ProgramMismatchError: They are results of another program.
            KeyMismatchError: They were made with another key.
            ValueOutOfRangeError: A result exceeds its bound by more than its error.
            DecryptionOverflowError: A result has overflowed.
            EstimateMismatchError: A ciphertext is not what the program makes.
            PrecisionLostError: Fewer than 8 bits of the largest result, or of 1, are right.
            NoiseExhaustedError: Noise may have destroyed an exact result.
            ResultOverflowError: An integer is seen to have more bits than the program was compiled
                for. With `wrapping=True` one that has many more wraps around unseen.
            MalformedBytesError: They are damaged.

        Example:
            >>> import cloakwork as cw
            >>> client, evaluator = cw.compile(lambda x: (x.sum(), x * 2), (2,)).keygen()
            >>> total, double = client.decrypt(evaluator.run(client.encrypt([0.5, 0.25])))
            >>> round(float(total), 4), double.round(4).tolist()
            (0.75, [1.0, 0.5])
        """
        program = self.program
        frames = frames_by_name(program.inputs, like, f"decrypt for {program.name}")
        results = self._decrypt(outputs, None)
        return in_frames(results, program.packing, program.inputs, (), frames)

    @names_memory("decrypt for others")
    def decrypt_for_others(
        self,
        outputs: Encrypted,
        *,
        statistical_bits: int,
        decryptions: int,
        honest_inputs: bool = False,
    ) -> Any:
        """Decrypt results that others are to see, so that they reveal nothing of the secret key.

        All inputs must be honest encryptions of numbers in range. Of others a few results give the
        whole key, and nothing in a ciphertext shows it: a client that has given out a public key
        refuses, unless the caller vouches for whoever made inputs. Whoever runs the program must
        be known to follow it.

        Noise beside which the ciphertexts' own is lost is added to results over reals. It costs
        precision: half of the statistical bits, and of log2 of N and of the number of decryptions.
        Its size follows from the program alone, not from what a ciphertext claims. Exact results
        get none, and are refused where they may go wrong with more than 2^-statistical_bits.

        The client's file counts the ciphertexts, before the result is given out. The same one gets
        the same noise, and counts once.

        Source: Li, Micciancio, Schultz, Sorrell, "Securing approximate homomorphic encryption
        using differential privacy", CRYPTO 2022, with the ring's dimension in the divergence.

        Args:
            outputs: What an evaluator's run gave.
            statistical_bits: s: nobody who sees all of these decryptions gains an advantage of more
                than 2^-(s/2 + 1.7).
            decryptions: Ciphertexts that are decrypted for others under this key, at most, in all;
                the same in every call. A result may be several ciphertexts.
            honest_inputs: Whether all who hold a public key are known to have encrypted honestly.

        Raises:
            UntrustedInputsError: A public key was given out, and `honest_inputs` is not said.
            DecryptionsSpentError: There were as many decryptions already as are allowed in all, or
                fewer statistical bits than now.
            FileMissingError, FileAccessError: The client's file cannot be kept up to date.
            InvalidArgumentError: There are no bits or decryptions.
            PrecisionLostError: Too few bits are left.
            NoiseBudgetError: Exact results go wrong too often; compile with more failure_bits.
            CloakworkError: What `decrypt` raises.

        Example:
            >>> import cloakwork as cw
            >>> client, evaluator = cw.compile(lambda x: x.sum(), (4,), precision=40).keygen()
            >>> outputs = evaluator.run(client.encrypt([0.5, 0.5, 0.5, 0.5]))
            >>> shown = client.decrypt_for_others(outputs, statistical_bits=20, decryptions=100)
            >>> round(float(shown), 3)
            2.0
        """
        action = f"decrypt for others for {self.program.name}"
        asked = flooding(statistical_bits, decryptions, action)
        # What noise is to be hidden follows from the operations.
        program = self._whole("decrypt for others")
        honest_inputs = truth(honest_inputs, "honest_inputs", action)
        if not honest_inputs:
            self._ledger.require_own_inputs(action)
        # Noise is added to hide that of reals; nothing hides an exact result that is wrong.
        require_failure(program.log2_exact_failure, asked, program.name)
        digests: list[str] = []
        result = self._decrypt(outputs, asked, digests=digests)
        self._ledger.release(digests, asked, action, honest_inputs=honest_inputs)
        return result

    @names_memory("decrypt")
    def decrypt_into(self, path: str | os.PathLike[str], outputs: Encrypted) -> NDArray[Any]:
        """Decrypt a result into a file of numpy's (.npy), which need not fit into memory.

        Of results that stay in a folder no more ciphertexts are in memory than those of one file.
        The array is readable by its owner alone, and appears when it is whole.

        Args:
            path: The file. An earlier result, or any file of an array, is replaced; every other
                file that is there, such as a key, is kept.
            outputs: What an evaluator's run gave: one array.

        Returns:
            The array, which stays in the file and cannot be changed.

        Raises:
            InvalidArgumentError: The program does not return one array, or the path is invalid.
            NotReplaceableError: A file is there that is not an array's.
            StorageFullError: There is no space left for the array.
            FileMissingError: There is no folder for it.
            FileAccessError: It cannot be made there.
            CloakworkError: What `decrypt` raises.

        Example:
            >>> import tempfile
            >>> import cloakwork as cw
            >>> program = cw.compile(lambda a, b: a @ b, (16, 6), (6, 16), precision=7)
            >>> client, evaluator = program.keygen()
            >>> made = evaluator.run(client.encrypt(np.eye(16, 6), np.eye(6, 16)))
            >>> result = client.decrypt_into(f"{tempfile.mkdtemp()}/result.npy", made)
            >>> result.shape, round(float(result.sum()), 3)
            ((16, 16), 6.0)
        """
        if len(self.program.outputs) != 1:
            raise InvalidArgumentError(
                f"cannot decrypt for {self.program.name} into a file: expected one array, the "
                f"program returns {len(self.program.outputs)} results; use decrypt"
            )
        return write_array(path, partial(self._decrypt, outputs, None))

    def _decrypt(
        self,
        outputs: Encrypted,
        asked: Flooding | None,
        allocate: Allocate = np.empty,
        *,
        digests: list[str] | None = None,
    ) -> Any:
        """Results, and the digests of their ciphertexts where they are asked for."""
        program = self.program
        action = f"decrypt for {program.name}"
        if not isinstance(outputs, Encrypted):
            raise InvalidArgumentError(
                f"cannot {action}: expected what an evaluator's run gave, got {shown(outputs)}"
            )
        self._require_own(outputs, "outputs", action)
        runs: Sequence[Iterator[Mapping[int, Any]]] = outputs.parts(
            program.scheme, program.body_of("outputs")
        )
        if digests is not None:
            runs = [self._digested(run, digests) for run in runs]
        returned = program.packing.returned_vectors
        if not outputs.numbers().issuperset(returned):
            raise InvalidArgumentError(f"cannot {action}: a result is missing")
        errors: list[float] = []
        estimates = program.results_of_rekeyed(outputs.rekeyed_inputs)
        for _ in range(outputs.rekeyed):
            estimates = estimates and [each.rekeyed() for each in estimates]
        estimates = estimates and estimates_of_total(estimates, outputs.added)
        vectors = [self._decrypted(run, asked, errors, estimates) for run in runs]
        try:
            result = program.packing.returned.unpack_parts(vectors, outputs.count, allocate)
        except ResultOverflowError:
            if not program.scheme.encrypts:
                raise
            raise ResultOverflowError(
                f"cannot {action}: a result has more bits than the program was compiled for and "
                "has wrapped around, so that nothing is known of it; run_clear says how many bits "
                "it has, for the same inputs"
            ) from None
        if program.output_bounds is not None:
            is_rekeyed = bool(outputs.rekeyed or outputs.rekeyed_inputs)
            self._require_right(
                result, max(errors), asked, action, outputs.added, is_rekeyed=is_rekeyed
            )
            if self._gives_zeros:
                for array in arrays_in(result):
                    array[...] = 0.0
        return result

    def _digested(
        self, parts: Iterable[Mapping[int, Any]], digests: list[str]
    ) -> Iterator[Mapping[int, Any]]:
        """The values of a run, with the digests of what is decrypted: the noise follows from it."""
        for part in parts:
            for number, value in part.items():
                record = {"number": number, "value": self.program.scheme.dump(value)}
                digests.append(digest_of(record))
            yield part

    @property
    def _gives_zeros(self) -> bool:
        """Whether results are 0 whatever goes in, so that what is decrypted is noise alone."""
        return all(port.bound == 0 for port in self.program.outputs)

    def _decrypted(
        self,
        parts: Iterable[Mapping[int, Any]],
        asked: Flooding | None,
        errors: list[float],
        estimates: list[Any] | None,
    ) -> Iterator[dict[int, NDArray[Any]]]:
        """The vectors of a run's results, a few at a time, the errors of which are told."""
        program = self.program
        for part in parts:
            found = program.scheme.decrypt(
                self._key,
                [*part.values()],
                program.whole_body,
                None if estimates is None else [estimates[number] for number in part],
                asked,
            )
            errors.append(found.error)
            yield dict(zip(part, found.vectors, strict=True))

    def _require_right(
        self,
        result: Any,
        error: float,
        asked: Flooding | None,
        action: str,
        added: int,
        *,
        is_rekeyed: bool,
    ) -> None:
        """Refuse real results that are too rough, or larger than they can be."""
        program = self.program
        assert program.output_bounds is not None
        # As slots hold them: bounds and noise are of what is in slots.
        units = [port.exponent for port in program.packing.returned.outputs]
        arrays = [
            np.ldexp(array, -unit) if unit else array
            for array, unit in zip(arrays_in(result), units, strict=True)
        ]
        bound = max(program.output_bounds) * added
        stated = None if program.error is None else math.ldexp(program.error * added, -max(units))
        if stated is not None and stated > _ABSURD * max(1.0, bound) and not self._gives_zeros:
            raise PrecisionLostError(
                f"cannot {action}: the program states errors of up to {stated:g}, and none of its "
                f"results exceeds {bound:g}, so that nothing of them would be right; compile it "
                "anew, or get it again from whoever compiled it"
            )
        if stated is not None and program.after and not self._gives_zeros:
            _require_more_than_carried(arrays, stated, bound, action)
        if stated is not None and asked is None:
            # It is of polynomials, too; of noise it is what simulations show, which is far less
            # than the worst that ciphertexts know of themselves.
            # The noise of a rekeying is the ciphertexts' own.
            error = stated + error if is_rekeyed else stated
        else:
            advice = advice_on_precision(_PRECISION_ADVICE, asked)
            for array in () if self._gives_zeros else arrays:
                require_precision(array, -math.log2(error), bound, action, advice)
        largest = max(map(largest_magnitude, arrays))
        if not largest <= bound * (1 + _ROUNDING) + error:
            raise ValueOutOfRangeError(
                f"cannot {action}: a result of {largest:g} exceeds {bound:g}, the most that the "
                "ranges of the inputs allow, so it may have overflowed; give inputs within their "
                "ranges, or compile with larger ones"
            )

    @names_memory("make evaluation keys")
    def evaluator(self) -> Evaluator:
        """An evaluator with exactly the evaluation keys that the program needs, freshly made.

        Raises:
            MemoryBudgetError: The keys take more memory than the machine has.
            RandomnessError: The operating system gave no random bytes.

        Example:
            >>> import cloakwork as cw
            >>> client, _ = cw.compile(lambda x: x.sum(), (4,)).keygen()
            >>> evaluator = client.evaluator()
            >>> round(float(client.decrypt(evaluator.run(client.encrypt([0.5] * 4)))), 4)
            2.0
        """
        program = self._whole("make an evaluator")
        self._require_key_memory()
        first, *others = program.parts
        keys = first.scheme.evaluation_keys(self._key, first.body)
        served = [first.required_keys]
        for each in others:
            further = each.scheme.further_keys(self._key, each.required_keys, served)
            if further is not None:
                each.scheme.extend_keys(keys, further)
            served.append(each.required_keys)
        return Evaluator(program, keys, self._key_id)

    def _whole(self, action: str) -> Program:
        """The program, where it is here as a whole."""
        if self.program.held_as != "program":
            raise InvalidArgumentError(
                f"cannot {action} for {self.program.name}: expected the whole program, got its "
                "interface; make keys by evaluation_keys, from which whoever has the program makes "
                "an evaluator, and have results that others see decrypted by a client of it"
            )
        return cast("Program", self.program)

    def _require_key_memory(self) -> None:
        """Refuse to make more keys than there is memory for."""
        needed, most = self.program.generated_key_bytes, physical_bytes()
        if needed > most:
            raise MemoryBudgetError(
                f"cannot make keys for {self.program.name}: expected evaluation keys of {most} "
                f"bytes at the most, which is the memory of this machine, and they take {needed}; "
                "compile it with a key_budget, or let it bootstrap"
            )

    def serving(self, program: Program | Interface) -> Client:
        """The client of another program, with this secret key and what it has given out.

        Both keep what they give out in one place, so that one file serves both: load the client
        from it, and let it serve each program.

        Args:
            program: The program, of the same parameters as this one's; see `cloakwork.together`.

        Raises:
            InvalidArgumentError: It is not a program.
            ParametersMismatchError: It has other parameters.

        Example:
            >>> import cloakwork as cw
            >>> first, second = (cw.compile(f, (4,)) for f in (lambda x: x.sum(), lambda x: 2 * x))
            >>> first, second = cw.together(first, second)
            >>> client, evaluator = first.keygen()
            >>> other = client.serving(second)
            >>> server = evaluator.serving(second, other.evaluation_keys(first))
            >>> other.decrypt(server.run(other.encrypt([0.5, 0.25, 1, -1]))).round(4).tolist()
            [1.0, 0.5, 2.0, -2.0]
        """
        self._require_served(program, "serve another program")
        made = Client(program, self._key, self._key_id, self._signing)
        made._ledger = self._ledger
        return made

    @names_memory("make evaluation keys")
    def evaluation_keys(self, *served: Program | Interface) -> EvaluationKeys:
        """The evaluation keys that this program needs, beyond those of programs served already.

        Args:
            served: The programs whose evaluation keys the evaluator has.

        Raises:
            InvalidArgumentError: One is not a program.
            ParametersMismatchError: One has other parameters.
            MemoryBudgetError: The keys take more memory than the machine has.
            RandomnessError: The operating system gave no random bytes.

        Example:
            >>> import cloakwork as cw
            >>> program = cw.compile(lambda x: x.sum(), (4,))
            >>> client, _ = program.keygen()
            >>> sorted(client.evaluation_keys().names), client.evaluation_keys(program).nbytes
            (['rotation 1', 'rotation 2'], 0)
        """
        action = f"make evaluation keys for {self.program.name}"
        for each in served:
            self._require_served(each, action)
        self._require_key_memory()
        there = [part.required_keys for each in served for part in each.parts]
        keys: Any = None
        for part in self.program.parts:
            further = part.scheme.further_keys(self._key, part.required_keys, there)
            if keys is None:
                keys = further
            elif further is not None:
                part.scheme.extend_keys(keys, further)
            there.append(part.required_keys)
        return EvaluationKeys(self.program.scheme, keys, self._key_id)

    @names_memory("make a rekeying key")
    def rekeying_key(self, to: Client) -> RekeyingKey:
        """What takes stored ciphertexts of this client to another, for the evaluator.

        Both secret keys are here for a moment. From now on the other client counts who encrypts for
        this one among those who may encrypt, and gives results to others where `honest_inputs` is
        said alone.

        Args:
            to: The other client, of the same parameters.

        Raises:
            InvalidArgumentError: It is not a client, or this client, or of a program over bits.
            ParametersMismatchError: It has other parameters.
            FileMissingError, FileAccessError: Its file cannot be kept up to date.
            RandomnessError: The operating system gave no random bytes.

        Example:
            >>> import cloakwork as cw
            >>> program = cw.compile(lambda x: x * 2, (2,))
            >>> (old, evaluator), (new, _) = program.keygen(), program.keygen()
            >>> key = old.rekeying_key(new)
            >>> moved = key.rekey(evaluator.run(old.encrypt([0.25, 0.5])))
            >>> new.decrypt(moved).round(4).tolist()
            [0.5, 1.0]
        """
        action = f"make a rekeying key for {self.program.name}"
        if not isinstance(to, Client) or to._key_id == self._key_id:
            got = "the same client" if to is self else shown(to)
            raise InvalidArgumentError(f"cannot {action}: expected another client, got {got}")
        self._require_served(to.program, action)
        scheme = self.program.scheme
        key = scheme.rekeying_key(self._key, to._key)
        for maker in self.makers:
            to._ledger.enrol(maker)
        return RekeyingKey(scheme, key, self._key_id, to._key_id)

    @names_memory("make a public key")
    def public_key(self) -> Encryptor:
        """What somebody encrypts inputs for this client with, and decrypts nothing.

        It signs with a key of its own, which this client keeps among its `makers`. From now on the
        client gives results to others where `honest_inputs` is said alone.

        Raises:
            FileMissingError, FileAccessError: The client's file cannot be kept up to date.
            NoiseBudgetError: The program was not compiled for the greater noise of inputs that a
                public key encrypts.

        Example:
            >>> import cloakwork as cw
            >>> @cw.circuit(a=cw.scalar())
            ... def square(a):
            ...     return a * a
            >>> client, evaluator = square.compile(bits=16, public_inputs=True).keygen()
            >>> client.decrypt(evaluator.run(client.public_key().encrypt(a=12)))
            144
        """
        program = self.program
        for each in program.parts:
            if encrypted_ports(each) and not each.scheme.public_inputs:
                raise NoiseBudgetError(
                    f"cannot make a public key for {program.name}: inputs that it encrypts have "
                    f"more noise than {each.name} was compiled for; compile with "
                    "public_inputs=True"
                )
        encryptor = Encryptor(program, program.scheme.public_key(self._key), self._key_id)
        self._ledger.enrol(encryptor.maker)
        return encryptor


def _require_more_than_carried(
    arrays: Sequence[NDArray[np.float64]], error: float, bound: float, action: str
) -> None:
    """Refuse results of a row that are smaller than their errors, of which no ciphertext knows."""
    largest = max(map(largest_magnitude, arrays))
    if error > max(min(1.0, bound), largest):
        raise PrecisionLostError(
            f"cannot {action}: expected results that exceed their errors, got none above "
            f"{largest:.3g}, where the program states errors of up to {error:.3g} by what the "
            "results that it takes are off by; compile what it follows with more precision"
        )
