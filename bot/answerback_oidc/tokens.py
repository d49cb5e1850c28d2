"""Check an ID token's claims, https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation.

PyJWT checks the signature, the issuer, the audience and the times.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

import jwt

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Public-key algorithms alone: with HS256 whoever knows the public key could sign, and with `none` anybody."""
LEEWAY: Final = 60.0
"""Seconds that the provider's clock may differ."""
MAX_AGE: Final = 600.0
"""Seconds after which a token is too old to be that of a sign-in that has just ended."""
_MAX_SUBJECT: Final = 255
"""Characters, https://openid.net/specs/openid-connect-core-1_0.html#IDToken."""


class TokenRefusedError(Exception):
    """A token proves nothing; the message says why, for the log."""


class UnknownKeyError(TokenRefusedError):
    """The provider had not published the key of the token when its keys were read."""


def verify(
    token: str, keys: Mapping[str, Any], *, issuer: str, client_id: str, nonce: str, now: float
) -> str:
    """Return the subject of an ID token.

    Args:
        keys: the provider's JSON Web Key Set.
        now: seconds since the epoch.

    Raises:
        TokenRefusedError: it proves nothing; UnknownKeyError, if its key is unknown, or may have been replaced.
    """
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in ALGORITHMS:
            raise TokenRefusedError(f"it is signed by {header.get('alg')!r}")
        key = _find_key(keys, header)
        claims = jwt.decode(
            token,
            key,
            algorithms=[header["alg"]],
            issuer=issuer,
            audience=client_id,
            # The times are checked below, by the service's own clock.
            options={
                "require": ["iss", "sub", "aud", "exp", "iat", "nonce"],
                "verify_exp": False,
                "verify_iat": False,
                "verify_nbf": False,
            },
        )
    except jwt.InvalidSignatureError as error:
        # The only key of a provider needs no id, and a new one may have the id of the old one.
        raise UnknownKeyError(str(error)) from error
    except jwt.PyJWTError as error:
        raise TokenRefusedError(str(error)) from error
    _check_times(claims, now)
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    if claims.get("azp", client_id) != client_id or (len(audiences) > 1 and "azp" not in claims):
        raise TokenRefusedError("it was issued to another client")
    sent = claims["nonce"]
    if not isinstance(sent, str) or not hmac.compare_digest(sent.encode(), nonce.encode()):
        raise TokenRefusedError("it belongs to another sign-in")
    subject: Any = claims["sub"]
    if not isinstance(subject, str) or not 1 <= len(subject) <= _MAX_SUBJECT:
        raise TokenRefusedError("its subject is no text of at most 255 characters")
    return subject


def _find_key(keys: Mapping[str, Any], header: Mapping[str, Any]) -> Any:
    """Return the key of a token, of the kind that its algorithm needs."""
    found = []
    for each in keys.get("keys", ()):
        if not isinstance(each, dict) or each.get("use", "sig") != "sig":
            continue
        if "kid" in header and each.get("kid") != header["kid"]:
            continue
        if each.get("alg", header["alg"]) != header["alg"] or each.get("kty") == "oct":
            continue
        try:
            found.append(jwt.PyJWK(each, algorithm=header["alg"]).key)
        except jwt.PyJWTError:
            continue  # of another kind
    if not found:
        raise UnknownKeyError("its key is not among the provider's")
    if len(found) > 1:
        raise TokenRefusedError("several of the provider's keys could be its")
    return found[0]


def _check_times(claims: Mapping[str, Any], now: float) -> None:
    times = {name: claims[name] for name in ("iat", "exp", "nbf") if name in claims}
    for name, at in times.items():
        if isinstance(at, bool) or not isinstance(at, int | float):
            raise TokenRefusedError(f"its {name} is no time")
    if times["exp"] <= now - LEEWAY:
        raise TokenRefusedError("it has expired")
    if max(times["iat"], times.get("nbf", 0)) > now + LEEWAY:
        raise TokenRefusedError("it is from the future: check both clocks")
    if times["iat"] < now - MAX_AGE - LEEWAY:
        raise TokenRefusedError("it is too old")
