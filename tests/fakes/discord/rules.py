"""The rules for messages, modals and callbacks that Discord's OpenAPI document lacks, and checks against both.

The limits are this fake's own table, taken from Discord's documentation, so that a wrong constant in an adapter
fails a test. Where document and documentation differ, the documentation wins.
Sources: https://docs.discord.com/developers/components/reference,
https://docs.discord.com/developers/resources/message#create-message and
https://docs.discord.com/developers/interactions/receiving-and-responding.
"""

import re
from collections.abc import Iterator

from tests.fakes.discord.problems import Path, Payload, Problem
from tests.fakes.discord.spec import check_schema, utf16_units

CHAT_INPUT = 1
COMMAND_NAME = re.compile(r"[-_'\w]{1,32}")
IS_COMPONENTS_V2 = 1 << 15
EPHEMERAL = 1 << 6
CONTENT_MAX = 2000
V1_ROWS_MAX = 5
V2_COMPONENTS_MAX = 40
V2_TEXT_MAX = 4000
EMBEDS_TEXT_MAX = 6000
MODAL_COMPONENTS_MAX = 5
BUTTONS_IN_ROW_MAX = 5
NOT_WITH_V2 = ("content", "embeds", "sticker_ids", "poll", "shared_client_theme")
CONTENT_KEYS = (
    "content",
    "embeds",
    "components",
    "sticker_ids",
    "poll",
    "attachments",
    "shared_client_theme",
)

ROW, BUTTON, STRING_SELECT, TEXT_INPUT, SECTION, TEXT, THUMBNAIL, GALLERY, FILE = (
    1,
    2,
    3,
    4,
    9,
    10,
    11,
    12,
    13,
)
SEPARATOR, CONTAINER, LABEL, UPLOAD, RADIO, CHECKBOXES, CHECKBOX = 14, 17, 18, 19, 21, 22, 23
SELECTS = frozenset({3, 5, 6, 7, 8})
LINK_BUTTON, PREMIUM_BUTTON = 5, 6
MESSAGE_REQUEST = "MessageCreateRequest"
EDIT_REQUEST = "MessageEditRequestPartial"
# The interaction answers that may carry a message, and the schema of each.
CALLBACK_MESSAGES = {
    4: "IncomingWebhookInteractionRequest",
    7: "IncomingWebhookUpdateForInteractionCallbackRequestPartial",
}


def check_message(
    payload: Payload, *, schema: str = MESSAGE_REQUEST, old: Payload | None = None, files: int = 0
) -> list[Problem]:
    """Every reason for which Discord would refuse this message or edit.

    Args:
        payload: the body of the request.
        schema: the name of the body's schema in the OpenAPI document.
        old: the message as it is before an edit; None for a new message.
        files: how many files come beside the body.
    """
    problems = check_schema(schema, payload)
    if any(problem.code == "BASE_TYPE_BAD_TYPE" for problem in problems):
        return problems
    return problems + list(_message_rules(payload, old, files))


def check_modal(data: Payload) -> list[Problem]:
    """Every reason for which Discord would refuse this modal (the `data` of a callback of type 9)."""
    problems = check_schema("ModalInteractionCallbackRequestData", data)
    if any(problem.code == "BASE_TYPE_BAD_TYPE" for problem in problems):
        return problems
    components = data.get("components") or []
    if len(components) > MODAL_COMPONENTS_MAX:
        text = f"Must be {MODAL_COMPONENTS_MAX} or fewer in length; it is {len(components)}."
        problems.append(Problem(("components",), "BASE_TYPE_BAD_LENGTH", text))
    if isinstance(data.get("title"), str) and not data["title"].strip():
        problems.append(Problem(("title",), "BASE_TYPE_REQUIRED", "A title must not be blank."))
    problems += _tree_rules(components, ("components",), modal=True)
    return problems


