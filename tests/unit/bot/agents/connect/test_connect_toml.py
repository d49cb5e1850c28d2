"""Edits of TOML change nothing but the entries, whatever else the file has."""

from __future__ import annotations

import tomllib

import pytest

from answerback_agents.connect.settings_entries import ConnectError, Entry, Json, ListItem, Setting
from answerback_agents.connect.toml_edit import TomlFormat

TOML = TomlFormat()
SERVER = Setting(("mcp_servers", "answerback"), {"url": "http://127.0.0.1:8420/mcp", "on": True})
RUN: Json = {"type": "command", "command": "/opt/bin/answerback hook codex", "timeout": 9}
HOOK = ListItem(("hooks", "Stop"), {"hooks": [RUN]})
RUNS = '[[hooks.Stop.hooks]]\ncommand = "answerback hook codex"\n'
HOSTILE = r'''
when = [1979-05-27T07:32:00Z, nan, -inf, 0xF]
"mcp_servers.answerback" = "[mcp_servers.answerback]"
text = """
[mcp_servers.answerback]
url = "not mine" # \""" "
[[hooks.Stop]]
"""""
many = [ # ]
  { a = "}", b = ["[", 'x'] }, # [hooks]
  [], [[1, 2,], ["#"]],
]
deep.'key = "'.x = 1
[ hooks . "Stopped" ] # ] [hooks.Stop]
x.y = {}
[[ "a]b" . c ]]
[["a]b".c.d]]
[["a]b".c.d]]
z = '#'
[tui]
'''
HOSTILE += "text = '''\n[[hooks.Stop]]\ncommand = \"answerback hook codex\"'' \\'''''\n"


@pytest.mark.rule("CONNECT-1")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_entries_change_in_toml_that_looks_like_them(newline: str) -> None:
    text = HOSTILE.replace("\n", newline)
    assert len(tomllib.loads(text)) == 8
    once = TOML.put_entry(TOML.put_entry(text, SERVER, newline), HOOK, newline)
    assert once.startswith(text)
    assert TOML.remove_entry(TOML.remove_entry(once, HOOK, None), SERVER, None) == text


MIXED = 'Stop = [{ hooks = [{ command = "mine" }, { command = "answerback hook codex" }] }]\n'


@pytest.mark.rule("CONNECT-1")
@pytest.mark.parametrize(
    ("text", "entry"),
    [
        pytest.param(f"[hooks]\n{MIXED}", HOOK, id="another handler on the same line"),
        pytest.param(
            "[mcp_servers.answerback]\na = 1\n[tui]\n[mcp_servers.answerback.tools]\nb = 1\n",
            SERVER,
            id="tables apart",
        ),
        pytest.param(
            f'[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "mine"\n{RUNS}'
            "[hooks.Stop.hooks.env]\na = 1\n",
            HOOK,
            id="a table below a handler",
        ),
    ],
)
def test_toml_that_an_edit_would_harm_is_left_to_people(text: str, entry: Entry) -> None:
    tomllib.loads(text)
    with pytest.raises(ConnectError, match="add what --print shows by hand"):
        TOML.put_entry(text, entry, "\n")


@pytest.mark.rule("CONNECT-1")
@pytest.mark.parametrize(
    ("text", "entry"),
    [
        pytest.param(f"[hooks]\n{MIXED}", HOOK, id="another handler on the same line"),
        pytest.param("[mcp_servers]\nanswerback.a = 1\n", SERVER, id="a dotted key"),
        pytest.param("[mcp_servers]\nanswerback = { a = 1 }\n", SERVER, id="an inline table"),
    ],
)
def test_toml_that_a_removal_would_harm_is_left_to_people(text: str, entry: Entry) -> None:
    with pytest.raises(ConnectError, match="remove it by hand"):
        TOML.remove_entry(text, entry, None)
