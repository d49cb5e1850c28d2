"""Pages that show the fake's conversations and open modals as Slack's client would, to look at and to photograph.

Owns the routes `/` (what there is), `/c/{channel}`, `/t/{channel}/{ts}` (a thread), `/v/{user}` (a
person's modal), `/h/{user}` (their Home) and `/u/{id}` (an uploaded picture); `?as=U…` adds what
only that person sees. The buttons are real HTML buttons; people act through `Person`, not through
the page.
"""

from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING

from aiohttp import web

from tests.fakes.slack.richtext import Run
from tests.fakes.slack.schema import Json
from tests.fakes.slack.state import key_of
from tests.fakes.slack.visible_message import Control, block_runs, controls_of, text_runs
from tests.fakes.slack.workspace import Message, View

if TYPE_CHECKING:
    from tests.fakes.slack.server import FakeSlack

_TAGS = {"bold": "b", "italic": "i", "strike": "s", "code": "code", "pre": "pre"}
_EMOJI = {"white_check_mark": "✓"}


def add_routes(app: web.Application, slack: "FakeSlack") -> None:
    """Add the pages to the fake's application."""

    async def index(request: web.Request) -> web.Response:
        rooms = "".join(
            f'<li><a href="/c/{c.id}">{_room(c.name, c.kind)}</a></li>'
            for c in slack.workspace.channels.values()
        )
        return _html(slack, "Fake workspace", f"<ul class=rooms>{rooms}</ul>")

    async def channel(request: web.Request) -> web.Response:
        id = request.match_info["channel"]
        if id not in slack.workspace.channels:
            raise web.HTTPNotFound
        shown = [m for m in _visible(slack, id, request) if m.thread_ts in (None, m.ts)]
        room = slack.workspace.channels[id]
        return _html(slack, _room(room.name, room.kind), _messages(slack, shown, replies=True))

    async def thread(request: web.Request) -> web.Response:
        id, ts = request.match_info["channel"], request.match_info["ts"]
        if id not in slack.workspace.channels:
            raise web.HTTPNotFound
        shown = [m for m in _visible(slack, id, request) if ts in (m.ts, m.thread_ts)]
        return _html(slack, "Thread", _messages(slack, shown, replies=False))

    async def modal(request: web.Request) -> web.Response:
        stack = slack.workspace.stacks.get(request.match_info["user"])
        if not stack:
            raise web.HTTPNotFound
        return _html(slack, "Modal", _modal(stack[-1]))

    async def home(request: web.Request) -> web.Response:
        view = slack.workspace.homes.get(request.match_info["user"])
        if view is None:
            raise web.HTTPNotFound
        blocks = "".join(_block(block, view.values) for block in view.body["blocks"])
        return _html(slack, "Answerback · Home", f"<section class=home>{blocks}</section>")

    app.router.add_get("/", index)
    app.router.add_get("/u/{id}", slack.uploads.show)
    app.router.add_get("/h/{user}", home)
    app.router.add_get("/c/{channel}", channel)
    app.router.add_get("/t/{channel}/{ts}", thread)
    app.router.add_get("/v/{user}", modal)


def _visible(slack: "FakeSlack", channel: str, request: web.Request) -> list[Message]:
    return slack.workspace.visible(channel, request.query.get("as", ""))


def _room(name: str, kind: str) -> str:
    return escape(("" if kind == "im" else "# ") + name)


def _html(slack: "FakeSlack", title: str, body: str) -> web.Response:
    for user in slack.workspace.users.values():  # mentions show names, as Slack's client does
        body = body.replace(f"class=mention>@{user.id}<", f"class=mention>@{escape(user.name)}<")
    style = files("tests.fakes.slack").joinpath("page.css").read_text("utf-8")
    text = (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        f"<title>{title}</title><style>{style}</style>"
        f"<main><h1>{title}</h1>{body}</main></html>"
    )
    return web.Response(text=text, content_type="text/html")


def _messages(slack: "FakeSlack", messages: list[Message], *, replies: bool) -> str:
    return "".join(_message(slack, message, replies=replies) for message in messages)


def _message(slack: "FakeSlack", message: Message, *, replies: bool) -> str:
    user = slack.workspace.users[message.user]
    tag = "<span class=app>APP</span>" if message.bot else ""
    private = "<p class=private>Only visible to you</p>" if message.ephemeral_to else ""
    edited = " <small>(edited)</small>" if message.edited else ""
    if message.blocks:
        body = "".join(_block(block, {}) for block in message.blocks)
    else:
        body = (
            "<div class=section><div>"
            f"{_runs(text_runs({'type': 'mrkdwn', 'text': message.text}))}</div></div>"
        )
    reactions = "".join(
        f"<span class=reaction>{_EMOJI.get(name, f':{escape(name)}:')} {len(users)}</span>"
        for name, users in message.reactions.items()
    )
    count = len(slack.workspace.thread(message.channel, message.ts)) - 1
    link = f"/t/{message.channel}/{message.ts}"
    noun = "reply" if count == 1 else "replies"
    more = f'<a class=replies href="{link}">{count} {noun}</a>' if replies and count > 0 else ""
    return (
        f'<article class=message data-ts="{message.ts}">{private}'
        f"<div class=avatar>{escape(user.name[:1])}</div><div class=body>"
        f"<header><b>{escape(user.name)}</b>{tag}{edited}</header>"
        f"{body}{reactions}{more}</div></article>"
    )


