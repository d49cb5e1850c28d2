"""The fake's payload checks: a value at its limit is accepted, and one past it is rejected with a pointer."""

import pytest

from tests.fakes.slack import third_party_checks
from tests.fakes.slack.checks import check_message, check_view
from tests.fakes.slack.schema import Json, Problem
from tests.unit.fakes.slack_blocks import actions, button, entry, modal, option, plain, section

CONFIRM: Json = {
    "title": plain("t"), "text": plain("x"), "confirm": plain("y"), "deny": plain("n"),
}  # fmt: skip


def select(count: int, **more: object) -> Json:
    options = [option(f"o{n}", str(n)) for n in range(count)]
    return {"type": "static_select", "action_id": "s", "options": options} | more


def radios(count: int) -> Json:
    return select(count) | {"type": "radio_buttons"}


def pointers(blocks: list[Json]) -> list[str]:
    return [problem.pointer for problem in check_message({"text": "t", "blocks": blocks})]


GOOD_MESSAGES = {
    "button text of 75": [actions(button("x" * 75))],
    "25 elements": [actions(*(button("x", f"a{n}") for n in range(25)))],
    "section of 3000": [section("x" * 3000)],
    "50 blocks": [{"type": "divider"} for _ in range(50)],
    "100 options": [actions(select(100))],
    "10 radios": [actions(radios(10))],
    "initial option": [actions(select(3, initial_option=option("o2", "2")))],
    "option groups with an initial option": [
        actions({
            "type": "static_select", "action_id": "s",
            "option_groups": [{"label": plain("g"), "options": [option("a", "1")]}],
            "initial_option": option("a", "1"),
        })
    ],
    "confirm": [actions(button("x", style="danger", confirm=CONFIRM))],
    "input in a message": [entry("Why", multiline=True, max_length=3000)],
    "external select": [actions({"type": "external_select", "action_id": "e",
                                 "min_query_length": 0})],
    "expand and verbatim": [
        {"type": "section", "expand": True,
         "text": {"type": "mrkdwn", "text": "x", "verbatim": True}}
    ],
    "rich text": [
        {"type": "rich_text", "elements": [
            {"type": "rich_text_section", "elements": [{"type": "text", "text": "x"}]}]}
    ],
    "no blocks at all": [],
}  # fmt: skip
BAD_MESSAGES: dict[str, tuple[list[Json], str]] = {
    "button text of 76": ([actions(button("x" * 76))], "/blocks/0/elements/0/text/text"),
    "76 units in 38 emoji": ([actions(button("😀" * 38))], "/blocks/0/elements/0/text/text"),
    "empty button text": ([actions(button(""))], "/blocks/0/elements/0/text/text"),
    "26 elements": (
        [actions(*(button("x", f"a{n}") for n in range(26)))], "/blocks/0/elements"),
    "section of 3001": ([section("x" * 3001)], "/blocks/0/text/text"),
    "header of 151": ([{"type": "header", "text": plain("x" * 151)}], "/blocks/0/text/text"),
    "51 blocks": ([{"type": "divider"} for _ in range(51)], "/blocks"),
    "101 options": ([actions(select(101))], "/blocks/0/elements/0/options"),
    "11 radios": ([actions(radios(11))], "/blocks/0/elements/0/options"),
    "option label of 76": (
        [actions(select(1, options=[option("x" * 76, "v")]))],
        "/blocks/0/elements/0/options/0/text/text"),
    "option value of 76": (
        [actions(select(1, options=[option("x", "v" * 76)]))],
        "/blocks/0/elements/0/options/0/value"),
    "doubled option value": (
        [actions(select(1, options=[option("a", "v"), option("b", "v")]))],
        "/blocks/0/elements/0/options"),
    "foreign initial option": (
        [actions(select(2, initial_option=option("o1 ", "1")))], "/blocks/0/elements/0"),
    "doubled action_id": (
        [actions(button("a"), button("b"))], "/blocks/0/elements/1/action_id"),
    "doubled block_id": (
        [section("a", block_id="b"), section("b", block_id="b")], "/blocks/1/block_id"),
    "empty block_id": ([section("a", block_id="")], "/blocks/0/block_id"),
    "unknown key": ([actions(button("a", disabled=True))], "/blocks/0/elements/0"),
    "unknown style": ([actions(button("a", style="default"))], "/blocks/0/elements/0/style"),
    "button text as mrkdwn": (
        [actions(button("a", text={"type": "mrkdwn", "text": "a"}))],
        "/blocks/0/elements/0/text/type"),
    "confirm text of 301": (
        [actions(button("a", confirm=CONFIRM | {"text": plain("x" * 301)}))],
        "/blocks/0/elements/0/confirm/text/text"),
    "number input in a message": (
        [entry("n", "number_input", is_decimal_allowed=True)], "/blocks/0/element/type"),
    "email input in a message": ([entry("n", "email_text_input")], "/blocks/0/element/type"),
    "text input in an actions block": (
        [actions({"type": "plain_text_input", "action_id": "x"})], "/blocks/0/elements/0/type"),
    "section without text": ([{"type": "section"}], "/blocks/0"),
    "unknown block": ([{"type": "poll"}], "/blocks/0/type"),
    "alert in a message": ([{"type": "alert", "text": plain("x")}], "/blocks/0/type"),
    "emoji flag on mrkdwn": (
        [{"type": "section", "text": {"type": "mrkdwn", "text": "x", "emoji": True}}],
        "/blocks/0/text"),
    "empty rich text run": (
        [{"type": "rich_text", "elements": [
            {"type": "rich_text_section", "elements": [{"type": "text", "text": ""}]}]}],
        "/blocks/0/elements/0/elements/0/text"),
    "a folded header of 151": (
        [{"type": "container", "title": plain("t"),
          "child_blocks": [{"type": "header", "text": plain("x" * 151)}]}],
        "/blocks/0/child_blocks/0/text/text"),
    "an input that is folded": (
        [{"type": "container", "title": plain("t"), "child_blocks": [entry("a")]}],
        "/blocks/0/child_blocks/0/type"),
    "11 folded blocks": (
        [{"type": "container", "title": plain("t"), "child_blocks": [{"type": "divider"}] * 11}],
        "/blocks/0/child_blocks"),
    "13,001 characters in all": ([section("x" * 2900) for _ in range(5)], "/blocks"),
    "12,001 characters of markdown": (
        [{"type": "markdown", "text": "x" * 6001} for _ in range(2)], "/blocks"),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD_MESSAGES)
