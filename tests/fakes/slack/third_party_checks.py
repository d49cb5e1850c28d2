"""Three third-party validators ("judges") of Block Kit: slackblocks, blockkit and slack-sdk's models.

Owns the mapping of JSON blocks to their constructors. What a judge cannot express (a block type or
a newer key it does not know) is left to the others; what it refuses is a `Problem` with its name.
"""

import json
import re
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import blockkit
import slackblocks
from blockkit.core import ComponentValidationError, FieldValidationError
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block as SdkBlock
from slack_sdk.models.views import View as SdkView

from tests.fakes.slack.schema import Json, Problem

Build = Callable[..., Any]  # a foreign constructor, chosen by the block's type at run time

_NAMES = {
    "section": ("SectionBlock", "Section"), "header": ("HeaderBlock", "Header"),
    "context": ("ContextBlock", "Context"), "actions": ("ActionsBlock", "Actions"),
    "input": ("InputBlock", "Input"), "divider": ("DividerBlock", "Divider"),
    "markdown": ("MarkdownBlock", "Markdown"), "alert": ("AlertBlock", None),
    "button": ("Button", "Button"), "static_select": ("StaticSelectMenu", "StaticSelect"),
    "multi_static_select": ("StaticMultiSelectMenu", "MultiStaticSelect"),
    "external_select": ("ExternalSelectMenu", "ExternalSelect"),
    "multi_external_select": ("ExternalMultiSelectMenu", "MultiExternalSelect"),
    "radio_buttons": ("RadioButtonGroup", "RadioButtons"),
    "checkboxes": ("CheckboxGroup", "Checkboxes"), "overflow": ("OverflowMenu", "Overflow"),
    "datepicker": ("DatePicker", "DatePicker"), "timepicker": ("TimePicker", "TimePicker"),
    "datetimepicker": ("DateTimePicker", "DatetimePicker"),
    "plain_text_input": ("PlainTextInput", "PlainTextInput"),
    "number_input": ("NumberInput", "NumberInput"), "email_text_input": ("EmailInput", "EmailInput"),
    "url_text_input": ("URLInput", "UrlInput"), "file_input": ("FileInput", "FileInput"),
}  # fmt: skip
_PASSING = re.compile(r"ask_[0-9a-f]{24}|(?<=!date\^)\d{10}(?=\^)|(?<=\bU0ADA|\bU0BOB)\d+")
"""Ids and times that are others in each test, and that no judge looks into."""
_WORD = {"type": "plain_text", "text": "x"}
_UNKNOWN_KEYS = {"expand"}  # newer than the judges
_RENAMED = {"initial_date_time": "initial_datetime"}  # slackblocks' own name
_REFUSALS = (
    slackblocks.errors.InvalidUsageError, FieldValidationError, ComponentValidationError,
    SlackObjectFormationError, ValueError, TypeError,
)  # fmt: skip


class _NotJudged(Exception):  # noqa: N818 - not an error: this judge has no word for the block
    pass


def judge_message(blocks: list[Json], pointer: str = "/blocks") -> list[Problem]:
    """Return the problems that the judges find in the blocks of a message."""
    problems = [p for i, block in enumerate(blocks) for p in _judge_block(block, f"{pointer}/{i}")]
    return problems or _problems(_message_verdicts(_alike(blocks)), pointer)


def judge_view(view: Json) -> list[Problem]:
    """Return the problems that the judges find in a modal view, or in the view of a Home."""
    problems = [
        p for i, b in enumerate(view["blocks"]) for p in _judge_block(b, f"/view/blocks/{i}")
    ]
    found = _view_verdicts(_alike(view), alone=not problems)
    return problems + _problems(found, "/view")


def _alike(sent: Json | list[Json]) -> str:
    """The JSON of what is sent, the same for the same ask of another test: the judges would say the same.

    What stands for an id or a time is as long, and different for each.
    """
    seen: dict[str, str] = {}

    def stand_in(found: re.Match[str]) -> str:
        was = found[0]
        start = "ask_" if was.startswith("ask_") else ""
        return seen.setdefault(was, start + str(len(seen)).zfill(len(was) - len(start)))

    return _PASSING.sub(stand_in, json.dumps(sent, sort_keys=True))


_Verdicts = tuple[tuple[str, str], ...]
"""Of each judge that refuses, its name and its words."""


def _problems(verdicts: _Verdicts, pointer: str) -> list[Problem]:
    return [Problem(pointer, text, judge) for judge, text in verdicts]


def _judge_block(block: Json, pointer: str) -> list[Problem]:
    return _problems(_verdicts(_alike(block)), pointer)


@lru_cache(maxsize=2048)  # apps send the same blocks repeatedly, and the judges are slow
def _verdicts(block_json: str) -> _Verdicts:
    block = json.loads(block_json)
    return (
        *_attempt("slackblocks", lambda: _slackblocks(block)),
        *_attempt("blockkit", lambda: _finish(_blockkit(block))),
        *_attempt("slack_sdk", lambda: _sdk(block)),
    )


@lru_cache(maxsize=1024)
def _message_verdicts(blocks_json: str) -> _Verdicts:
    blocks = json.loads(blocks_json)

    def slackblocks_message() -> None:
        slackblocks.Message(channel="C0", blocks=[_stand_in(_slackblocks, b) for b in blocks])

    def blockkit_message() -> None:
        _finish(blockkit.Message(blocks=[_stand_in(_blockkit, b) for b in blocks]))

    return (*_attempt("slackblocks", slackblocks_message), *_attempt("blockkit", blockkit_message))


