"""``Prefer: wait=N`` in the syntax of RFC 7240."""

import pytest
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from answerback.api.asks import MAX_WAIT, preferred_wait


@pytest.mark.rule("WAIT-2")
@pytest.mark.parametrize(
    ("lines", "wait"),
    [
        ([], None),
        (["wait=5"], 5),
        (["wait=0"], 0),
        (["WAIT=7"], 7),
        (['wait="8"'], 8),
        (["wait = 9"], 9),
        (["respond-async, wait=10"], 10),
        (["respond-async", "wait=11"], 11),
        (["wait=12, wait=13"], 12),
        (['handling=lenient; foo="a, b", wait=14; x'], 14),
        (["wait=99999"], MAX_WAIT),
        (["wait=" + "9" * 5000], MAX_WAIT),
        (["wait"], None),
        (["wait=soon"], None),
        (["wait=-1"], None),
        (["wait=1.5"], None),
        (["return=minimal"], None),
        (['x="wait=15"'], None),
        ([",,,"], None),
        (['=,"unclosed'], None),
        (["wait=٣"], None),
    ],
)
def test_the_first_valid_wait_counts(lines: list[str], wait: int | None) -> None:
    headers = CIMultiDict([("Prefer", line) for line in lines])
    assert preferred_wait(make_mocked_request("GET", "/", headers)) == wait
