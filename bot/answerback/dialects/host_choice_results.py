"""The results of the hosts in `answerback.dialects.host_choices`, as each host gives them to its model."""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Question
from answerback.core.walker import GivenAnswer
from answerback.dialects import results
from answerback.dialects.results import answer_values, json_result, reply_and_reason_fields

Json = dict[str, JsonValue]
_ONE: Final = "answer"
"""The id of the question in a call that is one question."""


def _values(ask: Ask, *, replied: bool = False) -> list[tuple[Question, list[JsonValue]]]:
    """Return each question with its answer as a list; for the open one, this is the reply if ``replied``."""
    reply = [ask.walk.reply] if replied and ask.walk.reply is not None else []
    return [*results.values_by_question(ask, reply)]


def _joined(values: list[JsonValue]) -> str:
    return ", ".join(map(str, values))


def _remarked(ask: Ask, text: str) -> str:
    """Return a text that says which answers no person gave, since the hosts' words claim that their user did."""
    remarks = {remark for each in ask.walk.answers if (remark := results.source_remark(each))}
    return f"{text} ({'; '.join(sorted(remarks))})" if remarks else text


def openclaw(ask: Ask) -> ToolResult:
    """OpenClaw: the labels by question id, in a list."""
    rows = _values(ask)
    by_id: Json = {question.id: row for question, row in rows}
    if ask.status is Status.ANSWERED:
        structured: Json = {"status": "answered", "answers": {"answers": by_id}}
        lines = [f"{question.header}: {_joined(row) or '(no answer)'}" for question, row in rows]
        text = _remarked(ask, "\n".join(lines))
    else:
        answered: Json = {key: row for key, row in by_id.items() if row}
        structured = {"status": "no_answer", **reply_and_reason_fields(ask)}
        structured |= {"answers": {"answers": answered}} if answered else {}
        cancelled = results.end_reason(ask) is None
        what = "The question was cancelled" if cancelled else "No answer arrived"
        text = results.append_reply(ask, f"{what}; proceed with best judgment.")
    content = f"{text}\n\n{json.dumps(structured, ensure_ascii=False, indent=2)}"
    return ToolResult(content=content, structured=structured)


def deepagents(ask: Ask) -> ToolResult:
    """Deep Agents: what its interrupt is resumed with, and the transcript that its model reads."""
    answered = ask.status is Status.ANSWERED
    missing = (
        ""
        if answered
        else results.unanswered_text(ask).replace("[cancelled by user]", "(cancelled)")
    )
    given = [
        (question.text, missing if ask.walk.answer(question.id) is None else _joined(row))
        for question, row in _values(ask)
    ]
    status = "answered" if answered else "cancelled"
    content = "\n\n".join(f"Q: {question}\nA: {answer}" for question, answer in given)
    return ToolResult(
        content=results.append_reply(ask, _remarked(ask, content)),
        structured={
            "status": status,
            "answers": [answer for _, answer in given],
            **reply_and_reason_fields(ask),
        },
    )


def auggie(ask: Ask) -> ToolResult:
    """Auggie: a text."""
    if ask.form.questions[0].id == _ONE:
        given = ask.walk.answer(_ONE)
        answer = _joined(answer_values(given)) if given is not None else ask.walk.reply
        text = f"User responded: {answer}" if answer is not None else _declined(ask)
    elif ask.status is Status.ANSWERED or ask.walk.reply or ask.walk.answers:
        text = "\n".join(
            f"{question.text}\t{_joined(row) or '[No answer provided]'}"
            for question, row in _values(ask, replied=True)
        )
    else:
        text = _declined(ask)
    return _text_result(_remarked(ask, text))


def _declined(ask: Ask) -> str:
    expired = results.end_reason(ask) is not None
    return results.unanswered_text(ask) if expired else "Declined to answer."


def continue_(ask: Ask) -> ToolResult:
    """Continue: a text that says which option it was; of several questions, which it does not have, one for each."""
    texts = [_continue_text(ask, i) for i in range(len(ask.form.questions))]
    if len(texts) > 1:
        asked = zip(ask.form.questions, texts, strict=True)
        texts = [f"{question.text}\n{text}" for question, text in asked]
    return _text_result(_remarked(ask, "\n\n".join(texts)))