@lru_cache(maxsize=1024)
def _view_verdicts(view_json: str, *, alone: bool) -> _Verdicts:
    """Return slack-sdk's verdicts on a view or, if it has none and only the view can be wrong, those of the others."""
    view = json.loads(view_json)
    # Slack takes an empty private_metadata or callback_id; blockkit does not
    rest = {k: v for k, v in view.items() if k not in ("type", "blocks") and v != ""}
    verdicts = _attempt("slack_sdk", lambda: SdkView(**view).to_dict())
    if verdicts or not alone:
        return verdicts
    theirs: tuple[Build, Build] = (slackblocks.ModalView, blockkit.Modal)
    if view["type"] == "home":
        theirs = (slackblocks.HomeTabView, blockkit.Home)
    return (
        *_attempt("slackblocks", lambda: _view(theirs[0], _slackblocks, view, rest)),
        *_attempt("blockkit", lambda: _finish(_view(theirs[1], _blockkit, view, rest))),
    )


def _view(made: Build, build: Build, view: Json, rest: Json) -> Any:
    texts = {key: build(v) if isinstance(v, dict) else v for key, v in rest.items()}
    return made(blocks=[_stand_in(build, block) for block in view["blocks"]], **texts)


def _stand_in(build: Build, block: Json) -> Any:
    """The judge's own block, or a divider in place of a block that it does not know.

    Of an actions block one element is enough: each block was judged by itself before.
    """
    if block.get("type") == "actions":
        block = block | {"elements": [{"type": "button", "text": _WORD, "action_id": "a"}]}
    try:
        return build(block)
    except _NotJudged:
        return build({"type": "divider"})


def _finish(built: Any) -> object:
    return built.build() if hasattr(built, "build") else built


def _attempt(judge: str, build: Callable[[], object]) -> _Verdicts:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            build()
    except _NotJudged:
        return ()
    except _REFUSALS as error:
        return ((judge, f"{judge}: {error}"),)
    return ()


def _sdk(block: Json) -> None:
    for parsed in SdkBlock.parse_all([block]):
        parsed.to_dict()


def _arguments(thing: Json, build: Callable[[Any], Any]) -> dict[str, Any]:
    built: dict[str, Any] = {}
    if thing.get("type") in ("rich_text", "table", "container"):
        raise _NotJudged
    for key, value in thing.items():
        if key == "type" or key in _UNKNOWN_KEYS:
            continue
        # both builders want a whole group as the initial choice; Slack wants an option
        if "option_groups" in thing and key.startswith("initial_option"):
            continue
        if isinstance(value, dict):
            built[key] = build(value)
        elif isinstance(value, list):
            built[key] = [build(item) if isinstance(item, dict) else item for item in value]
        else:
            built[key] = value
    return built


def _class_of(thing: Json, place: int) -> str:
    names = _NAMES.get(thing.get("type", ""))
    name = names[place] if names else None
    if name is None or "agent_prompt" in thing or "visible_to_user_ids" in thing:
        raise _NotJudged
    return name


def _composition(thing: Json) -> str:
    if "trigger_actions_on" in thing:
        return "dispatch"
    if "deny" in thing:
        return "confirm"
    return "group" if "label" in thing and "type" not in thing else "option"


def _with_address(thing: Json) -> Json:
    """A picture by an address, as the judges know none by its file (https://github.com/imryche/blockkit/issues/115)."""
    if "slack_file" not in thing:
        return thing
    rest = {key: value for key, value in thing.items() if key != "slack_file"}
    return {**rest, "image_url": "https://files.slack.com/picture.png"}


def _slackblocks(thing: Json) -> Any:
    thing = _with_address(thing)
    arguments = _arguments(thing, _slackblocks)
    kind = thing.get("type")
    if kind in ("plain_text", "mrkdwn"):
        return slackblocks.Text(
            thing["text"], type_=slackblocks.TextType(kind), verbatim=thing.get("verbatim", False)
        )
    if kind == "image":
        made = slackblocks.ImageBlock if "title" in thing else slackblocks.Image
        return made(**arguments)
    if kind == "static_select" or kind == "multi_static_select":
        arguments.setdefault("options", None)
    if kind is None:
        builders: dict[str, Build] = {
            "confirm": slackblocks.ConfirmationDialogue, "group": slackblocks.OptionGroup,
            "option": slackblocks.Option, "dispatch": slackblocks.DispatchActionConfiguration,
        }  # fmt: skip
        return builders[_composition(thing)](**arguments)
    renamed = {_RENAMED.get(key, key): value for key, value in arguments.items()}
    if kind in ("radio_buttons", "checkboxes", "overflow", "multi_static_select"):
        renamed.setdefault("action_id", None)
    return getattr(slackblocks, _class_of(thing, 0))(**renamed)


def _blockkit(thing: Json) -> Any:
    thing = _with_address(thing)
    arguments = _arguments(thing, _blockkit)
    if arguments.get("min_query_length") == 0:
        del arguments["min_query_length"]  # Slack takes 0: the list is asked for on opening
    kind = thing.get("type")
    if kind in ("plain_text", "mrkdwn"):
        return blockkit.Text(**arguments, type=kind)
    if kind == "image":
        return (blockkit.Image if "title" in thing else blockkit.ImageEl)(**arguments)
    if kind is None:
        builders: dict[str, Build] = {
            "confirm": blockkit.Confirm, "group": blockkit.OptionGroup,
            "option": blockkit.Option, "dispatch": blockkit.DispatchActionConfig,
        }  # fmt: skip
        return builders[_composition(thing)](**arguments)
    if kind == "number_input":
        for key in ("initial_value", "min_value", "max_value"):
            if key in arguments:
                number = float(arguments[key])
                arguments[key] = int(number) if number.is_integer() else number
    return getattr(blockkit, _class_of(thing, 1))(**arguments)
