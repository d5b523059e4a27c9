"""A PyTorch module read into a graph of layers, by torch.export."""

from __future__ import annotations

import operator
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import replace
from io import StringIO
from traceback import format_exception
from types import UnionType
from typing import TYPE_CHECKING, Any

from cloakwork.errors import (
    CaptureError,
    CloakworkError,
    NotFiniteError,
    NotRealError,
    TrainingModeError,
    UnsupportedLayerError,
)
from cloakwork.frontends.nn.attention import with_batch_first
from cloakwork.frontends.nn.call import (
    TRACKED,
    TorchCall,
    Value,
    as_written,
    unsupported_layer,
    written_at,
)
from cloakwork.frontends.nn.compared import Compared, jump
from cloakwork.frontends.nn.folded import Folded, folded_values, of_entries
from cloakwork.frontends.nn.given_module import module_given
from cloakwork.frontends.nn.masked import Masked
from cloakwork.frontends.nn.module_ports import (
    ModuleInputs,
    looks_up,
    module_inputs,
    result_form,
    result_names,
)
from cloakwork.frontends.nn.operations import COMPARING, OF_COMPARED, OF_MASKED, OF_MOVED, READERS
from cloakwork.frontends.nn.required_module import (
    require_independent,
    require_repeatable,
)
from cloakwork.frontends.nn.trace import Term, Trace
from cloakwork.frontends.nn.turned import Turned, of_each_input, turned_values
from cloakwork.frontends.nn.words import (
    EMBEDDED,
    Rows,
    Words,
    looked_up,
    require_words_alone,
    second_lookup,
)
from cloakwork.programs.ir import layers as g
from cloakwork.programs.packing.results import Form
from cloakwork.runtime.lookup import Lookup

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

# Characters of torch's own reason that a message repeats.
_REASON = 500

# Checks that torch writes between the operations; they have no result.
_CHECKS = frozenset({"_assert_tensor_metadata", "sym_constrain_range_for_size"})

# Operations that make tensors of unset numbers, and operations that set them.
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

_OTHER_CAST = "leave out the cast and torch.autocast, or cast to float32 or float64"


def capture(module: torch.nn.Module, sample: Any) -> g.Graph:
    """Read a network.

    Args:
        module: The network, in eval mode: the batch is the first axis of all inputs and results.
        sample: Inputs that the network takes, as tensors or arrays, whose numbers do not matter:
            one, a tuple, or a dict by the names of the parameters of `forward`. Of the batch only
            the axis matters.

    Raises:
        MissingDependencyError: PyTorch is not installed.
        InvalidArgumentError: The module is no torch.nn.Module, the sample no batch of real
            numbers, or a variance not above 0.
        InputNameError: `forward` has no parameter of a name, or lacks one.
        TrainingModeError: The module is in training mode.
        UnsupportedLayerError: A layer cannot be computed on encrypted numbers; the message
            names it and says what to use instead.
        CaptureError: A result has no element or does not depend on the inputs, or depends on the
            batch that they come in or on earlier calls, or torch.export cannot follow the module:
            most often since it decides on values of its inputs.
        NotFiniteError: A weight is NaN or infinite.
        NotRealError: A weight is complex, or has no numbers.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> module = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.SiLU()).eval()
    >>> [node.name for node in capture(module, torch.zeros(1, 4)).nodes]
    ['input', '0', '1', 'result']
    """
    return captured(module, sample)[0]


def captured(module: torch.nn.Module, sample: Any) -> tuple[g.Graph, Lookup | None]:
    """Read a network as `capture` does, and what looks its words up, where it has any."""
    module = module_given(module)
    graph, look_up = captured_beside_words(module, sample)
    if look_up is not None:
        require_words_alone(look_up, module_inputs(module, sample).names)
    return graph, look_up


