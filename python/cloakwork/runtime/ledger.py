"""What a client has given out: to whom public keys, and which results were decrypted for others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, TypeAlias

from cloakwork.base.record import Fields, Limits, Record, Word, record_of
from cloakwork.errors import (
    DecryptionsSpentError,
    FileMissingError,
    KeyMismatchError,
    NotReplaceableError,
    UntrustedInputsError,
)
from cloakwork.runtime import container
from cloakwork.runtime.whole_files import require_regular
from cloakwork.schemes.base import MAX_DECRYPTIONS, MAX_STATISTICAL_BITS, Flooding

_ENTRY = "ledger"
_DIGEST_DIGITS = 64

# The digests of ciphertexts that were released with so many statistical bits and decryptions.
_Release: TypeAlias = tuple[
    Annotated[int, Limits(1, MAX_STATISTICAL_BITS)],
    Annotated[int, Limits(1, MAX_DECRYPTIONS)],
    Word,
]


@dataclass(frozen=True, slots=True)
class Given:
    """What was given out under a key.

    Args:
        key: The key's label.
        makers: The public keys, by which encryptors sign, of those who may encrypt.
        releases: The ciphertexts that were decrypted for others.
    """

    key: str
    makers: tuple[str, ...] = ()
    releases: tuple[_Release, ...] = ()

    def with_release(self, digests: Iterable[str], asked: Flooding, action: str) -> Given:
        """With ciphertexts that are decrypted for others; those that were, likewise, count once.

        Of what the strictest promise allows, 2^-statistical_bits, a ciphertext takes
        2^-(its own statistical_bits) / decryptions.

        Raises:
            DecryptionsSpentError: All together would take more.
        """
        terms = asked.statistical_bits, asked.decryptions
        released = {(bits, most): digits for bits, most, digits in self.releases}
        known = _digests(released.get(terms, ""))
        new = [each for each in dict.fromkeys(digests) if each not in known]
        released[terms] = released.get(terms, "") + "".join(new)
        strictest = max(bits for bits, _ in released)
        spent = sum(
            Fraction(len(digits) // _DIGEST_DIGITS, most << bits)
            for (bits, most), digits in released.items()
        )
        if spent > Fraction(1, 1 << strictest):
            raise DecryptionsSpentError(
                f"cannot {action}: expected what is promised of all decryptions for others under "
                f"this key to hold, statistical_bits={strictest}, got {len(new)} more ciphertexts "
                f"after {sum(map(len, self._digits)) // _DIGEST_DIGITS}; make new keys, and give "
                "decryptions= for all that there will be"
            )
        return replace(self, releases=tuple((*of, digits) for of, digits in released.items()))

    def with_all_of(self, other: Given) -> Given:
        """With all that another record of the same key has; what both have counts once."""
        released = {(bits, most): digits for bits, most, digits in self.releases}
        for bits, most, digits in other.releases:
            known = released.get((bits, most), "")
            held = _digests(known)
            released[bits, most] = known + "".join(
                each for each in _digests(digits) if each not in held
            )
        return replace(
            self,
            makers=tuple(dict.fromkeys((*self.makers, *other.makers))),
            releases=tuple((*of, digits) for of, digits in released.items()),
        )

    @property
    def _digits(self) -> list[str]:
        return [digits for _, _, digits in self.releases]


class Ledger:
    """Keeps what a client gives out, in its file where it has one, before it is given out.

    Args:
        kind: What the client's file holds.
        given: What was given out so far.
    """

    def __init__(self, kind: str, given: Given) -> None:
        self._kind = kind
        self._given = given
        self._path: Path | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, kind: str, fields: Fields) -> Ledger:
        """The ledger in a client's file."""
        return cls(kind, _read(fields))

    def record(self) -> Record:
        """The entry of a client's file that holds it."""
        return _record(self._given)

    def settle(self, path: Path) -> None:
        """Keep it in a file from now on, which holds it already."""
        self._path = path.resolve()

    @contextmanager
    def saving(self, path: Path) -> Iterator[None]:
        """Keep it in a file from now on, to which its client is saved meanwhile.

        It takes in what the file that is replaced, and the file that it was kept in, say of the
        same key: another process may have given that out. Nobody adds to it meanwhile.

        Raises:
            NotReplaceableError: The file has another secret key.
        """
        with self._lock, container.unchanged(path):
            replaced = _given_in(path)
            if replaced is not None and replaced.key != self._given.key:
                raise _key_lost(path, "a client's or session's file of another key")
            kept = None if self._path is None else _given_in(self._path)
            for there in (replaced, kept):
                if there is not None and there.key == self._given.key:
                    self._given = self._given.with_all_of(there)
            yield
            self.settle(path)

    @property
    def makers(self) -> tuple[str, ...]:
        """The public keys of all who may encrypt by a public key."""
        return self._given.makers

    def enrol(self, maker: str) -> None:
        """Keep that somebody may encrypt."""
        self._change(lambda given: replace(given, makers=(*given.makers, maker)))

    def require_own_inputs(self, action: str) -> None:
        """Refuse results that may be of what others sent as inputs.

        Raises:
            UntrustedInputsError: They may be.
        """
        _require_own_inputs(self._given, action)

    def release(
        self,
        digests: Iterable[str],
        asked: Flooding,
        action: str,
        *,
        honest_inputs: bool = False,
    ) -> None:
        """Keep that ciphertexts are decrypted for others.

        Raises:
            UntrustedInputsError: They may be of what others sent as inputs.
            DecryptionsSpentError: There would be more of them than was said.
        """

        def changed(given: Given) -> Given:
            if not honest_inputs:
                _require_own_inputs(given, action)
            return given.with_release(digests, asked, action)

        self._change(changed)

    def _change(self, change: Callable[[Given], Given]) -> None:
        def changed(fields: Fields) -> Record:
            given = _read(fields)
            if given.key != self._given.key:
                raise KeyMismatchError(
                    f"cannot keep what is given out in {self._path}: the file there is of another "
                    "key now; save the client elsewhere first"
                )
            self._given = change(given)
            return _record(self._given)

        with self._lock:
            if self._path is None:
                self._given = change(self._given)
                return
            try:
                container.change_entries(self._path, self._kind, changed)
            except FileMissingError as error:
                raise FileMissingError(
                    f"cannot keep what is given out: the file with the key was {self._path}, and "
                    "nothing is there; save it again"
                ) from error


