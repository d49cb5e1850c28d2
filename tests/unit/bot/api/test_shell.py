"""``answerback list``, ``show``, ``wait``, ``explain`` and ``withdraw`` against a service."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from answerback.core.urgency import RouteMark, Urgency
from answerback.service.submission_request import Route
from answerback_agents.cli import api_client, main
from tests.ports import gone_after_one_request
from tests.unit.bot.api.conftest import Serve, Served

pytestmark = pytest.mark.rule("CLI-13")


@pytest.fixture(autouse=True)
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands in the service's folder, where they find its key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANSWERBACK_STORAGE__URL", f"sqlite:///{tmp_path / 'asks.db'}")
    monkeypatch.setenv("ANSWERBACK_SERVER__PORT", "0")
    monkeypatch.setenv("COLUMNS", "200")


async def run(
    served: Served, *arguments: str, token: str = "", typed: str = ""
) -> tuple[int, str, str]:
    """Run a command; return its exit status, standard output and standard error."""
    environment = {
        "ANSWERBACK_URL": served.running.api_url,
        "ANSWERBACK_TOKEN": served.tokens.get(token),
    }
    done = await asyncio.to_thread(
        CliRunner(env=environment).invoke, main.app, list(arguments), typed, catch_exceptions=False
    )
    return done.exit_code, done.stdout, done.stderr


def question(text: str) -> dict[str, object]:
    return {"question": text}


@pytest.mark.rule("URGENCY-3", "INBOX-1")
async def test_list_shows_what_is_more_urgent_first_and_says_so(serve: Serve) -> None:
    route = Route(to="web", max_urgency=Urgency.NORMAL, mark=RouteMark(word="production"))
    async with serve(routes={"prod": route}) as api:
        for text, more in (
            ("Normal?", {}),
            ("Low?", {"urgency": "low"}),
            ("Limited?", {"urgency": "high", "to": "prod"}),
            ("High?", {"urgency": "high"}),
        ):
            await api.asked(question(text), **more)
        _, out, _ = await run(api, "list")
        assert [line.split("  ")[4] for line in out.splitlines()] == [
            "[urgent] High?",
            "Normal?",
            "[production] Limited?",
            "[not urgent] Low?",
        ]
        _, out, _ = await run(api, "list", "--json", "--from", "2020-01-01")
        found = [(each["headline"], each["urgency"]) for each in json.loads(out)]
        assert found[0] == ("High?", "high")
        assert found[-1] == ("Low?", "low")
        _, page = await api.get("/v1/asks?order=urgency&limit=1")
        assert [each["headline"] for each in page["asks"]] == ["High?"]
        _, page = await api.get(f"/v1/asks?order=urgency&limit=2&after={page['next']}")
        assert [each["headline"] for each in page["asks"]] == ["Normal?", "Limited?"]
        assert page["asks"][1]["mark"] == {"word": "production", "color": "grey"}
        assert (await api.get("/v1/asks?order=urgency&status=answered"))[0] == 400


@pytest.mark.rule("URGENCY-1")
async def test_ask_says_how_urgent_it_is(api: Served, tmp_path: Path) -> None:
    (tmp_path / "form.json").write_text(json.dumps(question("Now?")))
    code, *_ = await run(api, "ask", "form.json", "--urgency", "high", "--wait", "0")
    assert code == 8
    _, page = await api.get("/v1/asks")
    assert [each["urgency"] for each in page["asks"]] == ["high"]


async def test_list_shows_open_asks_oldest_first_with_asker_and_time(api: Served) -> None:
    assert await run(api, "list") == (0, "", "Nothing is waiting for an answer.\n")
    first = await api.asked(question("First?\x1b[2J"))
    second = await api.asked(question("Second?"))
    code, out, _ = await run(api, "list")
    lines = out.splitlines()
    assert code == 0
    assert [line.split("  ")[0] for line in lines] == [first["id"], second["id"]]
    assert lines[0].split("  ")[2:] == ["Assistant", "web", "First?␛[2J"]
    await api.act(first, action="answer", value="yes")
    assert (await run(api, "list"))[1].split("  ")[0] == second["id"]
    _, out, _ = await run(api, "list", "--all")
    assert [line.split("  ")[4:] for line in out.splitlines()] == [
        ["First?␛[2J", "answered"],
        ["Second?"],
    ]
    _, out, _ = await run(api, "list", "--status", "answered", "--json")
    assert [ask["id"] for ask in json.loads(out)] == [first["id"]]
    assert await run(api, "list", "--status", "failed") == (0, "", "There are no such asks.\n")


@pytest.mark.rule("CLI-12")
async def test_what_is_wrong_with_an_option_is_said_in_words(api: Served) -> None:
    code, _, err = await run(api, "list", "--from", "yesterday")
    assert (code, "from is invalid: Write a time as 2026-11-22T16:49:42Z" in err) == (1, True)
    code, _, err = await run(api, "list", "--answered-by", "ann")
    assert (code, "such as web:ann@example.com." in err) == (2, True)
    code, _, err = await run(api, "list", "--status", "lost")
    assert (code, "'lost' is not one of 'open'" in err, "Value error" in err) == (2, True, False)


@pytest.mark.rule("CLI-12", "LINK-9")
async def test_who_has_no_personal_link_is_named(serve: Serve) -> None:
    async with serve(people_link=True) as api:
        answer = (1, "", "ann has no personal link.\n")
        assert await run(api, "person", "link", "ann") == answer


@pytest.mark.rule("SURFACE-17", "CLARIFY-1")
async def test_list_and_show_include_expiry_responders_and_questions_back(
    api: Served,
) -> None:
    ask = await api.asked(
        question("Go?"), responders=["ann@example.com"], expires_in=600, accepts=["clarify"]
    )
    ann = {"user_id": "ann@example.com", "name": "Ann"}
    assert (await api.act(ask, action="ask_back", text="Where\nto?", actor=ann))[0] == 200
    _, out, _ = await run(api, "list")
    assert out.rstrip().split("  ")[-1] == "Ann asks back: Where to?"
    assert "  closes 20" in out
    _, out, _ = await run(api, "show", ask["id"])
    lines = out.splitlines()
    assert lines[1].startswith("  For ann@example.com · closes 20")
    assert lines[2] == "  Ann asks back: Where to?"
    assert [line.split("  ")[1] for line in lines[3:]] == ["request", "clarify"]
    code, _, err = await run(api, "wait", ask["id"])
    assert code == 9
    assert "Ann asks back: Where to?" in err


async def test_list_shortens_a_long_question_and_show_does_not(api: Served) -> None:
    text = f"Which {'very ' * 500}long name?"
    ask = await api.asked(question(text))
    _, out, _ = await run(api, "list")
    assert len(out) < 250
    assert out.endswith("very long name? (shortened)\n")
    _, out, _ = await run(api, "show", ask["id"])
    assert text in out


async def test_list_reads_every_page(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("answerback_agents.cli.list._PAGE", 2)
    ids = [(await api.asked(question(f"{number}?")))["id"] for number in range(5)]
    _, out, _ = await run(api, "list", "--json")
    assert [ask["id"] for ask in json.loads(out)] == ids


async def test_list_shows_agents_their_own_asks_and_people_all_of_them(serve: Serve) -> None:
    async with serve({"one": "agent", "two": "agent"}) as api:
        for name in ("one", "two"):
            await api.asked(question(f"{name}?"), headers=api.bearer(name))
        _, out, _ = await run(api, "list", token="one")
        assert [line.split("  ")[2] for line in out.splitlines()] == ["one"]
        _, out, _ = await run(api, "list")
        assert [line.split("  ")[2] for line in out.splitlines()] == ["one", "two"]


async def test_show_prints_the_ask_and_its_record(api: Served) -> None:
    ask = await api.asked()
    for action in ({"action": "answer", "value": True}, {"action": "back"}, {"action": "end_turn"}):
        status, _ = await api.act(ask, actor={"user_id": "ann", "name": "Ann"}, **action)
        assert status == 200
    code, out, _ = await run(api, "show", ask["id"])
    assert code == 0
    head, *lines = [line.split("  ") for line in out.splitlines()]
    assert (head[0], head[-1]) == (ask["id"], "turn ended")
    assert [line[1] for line in lines] == [
        *("request", "answered", "request", "backed", "request", "cancelled", "ended")
    ]
    assert lines[1][2:4] == ["apply", "by Ann"]
    assert lines[1][4].startswith('{ "value": true, ')
    assert lines[3][2:] == ["env", "by Ann"]
    _, out, _ = await run(api, "show", ask["id"], "--json")
    found = json.loads(out)
    assert found["ask"]["status"] == "turn_ended"
    _, record = await api.get(f"/v1/asks/{ask['id']}/record")
    assert found["record"] == record["entries"]


@pytest.mark.parametrize("arguments", [["show"], ["wait"], ["explain", "Because."], ["withdraw"]])
async def test_an_unknown_ask_is_reported(api: Served, arguments: list[str]) -> None:
    command, *more = arguments
    assert await run(api, command, "ask_0", *more) == (
        1,
        "",
        "There is no ask with the id ask_0.\n",
    )


async def test_wait_prints_and_exits_like_ask(api: Served) -> None:
    ask = await api.asked(question("Which port?"))
    waiting = asyncio.create_task(run(api, "wait", ask["id"]))
    await api.waiters(1)
    await api.act(ask, action="answer", value="8420")
    code, out, err = await waiting
    assert (code, err) == (0, f"{ask['id']}: answered.\n")
    assert json.loads(out).keys() == {"content", "structured", "is_error"}
    _, out, _ = await run(api, "wait", ask["id"], "--content")
    assert json.loads(out)["answer"] == "8420"
    _, out, _ = await run(api, "wait", ask["id"], "--json")
    assert json.loads(out)["status"] == "answered"


async def test_wait_leaves_an_unanswered_ask_open(api: Served) -> None:
    ask = await api.asked(question("Which port?"))
    result = f"Nobody has answered yet. {ask['id']} stays open. To keep waiting, run `answerback wait {ask['id']}`.\n"
    assert await run(api, "wait", ask["id"], "--wait", "0") == (8, "", result)
    code, out, err = await run(api, "wait", ask["id"], "--wait", "0", "--json")
    assert (code, err) == (8, result)
    assert json.loads(out).items() >= {"id": ask["id"], "status": "open"}.items()


async def test_show_keeps_the_indentation_of_a_command(api: Served) -> None:
    command = "if true; then\n    ls -la\nfi"
    ask = await api.asked(
        {"tool_name": "Bash", "tool_input": {"command": command}}, name="PermissionRequest"
    )
    code, out, _ = await run(api, "show", ask["id"])
    assert code == 0
    assert "    if true; then\n        ls -la\n    fi\n" in out


@pytest.mark.rule("CLARIFY-2")
async def test_an_agent_in_a_shell_is_asked_back_and_explains(api: Served) -> None:
    ask = await api.asked(question("Go?"), accepts=["clarify"])
    waiting = asyncio.create_task(run(api, "wait", ask["id"]))
    await api.waiters(1)
    ann = {"user_id": "ann", "name": "Ann\x1b[2J"}
    assert (await api.act(ask, action="ask_back", text="Where to?", actor=ann))[0] == 200
    code, out, err = await waiting
    assert code == 9
    assert json.loads(out).items() >= {"text": "Where to?", "question_id": "answer"}.items()
    assert "\x1b" not in err
    assert f"answerback explain {ask['id']} TEXT" in err
    code, out, err = await run(api, "explain", ask["id"], "To *staging*.", "--json")
    assert (code, json.loads(out)["clarify"]) == (0, None)
    assert err == f"{ask['id']}: explained. To keep waiting, run `answerback wait {ask['id']}`.\n"
    _, seen = await api.get(f"/v1/asks/{ask['id']}/record")
    assert "To *staging*." in json.dumps(seen)
    waiting = asyncio.create_task(run(api, "wait", ask["id"]))
    await api.waiters(1)
    await api.act(ask, action="answer", value="yes")
    assert (await waiting)[0] == 0


async def test_a_question_back_is_printed_as_json_or_as_text(api: Served) -> None:
    for option, wanted in (("--content", "Where to?\n"), ("--json", None)):
        ask = await api.asked(question("Go?"), accepts=["clarify"])
        await api.act(ask, action="ask_back", text="Where to?")
        code, out, _ = await run(api, "wait", ask["id"], option)
        assert code == 9
        assert out == wanted or json.loads(out)["clarify"]["text"] == "Where to?"


async def test_ask_accepts_questions_back_and_explain_reads_standard_input(
    api: Served, tmp_path: Path
) -> None:
    (tmp_path / "form.json").write_text(json.dumps({"question": "Go?"}))
    asking = asyncio.create_task(run(api, "ask", "form.json", "--clarify"))
    await api.waiters(1)
    [ask] = (await api.get("/v1/asks"))[1]["asks"]
    assert (await api.act(ask, action="ask_back", text="Where to?"))[0] == 200
    code, out, _ = await asking
    assert (code, json.loads(out)["text"]) == (9, "Where to?")
    assert (await run(api, "explain", ask["id"], "-", typed="To production.\n"))[0] == 0
    _, expected = await api.get(f"/v1/asks/{ask['id']}/record")
    assert "To production." in json.dumps(expected)


async def test_an_explanation_that_nobody_can_see_is_refused_with_a_reason(api: Served) -> None:
    ask = await api.asked(question("Go?"))
    code, out, err = await run(api, "explain", ask["id"], "Because.")
    assert (code, out) == (2, "")
    assert "accepts" in err
    await api.act(ask, action="answer", value="yes")
    expected = f"{ask['id']} has already ended: answered. `answerback wait {ask['id']}` prints the result.\n"
    assert await run(api, "explain", ask["id"], "Because.") == (1, "", expected)


async def test_an_ask_can_be_withdrawn_once(api: Served) -> None:
    ask = await api.asked(question("Which port?"))
    code, out, err = await run(api, "withdraw", ask["id"], "--json")
    assert (code, json.loads(out)["status"], err) == (
        *(0, "withdrawn", f"{ask['id']}: withdrawn.\n"),
    )
    again = await run(api, "withdraw", ask["id"])
    assert again == (1, "", f"{ask['id']} has already ended: withdrawn.\n")
    ask = await api.asked(question("Which port?"))
    assert await run(api, "withdraw", ask["id"]) == (0, "", f"{ask['id']}: withdrawn.\n")


@pytest.mark.rule("CLI-12")
def test_an_unreachable_service_is_reported_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_client, "_PATIENCE", 0.1)
    arguments = ["withdraw", "ask_1", "--url", "http://127.0.0.1:1"]
    done = CliRunner().invoke(main.app, arguments, catch_exceptions=False)
    assert done.exit_code == 1
    assert done.stderr == (
        "Cannot reach Answerback at http://127.0.0.1:1: Connection refused. "
        "Start one with `answerback serve`, or name it with --url.\n"
    )


@pytest.mark.rule("CLI-12")
async def test_a_lost_response_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_client, "_PATIENCE", 0.1)
    advice = {
        ("explain", "ask_1", "Because."): (
            "The command may have taken effect. Check before you run it again."
        ),
        ("show", "ask_1"): api_client.START_HINT,  # which changes nothing
    }
    for command, hint in advice.items():
        async with gone_after_one_request() as url:
            arguments = [*command, "--url", url, "--token", "abk_any"]
            done = await asyncio.to_thread(CliRunner().invoke, main.app, arguments)
        assert done.exit_code == 1
        assert done.stderr.startswith(f"Cannot reach Answerback at {url}: ")
        assert done.stderr.endswith(f". {hint}\n")


@pytest.mark.rule("CLI-12")
async def test_a_refusal_is_reported_with_its_reason(serve: Serve, tmp_path: Path) -> None:
    async with serve({"one": "agent"}) as api:
        ask = await api.asked(question("Which port?"), headers=api.bearer("one"))
        code, _, err = await run(api, "withdraw", ask["id"])
        assert code == 1
        assert "Send your agent's token as Authorization: Bearer TOKEN." in err
        assert "Set ANSWERBACK_TOKEN to a token." in err
        (tmp_path / "form.json").write_text('{"question": "Which port?"}')
        code, _, err = await run(api, "ask", "form.json")
        assert code == 1
        assert "Set ANSWERBACK_TOKEN to a token." in err


@pytest.mark.rule("CLI-12")
async def test_invalid_input_is_reported_with_the_services_message(api: Served) -> None:
    code, _, err = await run(api, "withdraw", "ask_" + "x" * 9_000)
    assert code == 1
    assert err.startswith(f"{api.running.api_url}: ")
    assert "400" in err


WITH_DEFAULTS: dict[str, object] = {
    "questions": [
        {"id": "go", "text": "Go?", "answer_type": "boolean", "default": False},
        {"id": "port", "text": "Which port?", "answer_type": "text", "default": "8420"},
    ]
}


@pytest.mark.rule("ASK-6", "SUBMIT-12")
async def test_defaults_are_never_described_as_an_answer(api: Served) -> None:
    ask = await api.asked(WITH_DEFAULTS, on_expiry="defaults")
    await api.running.service.expire(ask["id"])
    ended = "defaults used: nobody answered in time"
    _, out, _ = await run(api, "show", ask["id"])
    head, *lines = [line.split("  ") for line in out.splitlines()]
    assert head[-1] == ended
    assert [line[1] for line in lines] == [
        *("request", "default used", "request", "default used", "ended")
    ]
    assert (await run(api, "wait", ask["id"]))[2] == f"{ask['id']}: {ended}.\n"


@pytest.mark.rule("ASK-6", "SUBMIT-12")
async def test_after_a_partly_human_answer_the_commands_name_the_questions_with_defaults(
    api: Served,
) -> None:
    ask = await api.asked(WITH_DEFAULTS, on_expiry="defaults")
    await api.act(ask, action="answer", value=True)
    await api.running.service.expire(ask["id"])
    assert (await api.get(f"/v1/asks/{ask['id']}"))[1]["sources"] == {
        "go": "human",
        "port": "default",
    }
    ended = "answered, with defaults for port: nobody answered these in time"
    assert (await run(api, "wait", ask["id"]))[2] == f"{ask['id']}: {ended}.\n"
    _, out, _ = await run(api, "show", ask["id"])
    assert [line.split("  ")[1] for line in out.splitlines()[1:]] == [
        *("request", "answered", "request", "default used", "ended")
    ]
