"""Block Kit builders for the tests of the fake Slack."""

from tests.fakes.slack.schema import Json


def plain(text: str) -> Json:
    """A plain_text object."""
    return {"type": "plain_text", "text": text}


def option(label: str, value: str) -> Json:
    """An option object."""
    return {"text": plain(label), "value": value}


def button(label: str, action_id: str = "press", **more: object) -> Json:
    """A button."""
    return {"type": "button", "text": plain(label), "action_id": action_id} | more


def actions(*elements: Json) -> Json:
    """An actions block."""
    return {"type": "actions", "block_id": "controls", "elements": list(elements)}


def section(text: str, **more: object) -> Json:
    """A mrkdwn section."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}} | more


def entry(label: str, kind: str = "plain_text_input", **more: object) -> Json:
    """An input block with its label as block id."""
    optional = {"optional": more.pop("optional")} if "optional" in more else {}
    element: Json = {"type": kind, "action_id": "value"} | more
    return {
        "type": "input",
        "block_id": label,
        "label": plain(label),
        "element": element,
    } | optional


def modal(*blocks: Json, **more: object) -> Json:
    """A modal with a submit button."""
    view: Json = {"type": "modal", "title": plain("Title"), "submit": plain("Send")}
    return view | {"callback_id": "form", "blocks": list(blocks)} | more
