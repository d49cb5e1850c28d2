"""A label that was once offered stays valid in configurations."""

from __future__ import annotations

from pathlib import Path

from answerback.core.labels import Labels

NAMES = Path(__file__).with_name("label_names.txt")


def test_every_label_that_a_configuration_may_have_is_still_taken() -> None:
    """No name is ever taken from the list."""
    names = NAMES.read_text("utf-8").split()
    assert set(names) <= Labels.model_fields.keys()
    assert Labels.model_validate(dict.fromkeys(names, "x")).back == "x"
