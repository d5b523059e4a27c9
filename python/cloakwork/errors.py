"""Every way in which Cloakwork refuses, one class each.

A message says what was attempted, what was expected, what came and what to do.
Each class also derives from the built-in exception that a caller without
knowledge of Cloakwork would expect (`ValueError`, `TypeError`, `KeyError`).
The native engine raises these same classes, found here by name.
"""


class CloakworkError(Exception):
    """The base of every error that Cloakwork raises.

    Messages have one form, "cannot {action}: {reason}; {remedy}", whose parts are properties; the
    engine's have it, too.

    Example:
        >>> import cloakwork as cw
        >>> try:
        ...     cw.Session(depth=200)
        ... except cw.errors.CloakworkError as error:
        ...     print(type(error).__name__)
        ...     for part in (error.action, error.reason, error.remedy):
        ...         print(part[:60])
        InsecureParametersError
        make parameters
        200 levels of 44 bits need a modulus of 8868.0 bits with the
        no larger ring would do, ask for fewer levels or a smaller s
    """

    @property
    def action(self) -> str:
        """What was attempted; nothing where the message does not say."""
        start, found, _ = str(self).partition(": ")
        return start.removeprefix("cannot ") if found else ""

    @property
    def reason(self) -> str:
        """What was expected and what came, or why it cannot be."""
        return str(self).partition(": ")[2].partition("; ")[0] or str(self)

    @property
    def remedy(self) -> str:
        """What to do; nothing where the reason says enough."""
        return str(self).partition(": ")[2].partition("; ")[2]


class InvalidParametersError(CloakworkError, ValueError):
    """Parameters contradict each other or lie outside the supported range.

    Raised when parameters are made, compiled for or loaded. Ask for less precision, fewer levels or
    tighter bounds, as the message says; a reader of files may raise `max_log_n`.
    """


class InsecureParametersError(InvalidParametersError):
    """Parameters fall short of 128-bit security and `insecure=True` was not given.

    Raised when a ring is asked for, or a file is loaded. Take a larger ring, or, for tests alone,
    give `insecure=True`.
    """


class LevelExhaustedError(CloakworkError, ValueError):
    """An operation needs more levels than the ciphertext has left.

    Raised when tensors are multiplied or networks compiled. Make the session with a larger `depth`
    or with `bootstrap=True`, or the network shallower.
    """


class LevelMismatchError(CloakworkError, ValueError):
    """Two operands, or an operand and a key, stand at different levels.

    Raised when the engine is called by hand; programs bring operands to one level.
    """


class ScaleMismatchError(CloakworkError, ValueError):
    """Two operands carry different scales.

    Raised when the engine is called by hand; programs rescale before they add.
    """


class ScaleOutOfRangeError(CloakworkError, ValueError):
    """A scale is not positive and finite, or does not fit the modulus.

    Raised when the engine is called by hand. Encode at the scale of the parameters.
    """


class SlotMismatchError(CloakworkError, ValueError):
    """A number of slots or values does not fit.

    Raised when a circuit or a batch takes more slots than the largest ring has. Take a smaller
    batch.
    """


class ValueOutOfRangeError(CloakworkError, ValueError):
    """A value exceeds the bound that was promised for it.

    Raised when inputs are encrypted, run or decrypted. Scale the data, or compile with larger
    bounds or more calibration data.
    """


class NotFiniteError(CloakworkError, ValueError):
    """A value is NaN or infinite.

    Raised when data are encrypted, or weights read. Replace such numbers first.
    """


class ParametersMismatchError(CloakworkError, ValueError):
    """Two objects were made under different parameters.

    Raised when tensors of two sessions meet. Compute with tensors of one session.
    """


class EstimateMismatchError(CloakworkError, ValueError):
    """A ciphertext does not have the level, scale or noise that its program gives.

    Raised when results are decrypted. Run the program anew: the file was made by another program or
    is false.
    """


class KeyMismatchError(CloakworkError, ValueError):
    """Two objects belong to different secret keys.

    Raised when ciphertexts are run or decrypted. Take client and evaluator of one `keygen`.
    """


class UntrustedInputsError(CloakworkError, PermissionError):
    """Results for others may be of inputs that somebody else made, and show them the secret key.

    Raised when results are decrypted for others by a client that has given out public keys. Give
    `honest_inputs=True` where all who hold one are known to encrypt honestly.
    """


