"""Check whole payloads: by the table in `rules.py`, by rules that no table can express, and by third-party validators.

Owns `check_message` and `check_view`, which the fake server and the renderer's property tests call
alike. An empty list means that Slack would accept the payload.
"""

import json
from collections.abc import Iterator

from tests.fakes.slack import rules, third_party_checks
from tests.fakes.slack.richtext import check_rich_text, rich_text_strings
from tests.fakes.slack.schema import Json, Problem, compare, units


def check_message(payload: Json, *, update: bool = False, foreign: bool = True) -> list[Problem]:
    """Everything that Slack would reject in the arguments of chat.postMessage or chat.update.

    Args:
        payload: the method's arguments; `blocks` and `metadata` as objects, not JSON text.
        update: judge as chat.update, where `text` may have 4,000 characters.
        foreign: also ask slackblocks, blockkit and the SDK's models.
    """
    problems: list[Problem] = []
    text = payload.get("text") or ""
    blocks = payload.get("blocks") or []
    if not isinstance(blocks, list):
        return [Problem("/blocks", "must be an array")]
    if not isinstance(text, str):
        return [Problem("/text", "must be a string")]
    if update and units(text) > rules.UPDATE_TEXT:
        problems.append(Problem("/text", "msg_too_long"))
    problems += check_blocks(blocks, "message", "/blocks", foreign=foreign)
    if problems:
        return problems  # the lengths of malformed blocks cannot be added up
    if sum(units(string) for string in texts_of(blocks)) > rules.BLOCKS_TEXT_SUM:
        problems.append(Problem("/blocks", "msg_blocks_too_long"))
    metadata = payload.get("metadata")
    if metadata is not None:
        problems += compare(metadata, rules.METADATA, "/metadata", "message")
        if len(json.dumps(metadata)) > rules.METADATA_BYTES:
            problems.append(Problem("/metadata", "metadata_too_large"))
    return problems


def check_view(view: Json, *, foreign: bool = True) -> list[Problem]:
    """Everything that Slack would reject in a modal view, or in the view of a Home."""
    is_home = view.get("type") == "home"
    spec, surface = (rules.HOME_VIEW, "home") if is_home else (rules.VIEW, "modal")
    problems = list(compare(view, spec, "/view", surface))
    blocks = view.get("blocks")
    if not isinstance(blocks, list):
        return problems
    if len(json.dumps(view).encode()) > rules.VIEW_BYTES:
        problems.append(Problem("/view", "view_too_large"))
    problems += _across(blocks, "/view/blocks")
    has_input = any(isinstance(block, dict) and block.get("type") == "input" for block in blocks)
    if has_input and "submit" not in view and not is_home:
        problems.append(Problem("/view", "missing required field: submit"))
    focused = [element for element in elements_of(blocks) if element.get("focus_on_load") is True]
    if len(focused) > 1:
        problems.append(Problem("/view/blocks", "only one element can have focus_on_load"))
    if foreign and not problems:
        problems += third_party_checks.judge_view(view)
    return problems


def check_blocks(
    blocks: list[Json], surface: str, pointer: str, *, foreign: bool = True
) -> list[Problem]:
    """Everything that Slack would reject in a list of blocks on a surface."""
    if not blocks:
        return []
    problems = list(compare(blocks, rules.MESSAGE_BLOCKS, pointer, surface))
    problems += _across(blocks, pointer)
    if foreign and not problems:
        problems += third_party_checks.judge_message(blocks, pointer)
    return problems


def elements_of(blocks: list[Json]) -> Iterator[Json]:
    """Every interactive element of the blocks, in document order."""
    for _, block in _objects(blocks):
        for _, element in _elements(block):
            yield element


def texts_of(value: object) -> Iterator[str]:
    """Every string that a person reads in blocks: the texts of text objects and of rich text."""
    if isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict):
        if value.get("type") == "rich_text":
            yield from rich_text_strings(value)
            return
        for key, item in value.items():
            if key == "text" and isinstance(item, str):
                yield item
            elif isinstance(item, (dict, list)):
                yield from texts_of(item)


def _objects(items: object) -> Iterator[tuple[int, Json]]:
    for index, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(item, dict):
            yield index, item


