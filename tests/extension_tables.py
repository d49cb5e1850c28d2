"""The tables of the configuration without which an extension does not run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from answerback.ports.person_key import hash_of

_NEEDED: Final[Mapping[str, Mapping[str, Any]]] = {
    "account_links": {"people_link": True},
    "away": {"away": {"enabled": True}},
    "oidc": {
        "oidc": {"issuer": "http://127.0.0.1:9", "client_id": "answerback"},
        "public": {"port": 0, "url": "http://127.0.0.1:9"},
    },
    "push": {"web": {"push": True}},
    "sign_ins": {"agents": {name: {"token_hash": hash_of(name)} for name in ("one", "two")}},
}


def tables_for(names: Iterable[str]) -> dict[str, Any]:
    """Return what makes these extensions run; those that are not here need nothing."""
    return {table: value for name in names for table, value in _NEEDED.get(name, {}).items()}