def captured_beside_words(module: torch.nn.Module, sample: Any) -> tuple[g.Graph, Lookup | None]:
    """Read a network as `captured` does, which may take other inputs beside its words."""
    import torch  # noqa: PLC0415

    if isinstance(module, torch.nn.DataParallel):
        raise CaptureError(
            "cannot read a network: expected a module that computes by itself, got DataParallel; "
            "give the module in it, module.module"
        )
    require_eval(module)
    inputs = module_inputs(module, sample)
    try:
        network = _network(module, inputs)
    except UnsupportedLayerError as refusal:
        _require_plain_attention(module, refusal)
        raise
    require_repeatable(module, inputs)
    require_independent(module, inputs)
    return network


def _network(module: torch.nn.Module, inputs: ModuleInputs) -> tuple[g.Graph, Lookup | None]:
    """The graph of a module, which shows where the batch goes if that is of two inputs or more."""
    try:
        return _read(_exported(with_batch_first(module), inputs), inputs)
    except UnsupportedLayerError:
        if inputs.count > 1:
            raise
        several = inputs.of_batches([each.repeat_interleave(2, 0) for each in inputs.batches])
        with suppress(CaptureError):
            return _read(_exported(with_batch_first(module), several), several)
        raise


def require_eval(module: torch.nn.Module) -> None:
    """Refuse a module that has a layer in training mode."""
    training = [
        name or type(module).__name__ for name, part in module.named_modules() if part.training
    ]
    if training:
        # What torch.export made has no eval().
        exported = hasattr(module, "graph")
        advice = "give the module that it was exported from" if exported else "call module.eval()"
        raise TrainingModeError(
            f"cannot read a network: expected every layer in eval mode, got {training[0]!r} in "
            f"training mode; {advice} first"
        )


def _require_plain_attention(module: torch.nn.Module, refusal: UnsupportedLayerError) -> None:
    """Name the attention that cannot be computed, where what follows from it is refused."""
    import torch  # noqa: PLC0415

    for name, part in module.named_modules():
        if not isinstance(part, torch.nn.MultiheadAttention):
            continue
        if part.bias_k is not None or part.add_zero_attn:
            raise unsupported_layer(
                name or type(module).__name__,
                "MultiheadAttention that adds keys of its own to the sequence",
                "make it without add_bias_kv and add_zero_attn",
            ) from refusal
        if not part.batch_first:
            raise unsupported_layer(
                name or type(module).__name__,
                "MultiheadAttention that takes the sequence first, and the batch behind it",
                "make it with batch_first=True, and keep the batch first",
            ) from refusal


