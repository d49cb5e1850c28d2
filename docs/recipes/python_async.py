"""The client under asyncio: a bounded wait, after which the ask is withdrawn."""

import asyncio
import os

from answerback_client import AsyncClient, StillOpenError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")


async def release_window(patience: float) -> dict | None:
    """Return when to release; None if nobody answered in time."""
    questions = [
        {
            "id": "when",
            "text": "When may the release go out?",
            "context": "14 changes since Monday; no migration.",
            "answer_type": "select",
            "options": ["now", "tonight", "tomorrow"],
        },
        {
            "id": "who",
            "text": "Who is on call tonight?",
            "answer_type": "text",
            "when": {"question_id": "when", "equals": "tonight"},
        },
    ]
    async with AsyncClient(URL, TOKEN) as answerback:
        asked = await answerback.submit("ask_user", {"questions": questions}, to="web")
        print(f"Asked at {asked.url}")
        try:
            ask = await answerback.wait(asked.id, timeout=patience)
        except StillOpenError:
            await answerback.withdraw(asked.id)
            return None
    return ask.tool_result.structured if ask.status == "answered" else None


if __name__ == "__main__":
    print(asyncio.run(release_window(patience=900)))
