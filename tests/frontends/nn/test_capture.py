"""What cannot be read as a network is refused by name, and what can keeps its names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch.nn import functional

import cloakwork as cw
from cloakwork.errors import (
    CaptureError,
    InvalidArgumentError,
    NotFiniteError,
    NotRealError,
    TrainingModeError,
    UnsupportedLayerError,
)
from cloakwork.frontends.nn.capture import capture
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate
from tests.frontends.nn.function_module import Function

IMAGE = torch.zeros(2, 1, 8, 8)


@pytest.mark.parametrize(
    ("layer", "advice"),
    [
        (nn.Softmax(dim=0), "over the batch"),
        (Function(functional.dropout), "self.training"),
        (Function(lambda x: torch.div(x, x, rounding_mode="floor")), "whole parts"),
        (Function(lambda x: x // x), "floor_divide"),
        (Function(lambda x: x**0.25), "whole power"),
        (Function(torch.linalg.vector_norm), "got norm .a reduction over the batch"),
        (Function(lambda x: x.norm(p=1, dim=1)), "one of order 2"),
        (Function(lambda x: x[:, :1].std(1)), "variance of 1 elements"),
        (Function(torch.log2), "natural one"),
        (Function(lambda x: torch.where(x == 0, x, 2 * x)), "cannot be compared"),
        (nn.Sequential(nn.Flatten(), nn.PReLU(64)), "PReLU of one parameter"),
        (nn.Hardshrink(), "got hardshrink; use ReLU, SiLU"),
        (nn.LocalResponseNorm(2), "got LocalResponseNorm, by its pow .*; use BatchNorm2d"),
        (nn.LPPool2d(2, 2), "got sign of LPPool2d; encrypted numbers cannot be compared"),
        (Function(torch.sign), "cannot be compared"),
        (Function(lambda x: x[:, 0, 0] @ x[:, 0]), "first axis of values"),
        (Function(lambda x: x.mean()), "batch"),
        (Function(lambda x: x.flip(0)), "mixes the inputs"),
        (Function(lambda x: x.reshape(-1)), "first axis"),
        (Function(lambda x: torch.cat([x, x])), "along the batch"),
        (Function(lambda x: x - x.mean(0)), "keep the batch as the first axis"),
        (Function(lambda x: x.max(1).indices), "max .a result of torch.int64.*decrypted result"),
        (Function(torch.floor), "cannot be compared"),
        (Function(lambda x: torch.fft.rfft(x).abs()), r"got fft\.rfft"),
        (nn.AdaptiveAvgPool2d(0), "at least 1"),
        (nn.Softplus(threshold=2.0), "threshold of at least 14"),
        (nn.Softplus(beta=1 / 1024), "threshold of at least 21"),
        (nn.Softplus(beta=0.0), "beta other than 0"),
        (Function(lambda x: x[:, :0].mean(1)), "no elements"),
        (Function(lambda x: torch.cat([x[:, :0], x[:, :0]], 1)), "no elements"),
        (Function(lambda x: x ** torch.arange(8.0)), "a tensor of 8 numbers"),
        (Function(lambda x: torch.cat([x[:, :0], torch.ones(2, 1, 8, 8)], 1)), "no elements"),
        (Function(lambda x: x + torch.full_like(x, torch.inf)), "NaN or an infinity"),
        (Function(lambda x: torch.vstack([x, x])), "torch.cat"),
        (Function(lambda x: torch.relu(x - torch.inf)), "softmax at once"),
        (Function(lambda x: x * torch.inf), "NaN or an infinity"),
        (Function(lambda x: functional.pad(x, (1, 1), value=-torch.inf)), "finite number"),
        (Function(lambda x: (x - torch.inf).softmax(-1)), "leave one in each row"),
        (Function(lambda x: x.clone().fill_(x[0, 0, 0, 0])), "first axis"),
    ],
)
def test_an_unsupported_layer_is_named_with_what_works(layer: nn.Module, advice: str) -> None:
    module = nn.Sequential(nn.Sequential(nn.Identity(), layer)).eval()
    with pytest.raises(UnsupportedLayerError, match=rf"'0\.1.*{advice}"):
        capture(module, IMAGE)


def test_a_cast_of_autocast_is_refused_by_that_name() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu"):
            return x @ torch.ones(8, 2)

    with pytest.raises(UnsupportedLayerError, match=r"got to \(.*bfloat16\); .*torch.autocast"):
        capture(Function(forward).eval(), IMAGE)


@pytest.mark.filterwarnings("error")
def test_what_a_forward_keeps_is_no_error_where_warnings_are() -> None:
    class Keeping(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.last = x * 2
            return self.last + 1

    assert capture(Keeping().eval(), IMAGE).nodes[-1].shape == (1, 8, 8)


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (nn.LazyLinear(3), "`forward` with a dummy batch to initialize the parameters"),
        (Function(lambda x: iter([x])), "take and return tensors, tuples or dicts"),
    ],
)
def test_what_torch_says_is_told_to_its_end(module: nn.Module, reason: str) -> None:
    with pytest.raises(CaptureError, match=reason):
        capture(module.eval(), IMAGE)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.int() * 1.0,
        lambda x: x.long() * 1.0,
        lambda x: x.bool() * 1.0,
        lambda x: x.to(torch.uint8) * 1.0,
        lambda x: x.to(torch.ones(1, dtype=torch.int32)) * 1.0,
        lambda x: x.half(),
        lambda x: x.sum(1, dtype=torch.int32),
        lambda x: x.mean(1, dtype=torch.float16),
        lambda x: x * torch.full((8,), 1j),
    ],
)
def test_a_cast_that_changes_numbers_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedLayerError, match=r"result of torch\..*leave out the cast"):
        capture(Function(function).eval(), IMAGE)


def test_a_cast_to_more_precision_is_the_identity() -> None:
    graph = capture(Function(lambda x: x.double().float().sum(1, dtype=x.dtype)).eval(), IMAGE)
    assert graph.nodes[-1].shape == (8, 8)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + torch.randn(8),
        lambda x: x + torch.rand(1, 8),
        lambda x: x + torch.rand_like(x),
        lambda x: x + torch.normal(torch.zeros(8)),
        lambda x: x * functional.dropout(torch.ones(8)),
    ],
)
def test_random_numbers_are_refused(function: Any) -> None:
    with pytest.raises(UnsupportedLayerError, match="in a buffer"):
        capture(Function(function).eval(), IMAGE)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + torch.empty(8),
        lambda x: x + torch.empty_like(x),
        lambda x: x + x.new_empty(8),
        lambda x: x + torch.empty_strided((8,), (1,)),
        lambda x: x + torch.empty(8) * 0,
        lambda x: x + torch.Tensor(8),
    ],
)
def test_memory_that_nothing_has_set_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedLayerError, match=r"use torch\.zeros"):
        capture(Function(function).eval(), IMAGE)


def test_memory_that_is_set_before_it_is_read_is_known() -> None:
    graph = capture(Function(lambda x: x + torch.empty(8).fill_(2.0)).eval(), IMAGE)
    [shifting] = [node.operation for node in graph.nodes[1:-1]]
    assert isinstance(shifting, g.Affine)
    np.testing.assert_array_equal(shifting.shift, np.full((1, 1, 8), 2.0))


def test_a_refusal_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CaptureError):
        capture(Function(lambda x: x if x.sum() > 0 else -x).eval(), IMAGE)
    assert capfd.readouterr() == ("", "")


def test_dropout_of_known_numbers_is_off_outside_of_training() -> None:
    module = Function(lambda x: x * functional.dropout(torch.full((8,), 3.0), training=False))
    [scaling] = [node.operation for node in capture(module.eval(), IMAGE).nodes[1:-1]]
    assert isinstance(scaling, g.Affine)
    np.testing.assert_array_equal(scaling.scale, np.full((1, 1, 8), 3.0))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: torch.ones(2),
    ],
)
def test_what_is_no_network_is_refused(function: Any) -> None:
    with pytest.raises(CaptureError, match="cannot read a network"):
        capture(Function(function).eval(), IMAGE)


@pytest.mark.parametrize("function", [lambda x: x[:, :0], lambda x: functional.silu(x[:, :0])])
def test_a_result_of_no_elements_is_refused(function: Any) -> None:
    with pytest.raises(CaptureError, match="expected a result with elements"):
        capture(Function(function).eval(), IMAGE)


class Cancelling(nn.Module):
    """The input, and rounding to float32, which differs with the size of a batch, made large."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.forwards, self.backwards = nn.Linear(512, 512), nn.Linear(512, 512)
        self.backwards.weight.data = self.forwards.weight.data.flip(1)
        self.backwards.bias.data = self.forwards.bias.data

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rounding: torch.Tensor = self.forwards(x) - self.backwards(x.flip(1))
        return x + 1e5 * rounding