def _exported(module: torch.nn.Module, inputs: ModuleInputs) -> ExportedProgram:
    import torch  # noqa: PLC0415

    try:
        # Torch prints and logs operations that it cannot follow; the error says so, too. It warns
        # of what a forward keeps of its values, which no result depends on.
        with redirect_stderr(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exported: ExportedProgram = torch.export.export(module, inputs.args, inputs.kwargs)
            if any(_is_mutable(node) or node.op == "get_attr" for node in exported.graph.nodes):
                # What changes a tensor in place becomes what makes a new one, and what stands under
                # no_grad or autocast a part of the graph; this takes longer than all the rest.
                exported = exported.run_decompositions({})
        exported.graph.eliminate_dead_code()
        return exported
    except UnsupportedLayerError:
        raise
    except Exception as error:
        _require_statistics(module)
        reason = textwrap.shorten(str(error), _REASON, placeholder=" ...")
        shapes = ", ".join(str(tuple(each.shape)) for each in inputs.batches)
        line = written_at("".join(format_exception(error)))
        raise CaptureError(
            f"cannot read a network: torch.export cannot follow {type(module).__name__} on a "
            f"sample of shape {shapes}: {reason}{line}; {_advice(module)}"
        ) from error


def _advice(module: torch.nn.Module) -> str:
    """What to change where torch.export cannot follow a module."""
    given = "give inputs that it takes along a first axis"
    if looks_up(module):
        given += ", words as whole numbers of int64"
    if getattr(getattr(module, "config", None), "use_cache", False):
        # Models of Hugging Face keep keys and values for the next token.
        given += ", known={'use_cache': False} where it keeps what it computed"
    return (
        f"{given}, and make its forward take and return tensors, tuples or dicts of them, and "
        "decide nothing by their numbers"
    )


def _require_statistics(module: torch.nn.Module) -> None:
    """Refuse batch norm by its layer where torch refuses it by the size of the batch."""
    import torch  # noqa: PLC0415

    kinds = torch.nn.BatchNorm1d | torch.nn.BatchNorm2d
    for name, part in module.named_modules():
        if isinstance(part, kinds) and part.running_mean is None:
            raise unsupported_layer(
                name or type(module).__name__, "batch norm by statistics of the batch", TRACKED
            )


def _is_mutable(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def _read(exported: ExportedProgram, inputs: ModuleInputs) -> tuple[g.Graph, Lookup | None]:
    trace = Trace()
    embedded: dict[Rows, Term] = {}
    signature = exported.graph_signature
    known = dict(_known(exported))
    named = zip(signature.user_inputs, inputs.names, inputs.batches, strict=True)
    ports = {placeholder: (name, batch) for placeholder, name, batch in named}
    values: dict[str, Value] = {}
    form: Form | None = None
    for node in exported.graph.nodes:
        match node.op:
            case "placeholder" if node.name in known:
                values[node.name] = known[node.name]
            case "placeholder":
                name, batch = ports[node.name]
                values[node.name] = (
                    trace.append(name, g.InputLayer(tuple(batch.shape[1:])))
                    if batch.is_floating_point()
                    else Words(name, batch.shape[-1])
                )
            case "call_function":
                try:
                    values[node.name] = _called(trace, node, values, inputs, embedded)
                except UnsupportedLayerError as refusal:
                    _require_all_inputs(node, ports, refusal)
                    raise
            case "output":
                # Torch adds inputs and buffers that were changed in place to the results.
                results = [_finite(values.get(str(name))) for name in signature.user_outputs]
                form = _finish(trace, exported, results)
            case _:
                raise _unread(node, f"a node of kind {node.op}")
    look_up = next((each.lookup(inputs.names) for each in embedded), None)
    return g.build(trace.nodes, form), look_up


def _require_all_inputs(
    node: torch.fx.Node, ports: Mapping[str, tuple[str, torch.Tensor]], refusal: CloakworkError
) -> None:
    """Say that inputs may be known where what is refused depends on these alone."""
    before, left = {node}, [node]
    while left:
        new = set(left.pop().all_input_nodes) - before
        before |= new
        left += new
    used = [name for placeholder, (name, _) in ports.items() if placeholder in map(str, before)]
    if len(used) < len(ports):
        raise UnsupportedLayerError(
            f"{refusal}; or give {' and '.join(map(repr, used))} by known={{...}} to "
            "cloakwork.nn.compile, if everybody may know it"
        ) from refusal


def _known(exported: ExportedProgram) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters, buffers and constants, by the names of the graph's inputs for them."""
    import torch  # noqa: PLC0415
    from torch._subclasses.fake_tensor import FakeTensor  # noqa: PLC0415

    signature = exported.graph_signature
    tensors = {**exported.constants, **exported.state_dict}
    names = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    for name, target in names.items():
        tensor = tensors[target].detach()
        if isinstance(tensor, FakeTensor):
            raise CaptureError(
                f"cannot read a network: torch.export knows no numbers of {target!r}, which "
                "forward makes by itself; make it before, as a buffer, and take no gradients there"
            )
        if tensor.is_meta or tensor.is_complex():
            came = "none, as it is on the device 'meta'" if tensor.is_meta else f"{tensor.dtype}"
            raise NotRealError(
                f"cannot read a network: expected real numbers in {target!r}, got {came}; load its "
                "trained weights, or compute with real and imaginary parts"
            )
        # Minus infinity hides scores from a softmax.
        is_mask = name not in signature.inputs_to_parameters and bool((tensor < torch.inf).all())
        if tensor.is_floating_point() and not is_mask and not bool(tensor.isfinite().all()):
            raise NotFiniteError(
                f"cannot read a network: expected finite weights, got NaN or an infinity in "
                f"{target!r}; train the network again"
            )
        yield name, tensor


def _called(
    trace: Trace,
    node: torch.fx.Node,
    values: dict[str, Value],
    inputs: ModuleInputs,
    embedded: dict[Rows, Term],
) -> Value:
    if node.target is operator.getitem:
        sequence, position = (_bound(each, values) for each in node.args)
        return sequence[position] if position < len(sequence) else []
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        called = as_written(getattr(node.target, "__name__", str(node.target)))
        raise _unread(node, f"a call of {called}")
    name = schema.name.split("::")[-1]
    if name in _CHECKS:
        return []
    given = [_bound(each, values) for each in node.args]
    named = {key: _bound(each, values) for key, each in node.kwargs.items()}
    function: Any = node.target
    arguments = {each.name: each.default_value for each in schema.arguments}
    arguments |= dict(zip(arguments, given, strict=False)) | named
    layer, kind = _layer(node), _torch_kind(node)
    call = TorchCall(trace, layer, name, arguments, function, inputs.count, _stack(node), kind)
    if _has([*arguments.values()], Words | Rows):
        users = len(node.all_input_nodes[0].users)
        if (found := looked_up(call, users)) is not None:
            return found
        arguments = {each: _entered(call, value, embedded) for each, value in arguments.items()}
        call = replace(call, arguments=arguments)
    elif not _has([*given, *named.values()], Term | Masked | Compared | Folded | Turned):
        _require_known(call, node)
        return function(*given, **named)  # type: ignore[no-any-return]
    if name not in READERS:
        raise call.unsupported()
    if name not in OF_COMPARED and _has([*call.arguments.values()], Compared):
        raise jump(call)
    if name not in OF_MASKED:
        plain = {each: _unmasked(call, value) for each, value in call.arguments.items()}
        call = replace(call, arguments=plain)
    _require_precise(call, node, inputs)
    if name not in OF_MOVED and turned_values([*call.arguments.values()]):
        return of_each_input(call, READERS[name])
    if name not in OF_MOVED and folded_values([*call.arguments.values()]):
        return of_entries(call, READERS[name])
    return READERS[name](call)


def _entered(call: TorchCall, argument: Any, embedded: dict[Rows, Term]) -> Any:
    """An argument with the input of the network in place of rows of embeddings."""
    if isinstance(argument, list):
        return [_entered(call, each, embedded) for each in argument]
    if not isinstance(argument, Rows):
        return argument
    if argument not in embedded:
        if embedded:
            raise second_lookup(call)
        embedded[argument] = call.trace.append(EMBEDDED, g.InputLayer(argument.shift.shape))
    return embedded[argument]


def _require_known(call: TorchCall, node: torch.fx.Node) -> None:
    """Refuse numbers that are others at every call."""
    import torch  # noqa: PLC0415

    # Dropout has the tag in eval mode too.
    by_chance = torch.Tag.nondeterministic_seeded in call.function.tags
    if by_chance and node.users and call.arguments.get("train", True):
        raise call.unsupported("chance, which would be the same at every call")
    if call.name in _UNSET and not all(_sets(user, node) for user in node.users):
        raise call.unsupported("memory that nothing has set", "use torch.zeros, or a buffer")


def _sets(user: torch.fx.Node, tensor: torch.fx.Node) -> bool:
    """Whether all of a tensor is overwritten before it is read."""
    schema = getattr(user.target, "_schema", None)
    name = "" if schema is None else schema.name.split("::")[-1]
    return name in _SETTING and user.args[:1] == (tensor,) and tensor not in user.args[1:]


def _require_precise(call: TorchCall, node: torch.fx.Node, inputs: ModuleInputs) -> None:
    """Refuse an operation that rounds the network's values or cuts them to whole numbers."""
    import torch  # noqa: PLC0415

    made = node.meta["val"]
    # Of places of maxima, which nothing uses, torch has a node as well.
    several = isinstance(made, (list, tuple))
    used = [user.meta["val"] for user in node.users if user.users] if several else [made]
    precise = (torch.float32, torch.float64, inputs.dtype)
    for each in used:
        if each.dtype not in precise and not (each.dtype == torch.bool and call.name in COMPARING):
            raise call.unsupported(f"a result of {each.dtype}", "" if several else _OTHER_CAST)


def _bound(argument: Any, values: dict[str, Value]) -> Any:
    """An argument with the values of the nodes that it names."""
    if isinstance(argument, (list, tuple)):
        return [_bound(each, values) for each in argument]
    return values[argument.name] if hasattr(argument, "op") else argument


def _unmasked(call: TorchCall, argument: Any) -> Any:
    """An argument with the numbers that stand where a mask hides elements from a softmax."""
    if isinstance(argument, list):
        return [_unmasked(call, each) for each in argument]
    found = _finite(argument)
    if isinstance(found, Masked):
        raise call.unsupported("minus infinity outside of a softmax", "take the softmax at once")
    return found


def _finite(value: Value | None) -> Value | None:
    return value.plain() if isinstance(value, Masked) and value.plain is not None else value


def _has(argument: Any, kind: type | UnionType) -> bool:
    if isinstance(argument, list):
        return any(_has(each, kind) for each in argument)
    return isinstance(argument, kind)


def _layer(node: torch.fx.Node) -> str:
    """A layer of torch's by its qualified name; another module's operation by both names."""
    path, _ = _innermost(node)
    if path and _torch_kind(node):
        return path
    return f"{path}.{node.name}" if path else node.name


def _torch_kind(node: torch.fx.Node) -> str:
    """The class of the layer of torch's that a node is of; empty where it is another module's."""
    _, kind = _innermost(node)
    return kind.rpartition(".")[2] if kind.startswith("torch.nn.") else ""


def _innermost(node: torch.fx.Node) -> tuple[str, str]:
    """The qualified name and the class of the module that a node is of."""
    stack = node.meta.get("nn_module_stack") or {"": ("", "")}
    path, kind = list(stack.values())[-1]
    kind = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    return str(path), kind


def _stack(node: torch.fx.Node) -> str:
    """The calls that led to a node, as torch writes them; empty where it does not know."""
    return node.meta.get("stack_trace") or ""


def _finish(trace: Trace, exported: ExportedProgram, results: Sequence[Value | None]) -> Form:
    """Append the results; return the form in which they stand."""
    from torch.utils._pytree import tree_unflatten  # noqa: PLC0415

    if not results:
        raise CaptureError("cannot read a network: expected a result, got none; return a tensor")
    structure = tree_unflatten(range(len(results)), exported.call_spec.out_spec)
    form = result_form(structure)
    found: dict[str, Term] = {}
    for name, result in zip(result_names(structure), results, strict=True):
        if isinstance(result, Masked):
            raise CaptureError(
                f"cannot read a network: expected finite results, got minus infinity in {name!r}; "
                "return the softmax of it"
            )
        if isinstance(result, Words | Rows):
            raise CaptureError(
                f"cannot read a network: expected that {name!r} is computed from embeddings, got "
                "what whoever encrypts looks up; compile what follows it"
            )
        if isinstance(result, Folded | Turned | Compared):
            raise result.refusal()
        if not isinstance(result, Term):
            raise CaptureError(
                f"cannot read a network: expected that {name!r} depends on the input, got one that "
                "does not; compute it in the clear"
            )
        if 0 in trace.shape(result):
            raise CaptureError(
                f"cannot read a network: expected a result with elements, got {name!r} of shape "
                f"(batch, {', '.join(map(str, trace.shape(result)))}); return tensors with elements"
            )
        if name in found:
            raise CaptureError(
                f"cannot read a network: expected results of different names, got two of the name "
                f"{name!r}; give their keys other texts"
            )
        found[name] = result
    trace.finish(found)
    return form


def _unread(node: torch.fx.Node, what: str) -> UnsupportedLayerError:
    return UnsupportedLayerError(
        f"cannot compute layer {_layer(node)!r} on encrypted numbers: expected operations of "
        f"tensors, got {what}{written_at(_stack(node))}; write it by operations of tensors, "
        "without control flow on the network's values"
    )
