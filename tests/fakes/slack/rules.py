"""The fake's own table of Slack's published limits: no constant here comes from the adapter.

Owns the limits of blocks, elements, composition objects, views and the Web API's numbers, so that a
wrong constant in the product fails a test. Sources are the pages of
https://docs.slack.dev/reference/block-kit/ (`blocks/<name>-block`, `block-elements/<name>-element`,
`composition-objects/…`) and https://docs.slack.dev/reference/methods/. Where the documents disagree
or are silent, the strictest reading is taken and said so beside the number.
"""

from typing import Final

from tests.fakes.slack.schema import AnyJson, Bool, Const, Int, ListOf, Obj, OneOf, Spec, Str, Text

MESSAGE: Final = frozenset({"message"})
MODAL: Final = frozenset({"modal"})
HOME: Final = frozenset({"home"})
EVERYWHERE: Final = MESSAGE | MODAL | HOME

# https://docs.slack.dev/reference/block-kit/blocks
BLOCKS_PER_MESSAGE: Final = 50
BLOCKS_PER_MODAL: Final = 100
# https://docs.slack.dev/reference/methods/views.open
VIEW_BYTES: Final = 250_000
VIEW_STACK: Final = 3
# https://docs.slack.dev/surfaces/modals
VIEW_TITLE: Final = 24
# https://docs.slack.dev/reference/methods/chat.update, chat.postMessage
UPDATE_TEXT: Final = 4_000
POST_TEXT_TRUNCATED: Final = 40_000
POST_TEXT_SPLIT: Final = 4_040
SPLIT_SIZE: Final = 4_000
MARKDOWN_TEXT: Final = 12_000
# Not documented; seen at about 13,200 characters: https://github.com/slackapi/bolt-js/issues/2509
BLOCKS_TEXT_SUM: Final = 13_000
# Not documented as a number by Slack; a guard far below what a message could carry.
METADATA_BYTES: Final = 16_000
# https://docs.slack.dev/interactivity/handling-user-interaction
TRIGGER_SECONDS: Final = 3.0
ACK_SECONDS: Final = 3.0
RESPONSE_URL_USES: Final = 5
RESPONSE_URL_SECONDS: Final = 1_800.0
# https://docs.slack.dev/apis/events-api/using-socket-mode
SOCKET_CONNECTIONS: Final = 10

# Calls a minute, by https://docs.slack.dev/apis/web-api/rate-limits
PER_MINUTE: Final = {
    "chat.update": 50, "chat.delete": 50, "chat.postEphemeral": 100,
    "views.open": 100, "views.update": 100, "views.push": 100, "views.publish": 100,
    "agents.sessions.setStatus": 50,
    "conversations.open": 50, "conversations.replies": 50, "conversations.history": 50,
    "conversations.info": 50, "conversations.members": 100, "users.info": 100,
    "usergroups.list": 20, "usergroups.users.list": 20, "reactions.add": 50,
    "auth.test": 600, "apps.connections.open": 20,
}  # fmt: skip
POST_PER_CHANNEL_SECOND: Final = 1  # with bursts allowed
POST_BURST: Final = 5

PLAIN: Final = ("plain_text",)
ANY_TEXT: Final = ("plain_text", "mrkdwn")
_ACTION_ID: Final = Str(255)
_BLOCK_ID: Final = Str(255)
_STYLE: Final = Str(one_of=("primary", "danger"))
_PLACEHOLDER: Final = Text(150)

CONFIRM: Final = Obj(
    {"title": Text(100), "text": Text(300, ANY_TEXT), "confirm": Text(30), "deny": Text(30),
     "style": _STYLE},
    required=("title", "text", "confirm", "deny"),
)  # fmt: skip