def check_command(body: Payload) -> list[Problem]:
    """Every reason for which Discord would refuse to create this command.

    https://docs.discord.com/developers/interactions/application-commands#application-command-object
    """
    problems = check_schema("ApplicationCommandCreateRequest", body)
    name = body.get("name")
    if isinstance(name, str) and (not COMMAND_NAME.fullmatch(name) or name != name.lower()):
        text = "Command name is invalid"
        problems.append(Problem(("name",), "APPLICATION_COMMAND_INVALID_NAME", text))
    if body.get("type", CHAT_INPUT) == CHAT_INPUT and not (body.get("description") or "").strip():
        text = "This field is required"
        problems.append(Problem(("description",), "BASE_TYPE_REQUIRED", text))
    return problems


def check_callback(body: Payload) -> list[Problem]:
    """Every reason for which Discord would refuse this answer to an interaction, whatever it answers."""
    kind, data = body.get("type"), body.get("data")
    schema = {
        1: "PongInteractionCallbackRequest",
        4: "CreateMessageInteractionCallbackRequest",
        5: "CreateMessageInteractionCallbackRequest",
        6: "UpdateMessageInteractionCallbackRequest",
        7: "UpdateMessageInteractionCallbackRequest",
        9: "ModalInteractionCallbackRequest",
    }.get(kind if isinstance(kind, int) else -1)
    if schema is None or isinstance(kind, bool):
        return [
            Problem(("type",), "BASE_TYPE_CHOICES", f"{kind!r} is not a callback this fake takes.")
        ]
    problems = check_schema(schema, body)
    if problems and not isinstance(data, dict):
        return problems
    if kind == 9 and isinstance(data, dict):
        return _under("data", check_modal(data)) + [
            each for each in problems if each.path[:1] != ("data",)
        ]
    if kind in CALLBACK_MESSAGES:
        if kind == 4 and not isinstance(data, dict):
            return [*problems, Problem(("data",), "BASE_TYPE_REQUIRED", "This field is required")]
        if isinstance(data, dict):
            old = {"attachments": ["what the message held before"]} if kind == 7 else None
            return _under("data", check_message(data, schema=CALLBACK_MESSAGES[kind], old=old))
    if (
        kind == 5
        and isinstance(data, dict)
        and (set(data) - {"flags"} or (data.get("flags") or 0) & ~EPHEMERAL)
    ):
        problems.append(
            Problem(("data",), "DEFERRED_DATA", "Only the flag EPHEMERAL counts with a deferral.")
        )
    if kind == 6 and data:
        problems.append(
            Problem(("data",), "DEFERRED_DATA", "A deferred update carries no message.")
        )
    return problems


def walk(components: list[Payload], path: Path = ("components",)) -> Iterator[tuple[Path, Payload]]:
    """Every component of a message or modal with its path, outer ones first."""
    for index, component in enumerate(components):
        here = (*path, index)
        yield here, component
        if isinstance(component.get("components"), list):
            yield from walk(component["components"], (*here, "components"))
        for key in ("accessory", "component"):
            if isinstance(component.get(key), dict):
                yield (*here, key), component[key]


def _under(key: str, problems: list[Problem]) -> list[Problem]:
    return [Problem((key, *each.path), each.code, each.message) for each in problems]


def _message_rules(payload: Payload, old: Payload | None, files: int) -> Iterator[Problem]:
    components: list[Payload] = payload.get("components") or []
    flags = payload.get("flags") or 0
    was_v2 = bool(old and old.get("flags", 0) & IS_COMPONENTS_V2)
    v2 = was_v2 or bool(flags & IS_COMPONENTS_V2)
    if was_v2 and payload.get("flags") is not None and not flags & IS_COMPONENTS_V2:
        yield Problem(
            ("flags",),
            "MESSAGE_CANNOT_REMOVE_COMPONENTS_V2_FLAG",
            "This flag can never be taken off.",
        )
    if len(payload.get("content") or "") > CONTENT_MAX:
        text = f"Must be {CONTENT_MAX} or fewer in length."
        yield Problem(("content",), "BASE_TYPE_MAX_LENGTH", text)
    merged = {**(old or {}), **payload}
    if not files and not any(merged.get(key) for key in CONTENT_KEYS):
        yield Problem((), "EMPTY_MESSAGE", "Cannot send an empty message")
    yield from _v2_rules(merged, components) if v2 else _v1_rules(components)
    yield from _embed_rules(payload.get("embeds") or [])
    yield from _mention_rules(payload.get("allowed_mentions") or {})
    yield from _tree_rules(components, ("components",), modal=False)