def test_a_message_within_the_limits_is_accepted(name: str) -> None:
    assert check_message({"text": "t", "blocks": GOOD_MESSAGES[name]}) == []


@pytest.mark.parametrize("name", BAD_MESSAGES)
def test_a_message_over_a_limit_is_rejected_with_a_pointer(name: str) -> None:
    blocks, pointer = BAD_MESSAGES[name]
    assert pointer in pointers(blocks)


def test_only_an_update_limits_the_text_to_4000() -> None:
    assert check_message({"text": "x" * 4000}, update=True) == []
    assert check_message({"text": "x" * 4001}) == []
    assert [p.message for p in check_message({"text": "x" * 4001}, update=True)] == ["msg_too_long"]


GOOD_VIEWS = {
    "every input": modal(
        entry("a", min_length=0, max_length=3000, focus_on_load=True),
        entry("b", "number_input", is_decimal_allowed=False, min_value="1", max_value="9",
              initial_value="2"),
        entry("c", "email_text_input"), entry("d", "url_text_input"), entry("e", "datepicker"),
        entry("f", "timepicker"), entry("g", "datetimepicker"),
        entry("h", "checkboxes", options=[option("a", "1")], optional=True),
        entry("i", "multi_static_select", options=[option("a", "1")],
              initial_options=[option("a", "1")]),
    ),
    "title of 24": modal(section("x"), title=plain("x" * 24)),
    "metadata of 3000": modal(section("x"), private_metadata="x" * 3000),
    "100 blocks": modal(*({"type": "divider"} for _ in range(100))),
    "alert": modal({"type": "alert", "text": plain("x"), "level": "warning"}),
    "a Home": {"type": "home", "callback_id": "home", "blocks": [section("x")]},
}  # fmt: skip
BAD_VIEWS: dict[str, tuple[Json, str]] = {
    "title of 25": (modal(section("x"), title=plain("x" * 25)), "/view/title/text"),
    "no title": (
        {"type": "modal", "blocks": [section("x")]}, "/view"),
    "input without submit": (
        {k: v for k, v in modal(entry("a")).items() if k != "submit"}, "/view"),
    "two focused": (
        modal(entry("a", focus_on_load=True), entry("b", focus_on_load=True)), "/view/blocks"),
    "101 blocks": (modal(*({"type": "divider"} for _ in range(101))), "/view/blocks"),
    "metadata of 3001": (
        modal(section("x"), private_metadata="x" * 3001), "/view/private_metadata"),
    "min over max length": (
        modal(entry("a", min_length=5, max_length=4)), "/view/blocks/0/element/min_length"),
    "min over max value": (
        modal(entry("a", "number_input", is_decimal_allowed=True, min_value="9", max_value="1")),
        "/view/blocks/0/element"),
    "a number not as a string": (
        modal(entry("a", "number_input", is_decimal_allowed=True, min_value=1)),
        "/view/blocks/0/element/min_value"),
    "max_length of 3001": (modal(entry("a", max_length=3001)), "/view/blocks/0/element/max_length"),
    "markdown block": (modal({"type": "markdown", "text": "x"}), "/view/blocks/0/type"),
    "unknown key": (modal(section("x"), size="large"), "/view"),
    "101 blocks in a Home": (
        {"type": "home", "blocks": [{"type": "divider"}] * 101}, "/view/blocks"),
    "a title in a Home": (
        {"type": "home", "title": plain("x"), "blocks": [section("x")]}, "/view"),
    "an alert in a Home": (
        {"type": "home", "blocks": [{"type": "alert", "text": plain("x")}]}, "/view/blocks/0/type"),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD_VIEWS)
