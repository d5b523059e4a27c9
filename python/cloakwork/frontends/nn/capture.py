"""A PyTorch module read into a graph of layers, by torch.export."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import redirect_stderr
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING, Any

from cloakwork.errors import (
    CaptureError,
    InvalidArgumentError,
    MissingDependencyError,
    NotFiniteError,
    NotRealError,
    TrainingModeError,
    UnsupportedLayerError,
)
from cloakwork.frontends.nn.call import TRACKED, Call, Value, unsupported_layer
from cloakwork.frontends.nn.operations import READERS
from cloakwork.frontends.nn.trace import Term, Trace
from cloakwork.programs.ir import layers as g

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

# Checks that torch writes between the operations; nothing comes of them.
_CHECKS = frozenset({"_assert_tensor_metadata", "sym_constrain_range_for_size"})

# What makes tensors of numbers that happen to be there, and what puts others in their place.
_UNSET = frozenset(
    {
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
    }
)
_SETTING = frozenset({"copy", "fill", "full_like", "ones_like", "zero", "zeros_like"})


def capture(module: torch.nn.Module, sample: Any) -> g.Graph:
    """Read a network.

    Args:
        module: The network, in eval mode: one tensor in, one out, the batch first in both.
        sample: Inputs that the network takes, as a tensor or an array; their numbers do not
            matter. Of the batch only the axis matters.

    Raises:
        MissingDependencyError: PyTorch is not installed.
        InvalidArgumentError: The module is none, the sample no batch of real numbers, or a
            variance not above 0.
        TrainingModeError: The module is in training mode.
        UnsupportedLayerError: A layer cannot be computed on encrypted numbers; the message
            names it and says what would work.
        CaptureError: The module takes several inputs or gives several results or no element, an
            input's result depends on how many inputs come with it, or torch.export cannot
            follow the module: most often since it decides on values of its input.
        NotFiniteError: A weight is NaN or infinite.
        NotRealError: A weight is complex, or has no numbers.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> module = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.SiLU()).eval()
    >>> [node.name for node in capture(module, torch.zeros(1, 4)).nodes]
    ['input', '0', '1', 'output']
    """
    if find_spec("torch") is None:
        raise MissingDependencyError(
            "cannot read a network: it takes PyTorch; install it by pip install 'cloakwork[torch]'"
        )
    import torch  # noqa: PLC0415

    if not isinstance(module, torch.nn.Module):
        raise InvalidArgumentError(
            f"cannot read a network: expected a torch.nn.Module, got {type(module).__name__}; "
            "wrap a function in a module's forward"
        )
    _require_eval(module)
    inputs = _sample(module, sample)
    graph = _read(_exported(module, inputs), inputs)
    _require_independent(module, inputs)
    return graph


def _require_eval(module: torch.nn.Module) -> None:
    training = [
        name or type(module).__name__ for name, part in module.named_modules() if part.training
    ]
    if training:
        raise TrainingModeError(
            f"cannot read a network: expected every layer in eval mode, got {training[0]!r} in "
            "training mode; call module.eval() first"
        )


def _sample(module: torch.nn.Module, sample: Any) -> torch.Tensor:
    import torch  # noqa: PLC0415

    if isinstance(sample, (tuple, dict)):
        raise CaptureError(
            f"cannot read a network: expected one input, got {len(sample)}; encrypt one tensor "
            "and cut it inside the module"
        )
    try:
        inputs = torch.as_tensor(sample)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidArgumentError(
            f"cannot read a network: expected a sample that is a tensor or an array, got "
            f"{type(sample).__name__}; give one batch of inputs"
        ) from error
    if inputs.ndim < 2 or 0 in inputs.shape or inputs.is_complex():
        raise InvalidArgumentError(
            "cannot read a network: expected a sample of shape (batch, ...) of real numbers, got "
            f"shape {tuple(inputs.shape)} of {inputs.dtype}; put inputs along a first axis"
        )
    weight = next((each for each in module.parameters() if each.is_floating_point()), None)
    like = torch.empty((), dtype=torch.get_default_dtype()) if weight is None else weight
    return inputs.to(like)


def _exported(module: torch.nn.Module, inputs: torch.Tensor) -> ExportedProgram:
    import torch  # noqa: PLC0415

    try:
        # Torch prints and logs what it cannot follow; the error says what there is to say.
        with redirect_stderr(StringIO()):
            exported: ExportedProgram = torch.export.export(module, (inputs,))
            if any(_is_mutable(node) for node in exported.graph.nodes):
                # What changes a tensor in place becomes what makes a new one; this takes longer
                # than all the rest.
                exported = exported.run_decompositions({})
        return exported
    except Exception as error:
        _require_statistics(module)
        told = " ".join(str(error).split())[:300]
        raise CaptureError(
            f"cannot read a network: torch.export cannot follow {type(module).__name__} on a "
            f"sample of shape {tuple(inputs.shape)}: {told}; give inputs that it takes along a "
            "first axis, and make its forward take one tensor and decide nothing by its numbers"
        ) from error


def _require_statistics(module: torch.nn.Module) -> None:
    """Refuse batch norm by its layer where torch refuses it by the size of the batch."""
    import torch  # noqa: PLC0415

    kinds = torch.nn.BatchNorm1d | torch.nn.BatchNorm2d
    for name, part in module.named_modules():
        if isinstance(part, kinds) and part.running_mean is None:
            raise unsupported_layer(
                name or type(module).__name__, "batch norm by statistics of the batch", TRACKED
            )


def _require_independent(module: torch.nn.Module, inputs: torch.Tensor) -> None:
    """Refuse a module that gives an input another result in a larger batch.

    torch.export fixes the size of the batch, so that nothing in its graph would tell.
    """
    import torch  # noqa: PLC0415

    chance = torch.Generator().manual_seed(0)
    more = torch.randn((len(inputs) + 1, *inputs.shape[1:]), generator=chance).to(inputs)
    own = _result(module, more[:-1])
    try:
        among = _result(module, more)
    except Exception:
        # It takes no other batch than the sample's, so there is no other result.
        return
    if among.shape[:1] != more.shape[:1]:
        return
    # The same inputs at other places of the batch, too.
    later = _result(module, more[1:])
    if not (_alike(own, among[:-1]) and _alike(later, among[1:])):
        raise CaptureError(
            f"cannot read a network: expected that the result of an input depends on it alone, got "
            f"another in a batch of {len(more)} than in one of {len(inputs)}; leave the batch's "
            "size out of forward"
        )


def _alike(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether results are the same but for rounding."""
    import torch  # noqa: PLC0415

    tolerance = torch.finfo(left.dtype).eps ** 0.5
    allowed = tolerance * float(left.nan_to_num(0.0, 0.0, 0.0).abs().max())
    return left.shape == right.shape and torch.allclose(left, right, tolerance, allowed, True)


