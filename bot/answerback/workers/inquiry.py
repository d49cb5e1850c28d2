"""The inquiry backend over HTTP: it receives a question that needs no person, and returns an answer.

It receives ``POST`` with ``{"ask_id", "tool", "conversation", "turn", "question": {…}}``, where ``question`` is the
question as the record has it, with its ``id``, and returns ``{"answer": …}``. The service checks the answer like any
other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import aiohttp
from pydantic import JsonValue

from answerback.core.ask import Ask, request_entry
from answerback.core.errors import InquiryError
from answerback.core.form import Question
from answerback_base import strict_json

MAX_BODY: Final = 256 * 1024
"""Bytes of the backend's response that are read, at most."""


@dataclass(frozen=True, slots=True)
class HttpInquiryBackend:
    """An inquiry backend at a URL."""

    http: aiohttp.ClientSession
    url: str
    timeout: float
    """Seconds for the whole exchange."""

    async def answer(self, ask: Ask, question: Question) -> JsonValue:
        """Return the backend's answer, not yet validated.

        Raises:
            InquiryError: it did not answer in time, or its response is not JSON with an answer.
        """
        (entry,) = request_entry(ask, ask.updated_at)
        body: JsonValue = {
            "ask_id": ask.id,
            "tool": ask.form.tool or ask.request.name,
            "conversation": ask.request.conversation,
            "turn": ask.request.turn,
            "question": {"id": question.id, **entry.body},
        }
        try:
            return _parse_answer(await self._post(body))
        except TimeoutError:
            raise InquiryError(
                "The inquiry backend did not answer in time (inquiry.timeout)."
            ) from None
        except aiohttp.ClientError as error:
            raise InquiryError(f"The inquiry backend could not be reached: {error}.") from error

    async def _post(self, body: JsonValue) -> bytes:
        timeout = aiohttp.ClientTimeout(total=self.timeout)
        async with self.http.post(
            self.url, json=body, timeout=timeout, allow_redirects=False
        ) as response:
            if response.status != 200:
                raise InquiryError(
                    f"The inquiry backend answered HTTP {response.status} instead of 200."
                )
            read = bytearray()
            async for chunk in response.content.iter_chunked(65_536):
                read += chunk
                if len(read) > MAX_BODY:
                    raise InquiryError(
                        f"The inquiry backend's answer is longer than {MAX_BODY} bytes."
                    )
            return bytes(read)


def _parse_answer(body: bytes) -> JsonValue:
    try:
        parsed = strict_json.parse_bytes(body)
    except strict_json.NotJsonError:
        raise InquiryError("The inquiry backend's answer is not JSON.") from None
    if not isinstance(parsed, dict) or "answer" not in parsed:
        raise InquiryError('The inquiry backend\'s answer is not an object with an "answer".')
    value: JsonValue = parsed["answer"]
    return value
