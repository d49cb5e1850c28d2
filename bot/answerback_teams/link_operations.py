"""Link accounts in chats to people's pages: a right of whoever has the page, and of the operator."""

from __future__ import annotations

from typing import Annotated

from aiohttp import web
from pydantic import Field

from answerback.api.operation import NOT_FOUND, json_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.core.people import CODE_SECONDS, AccountLink, account_id
from answerback.core.person import Person
from answerback.ports.operation import SURFACE_ONLY, ApiCall, ResponseSpec, delete, get, post
from answerback.service.people_wire import PersonBody, Timestamp, iso, person_body
from answerback_teams.account_links import AccountLinks
from answerback_teams.values import StartedLink


class LinkBody(Wire):
    """An account in a chat that is linked to a person's page."""

    account: str
    """The account, as `surface:id`."""
    name: str | None
    page: str
    """Whose page, as `surface:id`."""
    linked_at: Timestamp


class StartedLinkBody(Wire):
    """A link that a person has started."""

    code: str
    """The code that the account's owner types after `/answerback link`."""
    expires_at: Timestamp
    typed_by: PersonBody | None
    """The account with which the code was typed and confirmed."""


class LinkList(Wire):
    """The linked accounts, and what was started last."""

    links: tuple[LinkBody, ...]
    started: StartedLinkBody | None


class LinkQuery(Wire):
    """Whose page; the holder of a personal link's key leaves it out."""

    person: Annotated[
        str | None,
        Field(
            max_length=128,
            description="The name of whoever has the personal link: for the operator's key.",
            examples=["ann"],
        ),
    ] = None


def _link_body(link: AccountLink) -> LinkBody:
    return LinkBody(
        account=link.id,
        name=link.account.name,
        page=account_id(link.page),
        linked_at=iso(link.at),
    )


def _started_body(started: StartedLink) -> StartedLinkBody:
    return StartedLinkBody(
        code=started.code,
        expires_at=iso(started.at + CODE_SECONDS),
        typed_by=person_body(started.typed_by if started.agreed else None),
    )


async def list_links(call: ApiCall) -> web.Response:
    """``GET /v1/links``."""
    links, page = await _links_and_page(call)
    started = None if page is None else await links.started(page)
    found = LinkList(
        links=tuple(map(_link_body, await links.list_of(page))),
        started=None if started is None else _started_body(started),
    )
    return json_response(found.model_dump())


async def start(call: ApiCall) -> web.Response:
    """``POST /v1/links``."""
    links, page = await _links_and_page(call)
    started = None if page is None else await links.start(page)
    if started is None:
        raise ProblemError(
            422, "Invalid request", "Say whose page with ?person=: the operator has none."
        )
    return json_response(_started_body(started).model_dump(), status=201)


async def confirm(call: ApiCall) -> web.Response:
    """``POST /v1/links/{id}``."""
    links, page = await _links_and_page(call)
    account = call.request.match_info["id"]
    if page is None or not await call.run_to_completion(links.confirm(page, account, mine=True)):
        detail = f"{account[:100]} has not confirmed this person's code, or belongs to another."
        raise ProblemError(409, "Not linked", detail)
    return await list_links(call)


async def remove(call: ApiCall) -> web.Response:
    """``DELETE /v1/links/{id}``."""
    links, page = await _links_and_page(call)
    account, by = call.request.match_info["id"], call.person
    refused = page is not None and await links.confirm(page, account, mine=False)
    if not refused and (by is None or not await links.remove(account, by, page)):
        raise ProblemError(404, "Not found", f"{account[:100]} is not linked.")
    return await list_links(call)


async def _links_and_page(call: ApiCall) -> tuple[AccountLinks, Person | None]:
    """Return the links and whose page it is about; None: everyone's, for the operator."""
    from answerback_teams.running_links import RunningLinks  # most services have none

    running = call.running(RunningLinks)
    if running is None:
        raise ProblemError(404, "Not found", "The operator has not switched people_link on.")
    if call.person is None:
        raise ProblemError(
            403, "Forbidden", "Linking takes a person's own key; nobody can vouch for that."
        )
    name = call.query(LinkQuery).person
    if call.guest is not None and name not in {None, call.guest.user_id}:
        raise ProblemError(403, "Not your page", "With a personal link's key, leave out person.")
    if call.guest is not None or name is None:
        return running.links, call.guest
    holders = await running.holders()
    found = [
        each.person for each in holders if each.person.user_id == name and not each.is_operator
    ]
    if not found:
        raise ProblemError(404, "Not found", f"{name[:100]} has no personal link.")
    return running.links, found[0]


LINK_OPERATIONS = (
    get(
        "links",
        "/v1/links",
        "List the accounts that people have linked to their pages",
        list_links,
        {200: ResponseSpec("The linked accounts.", LinkList), 404: NOT_FOUND},
        roles=SURFACE_ONLY,
        query=LinkQuery,
        description="Where `people_link` is on. For the person's key, and with a personal link's key for its person.",
        after="remove_agent",
    ),
    post(
        "start_link",
        "/v1/links",
        "Start to link an account, and get a code",
        start,
        {
            201: ResponseSpec("The code, for 15 minutes.", StartedLinkBody),
            422: ResponseSpec("It is not said whose page."),
            404: NOT_FOUND,
        },
        roles=SURFACE_ONLY,
        query=LinkQuery,
        description="The account's owner types `/answerback link CODE` and confirms; then confirm it here, too.",
        after="links",
    ),
    post(
        "confirm_link",
        "/v1/links/{id}",
        "Link the account that has confirmed the code",
        confirm,
        {
            200: ResponseSpec("The linked accounts.", LinkList),
            409: ResponseSpec("This account has confirmed no code."),
        },
        roles=SURFACE_ONLY,
        query=LinkQuery,
        description="Tell the person first: whoever uses that account can then answer as them.",
        after="start_link",
    ),
    delete(
        "remove_link",
        "/v1/links/{id}",
        "Remove a link, or refuse the account that has typed the code",
        remove,
        {200: ResponseSpec("The linked accounts.", LinkList)},
        roles=SURFACE_ONLY,
        query=LinkQuery,
        after="confirm_link",
    ),
)
