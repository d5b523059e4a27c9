"""Evaluation keys by themselves: what a client makes for an evaluator that has others already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from cloakwork.base.record import Fields, Record
from cloakwork.base.unpicklable import Unpicklable
from cloakwork.errors import KeyMismatchError, ParametersMismatchError
from cloakwork.runtime.encrypted import read_key_id
from cloakwork.runtime.saved import Saved
from cloakwork.schemes import read_scheme
from cloakwork.schemes.base import ReadLimits

if TYPE_CHECKING:
    from cloakwork.runtime.interface import Interface
    from cloakwork.runtime.program import Program

KIND = "evaluation keys file"
_KEYS = "evaluation_keys"


class EvaluationKeys(Unpicklable, Saved):
    """Evaluation keys of a client for one program or several; they decrypt nothing.

    `Client.evaluation_keys` makes them, `Evaluator.serving` takes them in.

    Args:
        scheme: What they are keys of.
        keys: The keys; None where there are none.
        key_id: What the secret key is known by.

    Example:
        >>> import tempfile
        >>> import cloakwork as cw
        >>> client, _ = cw.compile(lambda x: x.sum(), (4,)).keygen()
        >>> path = f"{tempfile.mkdtemp()}/keys"
        >>> client.evaluation_keys().save(path)
        >>> sorted(cw.load(path, cw.EvaluationKeys).names)
        ['rotation 1', 'rotation 2']
    """

    _kind = KIND

    def __init__(self, scheme: Any, keys: Any, key_id: bytes) -> None:
        self.scheme = scheme
        self._keys = keys
        self.key_id = key_id

    @property
    def names(self) -> frozenset[str]:
        """What the keys are called, each by a name of its own."""
        if self._keys is None:
            return frozenset()
        parts = self.scheme.key_parts(self._keys)
        return frozenset(name for names, _ in parts for name in names)

    @property
    def nbytes(self) -> int:
        """Bytes that the keys take."""
        return 0 if self._keys is None else int(self._keys.nbytes)

    def of(self, scheme: Any, key_id: bytes, action: str) -> Any:
        """The keys, where they are of a scheme's parameters and of a secret key.

        Raises:
            ParametersMismatchError: They are of other parameters.
            KeyMismatchError: They are of another secret key.
        """
        if scheme.key_set != self.scheme.key_set:
            raise ParametersMismatchError(
                f"cannot {action}: expected evaluation keys of {scheme}, got keys of {self.scheme}"
            )
        if key_id != self.key_id:
            raise KeyMismatchError(
                f"cannot {action}: the evaluation keys were made by another client than those that "
                "are here; have this one's client make them"
            )
        return self._keys

    def extend(self, further: EvaluationKeys) -> None:
        """Take further keys in, which are held once from then on.

        Args:
            further: What `Client.evaluation_keys` made beside these.

        Raises:
            ParametersMismatchError: They are of other parameters.
            KeyMismatchError: They are of another secret key.

        Example:
            >>> import cloakwork as cw
            >>> functions = (lambda x: x * x, lambda x: x.sum())
            >>> first, second = cw.together(*(cw.compile(f, (4,), log_n=13) for f in functions))
            >>> client, _ = first.keygen()
            >>> keys = client.evaluation_keys()
            >>> keys.extend(client.serving(second).evaluation_keys(first))
            >>> sorted(keys.names)
            ['relinearisation', 'rotation 1', 'rotation 2']
        """
        keys = further.of(self.scheme, self.key_id, "take further evaluation keys in")
        if self._keys is None:
            self._keys = keys
        elif keys is not None:
            self.scheme.extend_keys(self._keys, keys)

    def needed_by(self, program: Program | Interface) -> EvaluationKeys:
        """Those of the keys that a program needs, and no others; see `Evaluator.serving`.

        Args:
            program: The program.
        """
        needed = [each.required_keys for each in program.parts]
        if self._keys is None or None in needed:
            return self
        wanted = {name for each in needed if each is not None for name in each.names()}
        kept: Any = None
        for names, part in self.scheme.key_parts(self._keys):
            if not wanted.intersection(names):
                continue
            if kept is None:
                kept = part
            else:
                self.scheme.extend_keys(kept, part)
        return EvaluationKeys(self.scheme, kept, self.key_id)

    def _record(self) -> Record:
        keys = {} if self._keys is None else {_KEYS: self.scheme.dump(self._keys)}
        return {"scheme": self.scheme.to_record(), "key_id": self.key_id, **keys}

    @classmethod
    def _of(cls, fields: Fields, limits: ReadLimits) -> Self:
        scheme = read_scheme(fields.within("scheme"), limits)
        if scheme.encrypts:
            fields.require_no_arrays()
        keys = scheme.read_key(_KEYS, fields.within(_KEYS)) if fields.has(_KEYS) else None
        return cls(scheme, keys, read_key_id(fields))

    def __repr__(self) -> str:
        return f"EvaluationKeys({', '.join(sorted(self.names)):.60}; {self.scheme})"
