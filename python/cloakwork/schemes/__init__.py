"""Schemes: ways to encrypt, each with the backend that computes on it. A new one is one file."""

from __future__ import annotations

from typing import Any

from cloakwork.base.record import Fields
from cloakwork.errors import InsecureParametersError
from cloakwork.schemes.base import ReadLimits
from cloakwork.schemes.bgv import Bgv
from cloakwork.schemes.bridged import BridgedBits, BridgedIntegers, BridgedReals
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.clear_bits import ClearBits
from cloakwork.schemes.clear_integer import ClearInteger
from cloakwork.schemes.clear_real import ClearReal
from cloakwork.schemes.tfhe import Tfhe

_KINDS = (
    Ckks,
    Bgv,
    Tfhe,
    BridgedReals,
    BridgedIntegers,
    BridgedBits,
    ClearReal,
    ClearInteger,
    ClearBits,
)
_SCHEMES = {each.name: each for each in _KINDS}
_ADVICE = "for tests, read it with insecure=True"


def read_scheme(fields: Fields, limits: ReadLimits) -> Any:
    """The scheme of a record."""
    found: Any = _SCHEMES[fields.choice("scheme", tuple(_SCHEMES))]
    if not found.encrypts and not limits.insecure:
        raise InsecureParametersError(f"cannot read {fields.place}: it hides nothing; {_ADVICE}")
    try:
        made = found.from_fields(fields, limits)
    except InsecureParametersError as error:
        raise InsecureParametersError(
            f"cannot read {fields.place}: its parameters fall short of 128-bit security; {_ADVICE}"
        ) from error
    if made.encrypts and made.insecure and not limits.insecure:
        raise InsecureParametersError(f"cannot read {fields.place}: {made}; {_ADVICE}")
    return made
