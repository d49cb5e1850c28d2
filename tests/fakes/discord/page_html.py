"""The markup of the page: messages, components and modals in Discord's dark look."""

import re
from html import escape

from tests.fakes.discord.markdown import to_html
from tests.fakes.discord.problems import Payload
from tests.fakes.discord.rules import (
    BUTTON,
    CHECKBOX,
    CHECKBOXES,
    CONTAINER,
    LINK_BUTTON,
    RADIO,
    ROW,
    SECTION,
    SELECTS,
    SEPARATOR,
    TEXT,
    TEXT_INPUT,
)
from tests.fakes.discord.visible_message import Field, Modal, bounds_of, options_of
from tests.fakes.discord.world import Channel, Message, World

MENTION = "<span class=mention>"
STYLE = """
body{margin:0;background:#313338;color:#dbdee1;font:16px/1.375 "gg sans","Noto Sans",Helvetica,Arial,sans-serif}
header{padding:12px 16px;border-bottom:1px solid #232428;font-weight:600;color:#f2f3f5}
main{padding:16px;max-width:760px}a{color:#00a8fc;text-decoration:none}
article{display:grid;grid-template-columns:56px 1fr;padding:6px 0}
.face{width:40px;height:40px;border-radius:50%;background:#5865f2;color:#fff;display:grid;place-items:center;
font-weight:600}
.who{font-weight:600;color:#f2f3f5}
.app{background:#5865f2;color:#fff;font-size:11px;padding:1px 5px;border-radius:4px;margin-left:6px;
font-weight:500}
time,.quiet{color:#949ba4;font-size:12px;margin-left:6px}
.box{background:#2b2d31;border:1px solid #3f4147;border-left:4px solid #3f4147;border-radius:8px;padding:14px 16px;
margin:6px 0;max-width:560px}
.row{display:flex;gap:8px;flex-wrap:wrap;margin:8px 0}
.section{display:flex;gap:12px;justify-content:space-between;align-items:start;margin:6px 0}
hr{border:0;border-top:1px solid #3f4147;margin:10px 0}hr.bare{border-color:transparent}form{margin:0}
button{font:500 14px/18px inherit;font-family:inherit;color:#fff;border:0;border-radius:8px;padding:7px 14px;
min-height:32px;cursor:pointer}
button:disabled{opacity:.5;cursor:not-allowed}.s1{background:#5865f2}.s2,.s5{background:#4e5058}
.s3{background:#248046}.s4{background:#da373c}
.select{background:#1e1f22;border:1px solid #3f4147;border-radius:8px;padding:8px 12px;min-width:320px;
max-width:480px}
.select summary{cursor:pointer;color:#949ba4}.select summary b{color:#dbdee1;font-weight:400}
.opt{display:block;padding:6px 4px}.opt small,small{color:#949ba4}small{display:block;font-size:12px}
h1,h2,h3{margin:6px 0;color:#f2f3f5;line-height:1.3}h1{font-size:22px}h2{font-size:19px}h3{font-size:16px}
pre,code{background:#1e1f22;border-radius:4px;font:14px/18px Consolas,"DejaVu Sans Mono",monospace}
pre{padding:8px;border:1px solid #232428;white-space:pre-wrap;overflow-wrap:anywhere}code{padding:1px 4px}
blockquote{margin:0;padding-left:12px;border-left:4px solid #4e5058}.li::before{content:"\\2022\\00a0\\00a0"}
.added{color:#8ec07c}.removed{color:#f47067}.hunk{color:#6cb6ff}
.mention{background:#3c4270;color:#c9cdfb;border-radius:3px;padding:0 2px}
.reaction{display:inline-block;margin:4px 4px 0 0;background:#373a53;border:1px solid #5865f2;border-radius:8px;
padding:1px 7px}
.only{color:#949ba4;font-size:12px}
.back{position:fixed;inset:0;background:#000b;display:grid;place-items:center}
.modal{background:#313338;border-radius:8px;padding:20px;width:440px;max-height:90vh;overflow:auto}
.modal label{display:block;margin:14px 0 4px;font-weight:600}.modal label.opt{font-weight:400;margin:0}
.modal textarea,.modal input[type=text],.type input[type=text],.modal select{width:100%;box-sizing:border-box;
background:#1e1f22;color:#dbdee1;border:1px solid #3f4147;border-radius:8px;padding:10px;font:inherit}
.modal textarea{min-height:110px}.modal footer{display:flex;gap:8px;justify-content:end;margin-top:18px}
.notice{background:#4e2a2e;border-radius:8px;padding:8px 12px;margin:8px 16px}.req{color:#f23f42}
.type{margin-top:12px}
"""


