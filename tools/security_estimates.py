"""Writes docs/security-estimates.md: the security of every parameter set, estimated.

    python tools/security_estimates.py ESTIMATOR [SET ...]

ESTIMATOR is a checkout of github.com/malb/lattice-estimator (LGPL), which does not belong to
Cloakwork. It runs under the Python of a SageMath, such as `pip install passagemath-standard` makes
one. SET names the rows to estimate anew; without any, all of them, which takes half an hour. Tests
of crates/rlwe and crates/tfhe-eval compare the file with the sets of the engines.
"""

from __future__ import annotations

import datetime
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent.parent / "docs" / "security-estimates.md"
_HEADING = """# Estimates of security

Every parameter set of Cloakwork by the lattice estimator (Albrecht, Player, Scott, eprint 2015/046;
github.com/malb/lattice-estimator), with its model of lattice reduction, MATZOV's. A row is of the
largest modulus that a set may have; under a smaller one security is not less.
`tools/security_estimates.py` makes the rows, and tests compare them with the sets that the engines
have.

Security is log2 of the operations of the best attack. Of sparse secrets that is one of two hybrid
attacks, which guess a part of the secret and solve the rest by BDD: the estimator's, and one by
Meet-LWE (May, CRYPTO 2021), which the estimator does not cover: its search is allowed to cost as
little as the number of guesses to the power of 0.3, whatever memory it takes.

"""
_COLUMNS = "| set | secret | n | log2 q | deviation | security | attacks | estimator | date |"
_RULE = "|---|---|---|---|---|---|---|---|---|"
# Of the errors of CKKS and BGV.
_DEVIATION = 3.2
# The search of Meet-LWE costs a set of this power of its size, and is repeated until one of a
# hundred fails.
_MEET_EXPONENT = 0.3
_REPETITIONS = math.log2(math.log(100))


@dataclass(frozen=True)
class Set:
    """A parameter set: LWE of dimension n modulo 2^log2_q, errors of a deviation.

    A weight of 0 is that of a uniform secret, of -1, 0 and 1 or, where it is binary, of 0 and 1.
    """

    name: str
    n: int
    log2_q: float
    deviation: float = _DEVIATION
    weight: int = 0
    binary: bool = False

    @property
    def secret(self) -> str:
        """How the secret is drawn."""
        if self.weight:
            return f"sparse, weight {self.weight}"
        return "binary" if self.binary else "ternary"


def _binary(name: str, n: int, log2_q: int, turns: float) -> Set:
    return Set(name, n, log2_q, turns * 2.0**log2_q, binary=True)


SETS = (
    *(
        Set(f"ring 2^{log_n}", 1 << log_n, bits)
        for log_n, bits in zip(range(12, 18), (106, 214, 430, 868, 1746, 3521), strict=True)
    ),
    Set("encapsulation 2^15", 1 << 15, 96, weight=40),
    Set("encapsulation 2^16", 1 << 16, 121, weight=32),
    Set("ring switching", 2048, 50, binary=True),
    _binary("space4, small key", 747, 32, 1.5944604865450687e-5),
    _binary("space4, large key", 1536, 64, 1.9524392655548086e-11),
    _binary("space4x2, small key", 781, 32, 8.868480365938865e-6),
    _binary("space4x2, large key", 2048, 64, 2.845267479601915e-15),
    _binary("space8, small key", 846, 32, 2.889344520786227e-6),
    _binary("space8, large key", 2048, 64, 2.845267479601915e-15),
    _binary("space16, small key", 885, 32, 1.4742441118914234e-6),
    _binary("space16, large key", 2048, 64, 2.845267479601915e-15),
)


