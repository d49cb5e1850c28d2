"""The app's Home tab: what it shows to each person, and how they open it and press its controls.

Source: https://docs.slack.dev/surfaces/app-home and https://docs.slack.dev/reference/methods/views.publish
"""

import secrets
from typing import TYPE_CHECKING

from tests.fakes.slack.delivery import Ack
from tests.fakes.slack.interactivity import ApiError
from tests.fakes.slack.methods import Method, Methods, required
from tests.fakes.slack.methods_views import judged
from tests.fakes.slack.schema import Json
from tests.fakes.slack.state import ClientRefusalError
from tests.fakes.slack.visible_message import look
from tests.fakes.slack.workspace import View

if TYPE_CHECKING:
    from tests.fakes.slack.person import Person
    from tests.fakes.slack.server import FakeSlack


async def publish(slack: "FakeSlack", args: Json) -> Json:
    """views.publish: replace the view of one person's Home."""
    user = required(args, "user_id")
    body = judged(args)
    if user not in slack.workspace.users:
        raise ApiError("invalid_arguments", response_metadata={"messages": ["[ERROR] no user"]})
    if not slack.home_tab:
        raise ApiError("not_enabled")
    before = slack.workspace.homes.get(user)
    if args.get("hash") and before is not None and args["hash"] != before.hash:
        raise ApiError("hash_conflict")
    id = before.id if before is not None else slack.workspace.next_id("V")
    stored = body | {"blocks": slack.workspace.fill_ids(body["blocks"])}
    view = View(id, user, stored, secrets.token_hex(8), id)
    slack.workspace.homes[user] = view
    slack.changed()
    return {"view": view.payload()}


def open_home(person: "Person", tab: str = "home") -> None:
    """Open the App Home; the event includes a view that was published before."""
    slack = person.slack
    event: Json = {
        "type": "app_home_opened", "user": person.id, "tab": tab,
        "channel": slack.workspace.direct(person.id).id, "event_ts": slack.workspace.next_ts(),
    }  # fmt: skip
    shown = slack.workspace.homes.get(person.id)
    if tab == "home" and shown is not None:
        event["view"] = shown.payload()
    slack.emit(event)


async def press(person: "Person", name: str, nth: int = 0) -> Ack:
    """Press a button of the Home by its label: the ``nth`` of that name, from the top.

    One that leads to an address opens it in the client, and tells the app as well:
    https://docs.slack.dev/reference/block-kit/block-elements/button-element
    """
    view = person.slack.workspace.homes[person.id]
    found = [control for control in look(view).controls if control.label == name]
    if len(found) <= nth:
        raise ClientRefusalError(f"the Home has no {name!r} number {nth}")
    return await person._act(view, found[nth], {"type": "button", **_said(found[nth].element)})


def _said(element: Json) -> Json:
    return {key: element[key] for key in ("text", "value", "url", "style") if key in element}


METHODS: Methods = {"views.publish": Method(publish)}