def index_html(world: World) -> str:
    """The list of channels."""
    rows = "".join(
        f'<div>{"&nbsp;&nbsp;↳ " if each.is_thread else "# "}<a href="/channels/{each.id}">'
        f"{escape(each.name or 'direct message')}</a> <small>{len(each.messages)} messages</small></div>"
        for each in world.channels.values()
    )
    people = "".join(
        f"<div>{escape(u.name)} <small>{u.id}</small></div>" for u in world.users.values()
    )
    return _page(
        "Fake Discord", f"<main><h2>Channels</h2>{rows}<h2>People (?as=)</h2>{people}</main>"
    )


def document(channel: Channel, body: str, modal: str, who: int | None, notice: str) -> str:
    """A whole channel page."""
    shown = f"<div class=notice role=alert>{escape(notice)}</div>" if notice else ""
    typing = (
        f'<form class=type method=post action="/channels/{channel.id}/type">{_as(who)}'
        f'<input type=text name=text placeholder="Message #{escape(channel.name)}"></form>'
        if who
        else ""
    )
    mark = "↳ #" if channel.is_thread else "#"
    state = f" <small>{'archived ' * channel.archived}{'locked' * channel.locked}</small>"
    name = escape(channel.name or "Direct message")
    return _page(
        name, f"<header>{mark} {name}{state}</header>{shown}<main>{body}{typing}</main>{modal}"
    )


def _page(title: str, body: str) -> str:
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f'<meta name=viewport content="width=device-width"><style>{STYLE}</style>{body}</html>'
    )


def _as(who: int | None) -> str:
    return f'<input type=hidden name=as value="{who or ""}">'


def message_html(world: World, message: Message, channel: Channel, who: int | None) -> str:
    """One message with its components."""
    author = world.users[message.author_id]
    app = "<span class=app>APP</span>" if author.bot else ""
    edited = "<span class=quiet>(edited)</span>" if message.edited_at else ""
    embeds = "".join(
        f"<div class=box><b>{escape(e.get('title') or '')}</b>{to_html(e.get('description') or '')}</div>"
        for e in message.embeds
    )
    parts = "".join(_component(each, message, channel, who) for each in message.components)
    files = "".join(f"<div class=box>{escape(e['filename'])}</div>" for e in message.attachments)
    marks = "".join(
        f"<span class=reaction>{escape(e)} {len(w)}</span>" for e, w in message.reactions.items()
    )
    only = "<div class=only>Only you can see this</div>" if message.ephemeral else ""
    return (
        f'<article id="m{message.id}"><div class=face>{escape(author.name[:1].upper())}</div><div>'
        f"<span class=who>{escape(author.name)}</span>{app}{edited}"
        f"{_named(f'{to_html(message.content)}{embeds}{parts}', world)}{files}<div>{marks}</div>{only}</div></article>"
    )


def _named(html: str, world: World) -> str:
    """Mentions of people by their names, as a client shows them."""

    def name(match: re.Match[str]) -> str:
        user = world.users.get(int(match[1]))
        return f"{MENTION}@{escape(user.name)}<" if user else match[0]

    return re.sub(rf"{MENTION}@!?(\d+)<", name, html)


def _component(component: Payload, message: Message, channel: Channel, who: int | None) -> str:
    kind = component["type"]
    inner = "".join(
        _component(each, message, channel, who) for each in component.get("components") or []
    )
    if kind == ROW:
        return f"<div class=row>{inner}</div>"
    if kind == CONTAINER:
        color = component.get("accent_color")
        edge = f' style="border-left-color:#{color:06x}"' if color is not None else ""
        return f"<div class=box{edge}>{inner}</div>"
    if kind == SECTION:
        accessory = _component(component["accessory"], message, channel, who)
        return f"<div class=section><div>{inner}</div>{accessory}</div>"
    if kind == TEXT:
        return to_html(component["content"])
    if kind == SEPARATOR:
        return "<hr>" if component.get("divider") else "<hr class=bare>"
    if kind == BUTTON:
        return _button(component, message, channel, who)
    return _select(component, message, channel, who) if kind in SELECTS else ""


