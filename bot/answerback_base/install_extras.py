"""Install extras: optional parts of Answerback, and the error message when one is missing."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Final

MCP: Final = ("mcp", ("mcp", "aiohttp_asgi"))
"""The extra for the Model Context Protocol, and the packages it installs. A surface's plug-in names its own."""
POSTGRES: Final = ("postgres", ("psycopg",))
"""The extra for the PostgreSQL store."""
OTEL: Final = ("otel", ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"))
"""The extra for traces."""
OIDC: Final = ("oidc", ("cryptography", "jwt"))
"""The extra for sign-ins by OpenID Connect."""
PUSH: Final = ("push", ("cryptography", "http_ece", "py_vapid"))
"""The extra for notifications in browsers."""


AGENTS: Final = "answerback-agents"
"""The distribution of what runs beside an agent. Its extras bring less than the service's extras of the same name."""
AGENTS_MCP: Final = ("mcp", ("mcp",))
"""The extra of the agents' distribution for an MCP gateway over HTTP."""
AGENTS_OPENCLAW: Final = ("openclaw", ("nacl",))
"""The extra of the agents' distribution for the bridge to OpenClaw."""


def missing_extra_message(
    extra: str, packages: Iterable[str], wanted_by: str, distribution: str = "answerback"
) -> str | None:
    """A sentence that says which extra to install; None if all its packages are installed.

    Args:
        wanted_by: what needs it; the sentence begins with this.
        distribution: whose extra it is.
    """
    if all(map(_is_installed, packages)):
        return None
    return (
        f"{wanted_by} needs the extra {extra!r}, which is not installed: "
        f"run `pip install '{distribution}[{extra}]'`."
    )


def _is_installed(package: str) -> bool:
    """Return True if a package can be imported; one within another that is missing cannot."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False
