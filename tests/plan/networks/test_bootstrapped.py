"""Networks deeper than their chain: where they bootstrap, and what they compute then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import cloakwork as cw
from cloakwork import errors
from cloakwork.plan.networks import bootstrapped
from cloakwork.plan.networks.lower import LoweredNetwork, NetworkPlan
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.stages import (
    ActivationStage,
    CiphertextProduct,
    MatrixProduct,
    stages_within_one,
)
from cloakwork.plan.parameters.bootstrapping import refreshing_for
from cloakwork.plan.reals.expected import expected_error
from cloakwork.plan.reals.refreshed import RefreshingChain
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.programs.slots import Bootstrap, PairedBootstrap, SlotProgram
from tests.plan.networks.refused import one_refused, without_collector
from tests.thoroughness import slow

# Levels between two bootstraps, and those that a value has that is not refreshed any more.
SMALL: dict[str, Any] = {"precision": 12, "log_n": 9, "insecure": True, "bootstrap": True}
BETWEEN, BELOW = 10, 3
# Of degree 7: three levels, and one for the product with a matrix before it.
DEGREES = {"silu": 7}
# Of float64, times some hundred operations.
ROUNDING = 1e-11


def mlp(layers: int, width: int = 8) -> nn.Sequential:
    """Dense layers that neither shrink nor stretch, with an activation between any two."""
    torch.manual_seed(1)
    parts: list[nn.Module] = []
    for _ in range(layers):
        linear = nn.Linear(width, width)
        nn.init.orthogonal_(linear.weight, gain=1.6)
        parts += [linear, nn.SiLU()]
    return nn.Sequential(*parts[:-1]).eval()


class Block(nn.Module):
    """Two convolutions and a shortcut around them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = nn.functional.silu(self.first(x))
        result: torch.Tensor = nn.functional.silu(x + self.second(inner))
        return result