def _form(
    component: Payload, message: Message, channel: Channel, who: int | None, inside: str
) -> str:
    return (
        f'<form method=post action="/channels/{channel.id}/act">{_as(who)}'
        f'<input type=hidden name=message value="{message.id}">'
        f'<input type=hidden name=custom_id value="{escape(component.get("custom_id") or "")}">{inside}</form>'
    )


def _button(component: Payload, message: Message, channel: Channel, who: int | None) -> str:
    emoji = (component.get("emoji") or {}).get("name") or ""
    label = escape(f"{emoji} {component.get('label') or ''}".strip())
    style = component["style"]
    if style == LINK_BUTTON:
        return f'<a href="{escape(component["url"])}"><button type=button class=s5>{label} ↗</button></a>'
    off = " disabled" if component.get("disabled") else ""
    return _form(component, message, channel, who, f"<button class=s{style}{off}>{label}</button>")


def _select(component: Payload, message: Message, channel: Channel, who: int | None) -> str:
    options = options_of(component)
    chosen = ", ".join(each.label for each in options if each.default)
    shown = (
        f"<b>{escape(chosen)}</b>"
        if chosen
        else escape(component.get("placeholder") or "Make a selection")
    )
    kind = "radio" if bounds_of(component)[1] == 1 else "checkbox"
    rows = "".join(
        _option("value", kind, e.value, e.label, e.description, on=e.default) for e in options
    )
    off = " disabled" if component.get("disabled") else ""
    inside = f"<details class=select><summary>{shown}</summary>{rows}<button class=s2{off}>Choose</button></details>"
    return _form(component, message, channel, who, inside)


def _option(name: str, kind: str, value: str, label: str, description: str, *, on: bool) -> str:
    more = f"<small>{escape(description)}</small>" if description else ""
    checked = " checked" if on else ""
    field = f'<input type={kind} name={name} value="{escape(value)}"{checked}>'
    return f"<label class=opt>{field} {escape(label)}{more}</label>"


def modal_html(modal: Modal, channel: Channel, who: int) -> str:
    """The open modal over the page."""
    texts = "".join(to_html(each) for each in modal.texts)
    fields = "".join(_field(number, each) for number, each in enumerate(modal.fields))
    return (
        f'<div class=back><form class=modal role=dialog method=post action="/channels/{channel.id}/modal">{_as(who)}'
        f"<h2>{escape(modal.title)}</h2>{texts}{fields}<footer><button class=s2 name=dismiss value=1 formnovalidate>"
        f"Cancel</button><button class=s1>Submit</button></footer></form></div>"
    )


def _field(number: int, field: Field) -> str:
    component, name = field.component, f"field{number}"
    kind, value = component["type"], field.value
    star = (
        " <span class=req>*</span>"
        if component.get("required") is not False and kind != CHECKBOX
        else ""
    )
    head = f"<label for={name}>{escape(field.label)}{star}</label>"
    if field.description:
        head += f"<small>{escape(field.description)}</small>"
    if kind == TEXT_INPUT:
        hint = f'id={name} name={name} placeholder="{escape(component.get("placeholder") or "")}"'
        if component["style"] == 2:
            return f"{head}<textarea {hint}>\n{escape(str(value))}</textarea>"
        return f'{head}<input type=text {hint} value="{escape(str(value))}">'
    if kind == CHECKBOX:
        return head + _option(name, "checkbox", "1", field.label, "", on=bool(value))
    one = kind == RADIO or (kind != CHECKBOXES and bounds_of(component)[1] == 1)
    held = value if isinstance(value, list) else [value]
    rows = [
        _option(
            name,
            "radio" if one else "checkbox",
            e.value,
            e.label,
            e.description,
            on=e.value in held,
        )
        for e in options_of(component)
    ]
    return head + "".join(rows)