class DecryptionsSpentError(CloakworkError, PermissionError):
    """As many results have been decrypted for others under a key as was said that there would be.

    Raised when more are decrypted, or when fewer were promised before. Make new keys.
    """


class SignatureError(CloakworkError, ValueError):
    """Encrypted inputs are not what whoever they name has signed.

    Raised when their maker is asked for. Have them sent again.
    """


class PassphraseError(CloakworkError, PermissionError):
    """A file with a secret key needs a passphrase, or another one.

    Raised when such a file is loaded. Give the passphrase that it was saved with.
    """


class ProgramMismatchError(CloakworkError, ValueError):
    """Two objects belong to different programs.

    Raised when ciphertexts are run or decrypted. Share one program's file instead of compiling
    twice.
    """


class StepMismatchError(CloakworkError, ValueError):
    """A state is of another step than the one that is to follow.

    Raised when it is given to a run. Load the state that the run before left.
    """


class StepsSpentError(CloakworkError, PermissionError):
    """A state has been through as many steps as keep its range and the errors of its numbers.

    Raised when it is given to a run. Start anew, or compile with more steps.
    """


class MissingKeyError(CloakworkError, LookupError):
    """The evaluation keys lack one that the operation needs.

    Raised when an evaluator of a session runs a program that the session has not run. Run it there
    once and make the evaluator anew.
    """


class DegreeMismatchError(CloakworkError, ValueError):
    """A ciphertext has the wrong number of polynomials for the operation.

    Raised when the engine is called by hand. Relinearise products first.
    """


class BoundOverflowError(CloakworkError, ArithmeticError):
    """By the bounds of the inputs a value may wrap around the modulus, unseen.

    Raised when tensors are computed with, or networks compiled. Encrypt with a tighter `bound`, or
    scale the data down.
    """


class NoiseExhaustedError(CloakworkError, ArithmeticError):
    """By the bounds on noise an exact result may be wrong.

    Raised when integers are run, decrypted or loaded. Compiled programs have the levels that they
    need; by hand, take more or larger levels.
    """


class PrecisionLostError(CloakworkError, ArithmeticError):
    """Fewer bits of a result are right than a result needs to be of use.

    Raised when results are decrypted. Compile with more `precision`, tighter bounds or larger data,
    or ask `decrypt_for_others` for fewer statistical bits or decryptions.
    """


class DecryptionOverflowError(CloakworkError, ArithmeticError):
    """The decrypted polynomial fills the modulus: a value overflowed, or the key is wrong.

    Raised when results are decrypted. Give inputs within their bounds, and the client of these
    ciphertexts.
    """


class InvalidArgumentError(CloakworkError, ValueError):
    """An operation cannot take an argument.

    Raised when any function is called. The message says what was expected.
    """


class MalformedBytesError(CloakworkError, ValueError):
    """Bytes or a file do not hold an object of this version and kind.

    Raised when something is loaded. Load the kind that was saved; copy a damaged file again, or
    save it anew.
    """


class NewerFormatError(MalformedBytesError):
    """A file was written in a format that a later release has, and is whole as far as is known.

    Raised when something is loaded, or would replace such a file. Read it with a release that is as
    new as the one that wrote it.
    """


class RandomnessError(CloakworkError, OSError):
    """The operating system gave no random bytes.

    Raised when keys are made or numbers encrypted. Repair the system's source of randomness.
    """


class MissingDependencyError(CloakworkError, ImportError):
    """A package that only some functions need is not installed.

    Raised when such a function is called. The message has the command that installs the package.
    """


class EngineFaultError(CloakworkError, RuntimeError):
    """The engine broke one of its own rules.

    Raised by a defect of the engine alone: please report what was called.
    """


class PlanMismatchError(CloakworkError, ArithmeticError):
    """A plan computes something else than what it was made of.

    Raised when a program is compiled: its results in the clear are compared with those of the
    user's function on a few inputs. By a defect of Cloakwork alone: please report the function.
    """


class NotRealError(CloakworkError, TypeError):
    """The data are not real numbers: complex, text, or objects.

    Raised when data are encrypted. Give arrays of floats or integers.
    """


class UnsupportedOperationError(CloakworkError, AttributeError, TypeError):
    """Arrays have a function or an attribute that encrypted tensors do not have.

    Raised when numpy's functions meet an encrypted tensor. Use einsum and the methods of tensors.
    """


