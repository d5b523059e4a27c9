"""Evaluators on another machine: what a server has, as if it were here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from cloakwork.runtime.client import Client, Encryptor
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.evaluation_keys import EvaluationKeys
from cloakwork.runtime.interface import Interface
from cloakwork.runtime.program import Program
from cloakwork.runtime.state import EncryptedState
from cloakwork.schemes.base import ReadLimits
from cloakwork.service.client.asynchronous import AsyncEvaluator, AsyncJob, AsyncServer
from cloakwork.service.client.connection import Waiting, at_once
from cloakwork.service.client.kept_state import KeptState
from cloakwork.service.receipts import SignedReceipt

if TYPE_CHECKING:
    import httpx


class Server:
    """Programs on another machine; `connect` makes one.

    Args:
        connection: The connection.
        limits: Which programs are accepted.
        signer: The public key that it has to sign by; None for whichever it says.
    """

    def __init__(self, connection: httpx.Client, limits: ReadLimits, signer: str | None) -> None:
        self._connection, self.url = connection, str(connection.base_url)
        self._server = AsyncServer(Waiting(connection), limits, signer)
        at_once(self._server.open())
        self.signer = self._server.signer

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of the programs that may be run."""
        return self._server.programs

    def close(self) -> None:
        """Close the connection; `with connect(...) as server` does it by itself."""
        at_once(self._server.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, program: Program, *, name: str) -> None:
        """Have the server run a program, which nobody else sees or runs there.

        Operations, weights and tables of the program go to the server; there is no secret key in
        it. One that is there already is left as it is.

        Args:
            program: The program.
            name: What it is called there, in up to 64 letters, digits and `_.-`.

        Raises:
            AccessDeniedError: The server's operator takes no programs.
            NotReplaceableError: There is another program of the name.
            QuotaError: The user's programs are more, or larger, than they may.
            InvalidProgramError: Reading it takes more time or memory than the operator allows.
            InsecureParametersError: It falls short of 128-bit security.
        """
        at_once(self._server.put(program, name=name))

    def remove(self, name: str) -> None:
        """Remove a program that this user put.

        Args:
            name: What it is called there.

        Raises:
            NotServedError: There is none of the name that this user put.
        """
        at_once(self._server.remove(name))

    def interface(self, name: str) -> Interface:
        """What a client needs of a program, and no more.

        Raises:
            NotServedError: There is no such program.
            MalformedBytesError: The answer is damaged.
            InsecureParametersError: It falls short of 128-bit security.
        """
        return at_once(self._server.interface(name))

    def evaluator(self, name: str, client: Client | Encryptor | EvaluationKeys) -> RemoteEvaluator:
        """The evaluator of a program for a client, whose evaluation keys are sent once.

        Args:
            name: The name of the program.
            client: Whoever encrypts, made of the program's interface: it makes the keys that the
                server lacks. Or evaluation keys that it made, which hold no secret; or a public
                key of a client whose evaluation keys are there.

        Raises:
            NotServedError: There is no such program.
            ParametersMismatchError: Evaluation keys are of other parameters.
            MissingKeyError: They are of another program, or none of a public key's are there.
            QuotaError: They are larger than the server takes.
        """
        return RemoteEvaluator(at_once(self._server.evaluator(name, client)))


class RemoteEvaluator:
    """Runs a program on another machine, as `Evaluator` does here.

    Args:
        evaluator: What asks for it.
    """

    def __init__(self, evaluator: AsyncEvaluator) -> None:
        self._evaluator, self.interface = evaluator, evaluator.interface

    def run(
        self,
        inputs: Encrypted | Sequence[Encrypted],
        clear: Mapping[str, Any] | None = None,
        *,
        state: KeptState | None = None,
        step: int | None = None,
    ) -> Encrypted:
        """Run the program, and wait for its results.

        The same inputs are one job, however often they are sent.

        Args:
            inputs: What a client has encrypted, or several have for one key; see `Evaluator.run`.
            clear: For a program over bits, by name the inputs that are not encrypted.
            state: Of a program that keeps state, what `start` gave or `states` lists. Once the
                results are here it is the state of the next step.
            step: The step that the state has to be of, where the caller knows it.

        Raises:
            AnswerMismatchError: The answer is of another request.
            ServerUnreachableError: Nobody answers any more.
            NotServedError: There is no such state.
            StepMismatchError: The state is of another step, or another step of it runs.
            CloakworkError: What `Evaluator.run` raises, here or there.
        """
        return at_once(self._evaluator.run(inputs, clear, state=state, step=step))

    def submit(
        self,
        inputs: Encrypted | Sequence[Encrypted],
        clear: Mapping[str, Any] | None = None,
        *,
        state: KeptState | None = None,
        step: int | None = None,
    ) -> RemoteJob:
        """Ask for a run, and do not wait for it.

        Args:
            inputs: What a client has encrypted, or several have.
            clear: For a program over bits, by name the inputs that are not encrypted.
            state: Of a program that keeps state, the state, of which this is the only step until
                the results of the job are here.
            step: The step that the state has to be of.
        """
        return RemoteJob(at_once(self._evaluator.submit(inputs, clear, state=state, step=step)))

    def start(self, name: str, initial: EncryptedState) -> KeptState:
        """Have the server keep a state, which nobody sees but who has this key and user.

        Args:
            name: What it is called, in up to 64 letters, digits and `_.-`.
            initial: What `Client.start` made, or a run here left.

        Raises:
            NotReplaceableError: There is one of the name.
            QuotaError: The user's states take more than they may.
            ProgramMismatchError, KeyMismatchError: It is of another program or key.
        """
        return at_once(self._evaluator.start(name, initial))

    def reset(self, state: KeptState, initial: EncryptedState) -> None:
        """Have a state begin anew; a step of it that runs is cancelled.

        Args:
            state: What `start` gave or `states` lists.
            initial: What `Client.start` made.
        """
        at_once(self._evaluator.reset(state, initial))

    def states(self) -> tuple[KeptState, ...]:
        """The states of this key and program that the server keeps, as they are now."""
        return at_once(self._evaluator.states())

    def remove(self, state: KeptState) -> None:
        """Remove a state; a step of it that runs is cancelled.

        Args:
            state: What `start` gave or `states` lists.
        """
        at_once(self._evaluator.remove(state))

    def __repr__(self) -> str:
        return repr(self._evaluator).replace("Async", "Remote", 1)


class RemoteJob:
    """A run on another machine.

    Args:
        job: What asks for it.
    """

    def __init__(self, job: AsyncJob) -> None:
        self._job, self.name = job, job.name

    @property
    def receipt(self) -> SignedReceipt | None:
        """What the server signs of the results, once these are here."""
        return self._job.receipt

    def results(self) -> Encrypted:
        """Its results, once they are there; on a terminal a bar shows how far it is.

        Raises:
            AnswerMismatchError: The answer is of another request.
            RunCancelledError: The job was cancelled.
            CloakworkError: What the run raises there.
        """
        return at_once(self._job.results())

    def cancel(self) -> None:
        """End it."""
        at_once(self._job.cancel())
