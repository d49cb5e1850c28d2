"""Questions for the tests of the pages, and where to find them."""

from __future__ import annotations

from typing import Any

from answerback.core.ask import Ask
from tests.browser.site import answering_path

TEXT = {"id": "t", "text": "Say something", "answer_type": "text"}
MANY = {"id": "m", "text": "Which?", "answer_type": "multi_select", "options": ["a", "b", "c"]}
FLAT: dict[str, Any] = {
    "id": "s",
    "text": "Fill this in",
    "answer_type": "schema",
    "schema": {
        "type": "object",
        "required": ["name", "n"],
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "n": {"type": "integer", "minimum": 1, "default": 2},
            "on": {"type": "boolean"},
            "kind": {"enum": ["x", "y"], "default": "y"},
            "tags": {"type": "array", "items": {"enum": [1, "1"]}, "maxItems": 2},
        },
    },
}
JSON_ONLY = {
    "id": "j",
    "text": "A list",
    "answer_type": "schema",
    "schema": {"type": "array", "items": {"type": "string"}},
}
CLAUDE: dict[str, Any] = {
    "questions": [
        {
            "question": "Which store?",
            "header": "Storage",
            "options": [
                {"label": "Redis", "description": "fast", "preview": "**bold** redis"},
                {"label": "PostgreSQL", "description": "there already"},
            ],
        }
    ]
}
ALPHA_BETA = [{"value": "a", "label": "Alpha"}, {"value": "b", "label": "Beta"}]
REVIEWED = {
    "questions": [{"id": str(i), "prompt": f"Question {i}?", "options": ALPHA_BETA} for i in (1, 2)]
}


def path(ask: Ask) -> str:
    """Return the path of an ask's page for the operator."""
    return answering_path(ask)


def value(ask: Ask, question_id: str) -> object:
    """Return the answer to a question so far."""
    given = ask.walk.answer(question_id)
    return given.value if given else None