class Normed(Block):
    """The same with activations before convolutions, so that nothing stands on the shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.first(nn.functional.silu(self.norm(x)))
        result: torch.Tensor = x + self.second(nn.functional.silu(inner))
        return result


def residual(block: type[Block], blocks: int) -> nn.Sequential:
    torch.manual_seed(2)
    body = [block(4) for _ in range(blocks)]
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), *body, nn.Flatten(), nn.LazyLinear(3))


def compiled(module: nn.Module, x: torch.Tensor, **options: Any) -> cw.Program:
    with torch.no_grad():
        module(x)
    return cw.nn.compile(module.eval(), x, **{**SMALL, "degrees": DEGREES, **options})


def bootstraps(program: cw.Program) -> list[int]:
    """The values that are refreshed."""
    assert isinstance(program.body, SlotProgram)
    return [each.operand for each in program.body.operations if isinstance(each, Bootstrap)]


def least_bootstraps(steps: list[int]) -> int:
    """How many a chain of steps takes that each take so many levels, from its end on."""
    needed, left = 0, BETWEEN + BELOW
    for step in reversed(steps):
        if step > left:
            needed, left = needed + 1, BETWEEN
        left -= step
    return needed


def error_of(program: cw.Program) -> float:
    assert program.error is not None
    return program.error


def require_results_of_torch(program: cw.Program, module: nn.Module, x: torch.Tensor) -> None:
    """In the clear, with modelled noise, and on ciphertexts."""
    noise = 2.0 ** -SMALL["precision"]
    wanted = module(x).detach().numpy()
    clear = program.run_clear(x)
    assert np.abs(clear - wanted).max() < error_of(program)
    simulation = program.simulate(x)
    assert simulation.outside == ()
    assert np.abs(simulation.outputs - clear).max() < noise
    client, evaluator = program.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(x[0])))
    assert np.abs(found - clear[0]).max() < noise
    assert np.abs(found - wanted[0]).max() < error_of(program)


def test_an_mlp_of_twenty_layers_has_no_bootstrap_too_many() -> None:
    module, x = mlp(20), torch.rand(64, 8)
    program = compiled(module, x)
    # Products and polynomials that are bootstrapped where levels are spent.
    assert len(bootstraps(program)) == least_bootstraps([1, 3] * 19 + [1]) == 8
    require_results_of_torch(program, module, x)


@pytest.mark.parametrize(
    ("precision", "levels", "needed"),
    [(6, 21, 2), (8, 18, 2), (13, 13, 4), (16, 10, 5)],
)
def test_levels_are_as_thin_as_the_precision_allows(
    precision: int, levels: int, needed: int
) -> None:
    module, x = mlp(14), torch.rand(64, 8)
    options: dict[str, Any] = {"degrees": DEGREES, "log_n": 16, "bootstrap": True}
    program = cw.nn.compile(module, x[:1], calibration=x, precision=precision, **options)
    scheme = program.scheme
    assert scheme.refreshing.output_level - scheme.refreshing.input_level == levels
    assert len(bootstraps(program)) == needed


@pytest.mark.slow
def test_twelve_convolutions_with_residual_joins() -> None:
    module, x = residual(Block, 6), torch.rand(32, 1, 4, 4)
    program = compiled(module, x)
    # Not one more than without shortcuts: what is refreshed serves both ways.
    assert len(bootstraps(program)) == least_bootstraps([1, 3] * 12 + [1]) == 5
    require_results_of_torch(program, module, x)


@pytest.mark.slow
def test_convolutions_beside_a_shortcut_that_no_activation_interrupts() -> None:
    module, x = residual(Normed, 6), torch.rand(32, 1, 4, 4)
    program = compiled(module, x)
    assert len(bootstraps(program)) == 5
    require_results_of_torch(program, module, x)


def test_values_of_two_ciphertexts_are_refreshed_at_once() -> None:
    module, x = residual(Block, 3), torch.rand(32, 1, 8, 16)
    program = compiled(module, x)
    count = len(bootstraps(program))
    assert count > 0
    found = cw.estimate(program).operations
    assert found["paired bootstrap"] == count
    assert "bootstrap" not in found
    [line] = [each for each in str(cw.explain(program)).splitlines() if "bootstraps" in each]
    assert f"bootstraps  {count}, {count} of them two at once, " in line
    require_results_of_torch(program, module, x)


def test_what_is_refreshed_is_within_1() -> None:
    """Activations reach 30, inputs 9: what a bootstrap is made for is 1 all the same."""
    module, x = mlp(8), 9 * torch.rand(64, 8)
    for layer in module:
        if isinstance(layer, nn.Linear):
            nn.init.constant_(layer.bias, 5.0)
    program = compiled(module, x)
    assert bootstraps(program)
    assert program.scheme.refreshing.bound < 1 + 1e-9
    bounds = program.value_bounds
    assert bounds is not None
    assert all((bounds[value] or 0.0) < 1 + 1e-9 for value in bootstraps(program))
    require_results_of_torch(program, module, x)


def test_composed_signs_and_products_of_values() -> None:
    """ReLU is x times a sign, whose polynomials follow each other without a matrix between."""
    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 2))
    x = torch.rand(64, 6)
    program = compiled(module, x, degrees=None, precision=8)
    assert bootstraps(program)
    require_results_of_torch(program, module, x)


class Gated(nn.Module):
    """Products of two sums of many elements, one block after another."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.left, self.right, self.last = (
            nn.ModuleList(nn.Linear(width, width) for _ in range(blocks)) for _ in range(3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for left, right, last in zip(self.left, self.right, self.last, strict=True):
            x = nn.functional.silu(last(left(x) * right(x)))
        return x


def test_factors_of_products_are_divided_by_what_calibration_inputs_make_of_them() -> None:
    """Sums of 64 elements of both signs reach far less than the sum of the bounds of all."""
    torch.manual_seed(4)
    module, x = Gated(64, 3).eval().double(), 2.0 * torch.randint(0, 2, (256, 64)).double() - 1
    program = compiled(module, x)
    assert bootstraps(program)
    require_results_of_torch(program, module, x[:4])
    of_factors = [each for each in program.ranges if each.shift == 0.0]
    assert len(of_factors) == 2 * 3
    assert all(each.reached == pytest.approx(1.0) for each in of_factors)
    assert isinstance(module.left[0], nn.Linear)
    aligned = torch.sign(module.left[0].weight[0])
    client, _ = program.keygen()
    with pytest.raises(errors.ValueOutOfRangeError, match=r"layer 'mul.*' expects numbers"):
        client.encrypt(aligned)


def test_several_inputs_at_once() -> None:
    module, x = mlp(8), torch.rand(64, 8)
    program = compiled(module, x, batch=4)
    client, evaluator = program.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(x[:4])))
    assert np.abs(found - program.run_clear(x[:4])).max() < 2.0 ** -SMALL["precision"]


