"""Every way in which Cloakwork refuses, one class each.

A message says what was attempted, what was expected, what came and what to do.
Each class also derives from the built-in exception that a caller without
knowledge of Cloakwork would expect (`ValueError`, `TypeError`, `KeyError`).
The native engine raises these same classes, found here by name.
"""


class CloakworkError(Exception):
    """The base of every error that Cloakwork raises."""


class InvalidParametersError(CloakworkError, ValueError):
    """The parameters contradict each other or lie outside the supported range."""


class InsecureParametersError(InvalidParametersError):
    """The parameters fall short of 128-bit security and `insecure=True` was not given."""


class LevelExhaustedError(CloakworkError, ValueError):
    """An operation needs more levels than the ciphertext has left."""


class LevelMismatchError(CloakworkError, ValueError):
    """Two operands, or an operand and a key, stand at different levels."""


class ScaleMismatchError(CloakworkError, ValueError):
    """Two operands carry different scales."""


class ScaleOutOfRangeError(CloakworkError, ValueError):
    """A scale is not positive and finite, or does not fit the modulus."""


class SlotMismatchError(CloakworkError, ValueError):
    """A number of slots or values does not fit."""


class ValueOutOfRangeError(CloakworkError, ValueError):
    """A value exceeds the bound that was promised for it."""


class NotFiniteError(CloakworkError, ValueError):
    """A value is NaN or infinite."""


class ParametersMismatchError(CloakworkError, ValueError):
    """Two objects were made under different parameters."""


class EstimateMismatchError(CloakworkError, ValueError):
    """A ciphertext is not what the estimate that came with it is of."""


class KeyMismatchError(CloakworkError, ValueError):
    """Two objects belong to different secret keys."""


class ProgramMismatchError(CloakworkError, ValueError):
    """Two objects belong to different programs."""


class MissingKeyError(CloakworkError, LookupError):
    """The evaluation keys lack one that the operation needs."""


class DegreeMismatchError(CloakworkError, ValueError):
    """A ciphertext has the wrong number of components for the operation."""


class BoundOverflowError(CloakworkError, ArithmeticError):
    """By the bounds of the inputs a value may wrap around the modulus, unseen."""


class NoiseExhaustedError(CloakworkError, ArithmeticError):
    """By the bounds on noise a result may be a wrong number: more or larger levels are needed."""


class PrecisionLostError(CloakworkError, ArithmeticError):
    """Too few bits of a result are right for it to be worth having."""


class DecryptionOverflowError(CloakworkError, ArithmeticError):
    """The decrypted polynomial fills the modulus: a value overflowed, or the key is wrong."""


class InvalidArgumentError(CloakworkError, ValueError):
    """An argument is not one that the operation can take."""


class MalformedBytesError(CloakworkError, ValueError):
    """Bytes or a file that are no object of this version and kind."""


class RandomnessError(CloakworkError, OSError):
    """The operating system gave no random bytes."""


class MissingDependencyError(CloakworkError, ImportError):
    """A package that only some functions need is not installed."""


class EngineFaultError(CloakworkError, RuntimeError):
    """The engine broke one of its own rules; please report what was called."""


class NotRealError(CloakworkError, TypeError):
    """The data are not real numbers: complex, text, or objects."""


class UnsupportedOperationError(CloakworkError, AttributeError, TypeError):
    """A function or an attribute that arrays have and encrypted tensors do not."""


class EinsumSyntaxError(CloakworkError, ValueError):
    """An einsum expression does not follow the language."""


class ShapeMismatchError(CloakworkError, ValueError):
    """Shapes do not fit an expression or one another."""


class InvalidLayoutError(CloakworkError, ValueError):
    """A layout places two elements in one slot, or an element outside the slots."""


class InvalidProgramError(CloakworkError, ValueError):
    """A slot, gate or bootstrap program breaks a rule of its form."""


class ProgramTooLargeError(CloakworkError, MemoryError):
    """A program would have more ciphertexts than can be planned or held."""


class MemoryBudgetError(CloakworkError, MemoryError):
    """A tensor or a run needs more memory than it may take."""


class RunCancelledError(CloakworkError, RuntimeError):
    """A run was told to stop before it had finished."""


class KeyBudgetError(CloakworkError, ValueError):
    """No plan of a program keeps its evaluation keys within the bytes allowed."""


class BristolSyntaxError(CloakworkError, ValueError):
    """A file is no circuit in a Bristol format; the message names the line."""


class VerilogError(CloakworkError, ValueError):
    """Yosys refuses a Verilog design, or makes of it what is no circuit of gates."""


class SequentialCircuitError(VerilogError):
    """A design keeps state: registers, latches or memory that is written."""


class HaskellError(CloakworkError, ValueError):
    """A Haskell module does not compile, or Clash can make no circuit of a function in it."""


class TopNotFoundError(HaskellError):
    """A Haskell module exports no function of the name asked for."""


class NotBitsError(HaskellError):
    """A function's type is not made of bits alone, or not fixed."""


class UnboundedRecursionError(HaskellError):
    """A function calls itself, so that no circuit of a fixed size computes it."""


class SynthesisTimeoutError(CloakworkError, TimeoutError):
    """Making a circuit took longer than allowed."""


class MessageMissedError(CloakworkError, ArithmeticError):
    """A bootstrap program's phase is no message of its bootstrap: whoever made it went wrong."""


class NoiseBudgetError(CloakworkError, ArithmeticError):
    """A bootstrap program cannot keep its noise within the bound with these parameters."""


class EncryptedConditionError(CloakworkError, TypeError):
    """An encrypted value is used where only a clear one will do: a condition, an index."""


class IndexOutOfRangeError(CloakworkError, IndexError):
    """An index is beyond the elements that there are."""


class CircuitRecursionError(CloakworkError, RecursionError):
    """A circuit calls itself without end, or deeper than Python goes."""


class InputNameError(CloakworkError, LookupError):
    """An input is missing, or there is none of a name."""


class NotPicklableError(CloakworkError, TypeError):
    """Keys or ciphertexts were to be pickled, or copied the way pickle does."""


class NotIntegerError(CloakworkError, TypeError):
    """A number is no integer."""


class ResultOverflowError(CloakworkError, OverflowError):
    """A result has more bits than its program was compiled for."""


class CircuitTooDeepError(InvalidParametersError):
    """A circuit multiplies more often in a row than any secure parameters allow."""


class CaptureError(CloakworkError, ValueError):
    """A module is not a network that torch.export follows, or whose results depend on more."""


class TrainingModeError(CaptureError):
    """A module is in training mode, where its layers depend on the batch or on chance."""


class UnsupportedLayerError(CaptureError, NotImplementedError):
    """A network has a layer or an operation that cannot be computed on encrypted numbers."""


class ActivationFitError(CloakworkError, ValueError):
    """No polynomial within the degrees allowed is as close to an activation as asked."""
