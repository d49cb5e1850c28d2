"""Upload and fetch files: the bytes are the body."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from aiohttp import web
from pydantic import Field

from answerback.api.operation import Call, json_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.core.files import MAX_FILE
from answerback.core.person import Person
from answerback.core.secrecy import readable_files
from answerback.http.file_response import send_file
from answerback.ports.files import StoredFile
from answerback.service.file_wire import uploaded_file_body


class UploadQuery(Wire):
    """The query parameters of an upload."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=1_000, description="The file's name; folders are left out."),
    ]
    user_id: Annotated[
        str | None,
        Field(min_length=1, max_length=200, description="With a front end's token: who sends it."),
    ] = None
    surface: Annotated[
        str | None,
        Field(min_length=1, max_length=200, description="Where this person has the `user_id`."),
    ] = None


async def upload(call: Call) -> web.Response:
    """``POST /v1/files``."""
    query = call.query(UploadQuery)
    coding = call.request.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in {"", "identity"}:
        detail = "Send the file's bytes as they are, without a Content-Encoding."
        raise ProblemError(415, "Encoded file", detail)
    if (call.request.content_length or 0) > MAX_FILE:
        raise _too_large()
    parts = call.read_parts()
    if (person := _sender(call, query)) is not None:
        file = await call.service.people_files.take(query.name, await _read(parts), person)
    else:
        agent = call.agent.name if call.agent else ""
        limits = call.agent.limits if call.agent else call.service.anonymous_limits
        file = await call.service.uploads.upload(query.name, parts, agent, limits.unclaimed_files)
    headers = {"Location": f"/v1/files/{file.id}"}
    return json_response(uploaded_file_body(file), 201, headers)


def _sender(call: Call, query: UploadQuery) -> Person | None:
    """Return the person who sends a file; None if an agent does.

    Raises:
        ProblemError: 422, a front end does not say who, or somebody else does.
    """
    is_named = query.user_id is not None or query.surface is not None
    if call.agent is not None and call.agent.role == "surface":
        if query.user_id is None or query.surface is None:
            detail = "Say whose file this is: `user_id`, and the `surface` where they have it."
            raise ProblemError(422, "No sender", detail)
        return Person(surface=query.surface, user_id=query.user_id, via=call.agent.name)
    if is_named:
        detail = (
            "Only a front end's token names who sends a file: leave out `user_id` and `surface`."
        )
        raise ProblemError(422, "Another sender", detail)
    return call.person


async def _read(parts: AsyncIterator[bytes]) -> bytes:
    data = bytearray()
    async for part in parts:
        data += part
        if len(data) > MAX_FILE:
            raise _too_large()
    return bytes(data)


def _too_large() -> ProblemError:
    detail = f"A file may have at most {MAX_FILE // 1024**2} MiB ({MAX_FILE:,} bytes)."
    return ProblemError(413, "Content too large", detail)


async def fetch(call: Call) -> web.StreamResponse:
    """``GET /v1/files/{id}``."""
    file_id = call.request.match_info["id"]
    stored = await call.api.store.files.get(file_id)
    if stored is None or not await _may_read(call, stored):
        raise ProblemError(404, "Not found", f"There is no file with the id {file_id[:100]}.")
    read = partial(call.api.store.files.read_chunk, file_id)
    return await send_file(call.request, stored.file, read)


async def _may_read(call: Call, stored: StoredFile) -> bool:
    """True if the caller may read a file: its uploader, and once an ask has claimed it, who may see that.

    The ask's agent reads what people have sent with an answer once it may read that.
    """
    agent = call.agent.name if call.agent else ""
    if call.is_from_agent and stored.agent == agent:
        return True
    ask = None if stored.ask_id is None else await call.service.get(stored.ask_id)
    if ask is None or not call.is_from_agent:
        return ask is not None and call.may_see(ask)
    is_its_own = (ask.request.agent or "") == agent
    return is_its_own and any(each.file.id == stored.file.id for each in readable_files(ask))
