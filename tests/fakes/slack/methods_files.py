"""files.*: uploads in three steps, as https://docs.slack.dev/messaging/working-with-files#upload describes them.

Owns the uploaded bytes. A file can be shown in a message once its upload is complete and Slack has processed it.
"""

import asyncio
import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from aiohttp import web

from tests.fakes.slack.interactivity import ApiError
from tests.fakes.slack.methods import Method, Methods, required, scope
from tests.fakes.slack.schema import Json
from tests.fakes.slack.workspace import TEAM

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

    async def show(self, request: web.Request) -> web.Response:
        """Send a picture to the page that shows a message with it."""
        data = self.received.get(request.match_info["id"])
        if data is None:
            raise web.HTTPNotFound
        return web.Response(body=data, content_type="image/png")


_SIGN_IN = "<!DOCTYPE html><html><title>Slack</title>Sign in to your workspace</html>"


class PeoplesFiles:
    """The files that people share, in the shape of https://docs.slack.dev/reference/objects/file-object"""

    def __init__(self, slack: "FakeSlack") -> None:
        self._slack = slack
        self.stored: dict[str, Json] = {}
        self._data: dict[str, bytes] = {}
        self.faults: list[int] = []
        """The statuses of the next downloads that fail."""
        self.stalls = False
        """True if downloads begin and never end."""
        self.redirect: str | None = None
        """The address to which downloads are redirected."""
        self.requests: list[str] = []
        """The ids of the files that were asked for, in order."""

    def share(self, name: str, data: bytes, mimetype: str = "image/png", **more: object) -> Json:
        """Upload a file as a person; return its object."""
        id = f"F0P{len(self.stored):06d}"
        url = f"{self._slack.url}files-pri/{TEAM}-{id}"
        self._data[id] = data
        self.stored[id] = {
            "id": id, "created": 1_700_000_000, "timestamp": 1_700_000_000, "name": name, "title": name,
            "mimetype": mimetype, "filetype": name.rpartition(".")[2], "user": "U0ADA", "editable": False,
            "size": len(data), "mode": "hosted", "is_external": False, "external_type": "",
            "is_public": True, "url_private": f"{url}/{quote(name, '')}",
            "url_private_download": f"{url}/download/{quote(name, '')}", **more,
        }  # fmt: skip
        return self.stored[id]

    def share_elsewhere(self, name: str, url: str) -> Json:
        """Share a file of another app, whose bytes Slack does not have: files.remote.add."""
        more = {"mode": "external", "is_external": True, "external_type": "app", "size": 0}
        urls = {"url_private": url, "external_url": url}
        mimetype = "application/vnd.slack-remote"
        made = self.share(name, b"", mimetype, filetype="remote", **more, **urls)
        del made["url_private_download"]
        return made

    @staticmethod
    def across_workspaces(file: Json) -> Json:
        """Return the object in events of a shared channel: https://docs.slack.dev/apis/slack-connect"""
        return {"id": file["id"], "created": 0, "timestamp": 0, "mode": "file_access",
                "file_access": "check_file_info", "user": ""}  # fmt: skip

    async def send(self, request: web.Request) -> web.StreamResponse:
        """Send a file to who may read it; anybody else gets the page on which people sign in."""
        id = request.match_info["key"].partition("-")[2]
        self.requests.append(id)
        if self.redirect is not None:
            return web.Response(status=302, headers={"Location": self.redirect})
        token = request.headers.get("Authorization")
        allowed = token == f"Bearer {self._slack.bot_token}"
        if not allowed or "files:read" not in self._slack.scopes or id not in self._data:
            return web.Response(text=_SIGN_IN, content_type="text/html")
        if self.faults:
            return web.Response(status=self.faults.pop(0), headers={"Retry-After": "0"})
        data, kind = self._data[id], self.stored[id]["mimetype"]
        if not self.stalls:
            return web.Response(body=data, content_type=kind)
        response = web.StreamResponse(headers={"Content-Length": str(len(data))})
        await response.prepare(request)
        await response.write(data[:1])
        self._slack.changed()
        await asyncio.Event().wait()
        return response


async def info(slack: "FakeSlack", args: Json) -> Json:
    """files.info."""
    file = slack.people_files.stored.get(required(args, "file"))
    if file is None:
        raise ApiError("file_not_found")
    return {"file": file}


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
    "files.info": Method(info, scope("files:read")),
    "files.delete": Method(delete, scope("files:write")),
}