def test_a_view_within_the_limits_is_accepted(name: str) -> None:
    assert check_view(GOOD_VIEWS[name]) == []


@pytest.mark.parametrize("name", BAD_VIEWS)
def test_a_view_over_a_limit_is_rejected_with_a_pointer(name: str) -> None:
    view, pointer = BAD_VIEWS[name]
    assert pointer in [problem.pointer for problem in check_view(view)]


@pytest.mark.parametrize("judge", ["slackblocks", "blockkit", "slack_sdk"])
def test_each_third_party_validator_rejects_a_long_button(judge: str) -> None:
    problems = third_party_checks.judge_message([actions(button("x" * 76))])
    assert judge in [problem.judge for problem in problems]


def test_our_checks_and_the_third_party_validators_each_reject_a_payload() -> None:
    image = {"type": "image", "image_url": "x", "alt_text": ""}
    in_context = [{"type": "context", "elements": [image]}]
    assert check_message({"blocks": in_context}, foreign=False) != []
    assert third_party_checks.judge_message([{"type": "section"}]) != []


def test_a_payload_that_only_a_third_party_validator_rejects_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blocks = [actions(button("Go"))]
    assert check_message({"text": "t", "blocks": blocks}) == []
    problem = Problem("/blocks/0", "not to our taste", "blockkit")
    monkeypatch.setattr(third_party_checks, "judge_message", lambda *_: [problem])
    assert check_message({"text": "t", "blocks": blocks}) == [problem]
    assert check_message({"text": "t", "blocks": blocks}, foreign=False) == []
