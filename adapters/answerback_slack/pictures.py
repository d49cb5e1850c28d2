"""An ask's pictures in Slack: each is uploaded once, before the first message that shows it.

https://docs.slack.dev/messaging/working-with-files#upload: the files are shared nowhere, and are seen by who sees a
message with an image block of them. A picture never holds up a prompt: what is not there in time is told in words.
"""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from answerback.core.ask import Ask
from answerback.core.errors import PlatformError, PlatformUnavailableError
from answerback.core.files import AttachedFile
from answerback.ports.files import FileReader, read_whole
from answerback_base.connection_errors import reason_of
from answerback_slack import limits
from answerback_slack.api_client import SlackApi
from answerback_slack.manifest import FILES_SCOPE
from answerback_slack.optional_features import OptionalFeature

logger = logging.getLogger(__name__)

_REMEMBERED: Final = 1_000
"""Asks whose uploads are remembered until their message is stored."""


class Pictures:
    """Uploads pictures.

    Args:
        files: where their bytes are read.
        within: the seconds for which a message waits for them.
    """

    def __init__(self, calls: SlackApi, files: FileReader, within: float) -> None:
        self._calls = calls
        self._within = within
        self._files = files
        self._uploading = OptionalFeature(
            "uploading pictures",
            f"add the scope {FILES_SCOPE} under OAuth & Permissions, and reinstall the app",
            frozenset({"missing_scope", "file_uploads_disabled", "not_allowed_token_type"}),
        )
        self._uploaded: dict[str, dict[str, str]] = {}
        """The ids of files in Slack by our ids, for each ask."""

    async def upload(self, ask: Ask) -> Mapping[str, str]:
        """Upload what is not uploaded yet; return Slack's ids of what is, by the ids of the files."""
        known = {**_stored(ask), **self._uploaded.get(ask.id, {})}
        wanted = [
            each
            for each in ask.request.files
            if each.media_type in limits.PICTURE_TYPES and each.id not in known
        ]
        if wanted and self._uploading.is_on:
            known |= await self._upload_in_time(ask.id, wanted)
        return known

    async def _upload_in_time(self, ask_id: str, wanted: Sequence[AttachedFile]) -> dict[str, str]:
        while len(self._uploaded) >= _REMEMBERED:
            del self._uploaded[next(iter(self._uploaded))]
        done = self._uploaded.setdefault(ask_id, {})
        try:
            async with asyncio.timeout(self._within):
                for each in wanted:
                    done[each.id] = await self._upload(each)
        except TimeoutError:
            _log_failure(ask_id, PlatformUnavailableError("it took too long", code="timeout"))
        except PlatformError as error:
            if not self._uploading.turn_off_if_unsupported(error):
                _log_failure(ask_id, error)
        else:
            self._uploading.confirm_supported()
        return done

    async def _upload(self, file: AttachedFile) -> str:
        client = self._calls.client
        place = await self._calls.call(
            client.files_getUploadURLExternal, filename=file.name, length=file.bytes
        )
        url, slack_id = str(place.get("upload_url")), str(place.get("file_id"))
        if not is_slacks(url, client.base_url):
            message = "Slack named an upload address that is not its own"
            raise PlatformUnavailableError(message, code="upload_address")
        await self._send(url, await read_whole(self._files, file.id))
        await self._calls.call(
            client.files_completeUploadExternal, files=[{"id": slack_id, "title": file.label}]
        )
        return slack_id

    async def _send(self, url: str, data: bytes) -> None:
        http = self._calls.client.session
        if http is None:
            raise AssertionError("Slack's client is made with a session")
        try:
            async with http.post(url, data=io.BytesIO(data), allow_redirects=False) as response:
                status = response.status
        except (aiohttp.ClientError, OSError) as error:
            message = f"Slack did not take an upload: {reason_of(error)}"
            raise PlatformUnavailableError(message, code="upload") from error
        if status != 200:
            message = f"Slack answered an upload with HTTP {status}"
            raise PlatformUnavailableError(message, code="upload")

    async def delete(self, ask: Ask) -> None:
        """Delete the uploads of an ask that was erased; one that cannot be deleted stays, and is logged."""
        for slack_id in _stored(ask).values():
            try:
                await self._calls.call(self._calls.client.files_delete, file=slack_id)
            except PlatformError as error:
                if error.code not in {"file_not_found", "file_deleted"}:
                    extra = {"action": "picture_stays", "ask_id": ask.id, "code": error.code}
                    logger.warning("A picture could not be deleted: %s", error, extra=extra)
        self._uploaded.pop(ask.id, None)


def is_slacks(url: str, api_url: str) -> bool:
    """Return True if an address is at the host of the API, or below it, so that it may be sent a file or a token."""
    try:
        parts, api = urlsplit(url), urlsplit(api_url)
        port = parts.port
    except ValueError:
        return False
    host, own = parts.hostname or "", api.hostname or ""
    is_below = host.endswith(f".{own}") and not port
    at_home = (host, port) == (own, api.port) or is_below
    return parts.scheme == api.scheme and at_home and "@" not in parts.netloc


def _stored(ask: Ask) -> dict[str, str]:
    """Return what an ask's message says of its uploads."""
    stored = (ask.placement.message or {}).get("files")
    found = stored.items() if isinstance(stored, dict) else ()
    return {name: value for name, value in found if isinstance(value, str)}


def _log_failure(ask_id: str, error: PlatformError) -> None:
    extra = {"action": "picture_failed", "ask_id": ask_id, "code": error.code}
    logger.warning("Pictures are not shown, only named: %s", error, extra=extra)