def _require_own_inputs(given: Given, action: str) -> None:
    if given.makers:
        raise UntrustedInputsError(
            f"cannot {action}: expected a key of which no public key was given out, got "
            f"{len(given.makers)} of them: whoever holds one may send what is not an encryption of "
            "numbers in range, and such results show the secret key; give honest_inputs=True where "
            "every maker of inputs is known to be honest"
        )


def require_no_key(path: Path) -> None:
    """Refuse to replace a file with a secret key by what has none.

    Raises:
        NotReplaceableError: Such a file is there, or a device, a pipe or a socket.
        FileAccessError: What is there cannot be opened.
    """
    require_regular(path)
    if _given_in(path) is not None:
        raise _key_lost(path, "a client's or session's file")


def _key_lost(path: Path, found: str) -> NotReplaceableError:
    return NotReplaceableError(
        f"cannot write {path}: expected a new file, or one without a secret key of another, got "
        f"{found}, and a key that is replaced is lost; name another file, or remove this one"
    )


def _digests(digits: str) -> dict[str, None]:
    """The digests in their order, for which sets have none."""
    starts = range(0, len(digits), _DIGEST_DIGITS)
    return dict.fromkeys(digits[at : at + _DIGEST_DIGITS] for at in starts)


def _given_in(path: Path) -> Given | None:
    """What a file says was given out; None where it is no client's."""
    fields = container.entries_of(path)
    return _read(fields) if fields is not None and fields.has(_ENTRY) else None


def _record(given: Given) -> Record:
    # Without names, so that the entry holds nothing but lists, numbers and text.
    return {_ENTRY: [given.key, record_of(given.makers), record_of(given.releases)]}


def _read(fields: Fields) -> Given:
    kinds = tuple[Word, tuple[Word, ...], tuple[_Release, ...]]
    given = Given(*fields.value(_ENTRY, kinds))
    if any(len(digits) % _DIGEST_DIGITS for digits in given._digits):
        raise fields.wrong(_ENTRY, "digests of ciphertexts")
    return given
