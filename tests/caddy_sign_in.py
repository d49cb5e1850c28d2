"""Caddy as a proxy that signs people in, in front of the public listener: the real program, on loopback."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

HEADER: Final = "X-Signed-In-User"
OUTGOING: Final = "127.0.0.2"
"""The address that Caddy's connections come from. Those of other programs come from 127.0.0.1."""
_START_TIMEOUT: Final = 60.0
"""Seconds within which Caddy has to start: many times what it takes on a busy machine."""
_CONFIG: Final = """{
  admin off
  auto_https off
  persist_config off
}
http://127.0.0.1:%(port)d {
  map {http.request.cookie.session} {signed_in_as} {
%(sessions)s
    default ""
  }
  @nobody expression `{signed_in_as} == ""`
  respond @nobody "Sign in." 401
  reverse_proxy 127.0.0.1:%(to)d {
    %(headers)s
    transport http {
      local_address %(outgoing)s
    }
  }
}
"""
STRIPS: Final = f"header_up {HEADER} {{signed_in_as}}"
"""Replaces what the browser sent under that name with the signed-in name, as it should."""
ADDS: Final = f"header_up +{HEADER} {{signed_in_as}}"
"""Adds the name to what the browser sent, which is wrong."""
LOSES_THE_HOST: Final = f"{STRIPS}\n    header_up Host upstream.internal"
"""Hides the host that the request was for, which is wrong."""


@asynccontextmanager
async def caddy(
    folder: Path, port: int, to: int, sessions: dict[str, str], headers: str = STRIPS
) -> AsyncIterator[None]:
    """Run Caddy on ``port``. It passes requests with a session's cookie on to ``to``."""
    lines = "\n".join(f'    {session} "{name}"' for session, name in sessions.items())
    values = {"port": port, "to": to, "sessions": lines, "headers": headers, "outgoing": OUTGOING}
    file = folder / f"{port}.Caddyfile"
    await asyncio.to_thread(file.write_text, _CONFIG % values)
    child = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("caddy")),
        *("run", "--config", str(file), "--adapter", "caddyfile"),
        env={"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stderr is not None
    try:
        async with asyncio.timeout(_START_TIMEOUT):
            line = b""
            while b"serving initial configuration" not in line:
                line = await child.stderr.readline()
                assert line, "Caddy ended"
        draining = asyncio.create_task(child.stderr.read())
        yield
        draining.cancel()
    finally:
        child.kill()
        await child.wait()
