"""The web page as a plug-in: always there, with nothing to configure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from answerback.ports.plugin import Built, Host, Preview, SurfacePlugin, SurfaceSettings

if TYPE_CHECKING:
    from answerback.core.ask import Ask
    from answerback.core.labels import Labels


class WebSettings(SurfaceSettings):
    """The web page has no settings of its own."""

    def configured(self) -> bool:
        """See `SurfaceSettings.configured`: a page can always be opened."""
        return True


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

    async def build(self, settings: WebSettings, host: Host) -> Built:
        """See `SurfacePlugin.build`."""
        from answerback_web.adapter import WebSurface

        surface = WebSurface(
            secret=await host.secret(),
            labels=host.labels,
            local_url=host.local_url,
            public_url=host.public_url,
            holders=host.holders,
            tokens=host.tokens,
            now=host.now,
        )
        pages, public = surface.routes(), surface.public_routes()
        return Built(surface, pages=pages, public_pages=public, entrances=surface)

    def preview(self, ask: Ask, labels: Labels) -> Preview:
        """See `SurfacePlugin.preview`."""
        from markupsafe import Markup

        from answerback_web import pages, render

        page = render.ask_page(ask, labels)
        whole = pages.standalone(
            "ask", labels, page=page, answering=True, key_error=None, share=None
        )
        frame = Markup('<iframe sandbox title="{}" srcdoc="{}"></iframe>').format(self.title, whole)
        return Preview(payload=whole, html=frame, hint="The page without its script.")
