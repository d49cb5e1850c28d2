"""The state diagram in the documentation matches the walker."""

import pytest

from tests.meta import state_diagram


def test_the_diagram_matches_the_walker() -> None:
    picture = state_diagram.PICTURE.read_text("utf-8")
    assert picture == state_diagram.svg(), (
        "the walker has changed: run python -m tests.meta.state_diagram and look at the picture"
    )


@pytest.mark.rule("ASK-2")
def test_no_action_leaves_an_ended_walk() -> None:
    starts = {start for start, _ in state_diagram.arrows()}
    assert starts == {"question", "review", "confirmation"}
