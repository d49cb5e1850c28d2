"""files.*: uploads in three steps, as https://docs.slack.dev/messaging/working-with-files#upload describes them.

Owns the uploaded bytes. A file can be shown in a message once its upload is complete and Slack has processed it.
"""

import json
from typing import TYPE_CHECKING

from aiohttp import web

from tests.fakes.slack.interactivity import ApiError
from tests.fakes.slack.methods import Method, Methods, required, scope
from tests.fakes.slack.schema import Json

if TYPE_CHECKING:
    from tests.fakes.slack.server import FakeSlack

MAX_TITLE = 255


class Uploads:
    """The files of the app."""

    def __init__(self) -> None:
        self.announced: dict[str, int] = {}
        """The number of bytes of uploads that have begun, by id."""
        self.received: dict[str, bytes] = {}
        self.complete: dict[str, str] = {}
        """The titles of what can be shown, by id."""
        self.unprocessed = 0
        """The number of messages that are refused before a complete file can be shown."""
        self.address: str | None = None
        """Another address to send uploads to than the right one."""

    async def receive(self, request: web.Request) -> web.Response:
        """Take the bytes of an upload."""
        id, data = request.match_info["id"], await request.read()
        if self.announced.get(id) != len(data):
            return web.Response(status=400, text="the length differs")
        self.received[id] = data
        return web.Response(text=f"OK - {len(data)}")


async def begin(slack: "FakeSlack", args: Json) -> Json:
    """files.getUploadURLExternal."""
    required(args, "filename")
    length = int(required(args, "length"))
    if length <= 0:
        raise ApiError("missing_argument")
    id = f"F{len(slack.uploads.announced) + 1:07d}"
    slack.uploads.announced[id] = length
    return {"upload_url": slack.uploads.address or f"{slack.url}upload/{id}", "file_id": id}


async def complete(slack: "FakeSlack", args: Json) -> Json:
    """files.completeUploadExternal, without a channel: the files are private."""
    sent = args.get("files")
    files = json.loads(sent) if isinstance(sent, str) else sent
    if not files:
        raise ApiError("invalid_arguments")
    for file in files:
        if file["id"] not in slack.uploads.received:
            raise ApiError("file_not_found")
        slack.uploads.complete[file["id"]] = file.get("title") or ""
    return {"files": [{"id": file["id"], "title": file.get("title")} for file in files]}


async def delete(slack: "FakeSlack", args: Json) -> Json:
    """files.delete."""
    if slack.uploads.complete.pop(required(args, "file"), None) is None:
        raise ApiError("file_not_found")
    return {}


def check_pictures(slack: "FakeSlack", blocks: list[Json]) -> None:
    """Refuse blocks with pictures that cannot be shown (yet), as Slack does."""
    named = [block["slack_file"]["id"] for block in blocks if "slack_file" in block]
    if not named:
        return
    if slack.uploads.unprocessed:
        slack.uploads.unprocessed -= 1
    elif all(each in slack.uploads.complete for each in named):
        return
    raise ApiError(
        "invalid_blocks", errors=["invalid slack file [json-pointer:/blocks/0/slack_file]"]
    )


METHODS: Methods = {
    "files.getUploadURLExternal": Method(begin, scope("files:write")),
    "files.completeUploadExternal": Method(complete, scope("files:write")),
    "files.delete": Method(delete, scope("files:write")),
}
