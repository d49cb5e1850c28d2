"""Sign-ins by OpenID Connect come in as an extension, and say what is wrong with their configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from answerback.core.errors import ConfigError
from answerback.ports.extension import Configured
from answerback.runtime.config import settings_type
from answerback.runtime.extensions import configured_for
from answerback_oidc.extension import OidcExtension
from answerback_oidc.settings import OidcSettings
from answerback_testing.extension_contract import ExtensionContract
from tests.fakes.oidc_provider import FakeProvider
from tests.ports import free_port

ISSUER = "https://login.example.com"


def configured(table: OidcSettings, public_url: str | None) -> Configured:
    by_default = configured_for(settings_type()(), OidcExtension())
    return replace(by_default, table=table, public_url=public_url)


@pytest.mark.rule("PLUGIN-8", "PLUGIN-10")
class TestOidc(ExtensionContract):
    extension = OidcExtension

    @pytest.fixture
    def tables(self) -> Mapping[str, Any]:
        port = free_port()
        return {
            "public": {"port": port, "url": f"http://127.0.0.1:{port}"},
            "oidc": {"issuer": ISSUER, "client_id": "answerback"},
        }


@pytest.mark.rule("OIDC-1")
@pytest.mark.parametrize(
    ("table", "public", "wrong"),
    [
        ({}, "https://ask.example.com", "client_id"),
        ({"client_id": "a"}, None, "public.url"),
        ({"client_id": "a"}, "http://ask.example.com", "public.url"),
    ],
)
def test_what_is_missing_is_named(table: dict[str, str], public: str | None, wrong: str) -> None:
    settings = OidcSettings.model_validate({"issuer": ISSUER, **table})
    with pytest.raises(ConfigError, match=wrong):
        OidcExtension().check(configured(settings, public))
    OidcExtension().check(configured(OidcSettings(), None))


@pytest.mark.rule("OIDC-1")
@pytest.mark.parametrize(
    "issuer",
    ["http://login.example.com", "login.example.com", "https://a@b.example", "https://b.example#x"],
)
def test_an_issuer_is_an_https_address(issuer: str) -> None:
    with pytest.raises(ValueError, match="issuer"):
        settings_type().model_validate({"oidc": {"issuer": issuer}})


@pytest.mark.rule("OIDC-1", "CLI-8")
async def test_doctor_checks_the_provider(provider: FakeProvider) -> None:
    table = OidcSettings(issuer=provider.url, client_id="answerback")
    on = configured(table, "https://ask.example.com")

    async def wrong() -> list[str | None]:
        return [found.wrong async for found in OidcExtension().findings(on)]

    assert await wrong() == [None]
    for metadata, expected in (
        ({"issuer": "https://evil.example.com"}, "says that the issuer is"),
        ({"token_endpoint": "http://evil.example.com/token"}, "not https"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        ({"jwks_uri": 1}, "lack what"),
    ):
        provider.metadata = dict(metadata)
        [found] = await wrong()
        assert found is not None
        assert expected in found
