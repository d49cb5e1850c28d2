"""People who sign in on the page with an identity provider, decide there, sign out, and try again what has ended."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import aiohttp
import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import OKPAlgorithm

from tests.fakes.oidc_provider import CLIENT, SECRET, FakeProvider
from tests.simulation.chat import PUBLIC_URL, Trouble
from tests.simulation.evidence import Attempt, Evidence, Json, SessionUse
from tests.simulation.loop import SimulatedLoop
from tests.unit.adapters.web.reader import Document, Reader

PORT: Final = 9_200
ISSUER: Final = f"http://127.0.0.1:{PORT}"
KIND: Final = "sign-in fails"
UNKNOWN: Final = "mallory"
"""Somebody whom the provider knows, and the service does not."""
HOURS: Final = 0.25
"""Hours for which a session lasts."""
_PAUSES: Final = (40.0, 120.0, 600.0)
"""Seconds between two uses of the page, on average."""
_IDLE_PAUSE: Final = 240.0
"""The least seconds until the next use after one that found nothing to decide, on average."""
_FAILURES: Final = ("refuse", "hang", "lose")
_HANGS: Final = (30.0, 60.0)
_PATIENCE: Final = 30.0
_OPENED: Final = re.compile(r"open=(ask_[0-9a-z]+)")
_QUESTION: Final = re.compile(r"question (\d)\?")
_CHOICE: Final = re.compile(r"answer:(\d+)")
_WEIGHTS: Final = {"back": 2, "reply": 1, "object": 1}
_OWN: Final = {"Origin": PUBLIC_URL, "Sec-Fetch-Site": "same-origin"}
"""The headers that every browser sends with a post of our own pages."""


@dataclass
class Session:
    """A session, as its tab keeps it."""

    person: str
    name: str
    began: float
    ended: float | None = None
    """When the person was told that they have signed out."""


class _Codes(dict[str, dict[str, str]]):
    """The codes of a provider that takes each more than once, as it must not."""

    def pop(self, code: str, default: Any = None) -> Any:
        return self.get(code, default)


class Provider(FakeProvider):
    """The provider. It signs with a key whose signatures repeat."""

    def __init__(self, loop: SimulatedLoop, rng: random.Random) -> None:
        self.url = ISSUER
        self.claims, self.metadata, self.asked = {}, {}, []
        self.codes = _Codes()  # a state begins one session all the same: OIDC-3
        self._loop = loop
        self._rng = rng
        self._private = Ed25519PrivateKey.from_private_bytes(rng.randbytes(32))
        self.failure: str | None = None
        self.failing_until = 0.0

    def id_token(self, asked: dict[str, str]) -> str:
        claims = self.claims_for(asked)
        return jwt.encode(claims, self._private, algorithm="EdDSA", headers={"kid": "one"})

    async def _keys(self, request: web.Request) -> web.Response:
        public = OKPAlgorithm.to_jwk(self._private.public_key(), as_dict=True)
        return web.json_response({"keys": [{**public, "kid": "one", "use": "sig"}]})

    async def serve(self) -> None:
        app = web.Application(middlewares=[self._or_fail])
        app.add_routes(self.routes())
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", PORT).start()

    @web.middleware
    async def _or_fail(self, request: web.Request, handler: Any) -> web.StreamResponse:
        failure = self.failure if self._loop.time() < self.failing_until else None
        if failure == "refuse":
            return web.Response(status=503)
        if failure == "hang":
            await asyncio.sleep(self._rng.uniform(*_HANGS))
            return web.Response(status=500)  # nobody reads it any more
        response: web.StreamResponse = await handler(request)
        if failure == "lose" and request.transport is not None:
            request.transport.close()
        return response


class SignIns:
    """See `tests.simulation.sides.Side`.

    Args:
        people: the ids of all people in the chat, by their names.
    """

    kind = KIND

    def __init__(
        self,
        loop: SimulatedLoop,
        rng: random.Random,
        evidence: Evidence,
        people: Mapping[str, str],
    ) -> None:
        oidc = {"issuer": ISSUER, "client_id": CLIENT, "client_secret": SECRET, "hours": HOURS}
        self.settings: Json = {"oidc": oidc}
        self.may_leave: Sequence[str] = sorted(people)
        self._rng = rng
        self._provider = Provider(loop, rng)
        others = [*people, UNKNOWN]
        seeds = [random.Random(rng.getrandbits(64)) for _ in others]
        self._tabs = [
            Tab(loop, each, evidence, self._provider, name)
            for each, name in zip(seeds, others, strict=True)
        ]

    def account_of(self, name: str) -> str:
        return account_of(name)

    def prepare(self, database: Path) -> None:
        pass

    async def start(self) -> None:
        await self._provider.serve()

    def lives(self) -> Sequence[Coroutine[Any, Any, None]]:
        return [each.live() for each in self._tabs]

    def go_wrong(self, rng: random.Random, trouble: Trouble) -> None:
        seconds = rng.choice([10.0, 120.0])
        self._provider.failure = rng.choice(_FAILURES)
        self._provider.failing_until = trouble.loop.time() + seconds
        trouble.until(seconds)

    def stop_faults(self) -> None:
        self._provider.failing_until = 0.0

    def has_come_to_rest(self) -> bool:
        return True


def account_of(name: str) -> str:
    """Return the id under which somebody acts who has signed in."""
    return f"oidc:{ISSUER}#{name}"


class Tab:
    """A person's tab: it signs in, decides, signs out, and goes on where it is not signed in any more."""

    def __init__(
        self,
        loop: SimulatedLoop,
        rng: random.Random,
        evidence: Evidence,
        provider: Provider,
        name: str,
    ) -> None:
        self._loop = loop
        self._rng = rng
        self._evidence = evidence
        self._provider = provider
        self._name = name
        self._person = account_of(name)
        self._session: Session | None = None
        self._old: list[tuple[Session, Document | None, str]] = []
        """The sessions that it had before, each with a page that it still shows, and the page's address."""
        self._page: tuple[Document | None, str] = (None, "")
        self._is_idle = False
        """True if it found nothing to decide when it looked last."""

    async def live(self) -> None:
        pause = self._rng.choice(_PAUSES)
        async with aiohttp.ClientSession(PUBLIC_URL, cookie_jar=aiohttp.DummyCookieJar()) as http:
            self._http, self._reader = http, Reader(http, PUBLIC_URL, dict(_OWN))
            while True:
                mean = max(pause, _IDLE_PAUSE) if self._is_idle else pause
                await asyncio.sleep(self._rng.expovariate(1 / mean))
                with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
                    async with asyncio.timeout(_PATIENCE):
                        await self._use()

    async def _use(self) -> None:
        if self._old and self._rng.random() < 0.2:
            await self._use_again()
        elif self._session is None:
            await self._sign_in()
        elif self._rng.random() < 0.1:
            await self._sign_out(self._session)
        else:
            await self._decide(self._session)

    # --- signing in and out ---

    async def _post(self, step: str, **fields: str) -> tuple[int, Json]:
        async with self._http.post(f"/oidc/{step}", data=fields, headers=_OWN) as response:
            is_json = response.content_type == "application/json"
            return response.status, await response.json() if is_json else {}

    async def _sign_in(self) -> None:
        began = self._loop.time()
        status, begun = await self._post("begin", to="")
        if status != HTTPStatus.OK:
            self._failed(began, f"a sign-in began with {status}")
            return
        response = self._provider.sign_in(begun["url"], self._name)
        attempt = begun["attempt"]
        if self._rng.random() < 0.1:  # somebody else's tab ends it, or tries to
            _, other = await self._post("begin", to="")
            attempt = other.get("attempt", "")
            await self._end(attempt, response, is_mine=False)
            return
        times = 2 if self._rng.random() < 0.15 else 1
        ends = (self._end(attempt, response) for _ in range(times))
        statuses = await asyncio.gather(*ends)
        if HTTPStatus.OK not in statuses and self._name != UNKNOWN:
            self._failed(began, f"a sign-in ended with {statuses}")
        if statuses.count(HTTPStatus.OK) > 1:
            self._evidence.broken.append(f"SIGN: {self._name} signed in twice with one code")

    async def _end(self, attempt: str, response: str, *, is_mine: bool = True) -> int:
        """End a sign-in; return the status."""
        status, done = await self._post("finish", attempt=attempt, response=response)
        if status != HTTPStatus.OK:
            return status
        if not is_mine or self._name == UNKNOWN:
            self._evidence.broken.append(f"SIGN: {self._name} signed in, and must not")
        self._loop.machine.note(f"{self._name} has signed in")
        self._session = Session(self._person, done["session"], self._loop.time())
        return status

    def _failed(self, began: float, what: str) -> None:
        self._evidence.failed_sign_ins.append((began, f"{self._name}: {what}"))

    async def _sign_out(self, session: Session) -> None:
        path = f"/inbox/{session.name}/sign-out"
        do = self._rng.choice(["here", "here", "all"])
        async with self._http.post(path, data={"do": do}, headers=_OWN) as response:
            await response.read()
            is_out = response.status == HTTPStatus.OK
        self._note_use(session, self._loop.time(), is_accepted=is_out)
        if is_out:
            self._loop.machine.note(f"{self._name} has signed out")
            session.ended = self._loop.time()
        self._leave(session)

    def _leave(self, session: Session) -> None:
        self._old = [*self._old[-3:], (session, *self._page)]
        self._session, self._page = None, (None, "")

    # --- using the page ---

    def _note_use(self, session: Session, began: float, *, is_accepted: bool) -> None:
        self._evidence.session_uses.append(
            SessionUse(
                session.person, session.began, session.ended, began, self._loop.time(), is_accepted
            )
        )

    async def _inbox(self, session: Session, query: str = "") -> Document | None:
        """Return the inbox of a session; None if it is not shown."""
        began = self._loop.time()
        page = await self._reader.open(f"/inbox/{session.name}{query}")
        is_shown = page.status == HTTPStatus.OK
        self._note_use(session, began, is_accepted=is_shown)
        if not is_shown:
            return None
        if f"Signed in as {self._name}" not in page.text:
            self._evidence.broken.append(f"SIGN: the page does not say that it is {self._name}'s")
        return page

    async def _use_again(self) -> None:
        """Do something with a session that has ended: look, or send a page that is still shown."""
        session, page, address = self._rng.choice(self._old)
        if page is None or self._rng.random() < 0.5:
            await self._inbox(session)
        else:
            await self._press(session, page, address)

    async def _decide(self, session: Session) -> None:
        inbox = await self._inbox(session)
        if inbox is None:
            self._leave(session)
            return
        waiting = sorted({found[1] for each in inbox.links if (found := _OPENED.search(each))})
        self._is_idle = not waiting
        if self._is_idle:
            return
        ask_id = self._rng.choice(waiting)
        shown = await self._inbox(session, f"?open={ask_id}")
        found = re.search(rf"/a/{ask_id}\.[0-9a-f.]+", shown.markup) if shown else None
        if found is None:
            return
        page = await self._reader.open(found[0])
        if page.status == HTTPStatus.OK:
            self._page = page, found[0]
            await asyncio.sleep(self._rng.choice([0.0, 2.0, 15.0]))
            await self._press(session, page, found[0])

    async def _press(self, session: Session, page: Document, address: str) -> None:
        """Press one of a page's buttons."""
        offered = [each for each in page.buttons if _is_usable(each)]
        if not offered:
            return
        [do] = self._rng.choices(offered, [_WEIGHTS.get(each, 10) for each in offered])
        question, began = _QUESTION.search(page.title), self._loop.time()
        verb, argument = _verb_of(do)
        attempt = Attempt(
            self._person, address.removeprefix("/a/").partition(".")[0],
            int(page.value("revision") or 0), verb, argument, began,
            f"q{question[1]}" if question else None, on_page=True,
        )  # fmt: skip
        entered = {}
        if verb in {"write", "reply", "object"}:
            attempt.text = f"{self._name} on the page at {began:.3f}"
            entered["text" if verb == "write" else "reply"] = attempt.text
        self._evidence.attempts.append(attempt)
        self._loop.machine.note(f"{self._name} presses {do} of {attempt.ask_id}")
        answer = await self._reader.press(page, address, do, entered, follow=False)
        is_accepted = answer.status == HTTPStatus.SEE_OTHER
        self._note_use(session, began, is_accepted=is_accepted)
        if is_accepted:
            attempt.acknowledged_at = self._loop.time()