def _v2_rules(merged: Payload, components: list[Payload]) -> Iterator[Problem]:
    for key in NOT_WITH_V2:
        if merged.get(key):
            text = f"The field {key!r} cannot be used with the flag IS_COMPONENTS_V2."
            yield Problem((key,), "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", text)
    everything = list(walk(components))
    if len(everything) > V2_COMPONENTS_MAX:
        text = f"The total number of components must be {V2_COMPONENTS_MAX} or fewer; it is {len(everything)}."
        yield Problem(("components",), "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", text)
    length = sum(
        len(each.get("content") or "") for _, each in everything if each.get("type") == TEXT
    )
    if length > V2_TEXT_MAX:
        text = f"All text together must be {V2_TEXT_MAX} characters or fewer; it is {length}."
        yield Problem(("components",), "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED", text)


def _v1_rules(components: list[Payload]) -> Iterator[Problem]:
    if len(components) > V1_ROWS_MAX:
        yield Problem(
            ("components",), "BASE_TYPE_BAD_LENGTH", f"Must be {V1_ROWS_MAX} or fewer in length."
        )
    for index, component in enumerate(components):
        if component.get("type") != ROW:
            text = "This component needs the flag IS_COMPONENTS_V2 (1 << 15)."
            yield Problem(("components", index, "type"), "UNION_TYPE_CHOICES", text)


def _embed_rules(embeds: list[Payload]) -> Iterator[Problem]:
    def size(embed: Payload) -> int:
        own = len(embed.get("title") or "") + len(embed.get("description") or "")
        fields = sum(
            len(each.get("name") or "") + len(each.get("value") or "")
            for each in embed.get("fields") or []
        )
        footer, author = (embed.get("footer") or {}), (embed.get("author") or {})
        return own + fields + len(footer.get("text") or "") + len(author.get("name") or "")

    if sum(size(embed) for embed in embeds) > EMBEDS_TEXT_MAX:
        text = f"Embed size exceeds maximum size of {EMBEDS_TEXT_MAX}"
        yield Problem(("embeds",), "MAX_EMBED_SIZE_EXCEEDED", text)


def _mention_rules(allowed: Payload) -> Iterator[Problem]:
    for kind in ("users", "roles"):
        if kind in (allowed.get("parse") or []) and allowed.get(kind):
            text = f"parse:[{kind!r}] and {kind}: [ids...] are mutually exclusive."
            yield Problem(("allowed_mentions",), "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", text)


def _tree_rules(components: list[Payload], path: Path, *, modal: bool) -> list[Problem]:
    found: list[Problem] = []
    custom_ids: set[str] = set()
    ids: set[int] = set()
    for here, component in walk(components, path):
        for key, taken in (("custom_id", custom_ids), ("id", ids)):
            value = component.get(key)
            if value and value in taken:
                text = (
                    "Component custom id cannot be duplicated"
                    if key == "custom_id"
                    else "Ids must be unique"
                )
                found.append(Problem((*here, key), f"COMPONENT_{key.upper()}_DUPLICATED", text))
            if value:
                taken.add(value)
        found += _component_rules(component, here, modal=modal)
    return found


def _component_rules(component: Payload, here: Path, *, modal: bool) -> Iterator[Problem]:
    kind = component.get("type")
    if kind == ROW:
        yield from _row_rules(component, here)
    elif kind == BUTTON:
        yield from _button_rules(component, here)
    elif kind in SELECTS | {CHECKBOXES, UPLOAD, RADIO}:
        yield from _choice_rules(component, here, modal=modal)
    elif kind == TEXT_INPUT:
        yield from _input_rules(component, here)
    key = {TEXT: "content", LABEL: "label"}.get(kind if isinstance(kind, int) else -1)
    if key and isinstance(component.get(key), str) and not component[key].strip():
        yield Problem(
            (*here, key), "BASE_TYPE_REQUIRED", "This field is required; blanks alone show nothing."
        )


