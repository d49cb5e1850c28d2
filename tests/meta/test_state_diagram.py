"""The picture of the states in the documentation is the walker's own."""

import pytest

from tests.meta import state_diagram


def test_the_picture_shows_what_the_walker_does() -> None:
    drawn = state_diagram.PICTURE.read_text("utf-8")
    assert drawn == state_diagram.svg(), (
        "the walker has changed: run python -m tests.meta.state_diagram and look at the picture"
    )


@pytest.mark.rule("ASK-2")
def test_an_ended_walk_is_left_by_no_action() -> None:
    starts = {start for start, _ in state_diagram.arrows()}
    assert starts == {"question", "review"}
