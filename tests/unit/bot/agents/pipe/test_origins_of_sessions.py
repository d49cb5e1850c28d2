"""Which folders of an agent's sessions are remembered, and what of them fits into a submission."""

from __future__ import annotations

import pytest

from answerback.service import submission_request
from answerback_agents.pipe import origins
from answerback_agents.pipe.origins import Folders, origin_of


@pytest.mark.rule("ASK-8")
def test_what_does_not_fit_is_cut_at_its_start() -> None:
    long = "/" + "x" * 300 + "/shop"
    origin = origin_of(long, "s" * 200)
    assert origin == {"folder": long[-100:], "session": "s" * 100}
    assert origin_of(None, "") == origin_of(7, ["s"]) == {}
    assert origins.MAX_PLACE == submission_request.MAX_PLACE


def test_the_folders_of_the_newest_sessions_are_remembered() -> None:
    folders = Folders()
    for number in range(origins.MAX_FOLDERS + 1):
        folders.remember(f"s{number}", f"/srv/{number}")
        folders.remember("s1", "/srv/one")
    folders.remember("s1", None)
    folders.remember(["s1"], "/srv/two")
    assert folders.origin("s0") == {"session": "s0"}
    assert folders.origin("s1") == {"folder": "/srv/one", "session": "s1"}
    assert folders.folder(None) is None
