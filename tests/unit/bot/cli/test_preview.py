"""``answerback preview``: the payloads, the page that shows how they look, and the prompts in the terminal."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.output.plain_text import PlainTextOutput
from typer.testing import CliRunner

from answerback.cli.form_problems import format_problems
from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.core.labels import Labels
from answerback.dialects.registry import ParsedCall, parse_call
from answerback.service.ask_wire import ask_json
from answerback.service.submission_plan import plan
from answerback.service.submission_request import Routes, read_submission
from answerback_agents.cli import main
from answerback_testing.example_asks import new_ask
from tests.unit.picture_samples import PNG, png, png_header, webp

QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "a",
        "prompt": "Pick <b>one</b> *bold* _it_ & go",
        "options": [
            {"value": "x", "label": "X [one]", "description": "the <first>"},
            {"value": "y", "label": "Y"},
        ],
    },
    {"id": "b", "prompt": "And?", "options": [{"value": str(n), "label": f"no {n}"} for n in range(40)]},
]  # fmt: skip
FORM = {"name": "question", "arguments": {"questions": QUESTIONS}}
TYPES: dict[str, Any] = {
    "questions": [
        {"id": "yes", "text": "Sure?", "answer_type": "boolean", "default": True},
        {"id": "many", "text": "Which?", "answer_type": "multi_select", "options": ["p", "q"]},
        {"id": "words", "text": "Why?", "answer_type": "text", "context": "Say <script>."},
        {"id": "json", "text": "How?", "answer_type": "schema", "schema": {"type": "object"}},
    ]
}


@pytest.fixture
def form(tmp_path: Path) -> Path:
    path = tmp_path / "form.json"
    path.write_text(json.dumps(FORM))
    return path


def run(*arguments: str) -> tuple[int, str]:
    with create_app_session():  # otherwise it prints to where the first test did
        done = CliRunner().invoke(main.app, ["preview", *arguments])
    return done.exit_code, done.stdout


@pytest.mark.rule("CLI-6")
@pytest.mark.parametrize(("surface", "key"), [("slack", "blocks"), ("discord", "components")])
def test_the_json_is_what_is_sent_for_each_prompt_and_the_review(
    form: Path, surface: str, key: str
) -> None:
    code, printed = run(str(form), "--surface", surface)
    messages = json.loads(printed)
    assert code == 0
    assert len(messages) == 3
    assert all(message[key] for message in messages)
    assert "ask_preview" in printed


@pytest.mark.rule("CLI-6")
def test_in_the_terminal_every_prompt_is_shown_with_its_keys(tmp_path: Path) -> None:
    path = tmp_path / "form.json"
    call = {"name": "ask_user", "arguments": TYPES, "responders": ["U012", "@S9"]}
    path.write_text(json.dumps(call | {"expires_in": 3_600, "accepts": ["clarify"]}))
    code, printed = run(str(path))
    assert code == 0
    for text in (
        "For the people who were asked (2) · closes 20",
        "   ?  Ask for details",
        "[1/4] Sure?",
        "Pre-filled: Yes",
        "   y  Yes",
        "[2/4] Which?",
        "[ ] 2  q",
        "[3/4] Why?",
        "[4/4] How?",
        "s  End",
    ):
        assert text in printed


@pytest.mark.rule("CLI-6")
def test_a_review_shows_an_answer_of_each_type_and_none_that_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_review(*call: Any) -> ParsedCall:  # as a dialect of a plug-in may have it
        parsed = parse_call(*call)
        return parsed._replace(form=parsed.form.model_copy(update={"review": True}))

    monkeypatch.setattr("answerback.cli.validate.parse_call", with_review)
    one = {"id": "one", "text": "Where?", "answer_type": "select", "options": ["p", "q"]}
    no = {"id": "no", "text": "Why not?", "answer_type": "text"}
    unasked = {**no, "when": {"question_id": "yes", "equals": False}}
    path = tmp_path / "form.json"
    path.write_text(json.dumps({"questions": [*TYPES["questions"], one, unasked]}))
    code, printed = run(str(path))
    assert code == 0
    rows = [line.split("  (")[0].strip() for line in printed.splitlines() if "→" in line]
    assert rows == [
        *("1  Sure? → Yes", "2  Which? → p", "3  Why? → …", "4  How? → {}", "5  Where? → p"),
    ]


@pytest.mark.rule("CLI-6")
def test_the_page_shows_both_platforms_and_escapes_an_agents_text(
    form: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    code, _ = run(str(form), "--html", str(page))
    text = page.read_text()
    assert code == 0
    for surface in ("Slack", "Discord", "Web page"):
        assert text.count(f"<figcaption>{surface}") == 3
    assert "<b>one</b>" not in text
    assert "Pick &lt;b&gt;one&lt;/b&gt; bold _it_ &amp; go" in text
    assert "<first>" not in text
    assert "no 39" in text
    assert "&#34;blocks&#34;" in text


def test_a_page_of_every_answer_type_shows_every_part(tmp_path: Path) -> None:
    path, page = tmp_path / "form.json", tmp_path / "page.html"
    path.write_text(json.dumps(TYPES))
    assert run(str(path), "--html", str(page))[0] == 0
    text = page.read_text()
    assert "<script>" not in text
    looks_alone = "".join(
        part.split("<details>")[0] for part in text.split('<div class="message">')[1:]
    )
    assert 'class="small">(' not in looks_alone


def test_a_page_without_a_path_goes_to_a_temporary_file_for_the_browser(
    form: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened: list[str] = []

    def no_browser(url: str) -> bool:
        opened.append(url)
        return False

    monkeypatch.setattr("webbrowser.open", no_browser)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert run(str(form), "--open")[0] == 0
    assert opened[0].startswith("file:///")
    assert Path(opened[0].removeprefix("file://")).read_text().startswith("<!doctype html>")


def test_a_form_that_cannot_be_asked_ends_with_2(tmp_path: Path) -> None:
    path = tmp_path / "form.json"
    path.write_text('{"questions": []}')
    assert run(str(path))[0] == 2
    assert run(str(tmp_path / "none.json"))[0] == 2


@pytest.mark.rule("CLI-6")
def test_a_surface_without_previews_is_refused_and_those_with_one_are_listed(form: Path) -> None:
    done = CliRunner().invoke(main.app, ["preview", str(form), "--surface", "pager"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "there is no preview for 'pager'" in done.stderr
    assert "terminal, web, slack, discord" in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.rule("CLI-6")
def test_a_submission_without_responders_is_refused_like_in_the_service(form: Path) -> None:
    call: dict[str, Any] = {**FORM, "responders": []}
    form.write_text(json.dumps(call))
    refused = plan(read_submission({**call, "to": "web"}), Routes(), frozenset({"web"}), None)
    assert isinstance(refused, tuple)
    done = CliRunner().invoke(main.app, ["preview", str(form)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines() == format_problems(refused)


def test_every_error_in_a_submission_is_reported(form: Path) -> None:
    form.write_text(json.dumps({**FORM, "arguments": {"questions": []}, "responders": []}))
    done = CliRunner().invoke(main.app, ["preview", str(form)])
    assert done.exit_code == 2
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [
        "/questions",
        "/responders",
    ]


def test_the_destination_of_a_submission_is_ignored(form: Path) -> None:
    form.write_text(json.dumps({**FORM, "to": "a route that the service knows"}))
    assert run(str(form), "--surface", "slack")[0] == 0


def test_in_the_terminal_an_ask_without_responders_shows_no_audience() -> None:
    printed = io.StringIO()
    with create_app_session(output=PlainTextOutput(printed)):
        TerminalPrompter(Labels()).show(ask_json(new_ask(1, responders=())))
    assert "The assistant asks\n[1/3]" in printed.getvalue().replace("\r", "")


def test_a_page_that_cannot_be_written_is_reported(form: Path, tmp_path: Path) -> None:
    assert run(str(form), "--html", str(tmp_path / "no" / "page.html"))[0] == 1


@pytest.mark.rule("CLI-6", "SURFACE-17", "CLARIFY-1")
def test_a_page_shows_the_audience_the_deadline_and_asking_back(
    tmp_path: Path,
) -> None:
    call: dict[str, Any] = {"name": "ask_user", "arguments": TYPES, "responders": ["U012", "@S9"]}
    call |= {"expires_in": 3_600, "accepts": ["clarify"]}
    path, page = tmp_path / "form.json", tmp_path / "page.html"
    path.write_text(json.dumps(call))
    assert run(str(path), "--html", str(page))[0] == 0
    text = page.read_text()
    assert "For @U012, @S9 · closes 20" in text, "Slack"
    assert text.count("Ask for details") >= 3, "on every surface"


@pytest.mark.rule("CLI-6")
def test_later_questions_have_back_as_people_see_them(tmp_path: Path) -> None:
    file = tmp_path / "form.json"
    gated = {"question_id": "yes", "equals": False}
    questions = [*TYPES["questions"][:2], {**TYPES["questions"][2], "when": gated}]
    file.write_text(json.dumps({"questions": questions}))
    shown = CliRunner().invoke(main.app, ["preview", str(file), "--surface", "slack"])
    steps = [json.dumps(step) for step in json.loads(shown.stdout)]
    assert ['"Back"' in step for step in steps] == [False, True, True]
    assert "*No*" in steps[2] or "No" in steps[2]


PLOT = {"name": "plot.png", "data": base64.b64encode(PNG).decode(), "alt": "Latency"}
ON_A_PLOT = {
    "id": "q",
    "text": "Roll back?",
    "answer_type": "boolean",
    "context": "Slower:\n\n![Latency](file:plot.png)",
}


def looks(
    tmp_path: Path, question: dict[str, Any], *files: dict[str, str], tool: str = "ask_user"
) -> dict[str, str]:
    """Return the HTML of what each surface shows of a question with these files, by the surfaces' titles."""
    form, page = tmp_path / "form.json", tmp_path / "page.html"
    call = {"name": tool, "arguments": {"questions": [question]}, "files": files}
    form.write_text(json.dumps(call))
    assert run(str(form), "--html", str(page))[0] == 0
    text = re.sub(r"<details>.*?</details>", "", page.read_text("utf-8"), flags=re.DOTALL)
    found = re.findall(r'<figcaption>(.*?)</figcaption>\s*<div class="message">', text)
    shown = re.split(r'<figcaption>.*?</figcaption>\s*<div class="message">', text)[1:]
    return {title: html.unescape(look) for title, look in zip(found, shown, strict=True)}


