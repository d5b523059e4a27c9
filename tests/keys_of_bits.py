"""Keys of bits that the tests of a process share: an evaluation key takes seconds to make."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from cloakwork.schemes.tfhe import Tfhe

# Of each parameter set; more are not kept.
_MOST = 4


class KeysInTurn:
    """The first secret keys of each parameter set, which every test gets in the same order.

    Keys of one test differ from one another, and from those that what outlives a test holds.
    """

    def __init__(self) -> None:
        self._make_secret: Callable[[Tfhe], Any] = Tfhe.secret_key
        self._make_evaluation: Callable[[Tfhe, Any, Any], Any] = Tfhe.evaluation_keys
        self._taken: Counter[str] = Counter()
        self._secrets: defaultdict[str, list[Any]] = defaultdict(list)
        self._evaluation: dict[bytes, Any] = {}

    def begin(self) -> None:
        """Begin a test: its first key is the first that nothing else holds."""
        self._taken.clear()

    def secret_key(self, scheme: Tfhe) -> Any:
        """The next secret key of a scheme's parameters."""
        name = scheme.parameters.name
        secrets = self._secrets[name]
        for place in range(self._taken[name], len(secrets)):
            self._taken[name] = place + 1
            if not _is_held(secrets, place):
                return secrets[place]
        made = self._make_secret(scheme)
        if len(secrets) < _MOST:
            secrets.append(made)
            self._taken[name] = len(secrets)
        return made

    def evaluation_keys(self, scheme: Tfhe, secret: Any, body: Any) -> Any:
        """The evaluation key of a secret key, made once for a shared one and its copies."""
        shared = {each.label for secrets in self._secrets.values() for each in secrets}
        if secret.label not in shared:
            return self._make_evaluation(scheme, secret, body)
        if secret.label not in self._evaluation:
            self._evaluation[secret.label] = self._make_evaluation(scheme, secret, body)
        return self._evaluation[secret.label]


def _is_held(secrets: list[Any], place: int) -> bool:
    """Whether anything holds a secret key but the list; the call that asks does."""
    return sys.getrefcount(secrets[place]) > 2
