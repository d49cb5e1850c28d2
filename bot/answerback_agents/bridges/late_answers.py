"""Late answers through a bridge: those given after the agent's server had gone, for the next turn of its thread.

An answer counts as delivered once the agent's server has accepted it; if the bridge is killed before, it does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from answerback_agents.bridges.ask_people import with_saved_files
from answerback_agents.pipe.saved_files import files_of, with_paths
from answerback_base.backoff import Backoff
from answerback_base.retry_text import describe_retry
from answerback_client import AsyncClient, ClientError, UnreachableError

_TIMEOUT: Final = 2.0
"""Seconds that a look-up takes at most."""


class LateAnswerText(NamedTuple):
    """A text for the model, and the asks to acknowledge once the model has it."""

    text: str
    ask_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class LateAnswerSource:
    """The late answers for one agent of one service."""

    client: AsyncClient
    """Acknowledges nothing by itself."""

    async def fetch(self, conversation: str) -> LateAnswerText | None:
        """The undelivered answers of a conversation; None if there are none.

        Raises:
            UnreachableError: the service cannot be reached; nothing is lost.
        """
        try:
            async with asyncio.timeout(_TIMEOUT):
                found = await self.client.answers(conversation)
        except TimeoutError as error:
            raise UnreachableError(f"{self.client.url} did not answer in time.") from error
        except UnreachableError:
            raise
        except ClientError:
            return None  # The bridge's own asks fail as well, and it reports that.
        asks = [await with_saved_files(self.client, ask) for ask in found.asks]
        texts = [with_paths(str(ask.json["message"]), files_of(ask.json)) for ask in asks]
        texts += [describe_retry(retry.headline, retry.text) for retry in found.retries]
        ids = [*(ask.id for ask in found.asks), *(retry.ask_id for retry in found.retries)]
        return LateAnswerText("\n\n".join(texts), ids) if ids else None

    async def fetch_once_available(self, conversation: str) -> LateAnswerText | None:
        """Fetch, again and again until the service can be reached."""
        backoff = Backoff()
        while True:
            try:
                return await self.fetch(conversation)
            except UnreachableError:
                await backoff.wait()
