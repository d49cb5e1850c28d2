"""The visible part of a message or a modal: its texts and its controls, read from the stored payload."""

from dataclasses import dataclass, field

from tests.fakes.discord.problems import Payload
from tests.fakes.discord.rules import (
    BUTTON,
    CHECKBOX,
    CHECKBOXES,
    GALLERY,
    LABEL,
    LINK_BUTTON,
    RADIO,
    ROW,
    SELECTS,
    STRING_SELECT,
    TEXT,
    TEXT_INPUT,
    walk,
)
from tests.fakes.discord.spec import utf16_units
from tests.fakes.discord.world import Message


class NotPossibleError(AssertionError):
    """Something that Discord's client would not let a person do; the message lists what they see."""


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a select, radio group or checkbox group."""

    label: str
    value: str
    description: str
    default: bool


@dataclass(frozen=True, slots=True)
class Control:
    """A button or select of a message."""

    component: Payload

    @property
    def label(self) -> str:
        """The text of a button, or of a select while nothing is chosen."""
        emoji = (self.component.get("emoji") or {}).get("name") or ""
        shown = self.component.get("label") or self.component.get("placeholder") or ""
        return str(shown or emoji)

    @property
    def custom_id(self) -> str:
        """The custom_id that the app receives."""
        return str(self.component.get("custom_id", ""))

    @property
    def is_select(self) -> bool:
        """A select menu, not a button."""
        return self.component["type"] in SELECTS

    @property
    def disabled(self) -> bool:
        """Greyed out."""
        return bool(self.component.get("disabled"))

    @property
    def is_link(self) -> bool:
        """A button that only opens an address."""
        return bool(self.component.get("style") == LINK_BUTTON and not self.is_select)

    @property
    def options(self) -> list[Option]:
        """A string select's choices."""
        return options_of(self.component)

    @property
    def chosen(self) -> list[str]:
        """The labels that are chosen as rendered."""
        return [each.label for each in self.options if each.default]

    @property
    def bounds(self) -> tuple[int, int]:
        """The minimum and maximum number of choices of a select."""
        return bounds_of(self.component)


@dataclass(frozen=True, slots=True)
class Sight:
    """A message as one person sees it at one moment."""

    message: Message
    texts: list[str]
    controls: list[Control]

    @property
    def text(self) -> str:
        """All texts, a line each."""
        return "\n".join(self.texts)

    @property
    def everything(self) -> str:
        """All text that is shown or appears when a menu is opened: texts, labels, options, descriptions."""
        parts = list(self.texts)
        for control in self.controls:
            parts.append(control.label)
            parts += [part for each in control.options for part in (each.label, each.description)]
        return "\n".join(word for word in parts if word)

    @property
    def labels(self) -> list[str]:
        """The labels of the buttons that can be clicked."""
        return [each.label for each in self.controls if not each.is_select and not each.disabled]

    @property
    def selects(self) -> list[Control]:
        """The selects that can be used."""
        return [each for each in self.controls if each.is_select and not each.disabled]

    def button(self, label: str) -> Control | None:
        """The enabled button with this label."""
        found = [
            c for c in self.controls if not c.is_select and not c.disabled and c.label == label
        ]
        return found[0] if found else None

    def select(self, name: str | None) -> Control | None:
        """The enabled select with this placeholder or custom id; None: the only one."""
        if name is None:
            return self.selects[0] if len(self.selects) == 1 else None
        return next((each for each in self.selects if name in {each.label, each.custom_id}), None)


def view_message(message: Message) -> Sight:
    """Read a message: V1 content and embeds, V2 texts, attached text files, and every control."""
    texts = [message.content] if message.content else []
    for embed in message.embeds:
        texts += [embed[key] for key in ("title", "description") if embed.get(key)]
        texts += [
            part for each in embed.get("fields") or [] for part in (each["name"], each["value"])
        ]
    found = list(walk(message.components))
    texts += [each["content"] for _, each in found if each["type"] == TEXT]
    shown = [item for _, each in found if each["type"] == GALLERY for item in each["items"]]
    texts += [item["description"] for item in shown if item.get("description")]
    pictures = {item["media"]["url"].removeprefix("attachment://") for item in shown}
    files = [each for each in message.attachments if each["filename"] not in pictures]
    texts += [each["text"] for each in files if each.get("text")]
    return Sight(
        message, texts, [Control(each) for _, each in found if each["type"] in SELECTS | {BUTTON}]
    )