def test_rounding_that_grows_is_told_from_results_that_depend_on_the_batch() -> None:
    module = Cancelling().eval()
    assert len(capture(module, torch.zeros(16, 512)).nodes) > 3
    with pytest.raises(CaptureError, match="in a batch of 17 than in one of 16"):
        capture(nn.Sequential(module, Function(lambda x: x * len(x))).eval(), torch.zeros(16, 512))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / x.shape[0],
        lambda x: [x * len(x)],
        lambda x: x if len(x) == 2 else -x,
    ],
)
def test_a_result_that_depends_on_the_size_of_the_batch_is_refused(function: Any) -> None:
    with pytest.raises(CaptureError, match="in a batch of 3 than in one of 2"):
        capture(Function(function).eval(), IMAGE)


def test_results_too_large_for_a_float_are_compared_too() -> None:
    assert capture(Function(lambda x: x * 1e30 * 1e30).eval(), IMAGE).nodes[-1].shape == (1, 8, 8)


def test_a_module_of_one_batch_size_is_read() -> None:
    module = nn.Sequential(Function(lambda x: x.reshape(2, -1)), nn.Linear(64, 3)).eval()
    assert capture(module, IMAGE).nodes[-1].shape == (3,)


class Counting(nn.Module):
    """A module that changes its buffer and its input."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: torch.Tensor
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x.mul_(2)


class Growing(Counting):
    """A module that makes more of an input at every call."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls = self.calls + 1
        return x * self.calls


