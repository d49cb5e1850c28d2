"""Files that people send: in a message, or in a modal's file input.

Their bytes are read with the bot's token, which needs the scope `manifest.READ_SCOPE`. Without it, Slack answers with
its sign-in page: https://docs.slack.dev/messaging/working-with-files
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterable
from functools import partial
from typing import Final

import aiohttp

from answerback.core.errors import PlatformError
from answerback_chat.control_codec import object_of
from answerback_chat.file_download import download
from answerback_chat.sent_files import SentFile
from answerback_slack.api_client import SlackApi
from answerback_slack.file_objects import SlackFile, parse_file
from answerback_slack.manifest import READ_SCOPE
from answerback_slack.pictures import is_slacks

logger = logging.getLogger(__name__)

_OWN: Final = ("https://slack.com/", "https://slack-gov.com/")
"""Slack's own addresses, where files are whatever the address of the API is."""


class SentFiles:
    """Reads the files."""

    def __init__(self, calls: SlackApi, http: aiohttp.ClientSession) -> None:
        self._calls = calls
        self._http = http

    def of(self, files: Iterable[SlackFile]) -> tuple[SentFile, ...]:
        return tuple(map(self._sent, files))

    def _sent(self, file: SlackFile) -> SentFile:
        look_up = None if file.url else partial(self._look_up, file)
        return SentFile(file.name, file.size, partial(self._read, file), look_up)

    def _read(self, file: SlackFile) -> AsyncGenerator[bytes, None]:
        return download(
            self._http,
            file.url,
            is_own=self._is_own,
            headers={"Authorization": f"Bearer {self._calls.client.token}"},
            check=partial(_refuse_sign_in, file),
        )

    def _is_own(self, url: str) -> bool:
        """Return True if the token may be sent to an address: what other apps share can have any."""
        return any(is_slacks(url, each) for each in (self._calls.client.base_url, *_OWN))

    async def _look_up(self, file: SlackFile) -> SentFile:
        """Look up a file: https://docs.slack.dev/reference/methods/files.info"""
        answer = await self._calls.call(self._calls.client.files_info, file=file.id)
        found = parse_file(object_of(answer.get("file")))
        if found is None or not found.url:
            raise PlatformError("Slack does not have its bytes", code="file_elsewhere")
        return self._sent(found)


def _refuse_sign_in(file: SlackFile, response: aiohttp.ClientResponse) -> None:
    """Refuse the page that Slack sends in place of a file that the token may not read: no file has its size."""
    is_page = response.content_type == "text/html" and response.content_length != file.size
    if response.status in range(300, 400) or (response.status == 200 and is_page):
        extra = {"action": "file_not_readable", "code": "missing_scope"}
        logger.warning(
            "Slack sent its sign-in page in place of a file: add the scope %s under OAuth & Permissions, and reinstall"
            " the app",
            READ_SCOPE, extra=extra,
        )  # fmt: skip
        message = f"the app may not read files, because it lacks the scope {READ_SCOPE}"
        raise PlatformError(message, code="missing_scope")
