"""Errors in the settings: each says what is wrong, where, and what to do."""

from pathlib import Path

import pytest

from answerback.core.errors import ConfigError
from answerback.runtime.config_file import load_settings

HASH = "sha256:" + "0" * 64


def refusal(folder: Path, text: str) -> str:
    path = folder / "answerback.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    return str(caught.value)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.rule("SURFACE-12", "CONFIG-3")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[slack]\nbot_token = 'x'\nsigning_secret = 'x'", "set public.port"),
        (f"[discord]\nbot_token = 'x'\npublic_key = '{'a' * 64}'", "set public.port"),
        ("[server]\nprot = 1", "there is no key server.prot (did you mean server.port?)"),
        ("[serwer]\nport = 1", "there is no key serwer (did you mean server?)"),
        ("[routes.a]\nto = 'web'\nresponder = 'U1'", "did you mean routes.a.responders?"),
        ("[agents.a]\ntokenhash = 'x'", "did you mean agents.a.token_hash?"),
        ("[routs.a]\nto = 'web'", "there is no key routs (did you mean routes?)"),
        ("[labels]\ncolour = 'x'", "there is no key labels.colour."),
        ("[labels]\nbck = 'x'", "did you mean labels.back?"),
        ("[labels]\nreply = ' '", "labels.reply: a label must not be blank"),
        ("[labels]\nasks = '{who} asks'", "contains {who}, but can only contain {label}"),
        ("[labels]\nasks = '{} asks'", "labels.asks: it contains {}, but can only contain {label}"),
        ("[labels]\nasks = '{label:d} asks'", "{label:d}, but can only contain {label}"),
        ("[labels]\nasks = '{label asks'", "labels.asks: it has an unmatched brace"),
        ("[labels]\nback = '{label}'", "contains {label}, but takes no placeholders"),
        ("[labels]\npage_of = '{n}/{page}'", "but can only contain {page} and {pages}"),
        ("[tools.x.questions.y]\nanswr = 1", "did you mean tools.x.questions.y.answer?"),
        ("[agents.a]\nrole = 'agent'", "agents.a.token_hash is missing"),
        ("[server]\nport = 70000", "server.port: must be less than or equal to 65535."),
        ("[routes.a]\nto = 5", "routes.a.to: must be a text in quotation marks, or a table."),
        (
            "[routes.a]\nto = 'web'\nremind_after = [60, -1]",
            "remind_after: must be greater than 0.",
        ),
        ("[routes.a]\nto = 'web'\nexpires_in = 'x'", "routes.a.expires_in: must be a number."),
        ("[server]\nport = 'x'", "server.port: must be a whole number."),
        ("[web]\npush = 'x'", "web.push: must be true or false."),
        (
            "[routes.a]\nto = 'web'\nresponders = 'U1'",
            """routes.a.responders: must be a list, such as ["a", "b"], or 'anyone'.""",
        ),
        (
            "[slak]\na = 1\n[server]\nprot = 1",
            "there is no key server.prot (did you mean server.port?).\n",
        ),
        ("[storage]\nurl = 'postgresql://db/'", "postgresql://user@host:5432/name"),
        ("[storage]\nurl = 'mysql://db/x'", "or postgresql://user@host/name"),
        ("[storage]\nlisten_url = 'postgresql://db/x'", "the server behind a pooler"),
        ("[storage]\nurl = 'postgresql://p/x'\nlisten_url = 'db:5432'", "behind a pooler"),
        ("[storage]\nurl = 'sqlite:///:memory:'", "(a file, not :memory:)"),
        ("[storage]\nurl = 'answerback.db'", "(a file, not :memory:)"),
        ("[server]\nhost = '0.0.0.0'", "answerback token create"),
        ("[public]\nurl = 'ask.example'", "begins with http:// or https://"),
        ("[callbacks]\nsecret = 'hunter2'", "whsec_"),
        ("[slack]\nsigning_secret = 'x'", "bot_token is missing"),
        ("[slack]\nbot_token = 'x'", "add app_token (Socket Mode) or signing_secret (HTTP)"),
        (f"[discord]\npublic_key = '{'a' * 64}'", "bot_token is missing"),
        ("[discord]\nbot_token = 'x'\ngateway = false", "set public_key"),
        (f"[agents.a]\ntoken_hash = '{HASH}'\nroutes = ['x']", "there is no [routes.x]"),
        (f"[agents.a]\ntoken_hash = '{HASH}'\nlabel = ' '", "agents.a.label: it is blank"),
        ("[people.a]\nname = 'A'\nids = ['U1']", "the name of a surface, a colon and an id there"),
        (
            "[people.a]\nname = 'A'\nids = ['web:x']\n[people.b]\nname = 'B'\nids = ['web:x']",
            "people.b.ids names 'web:x', which belongs to a",
        ),
        ("[routes.a]\nto = 'web'\nresponders = ['person:x']", "there is no [people.x]"),
        ("[slack]\nresponders = ['person:x']", "slack.responders names 'x', but there is no"),
        (
            "[people.a]\nids = ['slak:U1']",
            "people.a.ids names 'slak:U1', but there is no surface 'slak' (did you mean 'slack'?)",
        ),
        ("[people.a]\nids = ['SLACK:U1']", "no surface 'SLACK' (did you mean 'slack'?)"),
        (
            "[routes.a]\nto = 'web'\nresponders = ['webb:x']",
            "routes.a.responders names 'webb:x', but there is no surface 'webb' (did you mean 'web'?)",
        ),
        (
            "[public]\nport = 1\n[telegram]\nbot_token = 'x'\nwebhook = true",
            "telegram.webhook needs a public address: set public.url",
        ),
        (
            "[public]\nport = 1\n[web]\nuser_header = 'X'\ntrusted_proxies = ['10.0.0.0/8']",
            "web.user_header needs a public address: set public.url",
        ),
        ("[server\n", "is not valid TOML"),
    ],
)
def test_errors_are_reported_with_advice(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in refusal(tmp_path, text)
