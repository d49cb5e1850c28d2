"""Agent sessions: how Slack shows an agent at work in a thread, and its Stop button.

Sources: https://docs.slack.dev/ai/agent-sessions,
https://docs.slack.dev/reference/methods/agents.sessions.setStatus and
https://docs.slack.dev/reference/events/agent_session_stopped. An app that is not an agent is told
``not_authorized``, which was seen live: https://github.com/kirodotdev/KiroCrew/issues/9822
"""

from typing import TYPE_CHECKING

from tests.fakes.slack.interactivity import ApiError
from tests.fakes.slack.methods import Method, Methods, required, scope
from tests.fakes.slack.schema import Json
from tests.fakes.slack.state import ClientRefusalError

if TYPE_CHECKING:
    from tests.fakes.slack.person import Person
    from tests.fakes.slack.server import FakeSlack

STATUSES = ("active", "processing", "suspended", "closed")


async def set_status(slack: "FakeSlack", args: Json) -> Json:
    """agents.sessions.setStatus: create the session of a thread, or change its status."""
    status, channel = required(args, "status"), required(args, "channel_id")
    thread = required(args, "thread_ts")
    if not slack.is_agent:
        raise ApiError("not_authorized")
    if status not in STATUSES:
        raise ApiError("invalid_arguments")
    if channel not in slack.workspace.channels:
        raise ApiError("channel_not_found")
    if thread not in slack.workspace.messages[channel]:
        raise ApiError("thread_not_found")
    slack.workspace.sessions.setdefault((channel, thread), []).append(status)
    slack.changed()
    return {"agent_status": status}


def press_stop(person: "Person", channel: str, thread: str) -> None:
    """Press Slack's Stop button, which is shown while the session is processing."""
    slack = person.slack
    if slack.workspace.sessions.get((channel, thread), [""])[-1] != "processing":
        raise ClientRefusalError("there is no Stop button: the agent is not at work")
    slack.emit(
        {
            "type": "agent_session_stopped", "channel": channel, "thread_ts": thread,
            "user": person.id, "streaming_message_ts": [], "event_ts": slack.workspace.next_ts(),
        }
    )  # fmt: skip


METHODS: Methods = {"agents.sessions.setStatus": Method(set_status, scope("chat:write"))}