def _continue_text(ask: Ask, place: int) -> str:
    question = ask.form.questions[place]
    given = ask.walk.answer(question.id)
    reply = ask.walk.reply if place == ask.walk.at else None
    if given is None and reply is None:
        return results.unanswered_text(ask)
    answer = reply if given is None else str(given.value)
    option = question.option(given.value) if given is not None and not given.other else None
    if option is not None:
        return f'User selected option {question.options.index(option) + 1}: "{answer}"'
    how = "provided custom answer" if question.options else "answered"
    return f'User {how}: "{answer}"'


def _text_result(text: str) -> ToolResult:
    return ToolResult(content=text, structured=text)


def cursor(ask: Ask) -> ToolResult:
    """Cursor: its AskQuestionResult as JSON; of an asynchronous call, the message that follows."""
    answers: list[JsonValue] = [
        _cursor_answer(question, given)
        for question in ask.form.questions
        if (given := ask.walk.answer(question.id)) is not None
    ]
    if ask.status is not Status.ANSWERED:
        structured: Json = {"rejected": {"reason": results.said(ask)}, **results.reason_field(ask)}
        structured |= {"success": {"answers": answers}} if answers else {}
        return json_result(structured)
    structured = {"success": {"answers": answers}}
    if ask.request.mode != "async":
        return json_result(structured)
    content = "\n\n".join(
        "\n".join([question.text, *_labels(question, ask.walk.answer(question.id))])
        for question in ask.form.questions
    )
    return ToolResult(content=_remarked(ask, content), structured=structured)


def _cursor_answer(question: Question, given: GivenAnswer) -> Json:
    is_text = question.answer_type is AnswerType.TEXT
    ids = [] if is_text else results.chosen_values(given)
    text = str(given.value) if is_text else given.other_text or ""
    return {"questionId": question.id, "selectedOptionIds": ids, "freeformText": text}


def _labels(question: Question, given: GivenAnswer | None) -> list[str]:
    values = [] if given is None else answer_values(given)
    options = {option.value: option.label for option in question.options}
    return [options.get(str(value), str(value)) for value in values] or ["(no answer)"]


def hermes(ask: Ask) -> ToolResult:
    """Hermes: the question with its choices and the answer; of several questions, a list of responses."""
    rows = [
        (question, ask.walk.answer(question.id), row)
        for question, row in _values(ask, replied=True)
    ]
    if ask.form.questions[0].id == _ONE:
        ((question, given, row),) = rows
        said: JsonValue = _hermes_answer(question, row) if given is not None else results.said(ask)
        return json_result(
            {**_offered(question), "user_response": said, **results.reason_field(ask)}
        )
    responses: list[JsonValue] = [
        {
            **_offered(question),
            "status": "answered" if row else "unanswered" if given is None else "skipped",
            "user_response": _hermes_answer(question, row) if row else None,
        }
        for question, given, row in rows
    ]
    ended = {Status.ANSWERED: "submitted", Status.EXPIRED: "timed_out"}
    outcome = ended.get(ask.status, "cancelled")
    notice: Json = {} if ask.status is Status.ANSWERED else {"notice": results.said(ask)}
    return json_result(
        {"responses": responses, "outcome": outcome, **notice, **results.reason_field(ask)}
    )


def _offered(question: Question) -> Json:
    choices: list[JsonValue] = [option.value for option in question.options]
    return {"question": question.text, "choices_offered": choices or None}


def _hermes_answer(question: Question, row: list[JsonValue]) -> JsonValue:
    return row if question.answer_type is AnswerType.MULTI_SELECT else _joined(row)


def droid(ask: Ask) -> ToolResult:
    """Factory Droid: the answers by number; it takes none of a questionnaire that was cancelled."""
    if ask.status is not Status.ANSWERED:
        return json_result({"cancelled": True, "answers": [], **reply_and_reason_fields(ask)})
    sent: Any = ask.request.arguments.get("questions") or [ask.request.arguments]
    asked = zip(sent, _values(ask), strict=True)
    answers: list[JsonValue] = [
        {
            "index": position if call.get("index") is None else call["index"],
            "question": question.text,
            "answer": _joined(row),
        }
        for position, (call, (question, row)) in enumerate(asked, 1)
    ]
    return json_result({"answers": answers})