class EinsumSyntaxError(CloakworkError, ValueError):
    """An einsum expression does not follow the language.

    Raised when einsum is called. A caret in the message points to the place.
    """


class ShapeMismatchError(CloakworkError, ValueError):
    """Shapes do not fit an expression or one another.

    Raised when tensors are computed with, or inputs encrypted. The message has both shapes.
    """


class InvalidLayoutError(CloakworkError, ValueError):
    """A layout places two elements in one slot, or an element outside the slots.

    Raised when a layout is made by hand or read from a file.
    """


class InvalidProgramError(CloakworkError, ValueError):
    """A slot, gate or bootstrap program breaks a rule of its form.

    Raised when a program is made by hand or read. The message names the operation or the line.
    """


class ProgramTooLargeError(CloakworkError, MemoryError):
    """A program would have more ciphertexts than can be planned or held.

    Raised when tensors are computed with or compiled. Cut the computation into smaller ones.
    """


class MemoryBudgetError(CloakworkError, MemoryError):
    """A tensor or a run needs more memory than it may take, or than the system gives.

    Raised when programs are compiled, loaded or run, keys made, or data encrypted. Raise
    `memory_limit` or the limit of the process, or encrypt less at once.
    """


class UnsupportedProcessorError(CloakworkError, RuntimeError):
    """The processor lacks instructions that an operation is made of.

    Raised when keys for bits are made or loaded, or bits encrypted. Use a machine whose processor
    has what the message names.
    """


class DeviceUnavailableError(CloakworkError, RuntimeError):
    """A GPU cannot be used: it, its driver, or CUDA's run-time compiler is missing.

    Raised when a device is asked for. Install what the message names, or run on the CPU.
    """


class DeviceOperationError(CloakworkError, NotImplementedError):
    """A program has an operation that devices lack.

    Raised when a program is compiled for a device or run there, before anything runs. Run it on the
    CPU, or compile it with the device, which plans without most of these operations.
    """


class DeviceLostError(CloakworkError, RuntimeError):
    """A device failed in the middle of a run; what was on it is gone.

    Raised when programs run on a device. Nothing on the host is lost: run again.
    """


class RunCancelledError(CloakworkError, RuntimeError):
    """A run was cancelled before it had finished.

    Raised when the event given as `cancel` is set.
    """


class ClusterLostError(CloakworkError, ConnectionError):
    """A cluster broke down, or its workers did one after the other, before a run had finished.

    Raised when a program runs on a cluster. Mend the cluster and run again with the same `folder`:
    what is done is found there.
    """


class WorkerVersionError(CloakworkError, RuntimeError):
    """A worker of a cluster has another version of Cloakwork, or lacks it.

    Raised when a program runs on a cluster. Install one version on all machines.
    """


class WorkerFailedError(CloakworkError, RuntimeError):
    """A worker of a cluster failed in a way that it should not, and says how.

    Raised when a program runs on a cluster. Look whether all workers have the same packages.
    """


class ClusterFolderError(CloakworkError, OSError):
    """A folder of a run or of encrypted values, or a file in it, is not there or is not seen.

    Raised when such a folder is opened, written to or run with. Give a `folder` that all machines
    of a cluster share, not a file.
    """


class FileMissingError(CloakworkError, FileNotFoundError):
    """There is no file of a path, or no folder to write it to.

    Raised when something is loaded, saved or decrypted into a file. Give the path of a file that is
    there; make the folder first.
    """


class FileAccessError(CloakworkError, OSError):
    """A path cannot be opened: it is a folder, another owner's, or too long.

    Raised when something is loaded, saved or decrypted into a file. Give the path of a file that
    one may read or write.
    """


class KeyExposedError(FileAccessError, PermissionError):
    """A file with a secret key may be read or written by others than its owner.

    Raised when it is loaded. Take their access away by `chmod 600`; where others may have read it,
    make new keys.
    """


class NotReplaceableError(InvalidArgumentError, FileExistsError):
    """A file is there that must not be replaced: another kind than results, a key, or a device.

    Raised when results are written or something is saved. Name another file, or remove that one.
    """


class StorageFullError(CloakworkError, OSError):
    """A disk has no space left for a file.

    Raised when something is saved. Free space or give another path or `folder`.
    """


