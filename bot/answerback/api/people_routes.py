"""The API operations for people and their front ends: a part of the table in `answerback.api.routes`."""

from __future__ import annotations

from typing import Final

from answerback.api import (
    action_bodies,
    actions,
    asks,
    grants,
    inbox_and_search,
    wire,
)
from answerback.api.operation import NEXT
from answerback.ports.operation import SURFACE_ONLY, ResponseSpec, delete, get, post

PEOPLE_OPERATIONS: Final = (
    post(
        "batch",
        "/v1/batches",
        "Decide about several permissions",
        actions.decide,
        {
            200: ResponseSpec("What became of each ask, in order.", actions.BatchResults),
            422: ResponseSpec("The batch is invalid, or names an ask twice: nothing was decided."),
        },
        roles=SURFACE_ONLY,
        body=action_bodies.BatchBody,
        example={
            "asks": [{"id": "ask_0123456789abcdef01234567", "revision": 1}],
            "decision": "deny",
        },
        headers=(asks.KEY_OF_ACTION,),
        description="Each ask is authorised, decided and recorded on its own, as by a single action; its `status` is "
        "what that would have given. Show people the whole context of what they allow together. Asks whose answers "
        "other people confirm are never decided in a batch.",
    ),
    get(
        "inbox",
        "/v1/inbox",
        "List what is waiting for one person, the most urgent and oldest first",
        inbox_and_search.inbox,
        {200: ResponseSpec("A page of open asks.", wire.AskPage, headers=NEXT)},
        roles=SURFACE_ONLY,
        query=inbox_and_search.InboxQuery,
        description="The open asks of all agents that this person may answer. For custom front ends, and for callers "
        "with the person's key. Never for agents.",
    ),
    get(
        "grants",
        "/v1/grants",
        "List what people have allowed again",
        grants.list_grants,
        {200: ResponseSpec("The grants that can still be used.", grants.GrantList)},
        roles=SURFACE_ONLY,
        description="With a personal link's key, those of its person. Never for agents.",
    ),
    delete(
        "revoke_grant",
        "/v1/grants/{id}",
        "Revoke what a person has allowed again",
        grants.revoke,
        {
            200: ResponseSpec("The grant, which allows nothing any more.", grants.GrantBody),
            422: ResponseSpec("The front end names nobody."),
            503: ResponseSpec("It cannot be checked now who may."),
        },
        roles=SURFACE_ONLY,
        query=grants.RevokeQuery,
        description="A right of those who may answer where the grant was made, and of the operator.",
    ),
    get(
        "search",
        "/v1/search",
        "Search questions and answers, newest first",
        inbox_and_search.search,
        {200: ResponseSpec("A page of asks.", wire.AskPage, headers=NEXT)},
        query=inbox_and_search.SearchQuery,
        description="An agent finds only its own asks. With a personal link's key, you find what its person answered "
        "and, with `status=open`, what is waiting for them.",
    ),
    get(
        "call",
        "/v1/asks/{id}/call",
        "Get the tool call as it was sent",
        asks.sent_call,
        {
            200: ResponseSpec(
                "The call; without arguments if its content was erased.", wire.CallBody
            ),
        },
        description="For people who want to see everything that a host sent. An ask itself has what people decide by.",
    ),
)
