"""People sign in on the page with their organization's identity provider, by OpenID Connect."""

from __future__ import annotations

from collections.abc import AsyncIterator

from answerback.core.errors import ConfigError
from answerback.ports.extension import Configured, Extension, Running, ServiceParts
from answerback.ports.extension_rows import SchemaTable
from answerback.ports.plugin import Finding
from answerback_base.install_extras import OIDC, missing_extra_message
from answerback_oidc.settings import OidcSettings, is_safe


class OidcExtension(Extension):
    name = "oidc"
    order = 50
    table = "oidc"
    settings = OidcSettings
    schema_tables = (SchemaTable("oidc_sessions", ("id", "person", "at", "until")),)

    def check(self, configured: Configured) -> None:
        table: OidcSettings = configured.table
        if not table.issuer:
            return
        if not table.client_id:
            raise ConfigError("`oidc.client_id` is missing: register Answerback with the provider.")
        if configured.public_url is None or not is_safe(configured.public_url):
            raise ConfigError(
                "`oidc` needs `public.port` and `public.url`, an https address: people sign in there."
            )
        if (missing := missing_extra_message(*OIDC, "`oidc.issuer`")) is not None:
            raise ConfigError(missing)

    async def open(self, parts: ServiceParts) -> Running | None:
        configured = parts.configured
        if not configured.table.issuer:
            return None
        self.check(configured)
        from answerback_oidc.signing_in import open_signing_in

        return await open_signing_in(parts)

    async def findings(self, configured: Configured) -> AsyncIterator[Finding]:
        table: OidcSettings = configured.table
        if not table.issuer:
            return
        try:
            self.check(configured)
        except ConfigError:  # the configuration's own check says so
            return
        from answerback_oidc.provider import Provider, ProviderError, provider_session

        wrong = None
        async with provider_session() as http:
            try:
                await Provider(table, http).metadata()
            except ProviderError as error:
                wrong = str(error)
        yield Finding(f"OpenID Connect: {table.issuer}", wrong, "Check `oidc.issuer`.")
