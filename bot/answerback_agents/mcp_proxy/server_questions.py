"""The questions of a server to its user: people answer them, whatever the client can do, and nobody else does."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from answerback_agents.acp.messages import result_of
from answerback_agents.mcp_proxy import messages
from answerback_agents.mcp_proxy.pending_asks import Pending, PendingAsks
from answerback_agents.mcp_proxy.progress import Progress
from answerback_agents.pipe.ask_people import AskOutcome, Call
from answerback_agents.pipe.json_rpc import Json, id_key, params
from answerback_agents.pipe.saved_files import describe_files, files_of
from answerback_base.file_text import describe_files_with

_WAITING = "Waiting for a person to answer the server"


@dataclass(eq=False)
class ServerQuestions:
    """Asks people what one server asks, in threads of its callers.

    Args:
        server: the server's name, as the policy has it.
        origin: where the agent runs, as a submission says it.
    """

    server: str
    asks: PendingAsks
    progress: Progress
    origin: Json
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _links: dict[str, Pending] = field(default_factory=dict)
    """The links that people are asked to open, by the keys of their elicitations' ids."""
    _texts: list[str] = field(default_factory=list)
    """The lines about files that people sent: the answer goes to the server, and the file to the model."""

    def answer(self, pending: Pending, fields: Json, tokens: Sequence[object] = ()) -> Json | None:
        """Ask people a question; return the protocol's answer, or None if it was cancelled.

        Args:
            tokens: what progress is reported under while they think.
        """
        outcome = self._ask(pending, fields, tokens)
        return None if outcome is None else result_of(messages.ELICITATION, outcome)

    def open_links(
        self, key: str, links: Sequence[Json], tokens: Sequence[object]
    ) -> AskOutcome | bool:
        """Ask people to open links, one after the other.

        Returns:
            True once the server says, or people say, that all are done; False if the request was cancelled; else how
            the first one ended that is not.
        """
        for fields in links:
            pending = self.asks.open(key)
            with self._link(pending, fields.get("elicitationId")) as done:
                outcome = self._ask(pending, fields, tokens)
            if done.is_set():
                continue
            if outcome is None:
                return False
            if result_of(messages.ELICITATION, outcome) != {"action": "accept"}:
                return outcome
        return True

    def complete(self, notification: Json) -> bool:
        """Note that the server has got what a link was for; returns whether people are asked to open it."""
        with self._lock:
            pending = self._links.pop(id_key(params(notification).get("elicitationId")), None)
        if pending is None:
            return False
        pending.done.set()
        self.asks.withdraw(pending)
        return True

    @contextmanager
    def _link(self, pending: Pending, elicitation_id: object) -> Iterator[threading.Event]:
        key = id_key(elicitation_id)
        with self._lock:
            self._links[key] = pending
        try:
            yield pending.done
        finally:
            with self._lock:
                self._links.pop(key, None)

    def _ask(self, pending: Pending, fields: Json, tokens: Sequence[object]) -> AskOutcome | None:
        """Ask people a question of the server, headed by its name; None if it was cancelled."""
        if isinstance(text := fields.get("message"), str):
            host = f", with a link to {_host(fields['url'])}" if "url" in fields else ""
            fields = {**fields, "message": f"The server {self.server} asks{host}: {text}"}
        threading.Thread(
            target=self.progress.report, args=[pending, tokens, _WAITING], daemon=True
        ).start()
        asked = Call(messages.ELICITATION, "elicitation", fields, None, origin=self.origin)
        outcome = self.asks.ask(pending, asked)
        if not self.asks.close(pending):
            return None
        ask = outcome.ask or {}
        if files := describe_files(files_of(ask)):
            with self._lock:
                self._texts.append(describe_files_with(str(ask.get("headline")), files))
        return outcome

    def take_text(self) -> str | None:
        """Return what the model has not read yet of files that people sent; None if there is nothing."""
        with self._lock:
            texts, self._texts = self._texts, []
        return "\n\n".join(texts) or None


def _host(url: object) -> str:
    """The host of a link, as far as it can be told."""
    with suppress(ValueError):
        return urlsplit(str(url)).hostname or "nowhere"
    return "nowhere"