def options_of(component: Payload) -> list[Option]:
    """The choices a component lists."""
    return [
        Option(
            each["label"], each["value"], each.get("description") or "", bool(each.get("default"))
        )
        for each in component.get("options") or []
    ]


def bounds_of(component: Payload) -> tuple[int, int]:
    """The minimum and maximum choices of a select or group, with Discord's defaults."""
    whole = len(component.get("options") or [])
    least, most = component.get("min_values"), component.get("max_values")
    default_most = whole if component["type"] == CHECKBOXES else 1
    needed = 0 if component.get("required") is False and component["type"] != STRING_SELECT else 1
    return (needed if least is None else least), (default_most if most is None else most)


@dataclass
class Field:
    """One input of an open modal with what is entered so far."""

    label: str
    description: str
    component: Payload
    value: object

    def problem(self) -> str:
        """Why the client would not send this, or an empty string."""
        kind, required = self.component["type"], self.component.get("required") is not False
        if kind == CHECKBOX:
            return ""
        if kind == TEXT_INPUT:
            length, text = utf16_units(str(self.value)), str(self.value)
            least, most = (
                self.component.get("min_length") or 0,
                self.component.get("max_length") or 4000,
            )
            if not text:
                return "is required" if required else ""
            return "" if least <= length <= most else f"must have {least} to {most} characters"
        if kind == RADIO:
            return "is required" if required and self.value is None else ""
        count = len(self.value) if isinstance(self.value, list) else 0
        least, most = bounds_of(self.component)
        if not count:
            return "is required" if required else ""
        return "" if least <= count <= most else f"takes {least} to {most} choices"


@dataclass
class Modal:
    """An open modal: its title and texts, and its fields by Label."""

    data: Payload
    fields: list[Field] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The heading."""
        return str(self.data["title"])

    @property
    def everything(self) -> str:
        """Every word in it: title, texts, labels, descriptions, options, and what is entered."""
        parts = [self.title, *self.texts]
        for each in self.fields:
            parts += [each.label, each.description, str(each.component.get("placeholder") or "")]
            parts += [part for o in options_of(each.component) for part in (o.label, o.description)]
            parts += [each.value] if isinstance(each.value, str) else []
        return "\n".join(word for word in parts if word)

    def field(self, label: str) -> Field:
        """The field under this Label."""
        for each in self.fields:
            if each.label == label:
                return each
        raise NotPossibleError(
            f"no field {label!r}; the modal has {[each.label for each in self.fields]}"
        )


def modal_of(data: Payload) -> Modal:
    """Open a modal: fields with their prefilled values."""
    modal = Modal(data)
    for component in data["components"]:
        if component["type"] == TEXT:
            modal.texts.append(component["content"])
        elif component["type"] == LABEL:
            inner = component["component"]
            modal.fields.append(
                Field(component["label"], component.get("description") or "", inner, entered(inner))
            )
        elif component["type"] == ROW:
            modal.fields += [
                Field(e.get("label") or "", "", e, entered(e)) for e in component["components"]
            ]
    return modal


def entered(component: Payload) -> object:
    """Return the value that a modal's input holds when it opens."""
    kind = component["type"]
    if kind == TEXT_INPUT:
        return component.get("value") or ""
    if kind == CHECKBOX:
        return bool(component.get("default"))
    chosen = [each.value for each in options_of(component) if each.default]
    if kind == RADIO:
        return chosen[0] if chosen else None
    return chosen or [each["id"] for each in component.get("default_values") or []]