class KeyBudgetError(CloakworkError, ValueError):
    """No plan of a program has evaluation keys within the bytes allowed.

    Raised when a program is compiled or a session runs. The message has the least `key_budget`.

    Args:
        message: What was to fit, and what would do.
        least: Bytes that would do.
    """

    def __init__(self, message: str, least: int) -> None:
        super().__init__(message)
        self.least = least

    def __reduce__(self) -> tuple[type, tuple[str, int]]:
        return KeyBudgetError, (str(self), self.least)


class TableBudgetError(CloakworkError, ValueError):
    """No layout of a table that is searched is within the bytes allowed on disk.

    Raised when a search is planned. The message has the least `table_budget`.

    Args:
        message: What was to fit, and what would do.
        least: Bytes that would do.
    """

    def __init__(self, message: str, least: int) -> None:
        super().__init__(message)
        self.least = least

    def __reduce__(self) -> tuple[type, tuple[str, int]]:
        return TableBudgetError, (str(self), self.least)


class BristolSyntaxError(CloakworkError, ValueError):
    """A file is not a circuit in a Bristol format; the message names the line.

    Raised when a circuit is read. Mend the file, or give ports that fit it.
    """


class NetlistError(CloakworkError, ValueError):
    """A file of Yosys' JSON or BLIF is not a circuit of gates; the message names the cell or line.

    Raised when a netlist is read. Flatten it and turn it into gates, as Yosys' `synth -flatten`
    does.
    """


class VerilogError(CloakworkError, ValueError):
    """Yosys refuses a Verilog design, or its result is not a circuit of gates.

    Raised when a design is read. The message has Yosys's reason.
    """


class SequentialCircuitError(VerilogError):
    """A design keeps state: registers, latches or memory that is written.

    Raised when a design is read. Let the outputs follow from the inputs alone.
    """


class HaskellError(CloakworkError, ValueError):
    """A Haskell module does not compile, or Clash can make no circuit of a function in it.

    Raised when a module is read. The message has the compiler's reason.
    """


class TopNotFoundError(HaskellError):
    """A Haskell module exports no function of the name asked for.

    Raised when a module is read. The message has the names that there are.
    """


class NotBitsError(HaskellError):
    """A function's type is not made of bits alone, or not fixed.

    Raised when a module is read. The message names the argument and a type to use instead.
    """


class UnboundedRecursionError(HaskellError):
    """A function calls itself, so that no circuit of a fixed size computes it.

    Raised when a module is read. Use folds and maps over `Vec`.
    """


class SynthesisTimeoutError(CloakworkError, TimeoutError):
    """Making a circuit took longer than allowed.

    Raised when a design is read. Give a larger `timeout`, or a simpler design.
    """


class MessageMissedError(CloakworkError, ArithmeticError):
    """A phase of a bootstrap program falls between values of the message space.

    Raised when a program over bits runs in the clear: whoever made the program went wrong.
    """


class NoiseBudgetError(CloakworkError, ArithmeticError):
    """A program cannot bound its noise, or its failures, as asked with these parameters.

    Raised when circuits over bits are compiled or loaded, a public key is made, or exact results
    are decrypted for others. Compile with other `failure_bits`, or with `public_inputs=True`.
    """


class EncryptedConditionError(CloakworkError, TypeError):
    """An encrypted value is used where only a clear one will do: a condition, an index.

    Raised when a function over integers is compiled. The message names the line; `cloakwork.select`
    chooses by an encrypted bit.
    """


class IndexOutOfRangeError(CloakworkError, IndexError):
    """An index is beyond the elements that there are.

    Raised when a function over integers or tensors indexes its inputs, and where rows of a table
    are named.
    """


class CircuitRecursionError(CloakworkError, RecursionError):
    """A circuit calls itself without end, or deeper than Python goes.

    Raised when a function over integers is compiled. End the recursion by a clear value, or write a
    loop.
    """


class InputNameError(CloakworkError, LookupError):
    """An input is missing or given twice, or the program has no input of that name.

    Raised when inputs are encrypted, run or read. The message has the names of the inputs.
    """


class NotPicklableError(CloakworkError, TypeError):
    """A key was to be pickled, or copied the way pickle does.

    Raised when clients, evaluators or sessions are pickled. Their method `save` writes a file.
    """


class NotIntegerError(CloakworkError, TypeError):
    """A number is not an integer.

    Raised when inputs of programs over integers or bits are encrypted. Round or scale them first.
    """


