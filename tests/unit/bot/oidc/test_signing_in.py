"""People sign in on the public listener, and nobody signs in as somebody else."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.core.ask import Ask
from answerback.core.labels import ENGLISH
from answerback.core.person import AuthMethod, Person
from answerback.service.submission_request import read_submission
from answerback_oidc.attempts import SECONDS, Attempts
from answerback_oidc.pages import SIGN_INS
from answerback_oidc.signing_in import SigningIn
from answerback_receipts.payload import strength_of
from tests.fakes.oidc_provider import CLIENT, FakeProvider, oidc_provider
from tests.service_support import WAIT
from tests.unit.bot.oidc.conftest import MakeService, SignInService

CALL: dict[str, Any] = {
    "name": "ask_user",
    "arguments": {"question": "Apply the migration?", "answer_type": "boolean"},
    "to": "web",
    "responders": ["person:ann"],
}


async def submit(up: SignInService) -> Ask:
    return (await up.running.service.submit(read_submission(CALL))).ask


def inbox_of(done: dict[str, Any]) -> str:
    return f"/inbox/{done['session']}"


async def refused(up: SignInService, attempt: str, response: str, text: str = "") -> None:
    """Check that a sign-in is refused, and that nobody is signed in."""
    status, answer = await up.post("finish", attempt=attempt, response=response)
    assert (status, answer["error"]) == (403, text or ENGLISH.oidc_failed)
    assert len(await up.running.service.store.rows.read("SELECT id FROM oidc_sessions")) == 0


@pytest.mark.rule("OIDC-1", "OIDC-2", "OIDC-6")
async def test_a_person_signs_in_and_answers_under_the_id_of_the_provider(
    up: SignInService,
) -> None:
    ask = await submit(up)
    done = await up.sign_in()
    status, markup = await up.read(inbox_of(done))
    assert status == 200
    assert "Apply the migration?" in markup
    link = up.link(ask)
    status, opened = await up.post("resume", session=done["session"], to=link)
    assert status == 200
    address = opened["address"].removeprefix("..")
    assert address.startswith(f"/a/{link}.")
    form = {"do": "yes", "revision": str(ask.revision), "at": "0"}
    own = {"Origin": up.address, "Sec-Fetch-Site": "same-origin"}
    async with up.http.post(address, data=form, headers=own) as response:
        assert response.status == 200
    ended = await up.running.service.get(ask.id)
    assert ended is not None
    assert ended.outcome is not None
    person = ended.outcome.ended_by
    assert person is not None
    assert (person.surface, person.user_id, person.name, person.known) == (
        "web", f"oidc:{up.provider.url}#248289761001", "Ann", AuthMethod.OIDC,
    )  # fmt: skip
    assert strength_of(ended) == "accounts"


def _running(up: SignInService) -> SigningIn:
    running = up.running.extensions.running["oidc"]
    assert isinstance(running, SigningIn)
    return running


async def _holders(up: SignInService) -> Any:
    return await _running(up).signed_in()


@pytest.mark.rule("OIDC-1")
async def test_the_page_that_asks_for_a_key_leads_to_the_sign_in_on_the_public_listener_alone(
    up: SignInService,
) -> None:
    ask = await submit(up)
    link = up.link(ask)
    status, markup = await up.read("/")
    assert status == 200
    assert 'href="oidc/sign-in"' in markup
    status, markup = await up.read(f"/a/{link}")
    assert f'href="../oidc/sign-in?to={link}"' in markup
    for path in ("/oidc/sign-in", "/oidc/callback"):
        status, markup = await up.read(path)
        assert status == 200
        assert "oidc.js" in markup
    async with aiohttp.ClientSession(up.running.api_url) as agents:
        for path in ("/oidc/sign-in", "/oidc/callback"):
            async with agents.get(path) as response:
                assert response.status == 404
        async with agents.get("/") as response:
            assert "oidc" not in await response.text()


@pytest.mark.rule("OIDC-2")
async def test_whom_people_does_not_name_is_not_signed_in_and_reads_their_id(
    up: SignInService,
) -> None:
    up.provider.subject = "somebody else"
    up.provider.claims = {"email": "ann@example.com", "email_verified": True, "name": "Ann"}
    attempt, response = await up.begin()
    user_id = f"oidc:{up.provider.url}#somebody else"
    await refused(up, attempt, response, ENGLISH.oidc_unknown.format(id=user_id))


@pytest.mark.rule("OIDC-3")
async def test_a_code_and_a_state_work_once_and_only_in_the_tab_that_began(
    up: SignInService,
) -> None:
    mine, my_response = await up.begin()
    attempt, response = await up.begin()
    for sealed, sent in (
        ("", response),
        (mine, response),
        (attempt, my_response),
        (attempt[:-2] + "AA", response),
        (attempt, response.replace("state=", "state=x")),
        (attempt, response + "&state=x"),
        (attempt, response + "&code=x"),
        (attempt, response.partition("&")[2]),
        (attempt, response + "&error=access_denied"),
        (attempt, "error=access_denied&" + response.partition("&")[2]),
        (attempt, "&".join(f"a{n}=1" for n in range(30))),
        ("é" * 10, response),
        ("x" * 5_000, response),
    ):
        await refused(up, sealed, sent)
    assert "/token" not in up.provider.asked, "no code was sent to the provider"
    status, _ = await up.post("finish", attempt=attempt, response=response)
    assert status == 200
    status, _ = await up.post("finish", attempt=attempt, response=response)
    assert status == 403
    assert up.provider.asked.count("/token") == 1


@pytest.mark.rule("OIDC-3")
async def test_of_a_response_that_is_sent_twice_at_once_one_signs_its_person_in(
    up: SignInService,
) -> None:
    attempt, response = await up.begin()
    both = (up.post("finish", attempt=attempt, response=response) for _ in range(2))
    done = await asyncio.gather(*both)
    assert sorted(status for status, _ in done) == [200, 403]


@pytest.mark.rule("OIDC-3")
async def test_a_sign_in_sends_one_code_to_the_provider_however_many_are_made_up(
    up: SignInService,
) -> None:
    attempt, response = await up.begin()
    state = response.partition("&")[2]
    made_up = (
        up.post("finish", attempt=attempt, response=f"code=made-up-{n}&{state}") for n in range(12)
    )
    done = await asyncio.gather(*made_up)
    assert sorted(status for status, _ in done) == [*[403] * 11, 502]
    assert up.provider.asked.count("/token") == 1
    assert (await up.post("finish", attempt=attempt, response=response))[0] == 403
    await up.sign_in()


async def test_states_that_are_over_are_not_remembered(up: SignInService) -> None:
    _running(up).parts.provider.states_kept = -1.0
    attempt, response = await up.begin()
    done = [await up.post("finish", attempt=attempt, response=response) for _ in range(2)]
    assert [status for status, _ in done] == [200, 502]


@pytest.mark.rule("OIDC-3")
async def test_even_if_the_provider_takes_a_code_twice_a_state_begins_one_session(
    make_service: MakeService, provider: FakeProvider
) -> None:
    async with make_service() as up:
        attempt, response = await up.begin()
        kept = dict(provider.codes)
        assert (await up.post("finish", attempt=attempt, response=response))[0] == 200
        address = up.address
    provider.codes |= kept
    async with make_service(address=address) as up:
        assert (await up.post("finish", attempt=attempt, response=response))[0] == 403
        await up.running.service.store.rows.write(
            "UPDATE oidc_sessions SET until = 0 WHERE until > $1", [(0.0,)]
        )
    provider.codes |= kept
    async with make_service(address=address) as up:
        assert (await up.post("finish", attempt=attempt, response=response))[0] == 403
    assert provider.asked.count("/token") == 3, "each process sends a code once"


@pytest.mark.rule("OIDC-5")
@pytest.mark.parametrize("step", ["begin", "finish"])
async def test_what_one_address_begins_or_ends_too_often_waits_and_others_do_not(
    make_service: MakeService, step: str
) -> None:
    each, _ = SIGN_INS
    async with make_service(web={"trusted_proxies": ["127.0.0.1"]}) as up:
        own = {"Origin": up.address, "Sec-Fetch-Site": "same-origin"}

        async def post(source: str) -> aiohttp.ClientResponse:
            headers = {**own, "X-Forwarded-For": source}
            async with up.http.post(f"/oidc/{step}", data={}, headers=headers) as response:
                await response.read()
            return response

        served = 200 if step == "begin" else 403
        assert {(await post("192.0.2.1")).status for _ in range(each)} == {served}
        refused = await post("192.0.2.1")
        assert refused.status == 429
        assert 0 < int(refused.headers["Retry-After"]) <= 60
        assert (await refused.json())["error"] == ENGLISH.oidc_too_many
        assert (await post("192.0.2.2")).status == served


@pytest.mark.rule("OIDC-3")
def test_a_sign_in_takes_ten_minutes_at_most() -> None:
    attempts, now = Attempts(b"s" * 32), 1_000_000.0
    begun, sealed = attempts.begin("https://a", "b", "ask_x", now)
    state = begun.attempt.state
    assert attempts.open(sealed, state, now + SECONDS) == begun
    assert attempts.open(sealed, state, now + SECONDS + 1) is None
    assert attempts.open(sealed, state, now - 120) is None, "it is from the future"
    assert attempts.open(sealed, "another", now) is None
    assert Attempts(b"t" * 32).open(sealed, state, now) is None, "another service's"


@pytest.mark.rule("OIDC-4")
@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example.com"},
        {"aud": "another client"},
        {"nonce": "another"},
        {"exp": 1},
        {"iat": 1},
        {"sub": None},
    ],
    ids=str,
)
async def test_a_token_that_proves_nothing_signs_nobody_in(
    up: SignInService, claims: dict[str, Any]
) -> None:
    up.provider.claims = claims
    await refused(up, *await up.begin())


@pytest.mark.rule("OIDC-4")
async def test_a_response_of_another_issuer_is_refused_before_its_code_is_sent(
    up: SignInService,
) -> None:
    attempt, response = await up.begin()
    await refused(up, attempt, f"{response}&iss=https%3A%2F%2Fevil.example.com")
    assert "/token" not in up.provider.asked
    status, _ = await up.post(
        "finish", attempt=attempt, response=f"{response}&iss={up.provider.url}"
    )
    assert status == 200


@pytest.mark.rule("OIDC-4")
async def test_a_provider_that_names_itself_in_responses_has_to(
    make_service: MakeService, provider: FakeProvider
) -> None:
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    async with make_service() as up:
        await refused(up, *await up.begin())


@pytest.mark.rule("OIDC-4")
async def test_keys_that_rotate_are_read_again_but_not_for_every_forged_token(
    up: SignInService,
) -> None:
    await up.sign_in()
    up.provider.rotate("second")
    attempt, response = await up.begin()
    status, _ = await up.post("finish", attempt=attempt, response=response)
    assert status == 403, "the keys were read only a moment ago"
    _running(up).parts.provider.key_pause = -1.0
    await up.sign_in()
    assert up.provider.asked.count("/keys") == 2


@pytest.mark.rule("OIDC-4")
@pytest.mark.parametrize("kid", [None, "first"], ids=["without an id", "under the same id"])
async def test_a_key_that_is_replaced_without_a_new_id_is_read_again(
    up: SignInService, kid: str | None
) -> None:
    up.provider.rotate(kid)
    await up.sign_in()
    up.provider.rotate(kid)
    attempt, response = await up.begin()
    status, _ = await up.post("finish", attempt=attempt, response=response)
    assert status == 403, "the keys were read only a moment ago"
    assert up.provider.asked.count("/keys") == 1
    _running(up).parts.provider.key_pause = -1.0
    await up.sign_in()
    assert up.provider.asked.count("/keys") == 2


@pytest.mark.rule("OIDC-4")
async def test_a_provider_that_is_away_or_changes_its_issuer_is_said_to_be_unavailable(
    make_service: MakeService, provider: FakeProvider
) -> None:
    provider.metadata = {"issuer": "https://evil.example.com"}
    async with make_service() as up:
        for _ in range(3):
            status, answer = await up.post("begin", to="")
            assert (status, answer["error"]) == (502, ENGLISH.oidc_unavailable)
        assert provider.asked == ["/.well-known/openid-configuration"], "not tried again at once"


@pytest.mark.rule("OIDC-5")
async def test_only_our_own_page_begins_and_ends_a_sign_in(up: SignInService) -> None:
    attempt, response = await up.begin()
    fields = {"attempt": attempt, "response": response}
    port = int(str(up.running.public_url).rpartition(":")[2])
    for headers in (
        {},
        {"Origin": "https://evil.example.com"},
        {"Origin": f"http://127.0.0.1:{port + 1}", "Sec-Fetch-Site": "same-site"},
        {"Origin": "null"},
        {"Origin": str(up.running.public_url), "Sec-Fetch-Site": "cross-site"},
    ):
        for step in ("begin", "finish", "resume"):
            async with up.http.post(f"/oidc/{step}", data=fields, headers=headers) as answer:
                assert answer.status == 403, (step, headers)
    async with up.http.post("/oidc/finish", json=fields) as answer:
        assert answer.status in {403, 415}
    assert "/token" not in up.provider.asked


@pytest.mark.rule("OIDC-5")
@pytest.mark.parametrize(
    "to", ["//evil.example.com", "https://evil.example.com", "../../x", "ask_1.00", "javascript:1"]
)
async def test_a_sign_in_leads_to_an_ask_or_the_inbox_and_nowhere_else(
    up: SignInService, to: str
) -> None:
    done = await up.sign_in(to)
    assert done["address"] == f"../inbox/{done['session']}"


@pytest.mark.rule("OIDC-5")
async def test_a_session_opens_one_inbox_and_is_of_use_to_nobody_else(up: SignInService) -> None:
    done = await up.sign_in()
    for session in ("", "-", "me", done["session"][:-1] + "0", "0" * 32):
        if session != done["session"]:
            assert (await up.post("resume", session=session, to=""))[0] == 403
            assert (await up.read(f"/inbox/{session or 'x'}"))[0] in {403, 404}
    async with aiohttp.ClientSession(up.running.api_url) as agents:
        bearer = {"Authorization": f"Bearer {done['session']}"}
        async with agents.get("/v1/inbox", headers=bearer) as response:
            assert response.status == 401


async def sign_out(up: SignInService, done: dict[str, Any], do: str) -> str:
    """Sign out; return the page that says so."""
    own = {"Origin": up.address, "Sec-Fetch-Site": "same-origin"}
    path = f"{inbox_of(done)}/sign-out"
    assert ENGLISH.sign_out_everywhere in (await up.read(path))[1]
    async with up.http.post(path, data={"do": do}, headers=own) as response:
        assert response.status == 200
        page = await response.text()
    assert ENGLISH.signed_out in page
    return page


@pytest.mark.rule("OIDC-7")
@pytest.mark.parametrize(("do", "left"), [("here", 200), ("all", 403)])
async def test_a_person_signs_out_here_or_everywhere(up: SignInService, do: str, left: int) -> None:
    here, there = [await up.sign_in() for _ in range(2)]
    assert f"{inbox_of(here)}/sign-out" in (await up.read(inbox_of(here)))[1]
    await sign_out(up, here, do)
    assert (await up.read(inbox_of(here)))[0] == 403
    assert (await up.post("resume", session=here["session"], to=""))[0] == 403
    assert (await up.read(inbox_of(there)))[0] == left


@pytest.mark.rule("OIDC-9")
@pytest.mark.parametrize(
    ("endpoint", "offered"),
    [
        ("https://id.example.com/end", "https://id.example.com/end?client_id="),
        ("https://id.example.com/end?a=b&c", "https://id.example.com/end?a=b&amp;c&amp;client_id="),
        ("http://id.example.com/end", None),
        ("javascript:alert(1)", None),
        (None, None),
    ],
)
async def test_who_has_signed_out_is_offered_to_sign_out_of_the_provider_as_well(
    make_service: MakeService, provider: FakeProvider, endpoint: str | None, offered: str | None
) -> None:
    if endpoint is not None:
        provider.metadata = {"end_session_endpoint": endpoint}
    async with make_service() as up:
        shown = await sign_out(up, await up.sign_in(), "here")
    links = re.findall('<a href="([^"]+)" rel="noreferrer">', shown)
    assert links == ([] if offered is None else [f"{offered}{CLIENT}"])
    assert (ENGLISH.sign_out_provider.format(host="id.example.com") in shown) == bool(offered)


@pytest.mark.rule("OIDC-7")
async def test_a_session_outlives_the_service_and_ends_with_its_hours_and_its_person(
    make_service: MakeService,
) -> None:
    async with make_service() as up:
        done = await up.sign_in()
    async with make_service() as up:
        assert (await up.read(inbox_of(done)))[0] == 200
        [(until, now)] = await up.running.service.store.rows.read(
            "SELECT until, at FROM oidc_sessions"
        )
        assert until - now == 12 * 3_600
        await up.running.service.store.rows.write(
            "UPDATE oidc_sessions SET until = $1", [(up.running.service.clock.now(),)]
        )
        assert (await up.read(inbox_of(done)))[0] == 403
        done = await up.sign_in()
    async with make_service(people={}) as up:
        assert (await up.read(inbox_of(done)))[0] == 403


@pytest.mark.rule("OIDC-7")
async def test_the_sessions_of_another_issuer_end_with_it(
    make_service: MakeService, provider: FakeProvider
) -> None:
    async with make_service() as up:
        done = await up.sign_in()
        user_id = f"oidc:{provider.url}#248289761001"
    async with oidc_provider() as other:
        table = {"issuer": other.url, "client_id": "answerback"}
        people = {"ann": {"ids": [user_id]}}
        async with make_service(oidc=table, people=people) as up:
            assert (await up.read(inbox_of(done)))[0] == 403


@pytest.mark.rule("OIDC-8")
async def test_what_is_installed_begins_with_a_sign_in(up: SignInService) -> None:
    done = await up.sign_in()
    async with up.http.get(f"{inbox_of(done)}/manifest.json") as response:
        manifest = await response.json()
    assert manifest["start_url"] == "../../"
    assert done["session"] not in str(manifest)


@pytest.mark.rule("OIDC-6", "CONFIRM-6")
async def test_one_human_does_not_confirm_under_another_kind_of_name(up: SignInService) -> None:
    people = up.running.service.people
    await up.sign_in()
    by_oidc = (await _holders(up))[0].person
    for known in (AuthMethod.LINK, AuthMethod.PROXY):
        other = Person(surface="web", user_id="someone", known=known)
        assert not people.is_different(by_oidc, other, 9e9)
    other = Person(surface="web", user_id=f"oidc:{up.provider.url}#2", known=AuthMethod.OIDC)
    assert people.is_different(by_oidc, other, 9e9)


@pytest.mark.rule("OIDC-6")
async def test_a_grant_rests_on_being_listed(make_service: MakeService) -> None:
    async with make_service() as up:
        await up.sign_in()
        person = (await _holders(up))[0].person
        credential = await up.running.service.grants.credential_of(person)
        assert credential == up.provider.url
    async with make_service(people={}) as up:
        assert await up.running.service.grants.credential_of(person) == ""


@pytest.mark.rule("OIDC-5")
async def test_no_code_token_or_session_is_logged(
    up: SignInService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    attempt, response = await up.begin()
    status, done = await up.post("finish", attempt=attempt, response=response)
    assert status == 200
    code = response.partition("&")[0].removeprefix("code=")
    logged = " ".join(
        str(vars(record)) for record in caplog.records if record.name.startswith("answerback")
    )
    for secret in (attempt, response, done["session"], f"'{code}'"):
        assert secret not in logged


@pytest.mark.rule("OIDC-3", "OIDC-7")
async def test_replicas_share_sign_ins_sessions_and_sign_outs(
    make_service: MakeService, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the keys are files beside where the database's would be
    async with (
        make_service(store=database) as one,
        make_service(store=database, address=one.address) as two,
    ):
        attempt, response = await one.begin()
        sent = {"attempt": attempt, "response": response}
        kept = dict(one.provider.codes)
        status, done = await two.post("finish", **sent)
        assert status == 200, "another replica ends it"
        one.provider.codes |= kept
        assert (await one.post("finish", **sent))[0] == 403
        for each in (one, two):
            assert (await each.read(inbox_of(done)))[0] == 200
        await sign_out(one, done, "all")
        assert (await two.read(inbox_of(done)))[0] == 403


@pytest.mark.rule("OIDC-7")
async def test_whom_a_reload_takes_from_the_people_is_signed_out_at_once(
    up: SignInService,
) -> None:
    done = await up.sign_in()
    reloader = up.running.reloader
    reloader.update_from(reloader.settings.model_copy(update={"people": {}}))
    assert (await up.read(inbox_of(done)))[0] == 403
    assert (await up.post("resume", session=done["session"], to=""))[0] == 403


async def _all_ended(up: SignInService) -> None:
    """Wait until the store has no session that could be used."""
    rows, now = up.running.service.store.rows, up.running.service.clock.now()
    live = "SELECT id FROM oidc_sessions WHERE until > $1"
    async with asyncio.timeout(WAIT):
        while await rows.read(live, now):  # noqa: ASYNC110 - stored, not signalled
            await asyncio.sleep(0.005)


@pytest.mark.rule("OIDC-7")
async def test_a_session_that_ended_with_its_person_does_not_return_with_them(
    make_service: MakeService,
) -> None:
    async with make_service() as up:
        stolen, reloader = await up.sign_in(), up.running.reloader
        listed = reloader.settings
        reloader.update_from(listed.model_copy(update={"people": {}}))
        await _all_ended(up)
        reloader.update_from(listed)
        assert (await up.read(inbox_of(stolen)))[0] == 403
        stolen = await up.sign_in()
        assert (await up.read(inbox_of(stolen)))[0] == 200
    async with make_service(people={}) as up:
        await _all_ended(up)
    async with make_service() as up:
        assert (await up.read(inbox_of(stolen)))[0] == 403
