"""views.*: the stack of modals that each person has open.

Owns the use of triggers, hashes, the three-view stack and `external_id`. Sources:
https://docs.slack.dev/reference/methods/views.open, views.push, views.update
"""

import secrets
from typing import TYPE_CHECKING

from tests.fakes.slack import rules
from tests.fakes.slack.checks import check_view
from tests.fakes.slack.interactivity import ApiError, Trigger
from tests.fakes.slack.methods import Method, Methods
from tests.fakes.slack.schema import Json
from tests.fakes.slack.workspace import View

if TYPE_CHECKING:
    from tests.fakes.slack.server import FakeSlack


def judged(args: Json) -> Json:
    """The `view` argument, if Slack would accept it.

    Raises:
        ApiError: `invalid_arguments` with pointers, or `view_too_large`.
    """
    view = args.get("view")
    if not isinstance(view, dict):
        raise ApiError("invalid_arguments", response_metadata={"messages": ["[ERROR] no view"]})
    problems = check_view(view)
    if any(problem.message == "view_too_large" for problem in problems):
        raise ApiError("view_too_large")
    if problems:
        messages = [f"[ERROR] {problem}" for problem in problems]
        raise ApiError("invalid_arguments", response_metadata={"messages": messages})
    return view


def add(slack: "FakeSlack", user: str, body: Json, previous: View | None = None) -> View:
    """Put a view on a person's screen."""
    _external(slack, body, None)
    kinds = {block.get("element", {}).get("type") for block in body["blocks"]}
    if "file_input" in kinds and "files:read" not in slack.scopes:
        raise ApiError("missing_scope", needed="files:read")
    id = slack.workspace.next_id("V")
    stored = body | {"blocks": slack.workspace.fill_ids(body["blocks"])}
    root = previous.root if previous is not None else id
    view = View(id, user, stored, _hash(), root, previous.id if previous else None)
    slack.workspace.stacks.setdefault(user, []).append(view)
    slack.person(user).view_shown(view)
    slack.changed()
    return view


def change(slack: "FakeSlack", view: View, body: Json) -> None:
    """Replace the content of a view; input under the same block_id and action_id stays."""
    _external(slack, body, view)
    view.body = body | {"blocks": slack.workspace.fill_ids(body["blocks"])}
    view.hash = _hash()
    view.errors = {}
    slack.person(view.user).view_shown(view)
    slack.changed()


def _hash() -> str:
    return f"{secrets.randbelow(10**10)}.{secrets.token_hex(4)}"


def _external(slack: "FakeSlack", body: Json, own: View | None) -> None:
    wanted = body.get("external_id")
    if not wanted:
        return
    for stack in slack.workspace.stacks.values():
        if any(v is not own and v.body.get("external_id") == wanted for v in stack):
            raise ApiError("duplicate_external_id")


def _redeem(slack: "FakeSlack", args: Json) -> Trigger:
    if not args.get("trigger_id"):
        messages = ["[ERROR] missing required field: trigger_id"]
        raise ApiError("invalid_arguments", response_metadata={"messages": messages})
    return slack.interactivity.redeem(args["trigger_id"])


async def open_view(slack: "FakeSlack", args: Json) -> Json:
    """views.open: from a click outside of any modal; it replaces what was open."""
    body = judged(args)
    trigger = _redeem(slack, args)
    slack.workspace.stacks[trigger.user] = []
    return {"view": add(slack, trigger.user, body).payload()}


async def push(slack: "FakeSlack", args: Json) -> Json:
    """views.push: from inside of a modal, onto its stack of at most three."""
    body = judged(args)
    trigger = _redeem(slack, args)
    stack = slack.workspace.stacks.get(trigger.user, [])
    if trigger.view is None or not stack:
        raise ApiError("not_found")
    if len(stack) >= rules.VIEW_STACK:
        raise ApiError("push_limit_reached")
    return {"view": add(slack, trigger.user, body, stack[-1]).payload()}


async def update(slack: "FakeSlack", args: Json) -> Json:
    """views.update: by id or external_id; a stale `hash` is rejected."""
    body = judged(args)
    view = slack.workspace.view(str(args.get("view_id")))
    if view is None and args.get("external_id"):
        every = [v for stack in slack.workspace.stacks.values() for v in stack]
        wanted = args["external_id"]
        view = next((v for v in every if v.body.get("external_id") == wanted), None)
    if view is None:
        raise ApiError("not_found")
    if args.get("hash") and args["hash"] != view.hash:
        raise ApiError("hash_conflict")
    change(slack, view, body)
    return {"view": view.payload()}


METHODS: Methods = {
    "views.open": Method(open_view),
    "views.push": Method(push),
    "views.update": Method(update),
}
