"""A polynomial is refused in advance where ciphertexts would refuse it, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cloakwork._native import Parameters
from cloakwork.errors import BoundOverflowError, ValueOutOfRangeError
from cloakwork.plan.analysis.headroom import require_headroom
from cloakwork.programs.slots import Basis, Builder, Input, Output, Polynomial, SlotProgram
from cloakwork.schemes.ckks import CkksBackend
from tests.schemes.ckks_secret import CkksSecret
from tests.thoroughness import part

LEVELS = 5
PARAMETERS = Parameters(levels=LEVELS, scale_bits=30, headroom_bits=24, log_n=8, insecure=True)
KEY = CkksSecret(PARAMETERS)
BACKEND = CkksBackend(PARAMETERS, KEY.evaluation_keys(LEVELS, {}))


def program(coefficients: tuple[float, ...], basis: Basis) -> SlotProgram:
    builder = Builder("powers", PARAMETERS.slots)
    x = builder.append(Input("x", LEVELS))
    builder.stage = "act | in order"
    builder.append(Output(builder.append(Polynomial(x, coefficients, basis))))
    return builder.finish()


@settings(max_examples=part(60), deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1.0, -3.0, 1e-6, 1e8]), min_size=4, max_size=30),
    st.sampled_from([0.25, 1.0, 1.5, 2.0, 3.0, 10.0]),
    st.sampled_from(["monomial", "chebyshev"]),
)
def test_refuses_what_ciphertexts_refuse(
    coefficients: list[float], bound: float, basis: Basis
) -> None:
    bound = min(bound, 1.0) if basis == "chebyshev" else bound
    made = program((*coefficients, 1.0), basis)
    x = KEY.encrypt(np.zeros(PARAMETERS.slots), bound=bound, level=LEVELS)
    try:
        BACKEND.polynomial(x, (*coefficients, 1.0), basis)
    except (BoundOverflowError, ValueOutOfRangeError):
        event("refused")
        with pytest.raises(
            BoundOverflowError, match=r"layer 'act' of powers, a polynomial of degree"
        ):
            require_headroom(made, [bound, 1.0, 1.0], PARAMETERS)
    else:
        event("has room")
        require_headroom(made, [bound, 1.0, 1.0], PARAMETERS)