def _modal(view: View) -> str:
    blocks = "".join(_block(block, view.values, view.errors) for block in view.body["blocks"])
    close = view.body.get("close") or {"type": "plain_text", "text": "Cancel"}
    submit = view.body.get("submit")
    send = f"<button class=primary>{_runs(text_runs(submit))}</button>" if submit else ""
    return (
        f"<section class=modal role=dialog><header><b>{_runs(text_runs(view.body['title']))}</b>"
        f"<button class=x aria-label=Close>×</button></header><div class=scroll>{blocks}</div>"
        f"<footer><button>{_runs(text_runs(close))}</button>{send}</footer></section>"
    )


def _runs(runs: list[Run]) -> str:
    made = []
    for quoted, group in groupby(runs, key=lambda run: "quote" in run.styles):
        html = "".join(_run(run) for run in group)
        made.append(f"<q>{html.removesuffix('<br>')}</q>" if quoted else html)
    return "".join(made)


def _run(run: Run) -> str:
    html = escape(run.text).replace("\n", "<br>")
    for style in sorted(run.styles & _TAGS.keys()):
        html = f"<{_TAGS[style]}>{html}</{_TAGS[style]}>"
    if run.kind == "link":
        return f'<a href="{escape(run.target)}" rel=noreferrer>{html}</a>'
    return html if run.kind in ("text", "emoji") else f"<span class=mention>{html}</span>"


def _block(block: Json, values: Json, errors: dict[str, str] | None = None) -> str:
    kind = block["type"]
    if kind == "divider":
        return "<hr>"
    if kind == "container":
        inside = "".join(_block(child, values) for child in block["child_blocks"])
        title = _runs(text_runs(block["title"]))
        opened = "" if block.get("default_collapsed") else " open"
        return f"<details{opened}><summary><b>{title}</b></summary>{inside}</details>"
    if kind == "image" and "slack_file" in block:
        address, label = f"/u/{block['slack_file']['id']}", escape(block["alt_text"])
        title = _runs(text_runs(block["title"]))
        return f'<figure>{title}<img src="{escape(address)}" alt="{label}"></figure>'
    text = "".join(f"<div>{_runs(part)}</div>" for part in block_runs(block))
    made = []
    for control in controls_of(block):
        entry = values.get(control.block_id, {}).get(control.action_id)
        made.append(_control(control, entry[key_of(control.kind)] if entry else None))
    controls = "".join(made)
    if kind == "input":
        control = next(controls_of(block))
        optional = " <small>(optional)</small>" if control.optional else ""
        wrong = (errors or {}).get(block["block_id"])
        error = f"<p class=error>{escape(wrong)}</p>" if wrong else ""
        hint = f"<small class=hint>{escape(control.hint)}</small>" if control.hint else ""
        label = f"<div class=label>{escape(control.label)}{optional}</div>"
        return f"<div class=input>{label}{controls}{error}{hint}</div>"
    level = f" level-{escape(block['level'])}" if "level" in block and kind == "alert" else ""
    return f'<div class="{kind}{level}">{text}{controls}</div>'


def _control(control: Control, value: object) -> str:
    label = escape(control.label)
    element = control.element
    if control.kind == "button":
        return f'<button class="{escape(control.style)}">{label}</button>'
    if control.kind in ("radio_buttons", "checkboxes"):
        return _choices(control, value)
    if "select" in control.kind or control.kind == "overflow":
        return f"<span class=select>{_chosen(control, value) or _holder(control) or '…'}<i>▾</i></span>"
    shown = value if value is not None else element.get("initial_value") or ""
    if element.get("multiline"):
        return f"<textarea rows=4>{escape(str(shown))}</textarea>"
    holder = _holder(control)
    initial = element.get("initial_date") or element.get("initial_time") or shown
    return f'<input value="{escape(str(initial))}" placeholder="{holder}">'


def _holder(control: Control) -> str:
    return escape((control.element.get("placeholder") or {}).get("text", ""))


def _options(control: Control, value: object) -> list[Json]:
    chosen = (
        value or control.element.get("initial_options") or control.element.get("initial_option")
    )
    if isinstance(chosen, dict):
        return [chosen]
    return chosen if isinstance(chosen, list) else []


def _chosen(control: Control, value: object) -> str:
    return escape(", ".join(option["text"]["text"] for option in _options(control, value)))


def _choices(control: Control, value: object) -> str:
    kind = "radio" if control.kind == "radio_buttons" else "checkbox"
    chosen = _options(control, value)
    rows = []
    for choice in control.choices:
        on = " checked" if choice.option in chosen else ""
        note = f"<small>{escape(choice.description)}</small>" if choice.description else ""
        rows.append(
            f"<label><input type={kind}{on}> <span>{escape(choice.label)}{note}</span></label>"
        )
    return f"<div class=choices>{''.join(rows)}</div>"
