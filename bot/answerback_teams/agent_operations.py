"""The API operations for the agents that people have connected. Never an agent's right."""

from __future__ import annotations

from aiohttp import web

from answerback.api.operation import json_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.ports.operation import SURFACE_ONLY, ApiCall, ResponseSpec, delete, get
from answerback.service.people_wire import PersonBody, Timestamp, iso
from answerback_teams.sign_ins import SignIns
from answerback_teams.values import AgentToken


class ConnectedAgentBody(Wire):
    """An agent that a person has connected. What it calls itself and its machine, it says."""

    name: str
    program: str
    machine: str
    address: str
    """The address from which it was connected."""
    owner: PersonBody
    created_at: Timestamp
    expires_at: Timestamp


class ConnectedAgents(Wire):
    """The agents, oldest first."""

    agents: tuple[ConnectedAgentBody, ...]


def _body(agent: AgentToken) -> ConnectedAgentBody:
    owner, by = agent.owner, agent.asked_by
    return ConnectedAgentBody(
        name=agent.name,
        program=by.program,
        machine=by.machine,
        address=by.address,
        owner={"surface": owner.surface, "user_id": owner.user_id, "name": owner.name},
        created_at=iso(agent.at),
        expires_at=iso(agent.until),
    )


async def list_agents(call: ApiCall) -> web.Response:
    """``GET /v1/agents``."""
    sign_ins = _sign_ins(call)
    found = await sign_ins.list_for(call.guest) if sign_ins is not None else ()
    return json_response({"agents": [_body(each).model_dump() for each in found]})


async def remove_agent(call: ApiCall) -> web.Response:
    """``DELETE /v1/agents/{id}``."""
    name, sign_ins = call.request.match_info["id"], _sign_ins(call)
    removed = sign_ins is not None and await call.run_to_completion(
        sign_ins.remove(name, call.guest)
    )
    if not removed:
        raise ProblemError(404, "Not found", f"Nobody has connected an agent named {name[:100]}.")
    return await list_agents(call)


def _sign_ins(call: ApiCall) -> SignIns | None:
    """Return what knows the agents.

    Raises:
        ProblemError: 403, for a front end, which is nobody's.
    """
    if call.person is None:
        raise ProblemError(
            403, "Not for surface tokens", "Send the person's key, or a personal link's."
        )
    from answerback_teams.running_sign_ins import RunningSignIns  # most services have none

    running = call.running(RunningSignIns)
    return None if running is None else running.sign_ins


AGENT_OPERATIONS = (
    get(
        "agents",
        "/v1/agents",
        "List the agents that people have connected",
        list_agents,
        {200: ResponseSpec("The agents whose tokens are valid.", ConnectedAgents)},
        roles=SURFACE_ONLY,
        description="With the person's key all, with a personal link's key those of its person. Never for agents or "
        "front ends.",
        after="revoke_grant",
    ),
    delete(
        "remove_agent",
        "/v1/agents/{id}",
        "Remove an agent that a person has connected",
        remove_agent,
        {
            200: ResponseSpec(
                "Its token is refused from now on. The agents that are left.", ConnectedAgents
            ),
        },
        roles=SURFACE_ONLY,
        description="With the person's key any, with a personal link's key one of its person's.",
        after="agents",
    ),
)