def drawn(look: str) -> list[tuple[str, bytes, str]]:
    """Return the pictures in HTML: their types, bytes and alternative texts."""
    found = re.findall(r'<img src="data:([a-z/]+);base64,([^"]*)" alt="([^"]*)"', look)
    return [(kind, base64.b64decode(data), alt) for kind, data, alt in found]


@pytest.mark.rule("CLI-33")
def test_pictures_that_stand_in_a_submission_are_drawn_where_each_surface_shows_them(
    tmp_path: Path,
) -> None:
    shown = looks(tmp_path, ON_A_PLOT, PLOT)
    assert list(shown) == ["Web page", "Slack", "Discord", "Telegram"]
    for title, look in shown.items():
        assert drawn(look) == [("image/png", PNG, "Latency")], title
        assert look.index("<img") < look.index("Yes</button>"), title
        assert "![Latency]" not in look
        assert "shown on its page" not in look, "what is drawn is not named as well"
        assert not re.search(r'src="(?!data:)', look), title


@pytest.mark.rule("CLI-33")
def test_a_text_that_looks_like_a_pictures_address_stays_as_it_is(tmp_path: Path) -> None:
    address = 'src="cid:file_00"'
    question = {"id": "q", "text": f"Why {address}?", "answer_type": "boolean"}
    shown = looks(tmp_path, question)
    assert all(address in html.unescape(look) for look in shown.values())