def _is_usable(do: str) -> bool:
    simple = {"yes", "no", "answer", "confirm", "submit", "back", "reply", "object"}
    return do in simple or _CHOICE.fullmatch(do) is not None


def _verb_of(do: str) -> tuple[str, str]:
    """Return what a button does, as controls of the chat say it."""
    if (choice := _CHOICE.fullmatch(do)) is not None:
        return "answer", choice[1]
    if do in {"yes", "no"}:
        return "answer", "true" if do == "yes" else "false"
    return ("write" if do == "answer" else do), ""


def count_judged(evidence: Evidence) -> int:
    """Return the number of times that a session was used."""
    return len(evidence.session_uses)


def _signed_in(evidence: Evidence) -> Iterator[str]:
    """SIGN: a session opens pages until its person signs out, its time is over, or its person is listed no more."""
    for use in evidence.session_uses:
        if not use.is_accepted:
            continue
        if use.signed_out_at is not None and use.began > use.signed_out_at:
            yield f"SIGN: {use.person} had signed out, and was let in"
        if use.began > use.session_began + HOURS * 3_600 + evidence.tolerance + _PATIENCE:
            yield f"SIGN: the session of {use.person} was over, and they were let in"
        if evidence.was_unlisted(use.person, use.began, use.ended):
            yield f"SIGN: {use.person} was not listed any more, and was let in"
        if evidence.left_between(use.person, use.session_began, use.began):
            yield f"SIGN: {use.person} was listed again, and let in by a session from before"
    for at, what in evidence.failed_sign_ins:
        if evidence.is_calm:
            yield f"SIGN: {what} at {at:.0f}, and nothing had gone wrong"


CHECKS: Final = (_signed_in,)