@pytest.mark.parametrize("layers", [3, *slow(2)])
def test_a_chain_just_long_enough_is_taken_where_there_is_one(layers: int) -> None:
    module, x = mlp(layers), torch.rand(64, 8)
    made = [
        compiled(module, x, bootstrap=each, insecure=False, log_n=None) for each in (None, False)
    ]
    assert [each.scheme.refreshing for each in made] == [None, None]
    assert str(made[0].body) == str(made[1].body)
    assert made[0].scheme.parameters.log_n <= 14


@pytest.mark.slow
def test_at_full_security_the_depth_is_known_before_any_ring_is_planned_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unexpected(*_: Any, **__: Any) -> Any:
        raise AssertionError("a chain without bootstraps was planned")

    monkeypatch.setattr("cloakwork.plan.networks.compile_graph.planned", unexpected)
    module, x = mlp(20), torch.rand(64, 8)
    program = compiled(module, x, bootstrap=None, insecure=False, log_n=None)
    assert not program.scheme.insecure
    assert program.scheme.parameters.log_n == 16
    assert len(bootstraps(program)) == 8
    clear = program.run_clear(x)
    assert np.abs(clear - module(x).detach().numpy()).max() < error_of(program)
    assert np.abs(program.simulate(x[0]).outputs - clear[0]).max() < 2.0 ** -SMALL["precision"]


def test_files_and_explanation_have_the_bootstraps(tmp_path: Path) -> None:
    module, x = mlp(6), torch.rand(64, 8)
    program = compiled(module, x)
    program.save(tmp_path / "program")
    again = cw.load(tmp_path / "program", cw.Program, insecure=True)
    assert str(again.body) == str(program.body)
    np.testing.assert_allclose(again.run_clear(x), program.run_clear(x), rtol=0, atol=ROUNDING)
    [line] = [each for each in str(cw.explain(program)).splitlines() if "bootstraps" in each]
    assert line.split()[:2] == ["bootstraps", f"{len(bootstraps(program))},"]


def test_refusals_say_what_would_do() -> None:
    module, x = mlp(20), torch.rand(64, 8)
    # A ring without a secure set for bootstrapping.
    with pytest.raises(errors.LevelExhaustedError, match="log_n=13"):
        compiled(module, x, bootstrap=None, insecure=False, log_n=13)
    with pytest.raises(errors.LevelExhaustedError, match=r"layer '\d+' takes 4 .* leaves 3"):
        compiled(
            module, x, bootstrap=None, insecure=False, log_n=15, degrees={"silu": 15}, precision=4
        )
    with pytest.raises(errors.InvalidParametersError, match=r"ask for precision=2\d or less"):
        compiled(module, x, precision=40)
    with pytest.raises(errors.InvalidArgumentError, match="bootstrap"):
        compiled(module, x, bootstrap="yes")


@pytest.mark.slow
def test_a_refusal_without_bootstraps_says_what_would_do() -> None:
    module, x = mlp(20), torch.rand(64, 8)
    with pytest.raises(errors.LevelExhaustedError, match="fewer layers"):
        compiled(module, x, bootstrap=False, insecure=False, log_n=None)


