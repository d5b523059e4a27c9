"""What a server signs of a run, by which anybody can have it checked."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from cloakwork._native import SigningKey, verify
from cloakwork.errors import AnswerMismatchError, MalformedBytesError
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.program import Program
from cloakwork.runtime.storage import named_reading
from cloakwork.service.hashes import blocks_of, hash_of, request_of
from cloakwork.service.key_files import evaluator_of_files
from cloakwork.service.run_inputs import RunInputs

_TAG = b"cloakwork receipt 1\n"


@dataclass(frozen=True, slots=True)
class SignedReceipt:
    """That a request has these results, as a server says.

    Args:
        request: The hash of program, evaluation keys and inputs; see `hashes.request_of`.
        results: The hash of the results.
        version: That of Cloakwork which ran the program.
        signer: The public key of the server, in hexadecimal digits.
        signature: By Ed25519, in hexadecimal digits.

    Example:
        >>> made = SignedReceipt.signed(SigningKey.generate(), "ab", "cd", "1.0")
        >>> SignedReceipt.read(made.text()) == made
        True
    """

    request: str
    results: str
    version: str
    signer: str
    signature: str = ""

    @classmethod
    def signed(cls, key: SigningKey, request: str, results: str, version: str) -> Self:
        """One that a server makes."""
        bare = cls(request, results, version, key.public.hex())
        return cls(*bare._told(), signature=key.sign(bare._message()).hex())

    @classmethod
    def read(cls, text: str) -> Self:
        """One from text, whose signature holds.

        Raises:
            MalformedBytesError: It is something else.
            AnswerMismatchError: Its signature does not hold.
        """
        try:
            fields = json.loads(base64.b64decode(text, validate=True))
            made = cls(**{name: str(value) for name, value in fields.items()})
            signer, signature = bytes.fromhex(made.signer), bytes.fromhex(made.signature)
            message = made._message()
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise MalformedBytesError(
                f"cannot read a receipt: expected one of a server's, got {text[:40]!r}; ask again"
            ) from None
        if not verify(signer, message, signature):
            raise AnswerMismatchError(
                "cannot read a receipt: expected the signature of its server, got another; do not "
                "trust it"
            )
        return made

    @classmethod
    def load(cls, path: Path) -> Self:
        """One from a file of its text, whose signature holds.

        Raises:
            FileMissingError, FileAccessError: It cannot be read.
            MalformedBytesError: It is something else.
            AnswerMismatchError: Its signature does not hold.
        """
        with named_reading(path, "give the file of a receipt"):
            text = path.read_text(errors="replace")
        return cls.read(text.strip())

    def text(self) -> str:
        """It as text."""
        return base64.b64encode(json.dumps(asdict(self)).encode()).decode()

    def require_results(self, data: bytes) -> None:
        """Refuse results that it is not of.

        Raises:
            AnswerMismatchError: They are others.
        """
        if hashlib.sha256(data).hexdigest() != self.results:
            raise AnswerMismatchError(
                f"cannot take results: expected those of hash {self.results[:12]}, as the receipt "
                "says, got others; ask again"
            )

    def audit(
        self,
        program: Program,
        keys: Sequence[Path],
        inputs: Encrypted | Sequence[Encrypted],
        clear: Mapping[str, Any] | None = None,
    ) -> None:
        """Run the program again here, and compare the results byte by byte.

        Args:
            program: The program.
            keys: The files of the evaluation keys.
            inputs: What clients encrypted, in the order in which the server had it.
            clear: The inputs in the clear.

        Raises:
            AnswerMismatchError: It is of something else, or the server's results were others.
        """
        digests = ",".join(sorted(hash_of(blocks_of(each)) for each in keys))
        sent = RunInputs.of(program, inputs, clear).to_bytes()
        if request_of(program.fingerprint, digests, sent) != self.request:
            raise AnswerMismatchError(
                "cannot audit: expected the program, evaluation keys and inputs that the receipt "
                "is of, got others; give those that the server had"
            )
        # Whoever loaded the program has decided on it.
        evaluator = evaluator_of_files(program, keys, insecure=bool(program.warning))
        self.require_results(evaluator.run(inputs, clear).to_bytes())

    def _told(self) -> tuple[str, str, str, str]:
        return self.request, self.results, self.version, self.signer

    def _message(self) -> bytes:
        return _TAG + "\n".join(self._told()).encode()