def _row_rules(row: Payload, here: Path) -> Iterator[Problem]:
    kinds = [each.get("type") for each in row.get("components") or [] if isinstance(each, dict)]
    single = [kind for kind in kinds if kind != BUTTON]
    if single and len(kinds) > 1:
        text = "A row holds one to five buttons, or exactly one select, never both."
        yield Problem((*here, "components"), "COMPONENT_LAYOUT_WIDTH_EXCEEDED", text)


def _button_rules(button: Payload, here: Path) -> Iterator[Problem]:
    style, label = button.get("style"), button.get("label")
    if not (label and label.strip()) and not button.get("emoji"):
        yield Problem(
            (*here, "label"),
            "BUTTON_COMPONENT_INVALID_LABEL",
            "A button needs a label or an emoji.",
        )
    needed = {LINK_BUTTON: "url", PREMIUM_BUTTON: "sku_id"}.get(
        style if isinstance(style, int) else 0, "custom_id"
    )
    if button.get(needed) is None:
        yield Problem(
            (*here, needed), "BASE_TYPE_REQUIRED", f"A button of style {style} needs {needed}."
        )
    for key in {"custom_id", "url", "sku_id"} - {needed}:
        if button.get(key) is not None:
            text = f"A button of style {style} cannot have {key}."
            yield Problem((*here, key), "BUTTON_COMPONENT_FIELD_NOT_ALLOWED", text)


def _choice_rules(field: Payload, here: Path, *, modal: bool) -> Iterator[Problem]:
    kind, options = (
        field.get("type"),
        [each for each in field.get("options") or [] if isinstance(each, dict)],
    )
    least, most = field.get("min_values"), field.get("max_values")
    listed = kind in {STRING_SELECT, CHECKBOXES}
    top = most if most is not None else (len(options) if kind == CHECKBOXES else 1)
    if (1 if least is None else least) > top:
        yield Problem(
            (*here, "min_values"),
            "SELECT_COMPONENT_INVALID_MIN_VALUES",
            "min_values is over max_values.",
        )
    if listed and most is not None and most > len(options):
        text = f"max_values is {most}, with {len(options)} options."
        yield Problem((*here, "max_values"), "SELECT_COMPONENT_INVALID_MAX_VALUES", text)
    if modal and field.get("required") is not False and least == 0:
        text = "A required field needs a min_values of 1 or more."
        yield Problem((*here, "min_values"), "SELECT_COMPONENT_REQUIRED_MIN_VALUES", text)
    if modal and field.get("disabled"):
        yield Problem(
            (*here, "disabled"),
            "COMPONENT_DISABLED_IN_MODAL",
            "Nothing in a modal can be disabled.",
        )
    chosen = [each for each in options if each.get("default")] or (
        field.get("default_values") or []
    )
    if len(chosen) > (1 if kind == RADIO else top):
        yield Problem(
            (*here, "options"),
            "SELECT_COMPONENT_TOO_MANY_DEFAULTS",
            "More defaults than may be chosen.",
        )
    yield from _option_rules(options, here)


def _option_rules(options: list[Payload], here: Path) -> Iterator[Problem]:
    seen: set[object] = set()
    for index, option in enumerate(options):
        place = (*here, "options", index)
        if str(option.get("value")) in seen:
            text = "The specified option value is already used"
            yield Problem((*place, "value"), "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", text)
        seen.add(str(option.get("value")))
        if isinstance(option.get("label"), str) and not option["label"].strip():
            yield Problem((*place, "label"), "BASE_TYPE_REQUIRED", "A label must not be blank.")


def _input_rules(field: Payload, here: Path) -> Iterator[Problem]:
    least, most = field.get("min_length") or 0, field.get("max_length")
    if most is not None and least > most:
        text = "min_length is over max_length."
        yield Problem((*here, "min_length"), "TEXT_INPUT_COMPONENT_INVALID_LENGTHS", text)
    if most is not None and utf16_units(field.get("value") or "") > most:
        yield Problem(
            (*here, "value"), "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length."
        )
    if here[-1] == "component" and field.get("label") is not None:
        yield Problem(
            (*here, "label"),
            "TEXT_INPUT_LABEL_IN_LABEL",
            "Inside a Label it cannot have its own label.",
        )