def test_pairs_that_are_not_precise_are_not_tried_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[SlotProgram] = []

    def counted(lowered: LoweredNetwork, *rest: Any, **options: Any) -> float:
        tried.append(lowered.program)
        return expected_error(lowered, *rest, **options)

    monkeypatch.setattr(bootstrapped, "expected_error", counted)
    module, x = residual(Block, 3), torch.rand(32, 1, 8, 16)
    with pytest.raises(errors.InvalidParametersError, match="ask for precision="):
        compiled(module, x, precision=40)
    assert len(tried) == 1
    assert any(isinstance(each, PairedBootstrap) for each in tried[0].operations)


def test_networks_are_not_staged_for_rings_of_too_few_levels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rings: list[int] = []
    in_ring = bootstrapped._in_ring

    def counted(ring: Any, chain: RefreshingChain, least: float) -> NetworkPlan:
        rings.append(chain.log_n)
        return in_ring(ring, chain, least)

    monkeypatch.setattr(bootstrapped, "_in_ring", counted)
    module, x = mlp(4), torch.rand(64, 8)
    for degree, expected in [(7, [16, 15]), (15, [16])]:
        rings.clear()
        options: dict[str, Any] = {"degrees": {"silu": degree}, "precision": 4, "bootstrap": True}
        cw.nn.compile(module, x[:1], calibration=x, **options)
        assert rings == expected


def test_errors_are_simulated_in_no_ring_that_costs_more_than_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    degrees: set[int] = set()
    of_programs = expected_error

    def counted(lowered: Any, runs: Any, noise: Any, **options: Any) -> float:
        if any(
            isinstance(each, Bootstrap | PairedBootstrap) for each in lowered.program.operations
        ):
            degrees.add(noise.n)
        return of_programs(lowered, runs, noise, **options)

    monkeypatch.setattr(bootstrapped, "expected_error", counted)
    module, x = mlp(8), torch.rand(64, 8)
    made = compiled(
        module, x, precision=4, degrees={"silu": 7}, log_n=None, insecure=False, bootstrap=True
    )
    assert degrees == {made.scheme.parameters.n}


def test_a_key_budget_counts_the_keys_of_bootstraps() -> None:
    module, x = mlp(5, width=24), torch.rand(64, 24)
    whole = compiled(module, x)
    least = refreshing_for(9, bound=1.0, insecure=True).key_bytes
    assert whole.key_bytes > least
    with pytest.raises(errors.KeyBudgetError, match=f"with those of a bootstrap, {least}, "):
        compiled(module, x, key_budget=least - 1)
    with pytest.raises(errors.KeyBudgetError, match="with those of a bootstrap") as refusal:
        compiled(module, x, key_budget=least)
    made = compiled(module, x, key_budget=refusal.value.least)
    assert made.key_bytes <= refusal.value.least
    np.testing.assert_allclose(made.run_clear(x), whole.run_clear(x), rtol=0, atol=ROUNDING)
    require_results_of_torch(made, module, x)