def _elements(block: Json) -> Iterator[tuple[str, Json]]:
    if block.get("type") == "actions" and isinstance(block.get("elements"), list):
        for index, element in _objects(block["elements"]):
            yield f"elements/{index}", element
    for key in ("accessory", "element"):
        single = block.get(key)
        if isinstance(single, dict) and single.get("type") != "image":
            yield key, single


def _across(blocks: list[Json], pointer: str) -> Iterator[Problem]:
    """Check the relations between the parts: uniqueness, and values that must agree."""
    seen: set[str] = set()
    markdown = 0
    for index, block in _objects(blocks):
        here = f"{pointer}/{index}"
        block_id = block.get("block_id")
        if isinstance(block_id, str):
            if block_id in seen:
                yield Problem(f"{here}/block_id", "Block ID needs to be unique")
            seen.add(block_id)
        kind = block.get("type")
        if kind == "section" and not (block.get("text") or block.get("fields")):
            yield Problem(here, "missing required field: text or fields")
        if kind == "markdown":
            markdown += units(str(block.get("text", "")))
        if kind == "rich_text":
            yield from check_rich_text(block, here)
        if kind == "container" and isinstance(block.get("child_blocks"), list):
            inner = f"{here}/child_blocks"
            yield from compare(block["child_blocks"], rules.CONTAINER_CHILDREN, inner, "message")
            yield from _across(block["child_blocks"], inner)
            if block.get("default_collapsed") and not block.get("is_collapsible"):
                yield Problem(here, "default_collapsed requires is_collapsible")
        yield from _block_elements(block, here)
    if markdown > rules.MARKDOWN_TEXT:
        yield Problem(pointer, f"markdown blocks may have {rules.MARKDOWN_TEXT} characters in all")


def _block_elements(block: Json, here: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for where, element in _elements(block):
        action_id = element.get("action_id")
        if isinstance(action_id, str):
            if action_id in seen:
                yield Problem(f"{here}/{where}/action_id", "action_id must be unique in its block")
            seen.add(action_id)
        if element.get("type") == "file_input" and block.get("dispatch_action"):
            yield Problem(here, "file_input cannot dispatch actions")
        yield from _options(element, f"{here}/{where}")
        yield from _bounds(element, f"{here}/{where}")


def options_of(element: Json) -> list[Json]:
    """The options of a select, radio, checkbox or overflow element, with groups flattened."""
    options = [option for _, option in _objects(element.get("options"))]
    for _, group in _objects(element.get("option_groups")):
        options += [option for _, option in _objects(group.get("options"))]
    return options


def _options(element: Json, here: str) -> Iterator[Problem]:
    if not ("options" in element or "option_groups" in element):
        return
    options = options_of(element)
    values = [option.get("value") for option in options]
    if len(set(map(str, values))) != len(values):
        yield Problem(f"{here}/options", "option values must be unique")
    initial = element.get("initial_options", [])
    if "initial_option" in element:
        initial = [element["initial_option"]]
    for option in initial if isinstance(initial, list) else []:
        if option not in options:
            yield Problem(here, "initial option must be exactly one of the options")
    most = element.get("max_selected_items")
    if isinstance(most, int) and isinstance(initial, list) and len(initial) > most:
        yield Problem(f"{here}/initial_options", "more initial options than max_selected_items")


def _bounds(element: Json, here: str) -> Iterator[Problem]:
    low, high = element.get("min_length"), element.get("max_length")
    if isinstance(low, int) and isinstance(high, int) and low > high:
        yield Problem(f"{here}/min_length", "min_length must not exceed max_length")
    initial = element.get("initial_value")
    if isinstance(high, int) and isinstance(initial, str) and units(initial) > high:
        yield Problem(f"{here}/initial_value", f"must be less than {high + 1} characters")
    if element.get("type") == "number_input":
        yield from _numbers(element, here)


def _numbers(element: Json, here: str) -> Iterator[Problem]:
    numbers: dict[str, float] = {}
    for key in ("min_value", "initial_value", "max_value"):
        if key not in element:
            continue
        try:
            numbers[key] = float(str(element[key]))
        except ValueError:
            yield Problem(f"{here}/{key}", "must be a number as a string")
    ordered = list(numbers.values())
    if ordered != sorted(ordered):
        yield Problem(here, "must hold: min_value, initial_value, max_value in rising order")
    if element.get("is_decimal_allowed") is False:
        for key, number in numbers.items():
            if number != int(number):
                yield Problem(f"{here}/{key}", "decimals are not allowed")