def _option(kinds: tuple[str, ...], *, url: bool = False) -> Obj:
    # value: the option page says 150, @slack/types and a live report say 75
    keys: dict[str, Spec] = {"text": Text(75, kinds), "value": Str(75), "description": Text(75)}
    if kinds != PLAIN:
        keys["description"] = Text(75, kinds)
    if url:
        keys["url"] = Str(3000)
    return Obj(keys, required=("text", "value"))


OPTION: Final = _option(PLAIN)
RICH_OPTION: Final = _option(ANY_TEXT)
GROUP: Final = Obj(
    {"label": Text(75), "options": ListOf(OPTION, 1, 100)}, required=("label", "options")
)
DISPATCH: Final = Obj(
    {"trigger_actions_on": ListOf(
        Str(one_of=("on_enter_pressed", "on_character_entered")), 1, 2)}
)  # fmt: skip


def _element(
    kind: str,
    keys: dict[str, Spec],
    *,
    required: tuple[str, ...] = (),
    exactly_one: tuple[str, ...] = (),
    surfaces: frozenset[str] = EVERYWHERE,
) -> Obj:
    every: dict[str, Spec] = {"type": Const(kind), "action_id": _ACTION_ID}
    return Obj(every | keys, required, exactly_one, surfaces)


def _menu(kind: str, own: dict[str, Spec], *, multi: bool) -> Obj:
    keys = own | {"placeholder": _PLACEHOLDER, "confirm": CONFIRM, "focus_on_load": Bool()}
    if multi:
        keys["max_selected_items"] = Int(1, 1_000_000)
    static = "static" in kind
    return _element(kind, keys, exactly_one=("options", "option_groups") if static else ())


_OPTIONS: Final[dict[str, Spec]] = {
    "options": ListOf(OPTION, 1, 100),
    "option_groups": ListOf(GROUP, 1, 100),
}
_EXTERNAL: Final[dict[str, Spec]] = {"min_query_length": Int(0, 1_000_000)}
_ENTRY: Final[dict[str, Spec]] = {
    "placeholder": _PLACEHOLDER, "focus_on_load": Bool(), "dispatch_action_config": DISPATCH,
}  # fmt: skip
_ID: Final = Str(255)