def test_stages_within_one_compute_the_same() -> None:
    """Every polynomial's result and every product is within 1, and results keep their size."""
    nodes = [g.node("x", g.InputLayer((3,), 2.0), (), [])]
    rng = np.random.default_rng(0)

    def append(name: str, layer: g.Operation, *operands: int) -> int:
        nodes.append(g.node(name, layer, operands, nodes))
        return len(nodes) - 1

    first = append("first", g.LinearLayer(rng.normal(size=(3, 3)), rng.normal(size=3)), 0)
    cubic = g.PolynomialLayer((3.0, -20.0, 5.0, 7.0), "chebyshev", -8.0, 8.0)
    cubed = append("cubic", cubic, first)
    square = append("square", g.PolynomialLayer((1.0, 3.0, -2.0), "monomial", -8.0, 8.0), first)
    product = append("product", g.Multiply(), cubed, square)
    last = append("last", g.LinearLayer(rng.normal(size=(2, 3)), rng.normal(size=2)), product)
    append("y", g.OutputLayer(), last)
    graph = g.build(nodes)
    stages = stages_within_one(graph)
    # Of inputs that lead to operands in the middle of their ranges.
    x = rng.uniform(-0.5, 0.5, (20, 3))
    results: list[np.ndarray] = []
    for stage in stages.all:
        match stage:
            case ActivationStage(operand=operand):
                domain = np.polynomial.Chebyshev if stage.basis == "chebyshev" else None
                evaluated = domain or np.polynomial.Polynomial
                results.append(np.asarray(evaluated(stage.coefficients)(results[operand])))
            case CiphertextProduct(left=left, right=right):
                results.append(results[left] * results[right])
            case MatrixProduct():
                total = sum(
                    results[key] @ each.sparse().toarray().T for key, each in stage.terms.items()
                )
                results.append(total + stage.bias)
            case _:
                results.append(x)
        if isinstance(stage, ActivationStage | CiphertextProduct):
            assert np.abs(results[-1]).max() <= 1.0
    wanted = evaluate(graph, x)
    np.testing.assert_allclose(results[stages.outputs[0]], wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", [*range(2), *slow(*range(2, 20))])
def test_random_deep_networks(seed: int) -> None:
    module, x = random_network(seed)
    try:
        program = compiled(module, x, degrees=None, precision=6)
    except (errors.ActivationFitError, errors.InvalidParametersError):
        pytest.skip("its numbers outgrow what a bootstrap leaves")
    wanted = module(x).detach().numpy()
    clear = program.run_clear(x)
    assert np.abs(clear - wanted).max() < error_of(program)
    assert np.abs(program.simulate(x).outputs - clear).max() < 2.0**-6
    if seed < 4:
        client, evaluator = program.keygen()
        found = client.decrypt(evaluator.run(client.encrypt(x[0])))
        assert np.abs(found - clear[0]).max() < 2.0**-6


class RandomNetwork(nn.Module):
    """Layers that take any two of the last results."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        count = int(rng.integers(5, 10))
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(count))
        self.joins = [str(each) for each in rng.choice(["none", "sum", "product", "norm"], count)]
        kinds = [torch.tanh, torch.sigmoid, nn.functional.silu, torch.square, nn.functional.relu]
        self.activations = [
            kinds[each] for each in rng.choice(5, count, p=[0.3, 0.2, 0.3, 0.1, 0.1])
        ]
        self.earlier = [int(rng.integers(1, 4)) for _ in range(count)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = [x]
        for layer, join, act, earlier in zip(
            self.layers, self.joins, self.activations, self.earlier, strict=True
        ):
            other = made[max(0, len(made) - earlier)]
            value = layer(made[-1])
            match join:
                case "sum":
                    made.append(act(value) + other)
                case "product":
                    made.append(torch.tanh(value) * other)
                case "norm":
                    made.append(act(0.5 * (value + other)))
                case _:
                    made.append(act(value))
        return made[-1]


def random_network(seed: int) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(seed)
    return RandomNetwork(np.random.default_rng(seed)).eval(), torch.rand(32, 6)


def test_options_say_in_which_rings_values_may_be_refreshed() -> None:
    assert list(NetworkOptions().refreshing_rings) == [15, 16]
    assert list(NetworkOptions(log_n=9).refreshing_rings) == [9]


def test_what_was_planned_for_refused_rings_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    staged = one_refused(bootstrapped, monkeypatch)
    module, rows = mlp(6), torch.rand(16, 8) * 2 - 1
    with without_collector():
        cw.nn.compile(module, rows[:1], calibration=rows, degrees=DEGREES, batch=2, **SMALL)
        assert [each() for each in staged] == [None, None]


class Uneven(nn.Module):
    """Layers, one of which has numbers of two sizes."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 4)
        self.sizes = torch.tensor([1e-14, 1e-14, 1.0, 1.0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(6):
            x = torch.relu(self.layer(x))
        made: torch.Tensor = self.layer(torch.relu(self.layer(x) * self.sizes) / self.sizes)
        return made


def test_noise_that_outgrows_numbers_is_said() -> None:
    torch.manual_seed(0)
    x = torch.randn(24, 4)
    with pytest.raises(errors.ImpreciseError, match="no precision would do"):
        cw.nn.compile(Uneven().eval(), x, **{**SMALL, "precision": 6})
