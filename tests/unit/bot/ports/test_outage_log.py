"""The log of an outage, however many retries fail."""

from __future__ import annotations

import logging

import pytest

from answerback.ports.outage_log import Outage


def test_an_outage_is_logged_when_it_begins_and_ends_and_rarely_in_between(
    caplog: pytest.LogCaptureFixture,
) -> None:
    times = iter(range(10_000))
    outage = Outage(logging.getLogger("a platform"), "Discord", now=lambda: float(next(times)))
    outage.record_success("api")
    for _ in range(500):
        outage.record_failure("api", "no route")
        outage.record_failure("gateway", "no route either")
    outage.record_success("gateway")
    outage.record_success("api")
    outage.record_success("api")
    assert [record.getMessage() for record in caplog.records] == [
        "Discord cannot be reached; retrying with growing pauses: no route",
        *(
            f"Discord cannot be reached for {minutes} minutes; retrying with growing pauses: no route"
            for minutes in (5, 10, 15)
        ),
        "Discord can be reached again after 16.7 minutes",
    ]


def test_a_later_outage_is_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    outage = Outage(logging.getLogger("a platform"), "Discord", now=lambda: 1.0)
    for _ in range(2):
        outage.record_failure("api", "no route")
        outage.record_success("api")
    assert len(caplog.records) == 4
