"""People who decide together, some with several accounts, while their agent listens on every way out.

Everybody looks at random, and does something that the prompt offers, or that they may not. Every action has a key of
its own and is sent until the service has said what became of it, so what was accepted is known exactly; `verdicts`
compares it with the record.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import aiohttp

from tests.acceptance.chaos.deciding_forms import AGENT, FRONT_END, approval, reviewed, texts
from tests.acceptance.chaos.verdicts import (
    ACCOUNTS,
    HUMANS,
    SECRET,
    Account,
    Attempt,
    Decision,
    Json,
    verify,
)
from tests.acceptance.process import run
from tests.acceptance.replicas import Town
from tests.fakes.receiver import Receiver
from tests.person_keys import bearer

LONGEST: Final = 180.0
"""Seconds within which any form ends, whatever breaks."""
_OPERATOR: Final = "the operator"
_PATIENCE: Final = 5.0
"""Seconds that a caller waits for a response before sending the request again."""
_DEFINITE: Final = frozenset({200, 201, 202, 403, 404, 409, 410, 422})
_PEOPLE: Final = 3
"""The number of people who look at a form at once."""
_BOLD: Final = 0.5
"""The chance that somebody tries to confirm who probably may not."""
_TWICE: Final = 0.2
"""The chance that what was accepted is sent again, with the same key."""


class Deciders:
    """An agent, and the people who decide together about what it asks.

    Args:
        url: where the service is reached.
        keys: what `configure` returned.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        keys: Mapping[str, str],
        receiver: Receiver,
        chance: random.Random,
    ) -> None:
        self._url, self._folder, self._receiver, self._chance = url, folder, receiver, chance
        self._headers = {who: {"Authorization": f"Bearer {key}"} for who, key in keys.items()}
        self.decisions: list[Decision] = []

    async def decide(self, http: aiohttp.ClientSession, name: str) -> None:
        """Submit a form, and have people act until it has ended."""
        decision = await self._submit(http, name)
        self.decisions.append(decision)
        try:
            async with asyncio.timeout(LONGEST), asyncio.TaskGroup() as group:
                ending = group.create_task(self._wait(http, decision))
                group.create_task(self._listen(http, decision))
                group.create_task(self._pry(http, decision, ending))
                for _ in range(_PEOPLE):
                    group.create_task(self._look_and_act(http, decision, ending))
        except (TimeoutError, ExceptionGroup) as error:
            raise AssertionError(f"{decision} did not end well: {error!r}") from error

    async def verify(self, http: aiohttp.ClientSession) -> list[Json]:
        """Assert that the rules held for every form, by its record alone; return the receipts, once they are linked."""
        webhooks: dict[str, dict[bytes, Json]] = {}
        for received in self._receiver.received:
            webhooks.setdefault(received.event["data"]["id"], {})[received.body] = received.event
        receipts = []
        for decision in self.decisions:
            for event in webhooks[decision.id].values():
                if event["type"] == "ask.clarify":
                    decision.must_not_tell(event["data"], "a webhook")
                else:
                    assert "webhook" not in decision.outcomes, f"two webhooks ended {decision}"
                    decision.outcomes["webhook"] = event["data"]
            path = f"/v1/asks/{decision.id}"
            decision.outcomes["stored"] = await self._get(http, path, FRONT_END)
            record = await self._get(http, f"{path}/record?limit=1000", FRONT_END)
            verify(decision, record["entries"])
            receipts.append(await self._receipt(http, decision))
        return receipts

    async def _receipt(self, http: aiohttp.ClientSession, decision: Decision) -> Json:
        """Return a form's receipt, once it is in the chain; assert that it says how the form ended."""
        async with asyncio.timeout(LONGEST):
            while True:
                found = await self._get(http, f"/v1/asks/{decision.id}/receipt", FRONT_END)
                if found["link"] is not None:
                    break
                await asyncio.sleep(0.1)
        payload, stored = found["receipt"]["payload"], decision.outcomes["stored"]
        assert payload["status"] == stored["status"], decision
        assert len(payload["confirmed_by"]) == len(stored["confirmed_by"]), decision
        return found

    # --- the agent ---

    async def _submit(self, http: aiohttp.ClientSession, name: str) -> Decision:
        chance = self._chance
        route = chance.choice(("pair", "board"))
        body: Json = {
            **chance.choice((approval, texts, reviewed))(name, chance),
            "to": route,
            "accepts": ["clarify"],
            "callback": {"url": self._receiver.url},
        }
        due = 1 if route == "pair" else 2
        if chance.random() < 0.4:
            body["responders"] = ["ann", "bob", "cy"]  # it can be handed over to the others
        if chance.random() < 0.3:
            body["expires_in"] = chance.uniform(1, 5)
        if chance.random() < 0.3:
            body["confirmations"] = due = 2
        _, made = await self._send(http, "POST", "/v1/asks", AGENT, body, key=name)
        return Decision(name, route, due, made["id"])

    async def _wait(self, http: aiohttp.ClientSession, decision: Decision) -> None:
        """Wait for the end by long-polling; explain when asked to, and sometimes withdraw."""
        path, explained = f"/v1/asks/{decision.id}", 0
        while True:
            _, ask = await self._send(http, "GET", path, AGENT, headers={"Prefer": "wait=2"})
            if ask["status"] != "open":
                decision.outcomes["long-poll"] = ask
                return
            decision.must_not_tell(ask, "a long-poll")
            assert ask["answers"] == {}, f"a long-poll told the answers of {decision}"
            if ask["clarify"] is not None and explained < 2:
                explained += 1
                text = {"text": f"Because {explained}"}
                await self._send(http, "POST", f"{path}/context", AGENT, text)
            if self._chance.random() < 0.02:
                await self._send(http, "DELETE", path, AGENT)

    async def _listen(self, http: aiohttp.ClientSession, decision: Decision) -> None:
        """Read the events until the outcome, however often the stream is cut."""
        url, last = f"{self._url}/v1/asks/{decision.id}/events", ""
        while "events" not in decision.outcomes:
            headers = {**self._headers[AGENT], **({"Last-Event-ID": last} if last else {})}
            silence = aiohttp.ClientTimeout(sock_read=20)
            with suppress(aiohttp.ClientError, TimeoutError):
                async with http.get(url, headers=headers, timeout=silence) as stream:
                    if stream.status == 200:
                        last = await self._read_events(http, stream, decision, last)
            await asyncio.sleep(0.05)

    async def _read_events(
        self,
        http: aiohttp.ClientSession,
        stream: aiohttp.ClientResponse,
        decision: Decision,
        last: str,
    ) -> str:
        """Read a stream to its end; return the id of its last event."""
        # If the ask is still open, the stream began before the end: all is secret but the outcome.
        began = await self._get(http, f"/v1/asks/{decision.id}", AGENT)
        event = ""
        with suppress(aiohttp.ClientError, TimeoutError):
            async for raw in stream.content:
                field, _, value = raw.decode().rstrip("\r\n").partition(": ")
                event = value if field == "event" else event
                last = value if field == "id" else last
                if field == "data" and event == "outcome":
                    decision.outcomes["events"] = json.loads(value)
                    break
                if field == "data" and began["status"] == "open":
                    decision.must_not_tell(json.loads(value), "an event")
        return last

    async def _pry(
        self, http: aiohttp.ClientSession, decision: Decision, ending: asyncio.Task[None]
    ) -> None:
        """Have the agent look for an answer wherever it may."""
        path = f"/v1/asks/{decision.id}"
        search = f"/v1/search?q={SECRET}"
        while not ending.done():
            for where in (f"{path}/record", search, "/v1/asks?limit=200"):
                found = await self._get(http, where, AGENT)
                now = await self._get(http, path, AGENT)
                if now["status"] != "open":
                    return
                mine = [one for one in found.get("asks", ()) if one["id"] == decision.id]
                decision.must_not_tell([mine, found.get("entries")], where)
                assert not (mine and where == search), f"a search finds what answers {decision}"
            await asyncio.sleep(self._chance.uniform(0, 0.5))

    # --- people ---

    async def _look_and_act(
        self, http: aiohttp.ClientSession, decision: Decision, ending: asyncio.Task[None]
    ) -> None:
        while not ending.done():
            ask = await self._get(http, f"/v1/asks/{decision.id}", FRONT_END)
            if ask["status"] != "open":
                return
            if self._chance.random() < 0.05:
                await self._try_as_nobody(http, decision)
            await self._act(http, decision, ask, self._choose_account(ask, decision))
            await asyncio.sleep(self._chance.uniform(0, 0.15))

    def _choose_account(self, ask: Json, decision: Decision) -> Account:
        """Choose who looks: when answers wait for confirmation, often somebody who has had a say, with any account."""
        humans = [*ACCOUNTS]
        if ask["prompt"]["kind"] == "confirmation" and self._chance.random() < _BOLD:
            humans = [HUMANS[each.account] for each in decision.attempts if each.accepted] or humans
        return self._chance.choice(ACCOUNTS[self._chance.choice(humans)])

    async def _act(
        self, http: aiohttp.ClientSession, decision: Decision, ask: Json, account: Account
    ) -> None:
        """Act with an account: by its own link, or as the front end says."""
        number = len(decision.attempts)
        action = self._choose(ask["prompt"], ask["answers"], f"{decision.name} {number}")
        attempt = Attempt(account, ask["prompt"]["kind"], action)
        decision.attempts.append(attempt)
        surface, user_id = account
        body = {**action, "revision": ask["revision"]}
        who = user_id if user_id in self._headers else FRONT_END
        if who == FRONT_END:
            body["actor"] = {"surface": surface, "user_id": user_id}
        path, key = f"/v1/asks/{decision.id}/actions", f"{decision.name} {number}"
        status, _ = await self._send(http, "POST", path, who, body, key=key)
        # A link no longer shows what has ended without its person, so nobody is told what became of the action.
        unknown = status == 404 and who != FRONT_END
        attempt.accepted = None if unknown else status == 200
        if attempt.accepted and self._chance.random() < _TWICE:
            again, _ = await self._send(http, "POST", path, who, body, key=key)
            expected = {200} if who == FRONT_END else {200, 404}
            assert again in expected, f"sent again, {action} of {decision} got {again}"

    def _choose(self, prompt: Json, answers: Json, name: str) -> Json:
        """Choose what to do about a prompt."""
        text, takers = f"{SECRET} {name}", ("bob", "cy", "person:dee", "fay", "mallory")
        offered: list[tuple[int, Json]] = [
            (10, {"action": "hand_over", "to": self._chance.choice(takers)}),
            (8, {"action": "ask_back", "text": f"why {name}"}),
            (1, {"action": "end_turn"}),
            (10, {"action": "back"}),
            (60 if prompt["kind"] == "confirmation" else 2, {"action": "confirm"}),
            (40 if prompt["kind"] == "review" else 2, {"action": "submit"}),
        ]
        match prompt["kind"]:
            case "confirmation":
                offered.append((2, {"action": "object", "text": text}))
            case "review":
                edited = self._chance.choice([*answers])
                offered.append((10, {"action": "edit", "question_id": edited}))
            case _ if prompt["answer_type"] == "text":
                offered.append((60, {"action": "answer", "value": text}))
            case _:
                value = self._chance.choice(prompt["options"])["value"]
                offered.append((60, {"action": "answer", "value": value}))
                offered.append((40 * prompt["other"], {"action": "other", "text": text}))
        weights, actions = zip(*offered, strict=True)
        [chosen] = self._chance.choices(actions, weights)
        return dict(chosen)

    async def _try_as_nobody(self, http: aiohttp.ClientSession, decision: Decision) -> None:
        """Try to confirm with what belongs to nobody in particular: the agent's token, the operator's key."""
        self._headers[_OPERATOR] = bearer(self._folder)
        for who, refusals in ((AGENT, {403}), (_OPERATOR, {403, 410, 422})):
            path, body = f"/v1/asks/{decision.id}/actions", {"action": "confirm"}
            status, found = await self._send(http, "POST", path, who, body)
            assert status in refusals, f"{who} got {status} for a confirmation: {found}"

    # --- requests ---

    async def _get(self, http: aiohttp.ClientSession, path: str, who: str) -> Json:
        status, found = await self._send(http, "GET", path, who)
        assert status == 200, (path, status, found)
        return found

    async def _send(
        self,
        http: aiohttp.ClientSession,
        method: str,
        path: str,
        who: str,
        body: object = None,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Json]:
        """Send a request until the service says what became of it; return the status and the body."""
        sent = {
            **self._headers[who],
            **(headers or {}),
            **({"Idempotency-Key": key} if key else {}),
        }
        while True:
            with suppress(aiohttp.ClientError, TimeoutError):
                async with (
                    asyncio.timeout(_PATIENCE),
                    http.request(method, self._url + path, json=body, headers=sent) as response,
                ):
                    if response.status in _DEFINITE:
                        found: Json = await response.json(content_type=None)
                        return response.status, found
                    assert response.status in {429, 500, 502, 503, 504}, await response.text()
            await asyncio.sleep(0.1)


async def verify_chain(served: Town, receipts: list[Json]) -> int:
    """Assert that receipts are in the store's one chain, which has neither gap nor fork; return its length."""
    kept = served.folder / "kept.json"
    await asyncio.to_thread(kept.write_text, json.dumps(receipts[-1]))
    _, out, err = await run(
        "verify",
        *(kept.name, "--store", "--json"),
        folder=served.folder,
        environment={"ANSWERBACK_STORAGE__URL": served.database},
    )
    assert out, err
    found = json.loads(out)
    assert (found["receipt"]["faults"], found["store"]["fault"]) == ([], None)
    numbers = {each["link"]["n"] for each in receipts}
    assert len(numbers) == len(receipts)
    lines = int(found["store"]["lines"])
    assert numbers <= {*range(1, lines + 1)}
    return lines
