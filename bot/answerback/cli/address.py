"""Where commands find the service: said by an option, or as the configuration has it."""

from __future__ import annotations

from answerback.runtime.config_file import load


def url_or_configured(url: str | None) -> str:
    """The service's address without a slash at its end."""
    if url is not None:
        return url.rstrip("/")
    server = load().server
    host = "127.0.0.1" if server.host in {"0.0.0.0", "::"} else server.host
    return f"http://[{host}]:{server.port}" if ":" in host else f"http://{host}:{server.port}"
