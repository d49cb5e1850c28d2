"""The web page as a plug-in: always there, with nothing that has to be configured."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import AfterValidator, Field, model_validator

from answerback.ports.plugin import (
    BuiltSurface,
    DoctorContext,
    Finding,
    Host,
    Preview,
    SurfacePlugin,
    SurfaceSettings,
)
from answerback.ports.settings_tables import Names, Table

if TYPE_CHECKING:
    from answerback.core.ask import Ask
    from answerback.core.labels import Labels


logger = logging.getLogger(__name__)

_CLIENTS_OWN: Final = frozenset(
    {"authorization", "cookie", "forwarded", "from", "host", "origin", "referer", "user-agent"}
)
"""Headers that browsers send themselves, or that proxies pass on as they come."""
_BROAD: Final = {4: 16, 6: 48}
"""Networks with a shorter prefix have more hosts than anybody knows."""


def _proxys_own(header: str) -> str:
    if header.lower() in _CLIENTS_OWN or header.lower() == "x-forwarded-for":
        raise ValueError(
            f"{header} holds what the client writes into it; name a header that your proxy sets"
        )
    return header


def _networks(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        try:
            network = ipaddress.ip_network(name)
        except ValueError as error:
            raise ValueError(
                f"{name!r} is not an address or a network such as 10.0.0.0/24"
            ) from error
        if network.prefixlen == 0:
            raise ValueError(f"{name} is every address there is: anybody could name anybody")
    return names


class WebPerson(Table):
    """``[web.people.<name>]``: somebody whom a personal link or the proxy names."""

    label: Annotated[str, Field(min_length=1, max_length=100)]
    """What people see in place of the name."""


class WebSettings(SurfaceSettings):
    """Who people on the page are, where a proxy signs them in."""

    user_header: (
        Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,100}$"), AfterValidator(_proxys_own)] | None
    ) = None
    """The header with the name of whom the proxy has signed in."""
    trusted_proxies: Annotated[Names, AfterValidator(_networks)] = ()
    """Where the proxies' connections come from; the header is ignored on all others."""
    people: dict[str, WebPerson] = Field(default_factory=dict)
    """What people are called, by their names."""

    def configured(self) -> bool:
        """See `SurfaceSettings.configured`: a page can always be opened."""
        return True

    def http_actions_setting(self) -> str | None:
        """See `SurfaceSettings.http_actions_setting`."""
        return "web.user_header" if self.user_header else None

    def public_address_setting(self) -> str | None:
        """See `SurfaceSettings.public_address_setting`."""
        return self.http_actions_setting()

    def name_of(self, user_id: str) -> str:
        """See `SurfaceSettings.name_of`."""
        person = self.people.get(user_id)
        return person.label if person else user_id

    @model_validator(mode="after")
    def _trusts_somebody(self) -> Self:
        if self.user_header and not self.trusted_proxies:
            raise ValueError(
                "user_header counts only from trusted_proxies: name the addresses from which your proxy connects"
            )
        return self


def _risks(settings: WebSettings) -> Iterator[Finding]:
    """Whom else than proxies the settings let say who somebody is."""
    for name in settings.trusted_proxies if settings.user_header else ():
        what, network = f"web.trusted_proxies {name}", ipaddress.ip_network(name)
        if network.is_loopback:
            wrong = "every program on this machine, agents too, can say who somebody is"
            fix = "Run the proxy elsewhere, or keep agents from connecting to the public listener."
            yield Finding(what, wrong, fix, warning=True)
        elif network.prefixlen < _BROAD[network.version]:
            wrong = "every host of this network can say who somebody is"
            yield Finding(what, wrong, "Name the proxies' addresses alone.", warning=True)


class WebPlugin(SurfacePlugin[WebSettings]):
    """See `SurfacePlugin`."""

    name = "web"
    title = "Web page"
    order = 0
    home = True
    settings = WebSettings

    def load(self) -> None:
        """See `SurfacePlugin.load`."""
        from answerback_web import adapter  # noqa: F401 - to have it loaded

    async def build(self, settings: WebSettings, host: Host) -> BuiltSurface:
        """See `SurfacePlugin.build`."""
        from answerback_web.adapter import WebSurface
        from answerback_web.proxy_identity import TrustedProxies

        for risk in _risks(settings):
            extra = {"action": "risky_setting"}
            logger.warning("%s: %s. %s", risk.what, risk.wrong, risk.fix, extra=extra)
        surface = WebSurface(
            secret=await host.secret(),
            labels=host.labels,
            local_url=host.local_url,
            public_url=host.public_url,
            holders=host.holders,
            tokens=host.tokens,
            agents=host.agents,
            now=host.now,
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
        """See `SurfacePlugin.findings`."""
        yield Finding(self.title)
        for risk in _risks(settings):
            yield risk

    def preview(self, ask: Ask, labels: Labels) -> Preview:
        """See `SurfacePlugin.preview`."""
        from markupsafe import Markup

        from answerback_web import render, responses

        page = render.ask_page(ask, labels)
        whole = responses.render_standalone(
            "ask", labels, page=page, answering=True, stranger=False, key_error=None, share=None
        )
        frame = Markup('<iframe sandbox title="{}" srcdoc="{}"></iframe>').format(self.title, whole)
        return Preview(payload=whole, html=frame, hint="The page without its script.")
