"""The inquiry backend over HTTP: it gets a question that need not be a person's, and returns an answer.

It is sent ``POST`` with ``{"ask_id", "tool", "conversation", "turn", "question": {…}}``, where
``question`` is what the record says of the question with its ``id``, and returns
``{"answer": …}``. The answer is checked by the service as any other.
"""

from __future__ import annotations

import json
from typing import Final

import aiohttp
from pydantic import JsonValue

from answerback.core.ask import Ask, request_entry
from answerback.core.errors import InquiryError
from answerback.core.form import Question

MAX_BODY: Final = 256 * 1024
"""Bytes of the backend's answer that are read."""


class HttpInquiryBackend:
    """An inquiry backend at a URL.

    Args:
        http: the client's session.
        url: where the question is posted to.
        timeout: seconds for the whole exchange.
    """

    def __init__(self, http: aiohttp.ClientSession, url: str, timeout: float) -> None:
        self._http = http
        self._url = url
        self._timeout = aiohttp.ClientTimeout(total=timeout)

    async def answer(self, ask: Ask, question: Question) -> JsonValue:
        """The backend's answer, not yet checked.

        Raises:
            InquiryError: it did not answer in time, or not with JSON that holds an answer.
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
            return _answer_in(await self._post(body))
        except TimeoutError:
            raise InquiryError(
                "The inquiry backend did not answer in time (inquiry.timeout)."
            ) from None
        except aiohttp.ClientError as error:
            raise InquiryError(f"The inquiry backend could not be reached: {error}.") from error

    async def _post(self, body: JsonValue) -> bytes:
        async with self._http.post(
            self._url, json=body, timeout=self._timeout, allow_redirects=False
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


def _answer_in(body: bytes) -> JsonValue:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise InquiryError("The inquiry backend's answer is no JSON.") from None
    if not isinstance(parsed, dict) or "answer" not in parsed:
        raise InquiryError('The inquiry backend\'s answer is no object with an "answer".')
    value: JsonValue = parsed["answer"]
    return value
