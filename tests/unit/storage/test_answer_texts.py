"""The JSON of answers, kept by the storage: each is serialized once, and forgotten with its answer."""

import gc
import json
from collections.abc import Sequence

from answerback.core.walker import GivenAnswer
from answerback_storage import answer_texts
from answerback_storage.answer_texts import answers_json


def test_an_answer_is_serialized_once_and_forgotten_when_it_is_gone() -> None:
    serialized: list[str] = []

    def serialize(answer: GivenAnswer) -> str:
        serialized.append(answer.question_id)
        return json.dumps(answer.value)

    def stored(*answers: GivenAnswer) -> object:
        return json.loads(answers_json(answers, serialize))

    gc.collect()
    before = len(answer_texts._TEXTS)
    first, second = (GivenAnswer(question_id=name, value=name) for name in "ab")
    assert stored() == []
    assert stored(first) == ["a"]
    assert stored(first, second) == ["a", "b"]
    assert stored(second, first) == ["b", "a"]
    equal = GivenAnswer(question_id="a", value="a")
    assert stored(equal) == ["a"]
    assert serialized == ["a", "b", "a"]
    assert _texts_for([first, second, equal]) == 3
    del first, second, equal
    gc.collect()
    assert len(answer_texts._TEXTS) == len(answer_texts._REFERENCES) == before


def _texts_for(answers: Sequence[GivenAnswer]) -> int:
    return len(answer_texts._TEXTS.keys() & {id(answer) for answer in answers})
