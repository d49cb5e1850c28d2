"""The visible part of a message or a modal: texts, controls, and whom the texts notify.

Owns the reading of blocks as Slack's clients lay them out. Nothing here sends anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from tests.fakes.slack.checks import options_of
from tests.fakes.slack.richtext import Run, plain, rich_text_runs, runs
from tests.fakes.slack.schema import Json
from tests.fakes.slack.workspace import Message, Snapshot, View

Target = Message | Snapshot | View


@dataclass(frozen=True, slots=True)
class Choice:
    """An option as people read it, with its option object."""

    label: str
    description: str
    option: Json


@dataclass(frozen=True, slots=True)
class Dialog:
    """The confirmation dialog that a control shows before it acts."""

    title: str
    text: str
    confirm: str
    deny: str


@dataclass(frozen=True, slots=True)
class Control:
    """Something to press, choose from or fill in.

    `label` is what names it for a person: a button's text, an input's label, a menu's placeholder.
    `sends` tells whether using it reaches the app at once (an input waits for the next click).
    """

    kind: str
    label: str
    block_id: str
    action_id: str
    element: Json
    sends: bool
    hint: str = ""
    optional: bool = False
    dialog: Dialog | None = None
    choices: tuple[Choice, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def style(self) -> str:
        """default, primary or danger."""
        return str(self.element.get("style", "default"))


@dataclass(frozen=True, slots=True)
class Sight:
    """A message or a modal as people read it, from top to bottom."""

    texts: tuple[str, ...]
    controls: tuple[Control, ...]
    runs: tuple[Run, ...]
    notification: str = ""

    @property
    def text(self) -> str:
        """All texts, one per line."""
        return "\n".join(self.texts)

    @property
    def buttons(self) -> list[str]:
        """The labels of the buttons, in order."""
        return [control.label for control in self.controls if control.kind == "button"]

    @property
    def visible_text(self) -> str:
        """Everything that people can read: texts, labels, options, hints and dialogs."""
        found = list(self.texts)
        for control in self.controls:
            found += [control.label, control.hint, *control.groups]
            found += [part for c in control.choices for part in (c.label, c.description)]
            if control.dialog is not None:
                found += [control.dialog.title, control.dialog.text]
            found.append(str(control.element.get("initial_value", "")))
        return "\n".join(part for part in found if part)

    @property
    def mentions(self) -> list[str]:
        """Everybody whom the texts would notify: users, groups, channels, broadcasts."""
        kinds = ("user", "group", "channel", "broadcast")
        return [run.target for run in self.runs if run.kind in kinds]

    @property
    def links(self) -> list[tuple[str, str]]:
        """Live links as (shown text, URL)."""
        return [(run.text, run.target) for run in self.runs if run.kind == "link"]

    def control(self, name: str, kinds: tuple[str, ...] = ()) -> Control:
        """The one control with this label or action id.

        Raises:
            LookupError: when there is none, or more than one, with what is there.
        """
        fits = [c for c in self.controls if not kinds or c.kind in kinds]
        found = [c for c in fits if c.label == name] or [c for c in fits if c.action_id == name]
        if len(found) != 1:
            there = [(c.kind, c.label) for c in self.controls]
            raise LookupError(f"{len(found)} controls are called {name!r}; there are {there}")
        return found[0]


def look(target: Target) -> Sight:
    """Read a message, an older copy of one, or an open modal."""
    if isinstance(target, View):
        head = [Run(_shown(target.body[k])) for k in ("title",) if target.body.get(k)]
        lines = [(head, head[0].text)] if head else []
        return _sight(target.body["blocks"], lines, "")
    payload = target.payload() if isinstance(target, Message) else target.payload
    text, blocks = payload["text"], payload.get("blocks", [])
    top = [_unless_bare(run, text) for run in runs(text)]
    shown = "".join(run.text for run in top)
    if blocks:  # with blocks, the text is only for notifications and screen readers
        sight = _sight(blocks, [], shown)
        notified = tuple(run for run in top if run.kind not in ("text", "link"))
        return Sight(sight.texts, sight.controls, sight.runs + notified, shown)
    return Sight((shown,) if shown else (), (), tuple(top), shown)


def _unless_bare(run: Run, text: str) -> Run:
    """In a message's own ``text``, @here without brackets reaches nobody while ``link_names`` is not set:
    https://docs.slack.dev/reference/methods/chat.postMessage"""
    bare = run.kind == "broadcast" and f"<!{run.target}" not in text
    return replace(run, kind="text") if bare else run


def text_runs(text: Json) -> list[Run]:
    """A text object as it is laid out."""
    if text["type"] == "mrkdwn":
        return runs(text["text"], verbatim=bool(text.get("verbatim")))
    return [Run(plain(text["text"], emoji=text.get("emoji", True) is not False))]


def block_runs(block: Json) -> Iterator[list[Run]]:
    """The paragraphs of a block that people read, without its controls."""
    if block["type"] == "container":
        yield text_runs(block["title"])
        for child in block["child_blocks"]:
            yield from _block_runs(child)
    else:
        yield from _block_runs(block)


def _block_runs(block: Json) -> Iterator[list[Run]]:
    match block["type"]:
        case "section" | "header" | "alert":
            if "text" in block:
                yield text_runs(block["text"])
            for part in block.get("fields", []):
                yield text_runs(part)
        case "context":
            for part in block["elements"]:
                if part["type"] != "image":
                    yield text_runs(part)
        case "markdown":
            yield [Run(block["text"])]
        case "rich_text":
            yield list(rich_text_runs(block))
        case "image":
            yield [Run(block["alt_text"])]
        case _:
            return


def controls_of(block: Json) -> Iterator[Control]:
    """The controls of a block."""
    if block["type"] == "input":
        yield _control(block, block["element"])
    elif block["type"] == "actions":
        for element in block["elements"]:
            yield _control(block, element)
    elif block.get("accessory") and block["accessory"]["type"] != "image":
        yield _control(block, block["accessory"])


def _sight(blocks: list[Json], head: list[tuple[list[Run], str]], notification: str) -> Sight:
    paragraphs = head + [
        (part, "".join(run.text for run in part)) for b in blocks for part in block_runs(b)
    ]
    return Sight(
        tuple(text for _, text in paragraphs),
        tuple(control for block in blocks for control in controls_of(block)),
        tuple(run for part, _ in paragraphs for run in part),
        notification,
    )


def _shown(text: Json | None) -> str:
    return "".join(run.text for run in text_runs(text)) if text else ""


def _control(block: Json, element: Json) -> Control:
    is_input = block["type"] == "input"
    name = block["label"] if is_input else element.get("text") or element.get("placeholder")
    confirm = element.get("confirm")
    dialog = None
    if confirm:
        parts: tuple[Literal["title", "text", "confirm", "deny"], ...]
        parts = ("title", "text", "confirm", "deny")
        dialog = Dialog(*(_shown(confirm[part]) for part in parts))
    choices = tuple(
        Choice(_shown(o["text"]), _shown(o.get("description")), o) for o in options_of(element)
    )
    return Control(
        element["type"], _shown(name), block["block_id"], element.get("action_id", ""), element,
        sends=not is_input or bool(block.get("dispatch_action")), hint=_shown(block.get("hint")),
        optional=bool(block.get("optional")), dialog=dialog, choices=choices,
        groups=tuple(_shown(g["label"]) for g in element.get("option_groups", [])),
    )  # fmt: skip
