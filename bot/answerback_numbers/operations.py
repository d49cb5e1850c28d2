"""``GET /v1/stats``: the numbers, for the operator."""

from __future__ import annotations

from typing import Annotated, Final

from aiohttp import web
from pydantic import Field

from answerback.api.operation import json_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.core.labels import ENGLISH
from answerback.ports.operation import SURFACE_ONLY, ApiCall, ResponseSpec, get
from answerback_numbers.numbers import Numbers
from answerback_numbers.stats import MAX_WEEKS, WEEKS, AlwaysAllowed, Stats, Sums
from answerback_numbers.waits import ERROR


class StatsQuery(Wire):
    """The time to count."""

    weeks: Annotated[
        int, Field(ge=1, le=MAX_WEEKS, description="The weeks to count, with this one.")
    ] = WEEKS


class SumsBody(Wire):
    """Asks that have ended."""

    name: str
    """The week's Monday (UTC), the agent or the route; empty for what has none, and for the sum of all."""
    asks: int
    results: dict[str, int]
    """The number of asks by their end. `granted` and `automatic` waited for nobody; `allowed`, `edited`
    (allowed with changes) and `denied` are permissions."""
    median_seconds: float | None
    """Seconds that half of the agents waited at most; null if none waited."""
    ninety_percent_seconds: float | None
    """Seconds that nine of ten waited at most."""


class AlwaysAllowedBody(Wire):
    """A call that people allowed each time."""

    times: int
    agent: str | None
    route: str | None
    folder: str
    headline: str
    """The headline of the last such ask."""
    grant: str
    """A description of the calls that a grant would have allowed."""
    grants: bool
    """True if the route lets people grant it (`routes.NAME.grants`)."""
    rule: str | None
    """The option by which the host would have stopped asking; null if it offered none."""


class StatsBody(Wire):
    """The numbers since the Monday of a week."""

    since: str
    error: float
    """A wait is stated at most this part of it too long or too short."""
    total: SumsBody
    weeks: tuple[SumsBody, ...]
    agents: tuple[SumsBody, ...]
    routes: tuple[SumsBody, ...]
    always_allowed: tuple[AlwaysAllowedBody, ...]


async def stats(call: ApiCall) -> web.Response:
    """``GET /v1/stats``."""
    if call.person is None:
        detail = "The numbers are the operator's: send the key that `answerback key` prints."
        raise ProblemError(403, "Not for surface tokens", detail)
    numbers = call.running(Numbers)
    assert numbers is not None, "it runs in every service that has these operations"
    found = await numbers.read(call.query(StatsQuery).weeks, ENGLISH)
    return json_response(stats_body(found).model_dump())


def stats_body(found: Stats) -> StatsBody:
    def all_of(kind: str) -> tuple[SumsBody, ...]:
        return tuple(_sums_body(name, sums) for name, sums in found.by[kind].items())

    return StatsBody(
        since=found.since,
        error=ERROR,
        total=_sums_body("", found.total),
        weeks=all_of("week"),
        agents=all_of("agent"),
        routes=all_of("route"),
        always_allowed=tuple(map(_call_body, found.always_allowed)),
    )


def _sums_body(name: str, sums: Sums) -> SumsBody:
    return SumsBody(
        name=name,
        asks=sums.count,
        results=dict(sorted(sums.ended.items())),
        median_seconds=_rounded(sums.median),
        ninety_percent_seconds=_rounded(sums.ninety_percent),
    )


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def _call_body(found: AlwaysAllowed) -> AlwaysAllowedBody:
    return AlwaysAllowedBody(
        times=found.times,
        agent=found.agent,
        route=found.route,
        folder=found.folder,
        headline=found.headline,
        grant=found.grant,
        grants=found.may_grant,
        rule=found.rule,
    )


OPERATIONS: Final = (
    get(
        "stats",
        "/v1/stats",
        "Get numbers: how many asks, and how long agents waited",
        stats,
        {200: ResponseSpec("The numbers.", StatsBody)},
        roles=SURFACE_ONLY,
        query=StatsQuery,
        description="By week, agent and route, of asks that have ended; and the permissions that were allowed each "
        "time, with what would have saved people from being asked. It ranks no people. Only with the operator's key.",
        guests=False,
        after="export",
    ),
)