class NotDateError(CloakworkError, TypeError):
    """A value is not a date.

    Raised when an input that is declared as a date is given. Give `datetime.date`, or a text such
    as "2026-11-30".
    """


class NotTextError(CloakworkError, TypeError):
    """A value is not text, or not bytes.

    Raised when an input that is declared as text or bytes is given.
    """


class TextTooLongError(CloakworkError, ValueError):
    """A text or bytes are longer than declared, or bytes shorter.

    Raised when an input is given. Declare a longer text, or shorten it.
    """


class CharacterError(CloakworkError, ValueError):
    """A text has a character that its input does not hold.

    Raised when an input is given: of ASCII, or of Latin-1 where that is declared, without NUL.
    """


class ResultOverflowError(CloakworkError, OverflowError):
    """A result has more bits than its program was compiled for.

    Raised when a program over integers is compiled, run in the clear or decrypted. Compile with
    more `bits`, or declare narrower ranges.
    """


class ImpreciseError(InvalidParametersError):
    """Results of a program that bootstraps would be less precise than was asked.

    Raised when it is compiled. Ask for less precision, as the message says.

    Args:
        message: What was asked, what was reached, and what would do.
        missing: Bits of the results that lack.
    """

    def __init__(self, message: str, missing: float) -> None:
        super().__init__(message)
        self.missing = missing

    def __reduce__(self) -> tuple[type, tuple[str, float]]:
        return ImpreciseError, (str(self), self.missing)


class CircuitTooDeepError(InvalidParametersError):
    """A circuit multiplies more often in a row than any secure parameters allow.

    Raised when a function over integers is compiled. Multiply in a balanced tree, or take fewer
    `bits`.
    """


class CaptureError(CloakworkError, ValueError):
    """torch.export cannot follow a module, or its results depend on more than its inputs.

    Raised when a network is compiled. The message names the operation.
    """


class TrainingModeError(CaptureError):
    """A module is in training mode, where its layers depend on the batch or on chance.

    Raised when a network is compiled. Call `module.eval()` first.
    """


class UnsupportedLayerError(CaptureError, NotImplementedError):
    """A network has a layer or an operation that cannot be computed on encrypted numbers.

    Raised when a network is compiled. The message names the layer and a layer that would do.
    """


class ActivationFitError(CloakworkError, ValueError):
    """No polynomial within the degrees allowed is as close to an activation as asked.

    Raised when a network is compiled. Ask for less `precision`, a higher degree or narrower
    calibration data.
    """


class RowsOverlapError(CloakworkError, ValueError):
    """The rows that a search found are too many for an answer of its size.

    Raised when an answer is decrypted. Search block by block, or make the index with a larger
    `at_most`.
    """


class ServerUnreachableError(CloakworkError, ConnectionError):
    """Nobody answers at the address of a server, or not to the end.

    Raised by what `connect` gives. See whether the server is there; asking again does no harm.
    """


class UntrustedServerError(CloakworkError, ConnectionError):
    """The certificate of a server does not follow from those that are trusted, or is another's.

    Raised by what `connect` gives. Give the certificate of the server's authority, or mend the URL.
    """


class AccessDeniedError(CloakworkError, PermissionError):
    """A server does not know the token, or it has expired.

    Raised by what `connect` gives. Ask the server's operator for a token.
    """


class NotServedError(CloakworkError, LookupError):
    """A server has no such program, evaluation keys or job, or none that the user may see.

    Raised by what `connect` gives. Look at the server's list of programs; send keys again.
    """


class FolderInUseError(CloakworkError, BlockingIOError):
    """Another server has the folder.

    Raised by `cloakwork serve`. End the other server first, or give a folder of its own.
    """


class QuotaError(CloakworkError, RuntimeError):
    """A server takes no more of a user: of bytes, of keys, or of jobs at once.

    Raised by what `connect` gives. Wait until jobs have ended, or ask for less.
    """


class RunTooLongError(CloakworkError, TimeoutError):
    """A run takes longer than a server's operator allows.

    Raised by what `connect` gives. Ask the operator for more, or for less at once.
    """


class UploadMismatchError(CloakworkError, ValueError):
    """Bytes of evaluation keys do not follow those that a server has, or are not what was said.

    Raised by what `connect` gives, which goes on from where the server is by itself.
    """


class AnswerMismatchError(CloakworkError, ValueError):
    """What came is not a server's answer to what was asked.

    Raised by what `connect` gives. Do not trust the server; ask another.
    """
