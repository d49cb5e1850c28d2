"""The modules that decide who may do what: each of their decisions, changed alone, has to be noticed by their tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from tests.meta.project import ROOT
from tests.mutants.decisions import Decision, list_decisions

_API: Final = "tests/unit/bot/api"
_CORE: Final = "tests/unit/bot/core"
_SERVICE: Final = "tests/unit/bot/service"

_NOBODY_IS_ASKED: Final = (
    "ask.request.grants is None or not ask.open or ask.schedule.awaits_inquiry"
)


class Guards(NamedTuple):
    """A module whose decisions are all changed, one at a time."""

    module: str
    tests: tuple[str, ...]
    """The arguments of pytest that select the tests which notice the changes, the quick ones first."""
    equivalent: Mapping[tuple[str, str], str] = {}
    """The changes after which the module does the same, by function and change, with the reason."""

    @property
    def file(self) -> str:
        return f"bot/{self.module.replace('.', '/')}.py"

    def decisions(self) -> list[Decision]:
        """Return all of its decisions, in the order of their numbers."""
        return list_decisions((ROOT / self.file).read_text("utf-8"))


GUARDS: Final = (
    Guards(
        "answerback.core.grants", (f"{_CORE}/test_grants.py", f"{_CORE}/test_grants_of_hosts.py")
    ),
    Guards(
        "answerback.core.granting",
        (f"{_CORE}/test_granting.py", f"{_API}/test_grants.py", f"{_API}/test_grants_end.py"),
        {
            (
                "make_grant",
                "offer.find(terms.match) if offer else None always the first",
            ): "without an offer the terms were refused above",
        },
    ),
    Guards("answerback.core.editing", (f"{_API}/test_edits.py",)),
    Guards(
        "answerback.service.grants",
        (f"{_SERVICE}/test_grants.py", f"{_API}/test_grants_end.py", f"{_API}/test_grants.py"),
        dict.fromkeys(
            (
                ("Grants._answer", f"{_NOBODY_IS_ASKED} with and/or swapped"),
                ("Grants._answer", f"{_NOBODY_IS_ASKED} never true"),
            ),
            "only what offers grants gets here; no inquiry answers a permission, and none that ended has a question",
        ),
    ),
    Guards(
        "answerback.core.secrecy",
        (
            f"{_CORE}/test_secrecy.py",
            f"{_API}/test_confirmations.py",
            f"{_SERVICE}/test_confirmations.py",
            f"{_SERVICE}/test_people_files.py",
        ),
    ),
    Guards("answerback.core.answer_files", (f"{_SERVICE}/test_people_files.py",)),
    Guards(
        "answerback.core.too_late",
        (f"{_CORE}/test_too_late.py", f"{_API}/test_too_late.py"),
    ),
    Guards(
        "answerback.service.may_act",
        (f"{_SERVICE}/test_may_act.py",),
    ),
    Guards(
        "answerback.service.may_see",
        (f"{_SERVICE}/test_may_see.py",),
    ),
)
