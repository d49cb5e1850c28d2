"""Configuration files are edited in place: added entries can be removed, and everything else stays byte for byte."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback_agents.connect.jsonc_edit import JsoncFormat, parse_jsonc
from answerback_agents.connect.settings_entries import (
    ConnectError,
    Entry,
    Format,
    Json,
    ListItem,
    Setting,
    has_entry,
    value_at,
)
from answerback_agents.connect.toml_edit import TomlFormat
from answerback_agents.connect.yaml_edit import YamlFormat

JSONC, TOML, YAML = JsoncFormat(), TomlFormat(), YamlFormat()
HTTP: Json = {"type": "http", "url": "http://127.0.0.1:8420/hooks/claude?wait=9"}
RUN: Json = {"type": "command", "command": "/opt/bin/answerback hook codex", "timeout": 9}
RUNS = '[[hooks.Stop.hooks]]\ncommand = "answerback hook codex"\n'
IN_JSON: tuple[Entry, ...] = (
    Setting(("mcpServers", "answerback"), {"url": "http://127.0.0.1:8420/mcp", "tools": ["*"]}),
    ListItem(("hooks", "PreToolUse"), {"matcher": "AskUserQuestion", "hooks": [HTTP]}),
    ListItem(("hooks", "Stop"), {"hooks": [RUN]}),
    ListItem(("hooks", "permissionRequest"), {"bash": "answerback hook copilot"}),
)
IN_TOML: tuple[Entry, ...] = (
    Setting(("mcp_servers", "answerback"), {"url": "http://127.0.0.1:8420/mcp", "on": True}),
    ListItem(("hooks", "PreToolUse"), {"matcher": "request_user_input", "hooks": [RUN]}),
    ListItem(("hooks", "Stop"), {"hooks": [RUN]}),
)

EXTENSION = Setting(("extensions", "answerback"), {"type": "streamable_http", "on": True})
SERVER = ListItem(("mcp_servers",), {"name": "answerback", "url": "a", "on": True})

JSON_FILES = (
    "{}",
    "{ }\n",
    "{\n}\n",
    "{\n  // nothing yet\n}\n",
    '{"a":1}',
    '{"a": 1,}',
    '{"a":1\n,"b":2\n}',
    '{\n\t"a": 1, // one\n\t"b": [1, {"c": "// no comment"}], /* x */ // two\n}\n',
    '{\n  "a": 1 // one\n  // after\n}\n',
    '{\n  "a": 1, // one\n  /* before b,\n     and more */\n  "b": 2,\n  // at the end\n}\n',
    '{\n    "mcpServers": {},\n    "hooks": {"PreToolUse": []}\n}',
    '{"mcpServers": {"x": {"url": "y"}}, "hooks": {"PreToolUse": [{"matcher": "B"}], "Stop": []}}',
    '{\r\n  "mcpServers": {\r\n    "x": {\r\n      "url": "y"\r\n    }\r\n  }\r\n}\r\n',
    '// head\n{\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": [] // mine\n      }, // last\n    ],\n'
    "  }, // bye\n}\n// tail\n",
    '{\n  "mcpServers": { /* none */ }\n}\n',
    '{"mcpServers": {"answerback": {"url":"old"},}, "hooks": {"Stop": [{"hooks": ['
    '{"command": "/x/answerback hook claude"}, {"command": "mine"}]}]}}',
    '{"hooks": {"Stop": [{"hooks": [{"command": "answerback hook a"}]}, {"command": "mine"}, '
    '{"bash": "answerback hook b"}]}}',
    '{"a": 1, "a": {"b": [[[]]]}, "é": "\\u00e9\\"", "n": [null, true, -1.5e3]}',
    '{"hooks": {"Stop": [7, {"hooks": [7]}]}}',
)
TOML_FILES = (
    "",
    "\n",
    "a = 1\n",
    "a=1\n\n\n",
    "# only a comment",
    '# top\nmodel = "x"\n\n[mcp_servers.x]\ncommand = "a" # c\n\n# about projects\n[projects."/a/b"]\nt = 1\n',
    '[[hooks.PreToolUse]]\nmatcher = "Bash"\n[[hooks.PreToolUse.hooks]]\ncommand="x"\n\n# tail\n[tui]\na=1\n',
    "a = 1\r\n\r\n[tui]\r\nb = 2\r\n",
    'x = """\n[mcp_servers.answerback]\n"""\n[tui]\ny = [\n  1, # ]\n  \'[\'\n]\nz = { a = "}" }\n\n\n',
    '[mcp_servers.x]\ncommand="a"\n\n[tui]\nx=1\n\n[mcp_servers.y]\ncommand="b"\n',
    '[hooks] # mine\nx = 1\nPreToolUse = [{ matcher = "B" }, # one\n]\nStop = [ ]\n',
    '[mcp_servers.answerback]\nurl = "old" # mine\n\n[mcp_servers.answerback.tools]\na = 7\n\n[[hooks.PreToolUse]]\n'
    f'{RUNS.replace("Stop", "PreToolUse")}[[hooks.PreToolUse.hooks]]\ncommand="mine"\n\n[z]\na=1\n',
)
ARRAY_FILES = (
    "mcp_servers = []\n",
    'mcp_servers = [{ name = "mine", args = ["]"] }]',
    'mcp_servers = [\n  { name = "answerback", url = "old" }, # mine\n  { name = "x" },\n]\n',
    '[[mcp_servers]]\nname = "answerback"\n[mcp_servers.auth]\ntype = "oauth" # mine\n\n[z]\na = 1\n',
)
YAML_FILES = (
    "",
    "a: 1",
    "extensions:",
    "extensions: # none\nz: 1\n",
    "extensions: {}\n",
    "extensions: {mine: {cmd: a}}",
    "extensions: {answerback: {cmd: a}, z: 1}\n",
    "extensions:\r\n    mine:\r\n      args: [a,\r\n        b]\r\n      l:\r\n      - |\r\n        c\r\n\r\n# tail\r\n",
    "extensions:\n  mine: &m\n    a: 1\n  answerback: # by hand\n    a: 2 # c\n\n  # tail\n  z: *m",
)


def connected(form: Format, text: str, entries: Sequence[Entry]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    for entry in entries:
        text = form.put_entry(text, entry, newline)
    return text


def disconnected(form: Format, text: str, entries: Sequence[Entry], original: str | None) -> str:
    for entry in reversed(entries):
        text = form.remove_entry(text, entry, original)
    return text


CASES = [
    *[pytest.param(JSONC, IN_JSON, text, id=f"json-{i}") for i, text in enumerate(JSON_FILES)],
    *[pytest.param(TOML, IN_TOML, text, id=f"toml-{i}") for i, text in enumerate(TOML_FILES)],
    *[pytest.param(TOML, [SERVER], text, id=f"array-{i}") for i, text in enumerate(ARRAY_FILES)],
    *[pytest.param(YAML, [EXTENSION], text, id=f"yaml-{i}") for i, text in enumerate(YAML_FILES)],
]


@pytest.mark.rule("CONNECT-1")
@pytest.mark.parametrize(("form", "entries", "text"), CASES)
def test_added_entries_are_removed_byte_for_byte(
    form: Format, entries: Sequence[Entry], text: str
) -> None:
    once = connected(form, text, entries)
    assert all(has_entry(form.data(once), entry) for entry in entries)
    assert connected(form, once, entries) == once
    assert disconnected(form, once, entries, text) == text


@pytest.mark.rule("CONNECT-1")
@pytest.mark.parametrize(("form", "entries", "text"), CASES)
def test_edits_in_between_are_kept(form: Format, entries: Sequence[Entry], text: str) -> None:
    comment = "//" if form is JSONC else "#"

    def edited(some: str) -> str:
        return f"{comment} mine\n{some.replace('1', '12345')}"

    once = edited(connected(form, text, entries))
    assert disconnected(form, once, entries, text) == edited(text)


@pytest.mark.rule("CONNECT-1")
def test_additions_after_the_entries_are_kept() -> None:
    once = connected(TOML, "a = 1\n", IN_TOML) + "\n# mine\n[b]\nc = 2\n"
    assert disconnected(TOML, once, IN_TOML, "a = 1\n") == "a = 1\n\n# mine\n[b]\nc = 2\n"
    server = IN_JSON[:1]
    once = connected(JSONC, '{\n  "a": 1\n}\n', server)
    once = once.replace("\n  }\n}\n", '\n  },\n  // mine\n  "b": 2\n}\n')
    assert disconnected(JSONC, once, server, None) == '{\n  "a": 1,\n  // mine\n  "b": 2\n}\n'


def test_a_missing_final_newline_is_restored() -> None:
    assert disconnected(TOML, connected(TOML, "a = 1", IN_TOML), IN_TOML, "a = 1") == "a = 1"
    crlf = "a = 1\r\nb = 2"
    assert disconnected(TOML, connected(TOML, crlf, IN_TOML), IN_TOML, crlf) == crlf


_KEYS = st.sampled_from(["a", "mcpServers", "hooks", "Stop", "PreToolUse", "b"])
_PLAIN = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
_TREES = st.dictionaries(
    _KEYS.filter(lambda key: key not in ("mcpServers", "hooks")),
    st.recursive(_PLAIN, lambda each: st.lists(each) | st.dictionaries(_KEYS, each), max_leaves=8),
)


@given(
    tree=_TREES,
    servers=st.none() | st.dictionaries(st.sampled_from("xyz"), _PLAIN),
    hooks=st.none() | st.dictionaries(st.sampled_from(["Stop", "Start"]), st.lists(_TREES)),
    indent=st.none() | st.integers(0, 4) | st.just("\t"),
    newline=st.sampled_from(["\n", "\r\n"]),
)
@pytest.mark.rule("CONNECT-1")
def test_any_json_is_restored(
    tree: dict[str, object], servers: object, hooks: object, indent: int | str | None, newline: str
) -> None:
    some = {"mcpServers": servers, "hooks": hooks}
    whole = {**tree, **{key: value for key, value in some.items() if value is not None}}
    text = json.dumps(whole, indent=indent).replace("\n", newline)
    once = connected(JSONC, text, IN_JSON)
    assert JSONC.data(text) == whole
    assert json.loads(once).keys() == whole.keys() | some.keys()
    assert disconnected(JSONC, once, IN_JSON, text) == text


def test_a_changed_address_replaces_the_old_one() -> None:
    text = connected(JSONC, "{}\n", IN_JSON)
    moved: Json = {**HTTP, "url": "http://elsewhere/hooks/claude"}
    again = ListItem(("hooks", "PreToolUse"), {"matcher": "AskUserQuestion", "hooks": [moved]})
    data = JSONC.data(JSONC.put_entry(text, again, "\n"))
    assert value_at(data, ("hooks", "PreToolUse")) == [again.value]
    assert value_at(data, ("hooks", "Stop")) == value_at(JSONC.data(text), ("hooks", "Stop"))
    text = connected(TOML, "", IN_TOML)
    toml = TOML.put_entry(text, Setting(("mcp_servers", "answerback"), {"url": "other"}), "\n")
    assert tomllib.loads(toml)["mcp_servers"] == {"answerback": {"url": "other"}}
    assert toml.count("[[hooks.PreToolUse]]") == 1


def test_a_changed_address_in_a_file_with_carriage_returns_replaces_the_old_one() -> None:
    text = connected(TOML, "a = 1\r\n", IN_TOML)
    moved = TOML.put_entry(text, Setting(("mcp_servers", "answerback"), {"url": "other"}), "\r\n")
    assert tomllib.loads(moved)["mcp_servers"] == {"answerback": {"url": "other"}}


def test_a_handler_that_is_not_ours_is_kept() -> None:
    mine: Json = {"type": "command", "command": "mine"}
    text = json.dumps({"hooks": {"Stop": [{"matcher": "X", "hooks": [mine, RUN]}]}}, indent=2)
    group = ListItem(("hooks", "Stop"), {"hooks": [{**RUN, "timeout": 1}]})
    put = JSONC.put_entry(text, group, "\n")
    both = {"matcher": "X", "hooks": [mine, {**RUN, "timeout": 1}]}
    assert value_at(JSONC.data(put), ("hooks", "Stop")) == [both]
    assert JSONC.data(JSONC.remove_entry(put, group, None)) == {
        "hooks": {"Stop": [{"matcher": "X", "hooks": [mine]}]}
    }
    toml = f'[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "mine"\n\n{RUNS}'
    put = TOML.put_entry(toml, group, "\n")
    assert tomllib.loads(put)["hooks"] == {
        "Stop": [{"hooks": [{"command": "mine"}, {**RUN, "timeout": 1}]}]
    }
    left = TOML.remove_entry(put, group, None)
    assert left == '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "mine"\n'


@pytest.mark.rule("CONNECT-1")
@pytest.mark.parametrize("was_alone", [True, False])
def test_a_handler_that_was_added_to_our_group_or_removed_from_it_since_stays_so(
    was_alone: bool,
) -> None:
    mine: Json = {"type": "command", "command": "mine"}
    old, new = {**RUN, "timeout": 5}, {**RUN, "timeout": 1}
    group = ListItem(("hooks", "Stop"), {"hooks": [new]})

    def as_json(ours: Json, *others: Json) -> str:
        return json.dumps({"hooks": {"Stop": [{"hooks": [ours, *others]}]}}, indent=2)

    def as_toml(ours: Json, *others: Json) -> str:
        tables = [
            "[[hooks.Stop.hooks]]\n"
            + "".join(f"{key} = {json.dumps(value)}\n" for key, value in each.items())
            for each in (ours, *others)
        ]
        return "[[hooks.Stop]]\n" + "\n".join(tables)

    before, now = ((), (mine,)) if was_alone else ((mine,), ())
    for form, written in ((JSONC, as_json), (TOML, as_toml)):
        original = written(old, *before)
        connected_then = form.put_entry(original, group, "\n")
        assert form.data(connected_then) == form.data(written(new, *before))
        left = form.remove_entry(written(new, *now), group, original)
        assert form.data(left) == form.data(written(old, *now))


def test_a_comment_that_is_not_ours_is_kept() -> None:
    text = '{\n  "mcpServers": {\n    // mine\n    "answerback": {}\n    // more\n  }\n}\n'
    left = JSONC.remove_entry(text, IN_JSON[0], '{\n  "mcpServers": {}\n}\n')
    assert left == '{\n  "mcpServers": {\n    // mine\n    // more\n  }\n}\n'


def test_removing_a_missing_entry_changes_nothing() -> None:
    assert disconnected(JSONC, '{"a": 1}', IN_JSON, None) == '{"a": 1}'
    assert disconnected(TOML, "a = 1", IN_TOML, None) == "a = 1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1]", "not an object"),
        ('{"a": 1} x', "line 1 is not valid JSON: there is more"),
        ('{\n"a" 1}', "line 2 is not valid JSON: a colon"),
        ("{a: 1}", "a key in double quotes"),
        ('{"a": nope}', "'nope' is not a value"),
        ('{"a": 1 "b": 2}', "a comma or }"),
        ('{"a": ', "a value is expected"),
        ('{"a": "\\x"}', "is not a value"),
        ("/* {}", "a value is expected"),
        ('{"a": ' + "[" * 200, "nested more than 100 levels deep"),
    ],
)
def test_invalid_json_is_reported_with_its_line(text: str, expected: str) -> None:
    with pytest.raises(ConnectError, match=expected):
        parse_jsonc(text)


def test_a_file_of_another_shape_is_left_alone() -> None:
    for text in ('{"hooks": 1}', '{"hooks": {"PreToolUse": {}}}', '{"hooks": []}'):
        with pytest.raises(ConnectError, match=r"is not (a list|an object)\."):
            JSONC.put_entry(text, IN_JSON[1], "\n")
    with pytest.raises(ConnectError, match="not valid TOML"):
        TOML.data("a = ")


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { x = { command = "a" } }\n',
        "[mcp_servers]\nanswerback = {}\n",
        'hooks = { PreToolUse = [{ matcher = "B" }] }\n',
        '[hooks]\nPreToolUse = ["B", { matcher = "B" }]\n',
    ],
)
def test_toml_without_suitable_tables_is_left_to_people(text: str) -> None:
    with pytest.raises(ConnectError, match="by hand"):
        connected(TOML, text, IN_TOML)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [", "not valid YAML"),
        ("a: 1\n---\nb: 2\n", "not valid YAML"),
        ("- a\n", "not a mapping"),
        ("extensions: null\n", "by hand"),
        ("extensions:\n- a\n", "by hand"),
        ("{a: 1}\n", "by hand"),
        ("a: 1\n...\n", "by hand"),
    ],
)
def test_yaml_that_cannot_be_edited_is_left_to_people(text: str, reason: str) -> None:
    with pytest.raises(ConnectError, match=reason):
        YAML.put_entry(text, EXTENSION, "\n")


def test_an_entry_is_removed_from_yaml_that_the_agent_has_written_anew() -> None:
    anew = (
        "extensions:\n  answerback:\n    'on': true\n    type: streamable_http\n    args:\n    - x\n"
        "  mine:\n    cmd: a\nz: 1\n"
    )
    assert (
        YAML.remove_entry(anew, EXTENSION, "z: 1\n") == "extensions:\n  mine:\n    cmd: a\nz: 1\n"
    )
    alone = "z: 1\nextensions:\n  answerback:\n    type: x"
    assert YAML.remove_entry(alone, EXTENSION, None) == "z: 1\n"
    assert YAML.remove_entry("z: 1\n", EXTENSION, None) == "z: 1\n"


def test_a_server_is_removed_from_an_array_that_the_agent_has_written_anew() -> None:
    server = ListItem(("mcp_servers",), {"name": "answerback", "url": "a"})
    anew = 'mcp_servers = [\n    { name = "mine" },\n    { url = "b", name = "answerback" }\n]\n'
    assert tomllib.loads(TOML.remove_entry(anew, server, None)) == {
        "mcp_servers": [{"name": "mine"}]
    }
    moved = TOML.put_entry(anew, server, "\n")
    assert tomllib.loads(moved)["mcp_servers"] == [{"name": "mine"}, server.value]


def test_separated_tables_of_a_group_are_not_mixed_up() -> None:
    text = f'[[hooks.Stop]]\nmatcher = "x"\n[a]\nb = 1\n[[hooks.Stop]]\n{RUNS}'
    left = TOML.remove_entry(text, IN_TOML[2], None)
    assert left == '[[hooks.Stop]]\nmatcher = "x"\n[a]\nb = 1\n'


@pytest.mark.rule("CONNECT-1")
def test_the_time_for_a_large_file_grows_with_its_size() -> None:
    def seconds(count: int) -> float:
        projects = {f"/p/{n}": {"history": ["hello"] * 20, "n": n} for n in range(count)}
        text = json.dumps({"projects": projects})
        began = time.process_time()
        changed = connected(JSONC, text, IN_JSON)
        assert disconnected(JSONC, changed, IN_JSON, text) == text
        return time.process_time() - began

    assert seconds(400) < 10 * seconds(100) + 0.5


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (TOML, "a = " + "[" * 5_000 + "]" * 5_000),
        (TOML, "a = " + "{a=" * 5_000),
        (YAML, "a: " + "[" * 5_000 + "]" * 5_000),
        (JSONC, '{"a": ' + "[" * 5_000),
    ],
)
def test_a_file_that_is_nested_too_deeply_is_refused(form: Format, text: str) -> None:
    with pytest.raises(ConnectError, match="nested"):
        form.data(text)
