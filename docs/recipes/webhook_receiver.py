"""Receives webhooks: checks the signature, ignores repeats, and answers in time."""

import os
from collections.abc import Awaitable, Callable

from aiohttp import web

from answerback_client import Ask, WebhookError, verify_webhook

SECRET = os.environ["WEBHOOK_SECRET"]  # the agent's callback_secret: whsec_…


def receiver(ended: Callable[[Ask], Awaitable[None]]) -> web.Application:
    """An application that hands each ask that has ended to `ended`, once."""
    done: set[str] = set()  # in a database, if a repeat after a restart would do harm

    async def receive(request: web.Request) -> web.Response:
        try:
            event = verify_webhook(await request.read(), request.headers, SECRET)
        except WebhookError as error:
            return web.Response(status=401, text=str(error))
        if event.id not in done:  # the id is the same on every try
            await ended(event.ask)  # if this raises, the answer is 500, and Answerback tries again
            done.add(event.id)
        return web.Response(status=204)

    app = web.Application()
    app.router.add_post("/answers", receive)
    return app


async def _print(ask: Ask) -> None:
    print(ask.id, ask.status, ask.tool_result.content if ask.tool_result else "(the turn is over)")


if __name__ == "__main__":
    web.run_app(receiver(_print), host="127.0.0.1", port=8500)
