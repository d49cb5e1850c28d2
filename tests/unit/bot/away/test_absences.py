"""Until when people are away and in which hours they are told, as they write it; and who stands in for whom."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core.person import Person
from answerback_away.absences import (
    Absence,
    Hours,
    Said,
    chain_of,
    from_json,
    parse_hours,
    parse_until,
    to_json,
)

NOW = datetime(2026, 11, 27, 15, 0, tzinfo=UTC).timestamp()
"""A Friday."""
PEOPLE = [Person(surface="chat", user_id=f"U{n}") for n in range(6)]


@pytest.mark.rule("AWAY-1")
@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("4h", NOW + 4 * 3_600),
        ("3d", NOW + 3 * 86_400),
        ("2w", NOW + 14 * 86_400),
        ("2026-12-01", datetime(2026, 12, 1, tzinfo=UTC).timestamp()),
        ("2026-12-01T09:30+01:00", datetime(2026, 12, 1, 8, 30, tzinfo=UTC).timestamp()),
        ("2026-11-27", None),
        ("2028-01-01", None),
        ("0d", None),
        ("3", None),
        ("tomorrow", None),
        ("", None),
        ("9999-99-99", None),
        ("٣d", None),
    ],
)
def test_until_when_somebody_is_away_is_a_length_or_a_time_within_a_year(
    text: str, until: float | None
) -> None:
    assert parse_until(text, NOW) == until


@pytest.mark.rule("AWAY-6")
@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("9-17 Europe/Berlin", "9:00-17:00 Europe/Berlin"),
        ("9:30-17:45 UTC", "9:30-17:45 UTC"),
        ("0-24 UTC", "0:00-24:00 UTC"),
        ("17-9 UTC", None),
        ("9-9 UTC", None),
        ("9-25 UTC", None),
        ("9 UTC", None),
        ("9-17 Atlantis", None),
        ("9-17 ../../etc/passwd", None),
        ("9-17", None),
        ("", None),
    ],
)
def test_hours_are_a_span_and_a_time_zone(text: str, spec: str | None) -> None:
    hours = parse_hours(text)
    assert (hours.spec if hours else None) == spec
    if hours is not None:
        assert parse_hours(hours.spec) == hours


@pytest.mark.rule("AWAY-6")
def test_outside_working_hours_a_person_is_quiet_until_they_begin_whatever_the_clocks_do() -> None:
    berlin = Hours(9 * 60, 17 * 60, "Europe/Berlin")

    def at(*time: int) -> float:
        return datetime(*time, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]  # no time zone among them

    assert berlin.quiet_until(at(2026, 11, 27, 7, 59)) == at(2026, 11, 27, 8)
    assert berlin.quiet_until(at(2026, 11, 27, 8)) is None
    assert berlin.quiet_until(at(2026, 11, 27, 15, 59)) is None
    assert berlin.quiet_until(at(2026, 11, 27, 16)) == at(2026, 11, 30, 8), "the weekend"
    # Between Friday and Monday, the clocks go forward.
    assert berlin.quiet_until(at(2026, 3, 27, 16)) == at(2026, 3, 30, 7)
    assert Hours(0, 24 * 60, "UTC").quiet_until(at(2026, 11, 27, 23, 59)) is None


@given(
    st.floats(0, 4e9, allow_nan=False),
    st.integers(0, 1_439),
    st.integers(1, 600),
    st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia"]),
)
def test_somebody_who_is_quiet_is_not_any_more_once_their_hours_begin(
    at: float, begins: int, length: int, zone: str
) -> None:
    hours = Hours(begins, min(begins + length, 24 * 60), zone)
    until = hours.quiet_until(at)
    if until is not None:
        assert at < until <= at + 5 * 86_400
        assert hours.quiet_until(until + 0.001) is None


def test_what_was_said_survives_storage_and_what_cannot_be_read_counts_for_nothing() -> None:
    said = Said(PEOPLE[0], Absence(NOW, PEOPLE[1]), Hours(60, 120, "UTC"))
    for each in (said, said._replace(absence=None), said._replace(hours=None)):
        assert from_json(to_json(each)) == each
    unreadable: list[JsonValue] = [None, [], {}, {"person": 1, "absence": None, "hours": None}]
    for broken in unreadable:
        assert from_json(broken) is None


@pytest.mark.rule("AWAY-3")
@given(st.dictionaries(st.integers(0, 5), st.integers(0, 5)))
def test_a_chain_of_stand_ins_ends_at_somebody_who_is_there_or_is_a_circle(
    edges: dict[int, int],
) -> None:
    def absent(person: Person) -> Absence | None:
        to = edges.get(PEOPLE.index(person))
        return None if to is None else Absence(NOW, PEOPLE[to])

    for start in PEOPLE:
        chain = chain_of(start, absent, lambda one, other: one == other)
        if chain is None:
            assert PEOPLE.index(start) in edges
        else:
            assert chain[0] == start
            assert len({*chain}) == len(chain)
            assert PEOPLE.index(chain[-1]) not in edges