def main(arguments: list[str]) -> int:
    """Estimate the sets and write the file."""
    folder, names = Path(arguments[0]), arguments[1:] or [each.name for each in SETS]
    sys.path.insert(0, str(folder))
    commit = subprocess.run(
        ["git", "-C", folder, "rev-parse", "--short=12", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    for each in SETS:
        if each.name not in names:
            continue
        found = dict(_estimates(each))
        attacks = ", ".join(f"{attack} {bits:.1f}" for attack, bits in found.items())
        least = math.floor(10 * min(found.values())) / 10
        today = datetime.datetime.now(datetime.UTC).date()
        cells = (each.name, each.secret, each.n, f"{each.log2_q:g}", f"{each.deviation:.6g}")
        _keep(each.name, f"| {' | '.join(map(str, (*cells, least, attacks, commit, today)))} |")
    return 0


def _keep(name: str, row: str) -> None:
    """Put a row into the file in place of the one of its name."""
    lines = _FILE.read_text().splitlines() if _FILE.exists() else []
    rows = {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}
    rows[name] = row
    kept = [rows[each.name] for each in SETS if each.name in rows]
    _FILE.write_text(_HEADING + "\n".join([_COLUMNS, _RULE, *kept]) + "\n")


def _estimates(each: Set) -> Iterator[tuple[str, float]]:
    """The attacks on a set, each with log2 of its operations."""
    # Sage has to be there first.
    import sage.all  # noqa: PLC0415
    from estimator import LWE, ND  # noqa: PLC0415

    secret = ND.Binary if each.binary else ND.Ternary
    if each.weight:
        secret = ND.SparseTernary(each.weight // 2, each.weight - each.weight // 2, n=each.n)
    samples = sage.all.oo if each.binary else each.n
    noise = ND.DiscreteGaussian(each.deviation)
    problem = LWE.Parameters(n=each.n, q=_power(each.log2_q), Xs=secret, Xe=noise, m=samples)
    attacks: dict[str, Callable[[Any], Mapping[str, Any]]] = {
        "uSVP": LWE.primal_usvp,
        "BDD": LWE.primal_bdd,
        "dual": LWE.dual_hybrid,
    }
    if each.weight:
        # The search for the best dual attack ends before it finds one.
        attacks = {"hybrid": lambda given: LWE.primal_hybrid(given, mitm=True, babai=True)}
    for name, attack in attacks.items():
        start = time.process_time()
        bits = math.log2(attack(problem)["rop"])
        print(f"{each.name}: {name} {bits:.2f}, {time.process_time() - start:.0f} s", flush=True)
        yield name, bits
    if each.weight:
        bits = _meet(problem.normalize(), each)
        print(f"{each.name}: Meet-LWE {bits:.2f}", flush=True)
        yield "Meet-LWE", bits


def _power(log2: float) -> int:
    whole = math.floor(log2)
    return int(2 ** (log2 - whole) * 2**52) << whole >> 52


def _meet(problem: Any, each: Set) -> float:
    """log2 of a hybrid attack whose search costs the number of guesses to the power of 0.3.

    A guess is of so many coefficients of the secret with so many ones among them; the others are
    found by reducing a lattice and by Babai's nearest plane.
    """
    # From a coarse grid to a finer one around the best.
    step, around, best = each.n // 16, range(each.n // 2, each.n, each.n // 16), math.inf
    while step >= each.n >> 8:
        found, guessed = min((_meet_of(problem, each, count), count) for count in around)
        best, step = min(best, found), step // 4
        around = range(guessed - 4 * step, min(guessed + 4 * step, each.n - 64) + 1, step)
    return best


def _meet_of(problem: Any, each: Set, guessed: int) -> float:
    """The same with so many guessed coefficients, for the best block size."""
    from estimator import RC  # noqa: PLC0415
    from estimator.lwe_primal import PrimalHybrid  # noqa: PLC0415
    from estimator.simulator import GSA  # noqa: PLC0415

    guesses = [
        (_log2_choose(guessed, ones) + ones, hit)
        for ones in range(each.weight + 1)
        if (hit := _log2_hit(each, guessed, ones)) > -200
    ]
    best = math.inf
    for block in range(60, 400, 10):
        cost = PrimalHybrid.beta_params(
            beta=block,
            params=problem,
            zeta=guessed,
            babai=True,
            mitm=True,
            m=2 * each.n,
            red_shape_model=GSA,
            red_cost_model=RC.MATZOV,
        )
        chance = float(cost.get("babai_probability", 0.0))
        if chance < 1e-100:
            continue
        reduced = math.log2(cost["bkz_cost"]["rop"])
        if reduced > best:
            break
        plane = math.log2(cost["svp_cost"]["rop"])
        for size, hit in guesses:
            whole = max(reduced, plane + _MEET_EXPONENT * size) - math.log2(chance) - hit
            best = min(best, whole + _REPETITIONS)
    return best


def _log2_hit(each: Set, guessed: int, ones: int) -> float:
    """log2 of the chance that so many of the ones are among the guessed coefficients."""
    rest = each.weight - ones
    if ones > guessed or rest > each.n - guessed:
        return -math.inf
    ways = _log2_choose(guessed, ones) + _log2_choose(each.n - guessed, rest)
    return ways - _log2_choose(each.n, each.weight)


def _log2_choose(count: int, chosen: int) -> float:
    logs = math.lgamma(count + 1) - math.lgamma(chosen + 1) - math.lgamma(count - chosen + 1)
    return logs / math.log(2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
