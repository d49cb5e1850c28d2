"""The web page as a plug-in: always there, with nothing to configure."""

from __future__ import annotations

from answerback.ports.plugin import Built, Host, SurfacePlugin, SurfaceSettings


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
