"""Keys that take stored ciphertexts of one client to another, which the evaluator uses."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from cloakwork.base.arguments import shown
from cloakwork.base.record import Fields, Record
from cloakwork.base.system_memory import names_memory
from cloakwork.base.unpicklable import Unpicklable
from cloakwork.errors import InvalidArgumentError, KeyMismatchError
from cloakwork.runtime.encrypted import KEY_ID_BYTES, Encrypted
from cloakwork.runtime.saved import Saved
from cloakwork.schemes import read_scheme
from cloakwork.schemes.base import ReadLimits

T = TypeVar("T", bound=Encrypted)

KIND = "rekeying key file"
_KEY = "rekeying_key"


class RekeyingKey(Unpicklable, Saved):
    """Takes what was encrypted for one client to another, without decrypting it.

    `Client.rekeying_key` makes it, where both clients are; it goes to the evaluator. It is an
    encryption of the old secret key under the new one: by itself it decrypts nothing, and who has
    the new secret key learns the old one from it.

    Args:
        scheme: The parameters of both.
        key: The key.
        from_id: What the old secret key is known by.
        to_id: What the new one is known by.

    Example:
        >>> import cloakwork as cw
        >>> program = cw.compile(lambda x: x * 2, (2,))
        >>> old, evaluator = program.keygen()
        >>> stored = evaluator.run(old.encrypt([0.25, 0.5]))
        >>> new, _ = program.keygen()
        >>> moved = old.rekeying_key(new).rekey(stored)  # by the evaluator
        >>> new.decrypt(moved).round(4).tolist()
        [0.5, 1.0]
    """

    _kind = KIND

    def __init__(self, scheme: Any, key: Any, from_id: bytes, to_id: bytes) -> None:
        self.scheme = scheme
        self._key = key
        self.from_id = from_id
        self.to_id = to_id

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return int(self._key.nbytes)

    @names_memory("rekey")
    def rekey(self, values: T) -> T:
        """Inputs, results or a state of the old key, under the new one.

        Each is a little noisier than before, as by a rotation. What is decrypted counts that, of
        results and of inputs that they are computed of.

        Args:
            values: What was encrypted for the old client, or computed of that. Inputs lose their
                signature.

        Raises:
            InvalidArgumentError: They are not encrypted values.
            KeyMismatchError: They are of another key than the old one.
            NoiseExhaustedError: Noise would destroy an exact result.
            MalformedBytesError: They are damaged, or of other parameters.
        """
        if not isinstance(values, Encrypted):
            raise InvalidArgumentError(
                f"cannot rekey: expected what encrypt or a run gave, got {shown(values)}"
            )
        if values.key_id != self.from_id:
            raise KeyMismatchError(
                f"cannot rekey the {values.role}: they were encrypted for another client than the "
                "one that this key takes from"
            )

        def change(record: Any) -> Any:
            fields = Fields(record, f"the {values.role}")
            return self.scheme.rekeyed(self._key, self.scheme.read_ciphertext(fields))

        return values.under(self.to_id, change, self.scheme.dump)

    def _record(self) -> Record:
        return {
            "scheme": self.scheme.to_record(),
            "from_id": self.from_id,
            "to_id": self.to_id,
            _KEY: self.scheme.dump(self._key),
        }

    @classmethod
    def _of(cls, fields: Fields, limits: ReadLimits) -> Self:
        scheme = read_scheme(fields.within("scheme"), limits)
        fields.require_no_arrays()
        ends = [fields.data(name) for name in ("from_id", "to_id")]
        if any(len(each) != KEY_ID_BYTES for each in ends):
            raise fields.wrong("from_id", f"{KEY_ID_BYTES} bytes")
        return cls(scheme, scheme.read_rekeying_key(fields.within(_KEY)), ends[0], ends[1])

    def __repr__(self) -> str:
        return f"RekeyingKey({self.scheme})"
