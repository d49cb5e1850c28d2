"""A front end over the HTTP API: people act, hand over, allow again, change calls and decide several at once."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from answerback_client.async_client import AsyncClient
from answerback_client.errors import ClientError, RefusedError, UnreachableError
from tests.simulation.evidence import Attempt, Evidence, GivenGrant, Json
from tests.simulation.files import Camera, picture
from tests.simulation.loop import SimulatedLoop
from tests.simulation.service import API_URL, SimulatedService

_PAUSES: Final = (10.0, 60.0, 300.0)
"""Seconds between two uses of the front end, on average."""
_IDLE_PAUSE: Final = 90.0
"""The least seconds until the next use after one that found nothing open, on average."""
_TRIES: Final = 4
"""The times that it sends an action with an idempotency key, if it does not learn what became of it."""
_ERASED: Final = 0.15
"""The share of the ended asks that the operator erases when they look."""
_OLD_TOKEN: Final = 0.7
"""The chance that it uses a token once more that it could know to be revoked."""


class FrontEnd:
    """A program with a token of the role ``surface``, which vouches for the people that use it.

    Args:
        people: the names of those who use it, by their ids; they need not be allowed to decide.
        surface: the chat of which the ids are.
        service: the service whose settings have its token. It learns of a new one only after a while.
        is_away: whether none of the people uses it now.
        camera: takes the pictures that people send by it.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        rng: random.Random,
        evidence: Evidence,
        people: Mapping[str, str],
        surface: str,
        service: SimulatedService,
        is_away: Callable[[], bool],
        camera: Camera,
    ) -> None:
        self._loop = loop
        self._rng = rng
        self._evidence = evidence
        self._people = people
        self._surface = surface
        self._is_away = is_away
        self._service = service
        self._camera = camera
        self._keys = 0
        self._is_idle = False
        """True if it found nothing open when it looked last."""

    async def live(self) -> None:
        pause = self._rng.choice(_PAUSES)
        while True:
            token = self._service.front_token
            async with AsyncClient(API_URL, token) as client:
                while token == self._service.front_token or self._rng.random() < _OLD_TOKEN:
                    mean = max(pause, _IDLE_PAUSE) if self._is_idle else pause
                    await asyncio.sleep(self._rng.expovariate(1 / mean))
                    if not self._is_away():
                        await self._try_to_use(client, token)

    async def _try_to_use(self, client: AsyncClient, token: str) -> None:
        began = self._loop.time()
        try:
            await self._use(client)
        except RefusedError as error:
            self._loop.machine.note(f"the front end is refused: {error}")
        except UnreachableError:
            self._loop.machine.note("the front end has no answer")
        except ClientError as error:
            self._evidence.broken.append(f"LIVE: the front end was told {error!r}")
        else:
            if self._service.revoked_tokens.get(token, math.inf) < began:
                self._evidence.broken.append(f"MAY: {token} was accepted after it was revoked")

    async def _use(self, client: AsyncClient) -> None:
        what = self._rng.random()
        if what < 0.1:
            await self._erase(client)
        elif what < 0.2:
            await self._revoke(client)
        else:
            asks = [ask.json for ask in await client.open_asks()]
            self._is_idle = not asks
            approvals = [ask for ask in asks if _options(ask)]
            if what < 0.35 and len(approvals) > 1:
                await self._decide_several(client, self._some(approvals))
            elif asks:
                await self._act(client, self._rng.choice(asks + approvals))

    def _some(self, asks: list[Json]) -> list[Json]:
        return self._rng.sample(asks, self._rng.randint(2, min(5, len(asks))))

    async def _act(self, client: AsyncClient, ask: Json) -> None:
        everybody = sorted(self._people)
        who = ask["responders"] if self._rng.random() < 0.85 else everybody
        person = self._rng.choice(who)
        self._evidence.known_files |= {file["id"]: None for file in ask["answer_files"]}
        action, act = self._choose(ask, person)
        names, ids = await self._upload(client, ask, action, person)
        attempt = self._attempt(person, ask, action["action"], act)
        if names:
            attempt.files, action["files"] = names, ids
            attempt.text = action.get("text", action.get("value"))
        body = {**action, "revision": ask["revision"], "actor": self._actor(person)}
        self._loop.machine.note(f"{person} acts by the front end: {action}")
        if (grant := action.get("grant")) is not None:
            given = GivenGrant(person, grant["uses"])
            self._evidence.grants.setdefault(ask["id"], []).append(given)
        await self._send(client, f"/v1/asks/{ask['id']}/actions", body)
        attempt.acknowledged_at = self._loop.time()

    def _attempt(self, person: str, ask: Json, verb: str, act: str) -> Attempt:
        attempt = Attempt(
            person, ask["id"], ask["revision"], verb, "", self._loop.time(), None, act=act,
        )  # fmt: skip
        self._evidence.attempts.append(attempt)
        return attempt

    async def _upload(
        self, client: AsyncClient, ask: Json, action: Json, person: str
    ) -> tuple[tuple[str, ...], list[str]]:
        """Upload the pictures that somebody sends with a text; return their names and their ids."""
        is_text = action["action"] == "reply" or (
            action["action"] == "answer" and ask["prompt"]["answer_type"] == "text"
        )
        names, ids = self._camera.take() if is_text else (), []
        for name in names:
            path = f"/v1/files?name={name}&surface={self._surface}&user_id={person}"
            stored = await client.call("POST", path, data=picture(name, place=True))
            ids.append(str(stored["id"]))
        self._evidence.known_files |= dict.fromkeys(ids)
        return names, ids

    def _choose(self, ask: Json, person: str) -> tuple[Json, str]:
        """Choose what somebody does: the action, and what the record has to call it."""
        prompt, rng = ask["prompt"], self._rng
        if rng.random() < 0.15 and ask["hand_over_to"]:
            to = rng.choice(ask["hand_over_to"])
            self._evidence.handed.setdefault(ask["id"], {}).setdefault(to, self._loop.time())
            return {"action": "hand_over", "to": to}, "handed_over"
        if prompt["kind"] == "confirmation":
            if rng.random() < 0.8:
                return {"action": "confirm"}, "confirmed"
            return {"action": "object", "text": self._text(person)}, "objected"
        if prompt["kind"] == "review":
            return {"action": "submit"}, "submitted"
        if rng.random() < 0.1 and "back" in prompt["controls"]:
            return {"action": "back"}, "backed"
        if rng.random() < 0.05 and "reply" in prompt["controls"]:
            return {"action": "reply", "text": self._text(person)}, "cancelled"
        return self._answer(ask, person)

    def _answer(self, ask: Json, person: str) -> tuple[Json, str]:
        prompt, rng = ask["prompt"], self._rng
        options = [option["value"] for option in prompt["options"] or ()]
        match prompt["answer_type"]:
            case "boolean":
                value: Any = rng.random() < 0.5
            case "text":
                value = self._text(person)
            case _:
                value = rng.choice(options)
        action: Json = {"action": "answer", "value": value}
        if ask["dialect"] != "approval":
            return action, f"answered {prompt['question_id']} {value}"
        allowed = [o["value"] for o in prompt["options"] or () if o["kind"] == "allow_once"]
        if allowed and prompt["grants"] and rng.random() < 0.5:
            action["value"] = value = allowed[0]
        if prompt["nothing_known"]:
            action["unseen"] = True
        if value in allowed and prompt["grants"] and rng.random() < 0.7:
            [first, *_] = prompt["grants"]
            uses = rng.randint(1, min(3, first["uses"]))
            action["grant"] = {"match": first["match"], "minutes": 30, "uses": uses}
        elif value in allowed and prompt["editable"] is True and rng.random() < 0.5:
            command = f"echo '{self._text(person)}'"
            action["edited"] = {"command": command}
            self._evidence.edits.setdefault(ask["id"], set()).add(command)
        return action, "answered"

    async def _decide_several(self, client: AsyncClient, asks: list[Json]) -> None:
        person, allows = self._rng.choice(sorted(self._people)), self._rng.random() < 0.6
        attempts = [self._attempt(person, ask, "answer", "answered") for ask in asks]
        body = {
            "asks": [{"id": ask["id"], "revision": ask["revision"]} for ask in asks],
            "decision": "allow_once" if allows else "deny",
            "actor": self._actor(person),
        }
        self._loop.machine.note(f"{person} decides {len(asks)} asks by the front end")
        done = await self._send(client, "/v1/batches", body)
        for attempt, result in zip(attempts, done["results"], strict=True):
            if result["status"] == 200:
                attempt.acknowledged_at = self._loop.time()

    async def _send(self, client: AsyncClient, path: str, body: Json) -> Json:
        """Send an action; with an idempotency key, again and again until its result is known."""
        if self._rng.random() < 0.4:
            return await client.call("POST", path, json=body, repeat=False)
        self._keys += 1
        headers = {"Idempotency-Key": f"action-{self._keys}"}
        for _ in range(_TRIES):
            try:
                return await client.call("POST", path, json=body, headers=headers, repeat=False)
            except UnreachableError:
                await asyncio.sleep(self._rng.uniform(1, 30))
        return await client.call("POST", path, json=body, headers=headers, repeat=False)

    async def _revoke(self, client: AsyncClient) -> None:
        found = (await client.call("GET", "/v1/grants"))["grants"]
        if not isinstance(found, list) or not found:
            return
        grant: Any = self._rng.choice(found)
        who = grant["by"]["user_id"]
        path = f"/v1/grants/{grant['id']}?responder={self._surface}:{who}"
        self._loop.machine.note(f"{who} revokes {grant['id']}")
        await client.call("DELETE", path)
        self._evidence.revoked[grant["id"]] = self._loop.time()

    async def _erase(self, client: AsyncClient) -> None:
        page: Any = await client.call("GET", "/v1/asks?limit=100")
        ended = [each for each in page["asks"] if each["status"] != "open"]
        for ask in ended:
            is_known = self._evidence.keys.get(ask["id"]) in self._evidence.finished
            if is_known and ask["erased_at"] is None and self._rng.random() < _ERASED:
                self._loop.machine.note(f"the operator erases {ask['id']}")
                self._evidence.erasures.add(ask["id"])
                await client.call("POST", f"/v1/asks/{ask['id']}/erase")

    def _actor(self, person: str) -> Json:
        return {"user_id": person, "name": self._people[person]}

    def _text(self, person: str) -> str:
        return f"{person} writes at {self._loop.time():.3f}"


def _options(ask: Json) -> bool:
    """Return True if an ask asks for a permission."""
    return bool(ask["dialect"] == "approval" and ask["prompt"]["kind"] == "question")