@pytest.mark.rule("CLI-33")
def test_two_layouts_to_choose_from_are_drawn_with_their_numbers(tmp_path: Path) -> None:
    wide = {"name": "wide.png", "data": base64.b64encode(png(2, 1)).decode()}
    options = [
        {"label": each, "description": "", "preview": f"![{each}](file:{each}.png)"}
        for each in ("plot", "wide")
    ]
    question = {"question": "Which?", "header": "Layout", "options": options, "multiSelect": False}
    shown = looks(tmp_path, question, PLOT, wide, tool="AskUserQuestion")
    for title, look in shown.items():
        assert [data for _, data, _ in drawn(look)] == [PNG, png(2, 1)], title
        if title != "Web page":
            assert re.findall(r"<figcaption>(.*?)</figcaption>", look) == [
                "1. Latency",
                "2. wide.png",
            ]
            assert ('class="pictures beside"' in look) == (title != "Slack"), title


@pytest.mark.rule("CLI-33")
def test_what_a_surface_does_not_show_is_named_and_not_drawn(tmp_path: Path) -> None:
    page = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    fake = {"name": "fake.png", "data": base64.b64encode(page).decode()}
    moving = {"name": "moving.webp", "data": base64.b64encode(webp()).decode()}
    shown = looks(tmp_path, {"id": "q", "text": "So?", "answer_type": "boolean"}, fake, moving)
    for title, look in shown.items():
        kinds = [kind for kind, _, _ in drawn(look)]
        assert kinds == ([] if title == "Slack" else ["image/webp"]), title
        assert "fake.png" in look, title
        assert "moving.webp" in look, title
        assert "onload" not in look, title
        assert base64.b64encode(page).decode() not in look, title


@pytest.mark.rule("CLI-33")
def test_the_json_beside_a_picture_has_no_bytes_of_it(tmp_path: Path) -> None:
    looks(tmp_path, ON_A_PLOT, PLOT)
    text = (tmp_path / "page.html").read_text("utf-8")
    sources = re.findall(r"<pre>(.*?)</pre></details>", text, flags=re.DOTALL)
    assert len(sources) == 4
    assert not any(PLOT["data"] in each for each in sources)
    assert "Pictures have no ids before they are uploaded" in text, "so Slack's JSON lacks them"
    code, printed = run(str(tmp_path / "form.json"), "--surface", "discord")
    assert code == 0
    assert "attachment://picture0.png" in printed


@pytest.mark.rule("CLI-33")
@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ({"data": "no base64"}, "plot.png is not valid base64"),
        ({"data": base64.b64encode(png_header(10_000, 10_000)).decode()}, "at most 50,000,000"),
        ({"data": base64.b64encode(bytes(128 * 1024 + 1)).decode()}, "at most 128 KiB"),
    ],
    ids=["base64", "pixels", "size"],
)
def test_a_file_that_the_service_would_refuse_is_refused(
    tmp_path: Path, file: dict[str, str], problem: str
) -> None:
    form = tmp_path / "form.json"
    call = {"name": "ask_user", "arguments": {"questions": [ON_A_PLOT]}}
    form.write_text(json.dumps({**call, "files": [{**PLOT, **file}]}))
    done = CliRunner().invoke(main.app, ["preview", str(form)])
    assert done.exit_code == 2
    assert problem in done.stderr
