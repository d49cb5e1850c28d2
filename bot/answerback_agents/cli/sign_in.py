"""Signs a program in: a person approves it by a code, and it gets its own token (RFC 8628)."""

from __future__ import annotations

import asyncio
import math
import platform
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn
from urllib.parse import urlsplit

import aiohttp
from pydantic import JsonValue, TypeAdapter, ValidationError

from answerback_agents.cli.output import fail, say
from answerback_agents.pipe.state_folder import state_folder
from answerback_base import private_file
from answerback_base.addresses import is_loopback

_METADATA: Final = "/.well-known/oauth-authorization-server"
_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_CLIENT: Final = "answerback"
_MAX_RESPONSE: Final = 64 * 1024
_TIMEOUT: Final = aiohttp.ClientTimeout(total=30)
_MAX_NAME: Final = 40
SLOWER: Final = 5.0
_MAX_PAUSE: Final = 60.0
_JSON: Final = TypeAdapter(dict[str, JsonValue])
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""https://www.rfc-editor.org/rfc/rfc6750#section-2.1; a shell reads the file with the token, and could run more."""
_FAILURES: Final = {
    "access_denied": "It was denied, or whoever approved it may have no more agents.",
    "expired_token": "Nobody approved it in time. Repeat the command to get a new code.",
    "invalid_grant": "The code was used already. Repeat the command to get a new one.",
}


def sign_in(url: str, program: str) -> str:
    """Return a new token, once a person has approved this program; ends the command if they do not."""
    check_address(url)
    try:
        return asyncio.run(_sign_in(url, program))
    except (aiohttp.ClientError, TimeoutError) as error:
        fail(f"{url} cannot be reached ({str(error) or 'no answer in time'}). Check --url.")
    except (ValidationError, KeyError):
        fail(f"{url} does not answer as an Answerback that people can sign in to. Check --url.")


def check_address(url: str) -> None:
    """End the command if a token must not be sent to this address."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        fail(f"{url} is not encrypted, so others could read the token. Use https://.", 2)


def save_token(url: str, variable: str, token: str) -> Path:
    """Keep a token in a file that only its user can read, and that a shell can load."""
    parts = urlsplit(url)
    name = re.sub("[^A-Za-z0-9.-]", "_", f"{parts.hostname}-{parts.port or parts.scheme}")
    path = state_folder() / f"{name}-{variable}.env"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    private_file.replace(path, f"export {variable}={token}\n", "token")
    return path


def latin(text: str) -> str:
    """Return a name as the service takes it."""
    kept = re.sub("[^A-Za-z0-9 ._-]+", "-", text)[:_MAX_NAME].strip(" ._-")
    return kept or "unknown"


async def _sign_in(url: str, program: str) -> str:
    async with aiohttp.ClientSession(timeout=_TIMEOUT) as http:
        endpoints = await _endpoints(http, url)
        names = {"program": latin(program), "machine": latin(platform.node())}
        began = await _begin(http, endpoints["device_authorization_endpoint"], names)
        say(f"Open {_text(began, 'verification_uri')} where you are signed in, and type this code:")
        code = _text(began, "user_code")
        say(f"\n    {code}\n")
        say(f"Or type in a chat with Answerback: /answerback connect {code}")
        token = await _wait(http, endpoints["token_endpoint"], began)
    if not _TOKEN.fullmatch(token):
        fail(f"{url} sent something that is no token, so nothing was saved.")
    return token


async def _endpoints(http: aiohttp.ClientSession, url: str) -> dict[str, str]:
    """Return the endpoints, which have to be the service's own: the codes are sent there."""
    async with http.get(url + _METADATA, allow_redirects=False) as response:
        if response.status != 200:
            fail(
                f"{url}: people cannot connect agents here. The operator can allow it (onboarding.owners), "
                "or create a token (`answerback token create NAME`)."
            )
        found = await _read(response)
    if found.get("issuer") != url:
        fail(
            f"The service calls itself {found.get('issuer')}, not {url}. If a proxy is in between, list it "
            "in web.trusted_proxies, and let it pass on Host and X-Forwarded-Proto."
        )
    names = ("device_authorization_endpoint", "token_endpoint")
    endpoints = {name: str(found.get(name)) for name in names}
    if not all(each.startswith(f"{url}/") for each in endpoints.values()):
        fail(f"{url} names endpoints elsewhere, so nothing was sent.")
    return endpoints


async def _begin(
    http: aiohttp.ClientSession, endpoint: str, names: Mapping[str, str]
) -> dict[str, JsonValue]:
    while True:
        status, body, pause = await _post(http, endpoint, names)
        if status == 200:
            return body
        if status != 429:
            _fail(body)
        say("Many programs are signing in. This goes on by itself.")
        await asyncio.sleep(pause)


async def _wait(http: aiohttp.ClientSession, endpoint: str, began: Mapping[str, JsonValue]) -> str:
    sent = {"grant_type": _GRANT, "device_code": _text(began, "device_code")}
    interval = _number(began.get("interval"), 5.0)
    until = time.monotonic() + _number(began.get("expires_in"), 600.0) + interval
    while True:
        if time.monotonic() > until:
            _fail({"error": "expired_token"})
        await asyncio.sleep(interval)
        try:
            status, body, pause = await _post(http, endpoint, sent)
        except (aiohttp.ClientError, TimeoutError, ValidationError):
            continue  # it, or the proxy before it, may be back before the code expires
        if status == 200:
            return _text(body, "access_token")
        error = str(body.get("error"))
        if error == "slow_down":
            interval += SLOWER
            await asyncio.sleep(pause)
        elif error not in {"authorization_pending", "temporarily_unavailable"}:
            _fail(body)


async def _post(
    http: aiohttp.ClientSession, endpoint: str, form: Mapping[str, str]
) -> tuple[int, dict[str, JsonValue], float]:
    """Send a form; return the status, the body, and how many seconds to wait."""
    sent = {"client_id": _CLIENT, **form}
    async with http.post(endpoint, data=sent, allow_redirects=False) as response:
        pause = _number(response.headers.get("Retry-After"), 0.0)
        return response.status, await _read(response), pause


async def _read(response: aiohttp.ClientResponse) -> dict[str, JsonValue]:
    return _JSON.validate_json(await response.content.read(_MAX_RESPONSE))


def _text(body: Mapping[str, JsonValue], name: str) -> str:
    """Return a text of an answer.

    Raises:
        KeyError: it is missing, or is not a text.
    """
    found = body[name]
    if not isinstance(found, str):
        raise KeyError(name)
    return found


def _number(value: JsonValue, default: float) -> float:
    try:
        number = float(str(value))
    except ValueError:
        return default
    return min(max(number, 0.0), _MAX_PAUSE * 60) if math.isfinite(number) else default


def _fail(body: Mapping[str, JsonValue]) -> NoReturn:
    error = str(body.get("error"))
    fail(_FAILURES.get(error) or f"The service refused it: {body.get('error_description', error)}")
