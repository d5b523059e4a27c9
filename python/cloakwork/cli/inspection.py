"""What a file is, said without its secrets."""

from __future__ import annotations

from pathlib import Path

from cloakwork.base.arguments import printable
from cloakwork.base.record import Fields
from cloakwork.explain.quantities import size
from cloakwork.frontends.search.index import KIND as INDEX_KIND
from cloakwork.frontends.tensors.session import EVALUATOR_KIND, SESSION_KIND
from cloakwork.frontends.tensors.tensor import TENSOR_KIND
from cloakwork.runtime import container
from cloakwork.runtime.client import ENCRYPTOR_KIND
from cloakwork.runtime.client import KIND as CLIENT_KIND
from cloakwork.runtime.encrypted import BESIDE, MOST_BESIDE, Encrypted
from cloakwork.runtime.encrypted import KIND as ENCRYPTED_KIND
from cloakwork.runtime.evaluation_keys import KIND as EVALUATION_KEYS_KIND
from cloakwork.runtime.evaluator import KIND as PROGRAM_EVALUATOR_KIND
from cloakwork.runtime.fingerprint import warning_of
from cloakwork.runtime.interface import KIND as INTERFACE_KIND
from cloakwork.runtime.interface import Interface
from cloakwork.runtime.load import load, program_of
from cloakwork.runtime.program import KIND as PROGRAM_KIND
from cloakwork.runtime.program import Program
from cloakwork.runtime.rekeying import KIND as REKEYING_KIND
from cloakwork.runtime.state import KIND as STATE_KIND
from cloakwork.schemes import read_scheme
from cloakwork.schemes.base import ReadLimits

# Nothing is made or run under what is only shown.
_ANY = ReadLimits(insecure=True, max_log_n=17)
_KEY_HOLDERS = {
    CLIENT_KIND: "the secret key: keep it to yourself",
    ENCRYPTOR_KIND: "a public key, which encrypts, and a key that signs",
    PROGRAM_EVALUATOR_KIND: "evaluation keys, which decrypt nothing",
}
# What has keys and no program.
_KEYS = {
    EVALUATION_KEYS_KIND: "evaluation keys, which decrypt nothing",
    SESSION_KIND: "the secret key: keep it to yourself",
    EVALUATOR_KIND: "evaluation keys, which decrypt nothing",
}


def inspected(path: Path) -> str:
    """What a file or a folder holds, its program, key, security and size; never a secret.

    Example:
        >>> import tempfile
        >>> import cloakwork as cw
        >>> path = Path(tempfile.mkdtemp()) / "p"
        >>> cw.compile(lambda x: x.sum(), (10,)).save(path)
        >>> print(inspected(path).splitlines()[0].partition(",")[0])
        program file
    """
    if path.is_dir():
        return _folder(load(path, Encrypted))
    kind, fields = container.read_any(path)
    lines = [f"{kind}, {size(path.stat().st_size)}"]
    if kind == PROGRAM_KIND:
        lines += _program(Program.from_fields(fields, _ANY))
    elif kind == INTERFACE_KIND:
        lines += _program(Interface.from_fields(fields, _ANY))
    elif kind == INDEX_KIND:
        lines += _program(Program.from_fields(fields.within("program"), _ANY))
    elif kind in _KEY_HOLDERS:
        lines += [f"holds     {_KEY_HOLDERS[kind]}"]
        lines += _program(program_of(fields, _ANY))
        lines += [f"key       {fields.data('key_id').hex()}"]
    elif kind in _KEYS:
        lines += [f"holds     {_KEYS[kind]}"]
        lines += [f"security  {read_scheme(fields.within('scheme'), _ANY)}"]
        lines += [f"key       {fields.data('key_id').hex()}"]
    elif kind in (ENCRYPTED_KIND, STATE_KIND):
        lines += _encrypted(fields)
        lines += [f"step      {fields.raw('step')}"] if kind == STATE_KIND else []
    elif kind == REKEYING_KIND:
        lines += ["holds     the old secret key, encrypted under the new one"]
        lines += [f"security  {read_scheme(fields.within('scheme'), _ANY)}"]
        lines += [f"{end:<9} key {fields.data(f'{end}_id').hex()}" for end in ("from", "to")]
    elif kind == TENSOR_KIND:
        lines += [f"key       {fields.data('key_id').hex()}"]
    return "\n".join(lines)


def _program(program: Program | Interface) -> list[str]:
    lines = [f"program   {program.name}, {program.fingerprint}"]
    lines += [f"input     {port}" for port in program.inputs]
    lines += [f"output    {port}" for port in program.outputs]
    lines += [f"security  {program.scheme}"]
    return lines + ([f"warning   {program.warning}"] if program.warning else [])


def _folder(encrypted: Encrypted) -> str:
    lines = [
        f"encrypted values folder, {size(encrypted.nbytes)}",
        f"holds     encrypted {encrypted.role}: {', '.join(encrypted.ports)}",
        f"program   {encrypted.program}",
        f"key       {encrypted.key_id.hex()}",
    ]
    lines += [] if encrypted.count is None else [f"count     {encrypted.count} evaluations"]
    return "\n".join(lines + ([f"warning   {encrypted.warning}"] if encrypted.warning else []))


def _encrypted(fields: Fields) -> list[str]:
    count = fields.raw("count")
    lines = [
        f"holds     encrypted {fields.word('role')}: {_ports(fields)}",
        f"program   {fields.word('program')}",
        f"key       {fields.data('key_id').hex()}",
    ]
    lines += [f"count     {count} evaluations"] if isinstance(count, int) else []
    for each in fields.several(BESIDE, most=MOST_BESIDE) if fields.has(BESIDE) else ():
        lines += [f"beside    {_ports(each)}, of program {each.word('program')}"]
    warning = warning_of(fields.word("program"))
    return lines + ([f"warning   {warning}"] if warning else [])


def _ports(fields: Fields) -> str:
    return ", ".join(printable(str(each)) for each in fields.items("ports", most=1 << 16))