class Late(nn.Module):
    """A module whose first call is another than those after it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


def test_reading_changes_neither_the_buffers_nor_the_sample() -> None:
    module, sample = Counting().eval(), torch.ones(2, 3)
    capture(module, sample)
    assert module.calls == 0
    assert torch.equal(sample, torch.ones(2, 3))


@pytest.mark.parametrize("module", [Growing(), Late()])
def test_what_a_later_call_makes_otherwise_is_refused(module: nn.Module) -> None:
    with pytest.raises(CaptureError, match="at every call, got another at the second"):
        capture(module.eval(), IMAGE)


@pytest.mark.parametrize(("least", "sizes"), [(2, "3 than in one of 1"), (4, "4 than in one of 3")])
def test_what_the_size_of_the_batch_decides_is_refused(least: int, sizes: str) -> None:
    module = Function(lambda x: x if len(x) < least else x * 2).eval()
    with pytest.raises(CaptureError, match=f"a batch of {sizes}"):
        capture(module, torch.zeros(3, 1, 8, 8))


def test_a_module_that_drops_the_axis_of_one_input_is_read() -> None:
    module = Function(lambda x: x.flatten(1).sum(1, keepdim=True).squeeze() * 2).eval()
    assert capture(module, torch.zeros(3, 1, 8, 8)).nodes[-1].shape == ()


def test_what_torch_compiled_is_read_as_it_was_before() -> None:
    graph = capture(cast(nn.Module, torch.compile(nn.Flatten().eval())), IMAGE)
    assert graph.nodes[0].name == "input"


def test_what_spreads_a_batch_over_devices_is_refused() -> None:
    with pytest.raises(CaptureError, match=r"module\.module"):
        capture(nn.DataParallel(nn.Flatten()).eval(), IMAGE)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({}, "batch_first=True"),
        ({"batch_first": True, "add_bias_kv": True}, "without add_bias_kv"),
        ({"batch_first": True, "add_zero_attn": True}, "without .*add_zero_attn"),
    ],
)
def test_attention_that_cannot_be_computed_is_refused_by_its_layer(
    options: dict[str, bool], advice: str
) -> None:
    class Attending(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = nn.MultiheadAttention(8, 2, **options)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.heads(x, x, x)[0]
            return result

    with pytest.raises(UnsupportedLayerError, match=rf"'heads'.*{advice}"):
        capture(Attending().eval(), torch.zeros(2, 3, 8))


def test_words_by_real_numbers_are_refused_with_what_to_give_instead() -> None:
    with pytest.raises(CaptureError, match="words as whole numbers of int64"):
        capture(nn.Embedding(5, 3).eval(), torch.zeros(2, 4))


def test_a_division_by_zero_is_refused_as_one() -> None:
    with pytest.raises(UnsupportedLayerError, match=r"by zero.*divide by other numbers"):
        capture(Function(lambda x: x / 0.0).eval(), IMAGE)


@pytest.mark.parametrize(
    "function", [lambda x: x - x[:1], lambda x: x + torch.arange(len(x)).reshape(-1, 1, 1, 1)]
)
def test_what_depends_on_the_place_in_a_batch_is_refused(function: Any) -> None:
    with pytest.raises(CaptureError, match="the result of an input depends on it alone"):
        capture(Function(function).eval(), IMAGE[:1])


def test_training_mode_is_refused_by_the_layer() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 2)).eval()
    module[1].train()
    with pytest.raises(TrainingModeError, match="'1'"):
        capture(module, IMAGE)


@pytest.mark.parametrize(
    "sample",
    [torch.zeros(3), torch.zeros(0, 1), "x", IMAGE.to(torch.complex64), IMAGE.to("meta")],
)
def test_what_is_no_sample_is_refused(sample: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="sample"):
        capture(nn.Flatten().eval(), sample)


def test_what_is_no_module_is_refused() -> None:
    not_a_module: Any = functional.relu
    with pytest.raises(InvalidArgumentError, match=r"expected a torch\.nn\.Module"):
        capture(not_a_module, IMAGE)


def test_a_result_that_no_input_changes_is_refused() -> None:
    with pytest.raises(CaptureError, match="depends on the input, got one that does not"):
        capture(Function(lambda x: torch.ones(len(x), 3)).eval(), IMAGE)


def test_prelu_of_one_parameter_is_a_leaky_relu() -> None:
    graph = capture(nn.PReLU(init=0.125).eval(), IMAGE)
    [activation] = [node.operation for node in graph.nodes[1:-1]]
    assert isinstance(activation, g.Activation)
    assert (activation.function, activation.parameters) == ("leaky_relu", (0.125,))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.cat([torch.arange(3.0).expand(len(x), 3), x.flatten(1)], 1) ** 2,
        lambda x: torch.cat([x, torch.ones_like(x[..., :1]), x * 2], 3),
        lambda x: torch.cat([x.new_zeros(len(x), 1, 8, 2), x], 3),
        lambda x: torch.cat([torch.zeros(0), x], 1),
        lambda x: torch.concat([x[:, :0], torch.ones(len(x), 1, 8, 8), x], 1),
        lambda x: torch.stack(
            [x, torch.arange(64.0).reshape(1, 1, 8, 8).repeat(len(x), 1, 1, 1)], 1
        ),
        lambda x: torch.stack([x, torch.full_like(x, 0.5), x * x], 2),
    ],
)
def test_known_numbers_stand_beside_the_networks(function: Any) -> None:
    module = Function(function).eval()
    graph = capture(module, IMAGE)
    batch = torch.rand(2, 1, 8, 8, dtype=torch.float64)
    np.testing.assert_allclose(evaluate(graph, batch.numpy()), module(batch).numpy())


def test_weights_that_are_not_finite_are_refused_by_name() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 2)).eval()
    nn.init.constant_(module.get_parameter("1.weight"), torch.nan)
    with pytest.raises(NotFiniteError, match=r"1\.weight"):
        capture(module, IMAGE)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x,
        lambda x: x**2,
        torch.square,
        lambda x: x.pow(2),
        lambda x: (x * 2) * x * 0.5,
    ],
)
def test_every_way_to_square_is_one_polynomial(function: Any) -> None:
    graph = capture(Function(function).eval(), IMAGE)
    [polynomial] = [node.operation for node in graph.nodes[1:-1]]
    assert isinstance(polynomial, g.PolynomialLayer)
    np.testing.assert_allclose(polynomial.coefficients, (0.0, 0.0, 1.0))


def test_a_polynomial_written_out_is_one_node() -> None:
    graph = capture(Function(lambda x: 1 + x * (0.5 + x * (0.25 - x / 8))).eval(), IMAGE)
    [polynomial] = [node.operation for node in graph.nodes[1:-1]]
    assert isinstance(polynomial, g.PolynomialLayer)
    np.testing.assert_allclose(polynomial.coefficients, (1.0, 0.5, 0.25, -0.125))


WRITTEN_OUT: dict[str, tuple[Any, tuple[str, ...]]] = {
    "silu": (lambda x: x * torch.sigmoid(x), ("silu",)),
    "gelu": (lambda x: x * 0.5 * (1 + torch.erf(x / 2**0.5)), ("gelu",)),
    "a sum": (lambda x: x / 2 + x / 2 * torch.erf(x / 2**0.5), ("gelu",)),
    "as of GPT-2": (
        lambda x: 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))),
        ("gelu_tanh",),
    ),
    "mish": (lambda x: x * torch.tanh(functional.softplus(x)), ("mish",)),
    "quick": (lambda x: x * torch.sigmoid(1.702 * x), ("silu",)),
    "turned": (lambda x: -3 * x * torch.sigmoid(-x), ("silu",)),
    "behind a residual": (lambda x: x + x * torch.sigmoid(x), ("silu",)),
    "none": (lambda x: torch.tanh(x) * torch.sigmoid(x), ("tanh", "sigmoid")),
    "of two": (lambda x: x[:, :1] * torch.sigmoid(x[:, 1:]), ("sigmoid",)),
    "of positive numbers": (lambda x: x.square() * torch.log(3 + x), ("log",)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_activations_written_out_are_those_of_a_name(name: str) -> None:
    function, expected = WRITTEN_OUT[name]
    x = torch.linspace(-2, 2, 12).reshape(6, 2)
    graph = capture(Function(function).eval(), x)
    found = [each.operation for each in graph.nodes if isinstance(each.operation, g.Activation)]
    assert tuple(each.function for each in found) == expected
    np.testing.assert_allclose(evaluate(graph, x.numpy()), function(x), rtol=1e-5, atol=1e-6)


def test_importing_cloakwork_does_not_import_torch() -> None:
    check = "import sys, cloakwork.frontends.nn.compile_module; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_without_torch_the_install_command_is_told() -> None:
    check = (
        "import sys; sys.modules['torch'] = None\n"
        "from importlib import util; found = util.find_spec\n"
        "util.find_spec = lambda name, package=None: None if name == 'torch' else "
        "found(name, package)\n"
        "from cloakwork.frontends.nn.capture import capture\n"
        "capture(None, None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=False
    )
    assert "MissingDependencyError" in done.stderr
    assert "pip install 'cloakwork[torch]'" in done.stderr


def test_a_refusal_quotes_the_line_that_the_user_wrote() -> None:
    class Sorted(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.sort(2 * x)[0]
            return y + 1

    with pytest.raises(UnsupportedLayerError) as caught:
        capture(Sorted().eval(), torch.zeros(1, 4))
    line = Sorted.forward.__code__.co_firstlineno + 1
    written = f"at {__file__}:{line}: y = torch.sort(2 * x)[0]; leave it out"
    assert written in str(caught.value)


def test_what_torch_cannot_tell_the_numbers_of_is_refused() -> None:
    def slope(x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = torch.func.grad(lambda each: (each**3).sum())(x)
        return made

    with pytest.raises(CaptureError, match="no numbers of 'lifted_tensor_0'"):
        capture(Function(slope).eval(), torch.ones(2, 3))


@pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning")
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_a_module_that_was_traced_is_refused() -> None:
    traced: nn.Module = torch.jit.trace(  # type: ignore[no-untyped-call]
        nn.Linear(3, 2).eval(), torch.ones(1, 3)
    )
    with pytest.raises(CaptureError, match="give the module that it was traced from"):
        capture(traced, torch.ones(2, 3))


def test_what_torch_exported_is_refused_by_advice_that_can_be_followed() -> None:
    exported = torch.export.export(nn.Linear(3, 2).eval(), (torch.ones(1, 3),)).module()
    with pytest.raises(TrainingModeError, match="give the module that it was exported from"):
        capture(exported, torch.ones(2, 3))


def test_results_of_one_name_are_refused() -> None:
    with pytest.raises(CaptureError, match="got two of the name '1'"):
        capture(Function(lambda x: {1: x, "1": 2 * x}).eval(), torch.ones(2, 3))


def test_where_no_line_is_known_none_is_named() -> None:
    class Nothing(nn.Module):
        """It has no forward."""

    with pytest.raises(CaptureError) as refused:
        capture(Nothing().eval(), torch.ones(2, 3))
    assert "<string>" not in str(refused.value)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: x.T @ x, "got T, at .*permute the axes behind it"),
        (lambda x: x.logsumexp(1), "use exp, sum and log"),
        (lambda x: x % 2, "divide by /"),
        (lambda x: torch.linalg.norm(x, dim=1), "use torch.linalg.vector_norm"),
        (lambda x: x[:, torch.tensor([True, False, True])], "take places by integers"),
        (torch.func.vmap(lambda each: 2 * each), "got a call of vmap, at"),
    ],
)
def test_a_refusal_says_what_would_do(function: Any, said: str) -> None:
    with pytest.raises(UnsupportedLayerError, match=said):
        capture(Function(function).eval(), torch.ones(2, 3))


class Estimator:
    """What scikit-learn's estimators have, too."""

    def get_params(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Path("model.pt"), r"got the path .*model.pt.*; give one that ends in .onnx or .pt2"),
        (nn.Linear(2, 2).state_dict(), "got a state_dict, which has weights without layers; make"),
        (nn.Linear, "got the class Linear; make a module of it"),
        (Estimator(), "got the scikit-learn estimator Estimator; write what it computes"),
        (np.tanh, "got the function tanh; wrap it in a module's forward"),
        (5, "got 5; give a trained module"),
    ],
)
def test_what_is_not_a_module_is_named_with_what_to_do(model: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"expected a torch.nn.Module, .*{said}"):
        capture(model, np.zeros((1, 2)))


def test_a_table_of_pandas_is_a_sample() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(np.random.default_rng(0).uniform(0, 1, (50, 6)))
    program = cw.nn.compile(nn.Sequential(nn.Linear(6, 2)).eval(), table)
    assert program.inputs[0].shape == (6,)
    with pytest.raises(NotRealError, match="expected columns of numbers, and column 'a' is of str"):
        cw.nn.compile(nn.Linear(2, 2).eval(), pandas.DataFrame({"a": ["x"], "b": [1]}))


def test_torch_that_cannot_be_loaded_again_is_not_blamed_on_the_module(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(
        "raise ImportError('torch can only be initialized once per process')"
    )
    code = """
import cloakwork as cw
try:
    cw.nn.compile(object(), [[1.0]])
except cw.errors.MissingDependencyError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert "PyTorch cannot be loaded: torch can only be initialized once" in done.stdout
    assert "start the process anew" in done.stdout