ELEMENTS: Final[dict[str, Obj]] = {
    "button": _element(
        "button",
        {"text": Text(75), "value": Str(2000), "url": Str(3000), "style": _STYLE,
         "confirm": CONFIRM, "accessibility_label": Str(75)},
        required=("text",),
    ),
    "static_select": _menu(
        "static_select", _OPTIONS | {"initial_option": OPTION}, multi=False),
    "multi_static_select": _menu(
        "multi_static_select", _OPTIONS | {"initial_options": ListOf(OPTION, 1, 100)}, multi=True),
    "external_select": _menu(
        "external_select", _EXTERNAL | {"initial_option": OPTION}, multi=False),
    "multi_external_select": _menu(
        "multi_external_select", _EXTERNAL | {"initial_options": ListOf(OPTION, 1, 100)},
        multi=True),
    "users_select": _menu("users_select", {"initial_user": _ID}, multi=False),
    "multi_users_select": _menu(
        "multi_users_select", {"initial_users": ListOf(_ID, 1, 100)}, multi=True),
    "radio_buttons": _element(
        "radio_buttons",
        {"options": ListOf(RICH_OPTION, 1, 10), "initial_option": RICH_OPTION,
         "confirm": CONFIRM, "focus_on_load": Bool()},
        required=("options",),
    ),
    "checkboxes": _element(
        "checkboxes",
        {"options": ListOf(RICH_OPTION, 1, 10), "initial_options": ListOf(RICH_OPTION, 1, 10),
         "confirm": CONFIRM, "focus_on_load": Bool()},
        required=("options",),
    ),
    "overflow": _element(
        "overflow",
        {"options": ListOf(_option(PLAIN, url=True), 1, 5), "confirm": CONFIRM},
        required=("options",),
    ),
    "datepicker": _element(
        "datepicker",
        {"initial_date": Str(10, pattern=r"\d{4}-\d{2}-\d{2}"), "placeholder": _PLACEHOLDER,
         "confirm": CONFIRM, "focus_on_load": Bool()},
    ),
    "timepicker": _element(
        "timepicker",
        {"initial_time": Str(5, pattern=r"\d{2}:\d{2}"), "placeholder": _PLACEHOLDER,
         "confirm": CONFIRM, "focus_on_load": Bool(), "timezone": Str(100)},
        surfaces=MODAL,  # in messages: unconfirmed, so rejected
    ),
    "datetimepicker": _element(
        "datetimepicker",
        {"initial_date_time": Int(1_000_000_000, 9_999_999_999), "confirm": CONFIRM,
         "focus_on_load": Bool()},
        surfaces=MESSAGE | MODAL,
    ),
    "plain_text_input": _element(
        "plain_text_input",
        _ENTRY | {"initial_value": Str(3000), "multiline": Bool(), "min_length": Int(0, 3000),
                  "max_length": Int(1, 3000)},
    ),
    "number_input": _element(
        "number_input",
        _ENTRY | {"is_decimal_allowed": Bool(), "initial_value": Str(100), "min_value": Str(100),
                  "max_value": Str(100)},
        required=("is_decimal_allowed",),
        surfaces=MODAL,
    ),
    "email_text_input": _element(
        "email_text_input", _ENTRY | {"initial_value": Str(3000)}, surfaces=MODAL),
    "url_text_input": _element(
        "url_text_input", _ENTRY | {"initial_value": Str(3000)}, surfaces=MODAL),
    "file_input": _element(
        "file_input", {"filetypes": ListOf(Str(20), 1, 100), "max_files": Int(1, 10)},
        surfaces=MODAL),
    "rich_text_input": _element(
        "rich_text_input", _ENTRY | {"initial_value": AnyJson()}, required=("action_id",),
        surfaces=MODAL),
    "image": Obj(
        {"type": Const("image"), "image_url": Str(3000), "alt_text": Str(2000),
         "slack_file": AnyJson()},
        required=("alt_text",), exactly_one=("image_url", "slack_file"),
    ),
    "mrkdwn": Obj({"type": Const("mrkdwn"), "text": Str(3000), "verbatim": Bool()}, ("text",)),
    "plain_text": Obj({"type": Const("plain_text"), "text": Str(3000), "emoji": Bool()}, ("text",)),
}  # fmt: skip

_MENUS: Final = tuple(name for name in ELEMENTS if name.endswith("select"))
_PICKERS: Final = ("datepicker", "timepicker")
IN_ACTIONS: Final = (
    "button", "overflow", "radio_buttons", "checkboxes", "datetimepicker", *_MENUS, *_PICKERS)  # fmt: skip
IN_SECTION: Final = (
    "button", "overflow", "radio_buttons", "checkboxes", "image", *_MENUS, *_PICKERS)  # fmt: skip
IN_INPUT: Final = (
    "radio_buttons", "checkboxes", "datetimepicker", "plain_text_input", "number_input",
    "email_text_input", "url_text_input", "file_input", "rich_text_input", *_MENUS, *_PICKERS)  # fmt: skip


def _block(
    kind: str,
    keys: dict[str, Spec],
    *,
    required: tuple[str, ...] = (),
    surfaces: frozenset[str] = EVERYWHERE,
    exactly_one: tuple[str, ...] = (),
) -> Obj:
    every: dict[str, Spec] = {"type": Const(kind), "block_id": _BLOCK_ID}
    return Obj(every | keys, required, exactly_one, surfaces)


