"""ID tokens: the claims that a valid one must have, and every way to forge one."""

from __future__ import annotations

from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from answerback_oidc.tokens import MAX_AGE, TokenRefusedError, UnknownKeyError, verify

NOW = 1_800_000_000.0
ISSUER, CLIENT, NONCE = "https://login.example.com", "answerback", "n-0S6_WzA2Mj"
KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
OTHER = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
CURVE = ec.generate_private_key(ec.SECP256R1())
PUBLIC = KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


def jwk(key: rsa.RSAPrivateKey, kid: str = "k1", **more: object) -> dict[str, Any]:
    return {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, **more}


KEYS = {"keys": [jwk(KEY)]}


def token(key: Any = KEY, alg: str = "RS256", kid: str | None = "k1", **claims: object) -> str:
    own = {"iss": ISSUER, "sub": "248", "aud": CLIENT, "nonce": NONCE, "iat": NOW, "exp": NOW + 300}
    kept = {name: value for name, value in (own | claims).items() if value is not None}
    return jwt.encode(kept, key, algorithm=alg, headers={} if kid is None else {"kid": kid})


def subject(sent: str, keys: dict[str, Any] = KEYS) -> str:
    return verify(sent, keys, issuer=ISSUER, client_id=CLIENT, nonce=NONCE, now=NOW)


@pytest.mark.rule("OIDC-4")
def test_a_token_of_the_provider_names_its_subject() -> None:
    assert subject(token()) == "248"
    assert subject(token(aud=[CLIENT, "other"], azp=CLIENT)) == "248"
    assert subject(token(kid=None)) == "248", "there is only one key that it could be"
    curve = {**ECAlgorithm.to_jwk(CURVE.public_key(), as_dict=True), "kid": "k1"}
    assert subject(token(CURVE, "ES256"), {"keys": [curve]}) == "248"


@pytest.mark.rule("OIDC-4")
@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://login.example.com/"},
        {"iss": "https://evil.example.com"},
        {"iss": None},
        {"aud": "other"},
        {"aud": ["other"]},
        {"aud": None},
        {"aud": [CLIENT, "other"]},
        {"azp": "other"},
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": 1},
        {"sub": None},
        {"sub": ""},
        {"sub": "x" * 256},
        {"exp": NOW - 61},
        {"exp": None},
        {"exp": "soon"},
        {"exp": True},
        {"iat": NOW + 61},
        {"iat": None},
        {"iat": NOW - MAX_AGE - 61},
        {"nbf": NOW + 61},
    ],
    ids=str,
)
def test_a_token_for_another_purpose_or_time_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(TokenRefusedError):
        subject(token(**claims))


@pytest.mark.rule("OIDC-4")
@pytest.mark.parametrize("claims", [{"exp": NOW - 59}, {"iat": NOW + 59}, {"nbf": NOW + 59}])
def test_clocks_may_differ_by_a_minute(claims: dict[str, Any]) -> None:
    assert subject(token(**claims)) == "248"


def _by_public_key() -> str:
    """Return a token that is signed by HS256 with what everybody knows."""
    header, body, _ = token().split(".")
    algorithm = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    forged = jwt.utils.base64url_encode(b'{"alg":"HS256","typ":"JWT","kid":"k1"}').decode()
    assert header != forged
    signed = algorithm.sign(f"{forged}.{body}".encode(), PUBLIC)
    return f"{forged}.{body}.{jwt.utils.base64url_encode(signed).decode()}"


@pytest.mark.rule("OIDC-4")
@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(token(None, "none"), id="none"),
        pytest.param(token().rpartition(".")[0] + ".", id="no signature"),
        pytest.param(_by_public_key(), id="by the public key"),
        pytest.param(token("shared secret that is long enough", "HS256"), id="by a secret"),
        pytest.param(token(OTHER), id="by another key"),
        pytest.param(token(CURVE, "ES256"), id="by another algorithm"),
        pytest.param(token()[:-4] + "AAAA", id="changed"),
        "not a token",
        "",
    ],
)
def test_a_forged_token_is_refused(forged: str) -> None:
    with pytest.raises(TokenRefusedError):
        subject(forged)


@pytest.mark.rule("OIDC-4")
@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"keys": []}, id="none"),
        pytest.param({"keys": ["k1"]}, id="no object"),
        pytest.param({"keys": [jwk(KEY, use="enc")]}, id="for encryption"),
        pytest.param({"keys": [jwk(KEY, alg="RS512")]}, id="for another algorithm"),
        pytest.param({"keys": [jwk(KEY, kid="k2")]}, id="of another id"),
        pytest.param({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "k1"}]}, id="a secret"),
    ],
)
def test_a_key_that_is_not_for_it_does_not_count(keys: dict[str, Any]) -> None:
    with pytest.raises(UnknownKeyError):
        subject(token(), keys)


@pytest.mark.rule("OIDC-4")
def test_of_several_keys_that_could_be_its_none_counts() -> None:
    keys = {"keys": [jwk(KEY), jwk(OTHER, "k2")]}
    assert subject(token(), keys) == "248"
    with pytest.raises(TokenRefusedError, match="several"):
        subject(token(kid=None), keys)
