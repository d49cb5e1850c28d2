"""The texts that people read about being away."""

from __future__ import annotations

from typing import Final

AWAY_ABOUT: Final = "Say until when you are away, and who stands in for you"
HOURS_ABOUT: Final = "Say in which hours you are reminded and notified"
HERE: Final = "You are here: your questions come to you."
AWAY: Final = "You are away until {time}. {name} stands in for you."
HOURS: Final = "You are reminded and notified only at {hours}. Questions come at any time."
ANY_TIME: Final = "You are reminded and notified at any time."
BACK: Final = "I am back"
AWAY_USAGE: Final = "To change that: {command} 3d NAME (or 4h, 2w, 2026-12-24), with who stands in."
HOURS_USAGE: Final = "To change that: {command} 9-17 Europe/Berlin, or {command} off."
BAD_TIME: Final = (
    "Nothing was changed. Say how long you are away (4h, 3d) or until when (2026-12-24, UTC), which is at most a year, "
    "and then who stands in."
)
BAD_HOURS: Final = "Nothing was changed. Write hours of one day and a time zone: 9-17 Europe/Berlin, say, or 8-16 UTC."
NOBODY: Final = (
    "Nothing was changed. Name one person who stands in for you: a name in the directory, or an account such as "
    "slack:U012 or web:ann."
)
SEVERAL: Final = "Nothing was changed. Several people are called so. Name one of their accounts, such as slack:U012."
REFUSED: Final = {
    "nobody": NOBODY,
    "several": SEVERAL,
    "self": "Nothing was changed. Another person has to stand in for you.",
    "circle": (
        "Nothing was changed. They are away, too, and you would stand in for them in the end, so nobody would get your "
        "questions. Name somebody else."
    ),
}
OPERATOR_STAYS: Final = (
    "Nothing was changed. The operator's key is nobody in particular, and so is never away."
)
TITLE: Final = "Away"
ABOUT: Final = (
    "Whoever stands in gets the questions that wait for you, as if you had handed them over: within what each route "
    "allows. They confirm nothing that you answered, and you nothing that they answered."
)
HOW_LONG: Final = "How long (4h, 3d, 2w), or until when (2026-12-24, UTC)"
WHO: Final = "Who stands in"
SAVE: Final = "Save"
HOURS_TITLE: Final = "Hours"
HOURS_LABEL: Final = "Hours and time zone, such as 9-17 Europe/Berlin; empty: any time"

SNOOZE: Final = "Snooze"
SNOOZE_ABOUT: Final = "Take a question off your list until later"
SNOOZE_EXPLAINED: Final = (
    "Only your own list is without it: others still see it, and its deadline stays. It is back early if people are "
    "reminded of it, if it is handed over or moves, if it needs a confirmation, or if the agent explains something."
)
SNOOZE_FOR: Final = {"1h": "1 hour", "4h": "4 hours", "1d": "1 day", "1w": "1 week"}
"""The lengths that the page offers, each in words."""
SNOOZE_OTHER: Final = "Or how long (30m, 4h, 3d, 2w), or until when (2026-12-24, UTC)"
SNOOZED: Final = "Snoozed until {time}: {what}"
SNOOZED_LIST: Final = "Snoozed"
SNOOZED_COUNT: Final = "Snoozed ({count})"
NOTHING_SNOOZED: Final = "You have snoozed nothing."
UNTIL: Final = "until {time}"
UNDO: Final = "Undo"
SHOW_AGAIN: Final = "Show again"
SHOWN_AGAIN: Final = "It is on your list again: {what}"
NOT_WAITING: Final = "Nothing was changed. This question does not wait for you, or not any more."
BAD_SNOOZE: Final = (
    "Nothing was changed. Say how long (30m, 4h, 3d) or until which day (2026-12-24, UTC)."
)
WAITING: Final = "Waiting for you:"
NOTHING_WAITS: Final = "Nothing is waiting for you."
FIRST_ONES: Final = "These are the first {count}."
SNOOZE_USAGE: Final = (
    "A button snoozes one for {length}. For another time: {command} 30m, 3d, 2w or 2026-12-24."
)
SNOOZE_NUMBER: Final = "Snooze {number}"
SHOW_NUMBER: Final = "Show {number} again"
