"""List and revoke what people have allowed: grants. Never an agent's right."""

from __future__ import annotations

from typing import Annotated

from aiohttp import web
from pydantic import Field

from answerback.api.action_bodies import ActorBody
from answerback.api.actions import actor_of, conflicting_ask
from answerback.api.inbox_and_search import PERSON
from answerback.api.operation import Call, ask_response, json_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.core.granting import RevokeGrant, describe_match
from answerback.core.grants import Grant
from answerback.core.labels import ENGLISH
from answerback.ports.surface import Acted, RejectReason
from answerback.service.people_wire import PersonBody, Timestamp, iso


class GrantBody(Wire):
    """A permission that a person has given for later calls of the same kind."""

    id: str
    ask_id: str
    """The ask that was answered with it."""
    match: str
    text: str
    """The description of what it allows, as people were shown it."""
    agent: str
    owner: str | None
    folder: str
    route: str
    by: PersonBody
    uses: int
    used: int
    created_at: Timestamp
    expires_at: Timestamp
    ended_at: Timestamp | None
    """When it was revoked; null if it was not."""


class GrantList(Wire):
    """The grants that can still be used, newest first."""

    grants: tuple[GrantBody, ...]


class RevokeQuery(Wire):
    """The person on whose behalf a front end revokes a grant."""

    responder: Annotated[
        str | None,
        Field(
            pattern=PERSON,
            description="The person, as `surface:id`: for front ends. A person's key is enough.",
            examples=["chat:U012"],
        ),
    ] = None


def grant_body(grant: Grant) -> GrantBody:
    by = grant.by
    return GrantBody(
        id=grant.id,
        ask_id=grant.ask_id,
        match=grant.match,
        text=describe_match(grant.match, grant.subject, ENGLISH),
        agent=grant.agent,
        owner=grant.owner,
        folder=grant.folder,
        route=grant.route,
        by={"surface": by.surface, "user_id": by.user_id, "name": by.name},
        uses=grant.uses,
        used=grant.used,
        created_at=iso(grant.at),
        expires_at=iso(grant.until),
        ended_at=None if grant.ended_at is None else iso(grant.ended_at),
    )


async def list_grants(call: Call) -> web.Response:
    """``GET /v1/grants``."""
    found = await call.service.list_grants(call.guest)
    return json_response({"grants": [grant_body(each).model_dump() for each in found]})


async def revoke(call: Call) -> web.Response:
    """``DELETE /v1/grants/{id}``."""
    grant_id, query = call.request.match_info["id"], call.query(RevokeQuery)
    grant = await call.api.store.grants.get(grant_id)
    ask = None if grant is None else await call.service.get(grant.ask_id)
    if grant is None or ask is None or not call.may_see(ask, acts=True):
        raise ProblemError(404, "Not found", f"There is no grant with the id {grant_id[:100]}.")
    if call.person is not None and call.guest is None:
        change = call.service.grants.revoke(ask.id, call.person)
    else:
        surface, _, user_id = (query.responder or "").partition(":")
        named = ActorBody(surface=surface, user_id=user_id) if user_id else None
        change = call.service.act(ask.id, RevokeGrant(), actor_of(call, ask, named))
    done = await call.api.run_to_completion(change)
    if not isinstance(done, Acted) and done.why is not RejectReason.INVALID:
        return ask_response(call, conflicting_ask(done, None), 409)
    # It is invalid to revoke a grant that has ended already.
    ended = await call.api.store.grants.get(grant_id) or grant
    return json_response(grant_body(ended).model_dump())