def _result(module: torch.nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """What a module makes of inputs; neither they nor its buffers change."""
    import torch  # noqa: PLC0415

    buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
    with torch.no_grad():
        result: Any = torch.func.functional_call(module, buffers, (inputs.clone(),))
    while not isinstance(result, torch.Tensor):
        result = next(iter(result.values() if hasattr(result, "values") else result))
    return result


def _is_mutable(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def _read(exported: ExportedProgram, inputs: torch.Tensor) -> g.Graph:
    trace = Trace()
    signature = exported.graph_signature
    known = dict(_known(exported))
    values: dict[str, Value] = {}
    for node in exported.graph.nodes:
        match node.op:
            case "placeholder" if node.name in known:
                values[node.name] = known[node.name]
            case "placeholder":
                values[node.name] = trace.append("input", g.Input(tuple(inputs.shape[1:])))
            case "call_function":
                values[node.name] = _called(trace, node, values, inputs)
            case "output":
                # Torch adds what was changed in place, of the input or a buffer, to the results.
                _finish(trace, [values.get(name) for name in signature.user_outputs])
            case _:
                raise _unread(node, f"a node of kind {node.op}")
    return g.build(trace.nodes)


def _known(exported: ExportedProgram) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters, buffers and constants, by the names of the graph's inputs for them."""
    signature = exported.graph_signature
    tensors = {**exported.constants, **exported.state_dict}
    names = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    for name, target in names.items():
        tensor = tensors[target].detach()
        if tensor.is_meta or tensor.is_complex():
            came = "none, as it is on the device 'meta'" if tensor.is_meta else f"{tensor.dtype}"
            raise NotRealError(
                f"cannot read a network: expected real numbers in {target!r}, got {came}; load its "
                "trained weights, or compute with real and imaginary parts"
            )
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise NotFiniteError(
                f"cannot read a network: expected finite weights, got NaN or an infinity in "
                f"{target!r}; train the network again"
            )
        yield name, tensor


def _called(
    trace: Trace, node: torch.fx.Node, values: dict[str, Value], inputs: torch.Tensor
) -> Value:
    if node.target is operator.getitem:
        sequence, position = (_bound(each, values) for each in node.args)
        return sequence[position] if position < len(sequence) else []
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        raise _unread(node, f"a call of {node.target}")
    name = schema.name.split("::")[-1]
    if name in _CHECKS:
        return []
    given = [_bound(each, values) for each in node.args]
    named = {key: _bound(each, values) for key, each in node.kwargs.items()}
    function: Any = node.target
    arguments = {each.name: each.default_value for each in schema.arguments}
    arguments |= dict(zip(arguments, given, strict=False)) | named
    call = Call(trace, _layer(node), name, arguments, function, len(inputs))
    if not _depends([*given, *named.values()]):
        _require_known(call, node)
        return function(*given, **named)  # type: ignore[no-any-return]
    if name not in READERS:
        raise call.unsupported()
    _require_precise(call, node, inputs)
    return READERS[name](call)


def _require_known(call: Call, node: torch.fx.Node) -> None:
    """Refuse numbers that are others at every call."""
    import torch  # noqa: PLC0415

    # Dropout has the tag in eval mode too.
    by_chance = torch.Tag.nondeterministic_seeded in call.function.tags
    if by_chance and call.arguments.get("train", True):
        raise call.unsupported("chance, which would be the same at every call")
    if call.name in _UNSET and not all(_sets(user, node) for user in node.users):
        raise call.unsupported("memory that nothing has set", "use torch.zeros")


def _sets(user: torch.fx.Node, tensor: torch.fx.Node) -> bool:
    """Whether all of a tensor is overwritten before it is read."""
    schema = getattr(user.target, "_schema", None)
    name = "" if schema is None else schema.name.split("::")[-1]
    return name in _SETTING and user.args[:1] == (tensor,) and tensor not in user.args[1:]


def _require_precise(call: Call, node: torch.fx.Node, inputs: torch.Tensor) -> None:
    """Refuse what rounds the network's values, or cuts them to whole numbers."""
    import torch  # noqa: PLC0415

    made = node.meta["val"]
    for each in made if isinstance(made, (list, tuple)) else (made,):
        if each.dtype not in (torch.float32, torch.float64, inputs.dtype):
            raise call.unsupported(
                f"a result of {each.dtype}", "leave out the cast, or cast to float32 or float64"
            )


def _bound(argument: Any, values: dict[str, Value]) -> Any:
    """An argument with the values of the nodes that it names."""
    if isinstance(argument, (list, tuple)):
        return [_bound(each, values) for each in argument]
    return values[argument.name] if hasattr(argument, "op") else argument


def _depends(argument: Any) -> bool:
    if isinstance(argument, list):
        return any(map(_depends, argument))
    return isinstance(argument, Term)


def _layer(node: torch.fx.Node) -> str:
    """A layer of torch's by its qualified name; another module's operation by both names."""
    stack = node.meta.get("nn_module_stack") or {"": ("", "")}
    path, kind = list(stack.values())[-1]
    kind = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    if path and kind.startswith("torch.nn."):
        return str(path)
    return f"{path}.{node.name}" if path else node.name


def _finish(trace: Trace, results: list[Value | None]) -> None:
    if len(results) != 1:
        raise CaptureError(
            f"cannot read a network: expected one result, got {len(results)}; let forward return "
            "one tensor"
        )
    if not isinstance(results[0], Term):
        raise CaptureError(
            "cannot read a network: expected a result that depends on the input, got one that "
            "does not; compute it in the clear"
        )
    if 0 in trace.shape(results[0]):
        raise CaptureError(
            "cannot read a network: expected a result with elements, got one of shape (batch, "
            f"{', '.join(map(str, trace.shape(results[0])))}); return what has elements"
        )
    trace.append("output", g.Output(), results[0])


def _unread(node: torch.fx.Node, what: str) -> UnsupportedLayerError:
    return UnsupportedLayerError(
        f"cannot compute layer {_layer(node)!r} on encrypted numbers: expected operations of "
        f"tensors, got {what}; write it without control flow on the network's values"
    )
