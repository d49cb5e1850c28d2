"""Contract tests for grants: given with a control, read where they are used, and revoked there."""

from __future__ import annotations

from itertools import count

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.form import AnswerType, Form, Question
from answerback.core.grants import GrantOffer, Match
from answerback.core.walker import Source
from answerback.ports.store import Write
from answerback.ports.store_values import NO_LIMITS, Created
from answerback_testing.example_asks import new_ask
from answerback_testing.simulated_people import (
    Capability,
    HasGrants,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_people import read_normalized_text
from answerback_testing.surface_questions import ALLOW, DENY, LABELS

_RUN = Question(id="decision", text="Run ls", answer_type=AnswerType.SELECT, options=(ALLOW, DENY))
_FORM = Form(questions=(_RUN,), decided_by_hand=True)
_NUMBERS = count(1)


def _request(scope: str, *more: Match) -> dict[str, object]:
    exact = Match(match="command", subject="ls -la /srv", scope=scope)
    offer = GrantOffer(matches=(exact, *more), minutes=480, uses=50)
    return {"agent": "coder", "route": "ops", "grants": offer}


@requires_capability(Capability.GRANTS)
class GrantsContract:
    """Contract of grants: how people make and revoke them."""

    @staticmethod
    async def _ask(stage: Stage, scope: str, *people: SimulatedPerson, more: str = "") -> Ask:
        """Show an approval that can be allowed again to these people, who look at it."""
        others = [Match(match=f"prefix:{more}", subject=more, scope=f"{scope} {more}")] * bool(more)
        responders, request = tuple(each.user_id for each in people), _request(scope, *others)
        ask = await stage.harness.create_ask(_FORM, stage.place, responders, request=request)
        for person in people:
            await person.look_at(ask)
        return ask

    @staticmethod
    async def _submit(stage: Stage, scope: str, *people: SimulatedPerson) -> Ask:
        """Submit an approval as an agent does: a grant may answer it."""
        service = stage.harness.service
        ask = new_ask(
            f"{next(_NUMBERS):024x}f",
            to=stage.place,
            form=_FORM,
            responders=tuple(person.user_id for person in people),
            at=service.clock.now(),
            request=_request(scope),
        )
        stored, write = await service.grants.create(Write(ask), None, NO_LIMITS)
        assert isinstance(stored, Created)
        stage.harness.message_sync.request_sync(write.ask)
        return await stage.harness.wait_until_shown(ask.id)

    @pytest.mark.rule("GRANT-8", "GRANT-5")
    async def test_a_person_allows_it_again_and_every_use_is_shown_with_revoke(
        self, stage: Stage, ada: HasGrants, bob: HasGrants
    ) -> None:
        scope = f"scope {next(_NUMBERS)}"
        ask = await self._ask(stage, scope, ada, bob)
        assert LABELS.allow_again.casefold() in await read_normalized_text(ada)
        await ada.allow_again(7)
        ask = await stage.harness.wait_until_shown(ask.id)
        assert (ask.status, ask.walk.answers[0].value) == (Status.ANSWERED, "allow")
        assert ask.grant is not None
        assert (ask.grant.uses, ask.grant.by.user_id) == (7, ada.user_id)
        [grant] = await stage.harness.store.grants.find([scope])
        assert grant.until - grant.at == 15 * 60
        await ada.look_at(ask)
        text = LABELS.granted.partition("{uses}")[0].format(name=ada.name)
        assert text.casefold() in await read_normalized_text(ada)

        used = await self._submit(stage, scope, ada, bob)
        assert (used.status, used.walk.answers[0].source) == (Status.ANSWERED, Source.GRANT)
        await bob.look_at(used)
        read = await read_normalized_text(bob, ada)
        said = LABELS.granted_use.partition(", until")[0].format(name=ada.name, use=1, uses=7)
        assert said.casefold() in read
        assert "run ls" in read
        await bob.revoke()
        used = await stage.harness.wait_until_shown(used.id)
        assert used.grant is not None
        assert used.grant.revoked_by is not None
        assert used.grant.revoked_by.user_id == bob.user_id
        await bob.look_at(used)
        read = await read_normalized_text(bob, ada)
        assert LABELS.revoked.format(name=bob.name).casefold() in read
        assert f" {LABELS.revoke.casefold()} " not in f" {read} "
        assert (await self._submit(stage, scope, ada, bob)).open

    @pytest.mark.rule("GRANT-8")
    async def test_the_form_says_in_full_what_would_be_allowed(
        self, stage: Stage, ada: HasGrants
    ) -> None:
        await self._ask(stage, f"scope {next(_NUMBERS)}", ada, more="ls -la")
        read = await ada.read_grant_form()
        assert LABELS.grant_command.format(text="ls -la /srv") in read
        assert LABELS.grant_prefix.format(text="ls -la") in read

    @pytest.mark.rule("GRANT-8")
    async def test_nobody_allows_again_what_somebody_else_has_decided(
        self, stage: Stage, ada: SimulatedPerson, bob: HasGrants
    ) -> None:
        scope = f"scope {next(_NUMBERS)}"
        ask = await self._ask(stage, scope, ada, bob)
        await ada.answer(_RUN, "deny")
        await stage.harness.wait_until_shown(ask.id)
        await bob.allow_again(7)
        assert await stage.harness.store.grants.find([scope]) == []

    @pytest.mark.rule("GRANT-6", "GRANT-8")
    async def test_only_a_responder_revokes(
        self, stage: Stage, ada: HasGrants, bob: HasGrants
    ) -> None:
        scope = f"scope {next(_NUMBERS)}"
        ask = await self._ask(stage, scope, ada)
        await ada.allow_again(7)
        await bob.look_at(await stage.harness.wait_until_shown(ask.id))
        if f" {LABELS.revoke.casefold()} " in f" {await read_normalized_text(bob)} ":
            await bob.revoke()
        assert len(await stage.harness.store.grants.find([scope])) == 1

    @pytest.mark.rule("GRANT-1")
    async def test_it_is_not_offered_otherwise(self, stage: Stage, ada: SimulatedPerson) -> None:
        ask = await stage.harness.create_ask(_FORM, stage.place, (ada.user_id,))
        await ada.look_at(ask)
        assert LABELS.allow_again.casefold() not in await read_normalized_text(ada)
