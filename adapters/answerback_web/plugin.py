"""The web page's plug-in: always available, with no required settings."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import AfterValidator, Field, model_validator

from answerback.ports.plugin import (
    BuiltSurface,
    DoctorContext,
    Finding,
    Host,
    Preview,
    Strength,
    SurfacePlugin,
    SurfaceSettings,
)
from answerback.ports.settings_tables import Names, Table

if TYPE_CHECKING:
    from answerback.core.ask import Ask
    from answerback.core.labels import Labels
    from answerback.ports.surface import Asks


logger = logging.getLogger(__name__)

_CLIENT_HEADERS: Final = frozenset(
    {"authorization", "cookie", "forwarded", "from", "host", "origin", "referer", "user-agent"}
)
"""Headers that browsers send themselves, or that proxies pass on unchanged."""
_MIN_PREFIX: Final = {4: 16, 6: 48}
"""Networks with a shorter prefix have too many hosts for anyone to know them all."""


def _validate_proxy_header(header: str) -> str:
    if header.lower() in _CLIENT_HEADERS or header.lower() == "x-forwarded-for":
        raise ValueError(
            f"{header} is set by the client, so anyone can forge it; use a header that your proxy sets"
        )
    return header


def _validate_networks(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        try:
            network = ipaddress.ip_network(name)
        except ValueError as error:
            raise ValueError(
                f"{name!r} is not an address or a network such as 10.0.0.0/24"
            ) from error
        if network.prefixlen == 0:
            raise ValueError(f"{name} covers every address: anyone could claim to be anyone")
    return names


class WebPerson(Table):
    """``[web.people.<name>]``: a person identified by a personal link or by the proxy."""

    label: Annotated[str, Field(min_length=1, max_length=100)]
    """The name to display instead."""


class WebSettings(SurfaceSettings):
    """``[web]``: how people on the page are identified when a proxy signs them in."""

    user_header: (
        Annotated[
            str, Field(pattern=r"^[A-Za-z0-9-]{1,100}$"), AfterValidator(_validate_proxy_header)
        ]
        | None
    ) = None
    """The header with the name of the person the proxy has signed in."""
    trusted_proxies: Annotated[Names, AfterValidator(_validate_networks)] = ()
    """The addresses that the proxies connect from; on other connections the header is ignored."""
    people: dict[str, WebPerson] = Field(default_factory=dict)
    """The people whom the page names, by name."""
    link_days: Annotated[float, Field(gt=0, le=3_660)] = 30
    """Days after an ask's end for which its read-only link works."""

    def configured(self) -> bool:
        return True  # a page needs no token, so it can always be opened

    def http_actions_setting(self) -> str | None:
        return "web.user_header" if self.user_header else None

    def public_address_setting(self) -> str | None:
        return self.http_actions_setting()

    def strength(self) -> Strength:
        return "accounts" if self.user_header else "links"

    def signed_in_by(self) -> str | None:
        return self.user_header and self.user_header.lower()

    def proxies(self) -> Sequence[str]:
        return self.trusted_proxies

    def name_of(self, user_id: str) -> str:
        person = self.people.get(user_id)
        return person.label if person else user_id

    @model_validator(mode="after")
    def _trusts_somebody(self) -> Self:
        if self.user_header and not self.trusted_proxies:
            raise ValueError(
                "user_header is only read from trusted_proxies: list the addresses that your proxy connects from"
            )
        return self


def _risks(settings: WebSettings) -> Iterator[Finding]:
    """Warn if the settings let more than the proxies assert a person's identity."""
    for name in settings.trusted_proxies if settings.user_header else ():
        what, network = f"web.trusted_proxies {name}", ipaddress.ip_network(name)
        if network.is_loopback:
            wrong = "any program on this machine, including agents, can claim to be anyone"
            fix = "Run the proxy elsewhere, or keep agents from connecting to the public listener."
            yield Finding(what, wrong, fix, warning=True)
        elif network.prefixlen < _MIN_PREFIX[network.version]:
            wrong = "any host on this network can claim to be anyone"
            yield Finding(what, wrong, "List only the proxies' addresses.", warning=True)


class WebPlugin(SurfacePlugin[WebSettings]):
    name = "web"
    title = "Web page"
    order = 0
    home = True
    settings = WebSettings

    def load(self) -> None:
        from answerback_web import adapter  # noqa: F401 - imported to load it

    async def build(self, settings: WebSettings, host: Host, asks: Asks) -> BuiltSurface:
        from answerback_web.adapter import WebSurface
        from answerback_web.extension_pages import ExtensionPages
        from answerback_web.proxy_identity import TrustedProxies

        for risk in _risks(settings):
            extra = {"action": "risky_setting"}
            logger.warning("%s: %s. %s", risk.what, risk.wrong, risk.fix, extra=extra)
        surface = WebSurface(
            asks,
            secret=await host.secret(),
            labels=host.labels,
            local_url=host.local_url,
            public_url=host.public_url,
            holders=host.holders,
            tokens=host.tokens,
            agents=host.agents,
            now=host.now,
            link_days=settings.link_days,
            extensions=[
                each for each in host.additions.values() if isinstance(each, ExtensionPages)
            ],
            proxies=TrustedProxies(
                settings.user_header,
                [ipaddress.ip_network(name) for name in settings.trusted_proxies],
                host.public_url,
                settings.name_of,
            ),
        )
        pages, public = surface.routes(), surface.public_routes()
        return BuiltSurface(surface, pages=pages, public_pages=public, operator_pages=surface)

    async def findings(
        self, settings: WebSettings, checkup: DoctorContext
    ) -> AsyncIterator[Finding]:
        yield Finding(self.title)
        for risk in _risks(settings):
            yield risk

    def preview(self, ask: Ask, labels: Labels) -> Preview:
        from markupsafe import Markup

        from answerback.presentation.message_preview import picture_address
        from answerback_web import render, responses

        page = render.ask_page(ask, labels, address=picture_address)
        document = responses.render_standalone(
            labels, page=page, answering=True, identified=False, key_error=None, share=None
        )
        frame = Markup('<iframe sandbox title="{}" srcdoc="{}"></iframe>').format(
            self.title, document
        )
        return Preview(payload=document, html=frame, hint="The page without its script.")