BLOCKS: Final[dict[str, Obj]] = {
    "section": _block(
        "section",
        {"text": Text(3000, ANY_TEXT), "fields": ListOf(Text(2000, ANY_TEXT), 1, 10),
         "accessory": OneOf(ELEMENTS, IN_SECTION), "expand": Bool()},
    ),
    "header": _block("header", {"text": Text(150), "level": Int(1, 4)}, required=("text",)),
    "context": _block(
        "context",
        {"elements": ListOf(OneOf(ELEMENTS, ("image", "mrkdwn", "plain_text")), 1, 10)},
        required=("elements",),
    ),
    "actions": _block(
        "actions", {"elements": ListOf(OneOf(ELEMENTS, IN_ACTIONS), 1, 25)},
        required=("elements",),
    ),
    "input": _block(
        "input",
        {"label": Text(2000), "hint": Text(2000), "element": OneOf(ELEMENTS, IN_INPUT),
         "optional": Bool(), "dispatch_action": Bool()},
        required=("label", "element"),
    ),
    "divider": _block("divider", {}),
    "image": _block(
        "image",
        {"image_url": Str(3000), "alt_text": Str(2000), "title": Text(2000),
         "slack_file": AnyJson()},
        required=("alt_text",), exactly_one=("image_url", "slack_file"),
    ),
    "markdown": _block(
        "markdown", {"text": Str(12_000)}, required=("text",), surfaces=MESSAGE),
    "rich_text": _block("rich_text", {"elements": AnyJson()}, required=("elements",)),
    # one of title and rich_text_title; an app that sends plain titles only is judged
    "container": _block(
        "container",
        {"title": Text(150), "subtitle": Text(150, ANY_TEXT), "child_blocks": AnyJson(),
         "width": Str(one_of=("narrow", "standard", "wide", "full")), "is_collapsible": Bool(),
         "default_collapsed": Bool(), "has_header_divider": Bool()},
        required=("title", "child_blocks"), surfaces=MESSAGE | HOME,
    ),
    "alert": _block(
        "alert",
        {"text": Text(200, ANY_TEXT),
         "level": Str(one_of=("default", "info", "warning", "error", "success"))},
        required=("text",), surfaces=MODAL,
    ),
    "table": _block(
        "table",
        {"rows": ListOf(ListOf(AnyJson(), 1, 20), 1, 100), "column_settings": AnyJson()},
        required=("rows",), surfaces=MESSAGE | HOME,
    ),
}  # fmt: skip

# https://docs.slack.dev/reference/block-kit/blocks/container-block names eleven kinds; these are also what the live
# validator was seen to take, by the notes of https://docs.rs/slack-morphism/2.31.0
IN_CONTAINER: Final = ("actions", "context", "divider", "header", "image", "section", "table")
CONTAINER_CHILDREN: Final = ListOf(OneOf(BLOCKS, IN_CONTAINER), 1, 10)

VIEW: Final = Obj(
    {"type": Const("modal"), "title": Text(VIEW_TITLE), "submit": Text(VIEW_TITLE),
     "close": Text(VIEW_TITLE), "private_metadata": Str(3000, 0), "callback_id": Str(255, 0),
     "external_id": Str(255, 0), "clear_on_close": Bool(), "notify_on_close": Bool(),
     "submit_disabled": Bool(),
     "blocks": ListOf(OneOf(BLOCKS, tuple(BLOCKS)), 1, BLOCKS_PER_MODAL)},
    required=("type", "title", "blocks"),
)  # fmt: skip
HOME_VIEW: Final = Obj(
    {"type": Const("home"), "private_metadata": Str(3000, 0), "callback_id": Str(255, 0),
     "external_id": Str(255, 0),
     "blocks": ListOf(OneOf(BLOCKS, tuple(BLOCKS)), 1, BLOCKS_PER_MODAL)},
    required=("type", "blocks"),
)  # fmt: skip
MESSAGE_BLOCKS: Final = ListOf(OneOf(BLOCKS, tuple(BLOCKS)), 1, BLOCKS_PER_MESSAGE)
METADATA: Final = Obj(
    {"event_type": Str(255), "event_payload": AnyJson()}, required=("event_type", "event_payload")
)
