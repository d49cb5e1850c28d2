"""``answerback erase``: erases what was written in asks that have ended."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, TypedDict
from urllib.parse import quote

import typer

from answerback_agents.cli.options import Config, Json, Token, Url, Yes
from answerback_agents.cli.output import EXIT_FAILED, confirm, counted, print_json, say, warn

if TYPE_CHECKING:
    from answerback_client import AsyncClient


def command(
    asks: Annotated[list[str], typer.Argument(metavar="ASK...", help="The ids of the asks.")],
    yes: Yes = False,
    url: Url = None,
    token: Token = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Permanently erase what people and agents wrote in asks that have ended.

    Example: `answerback erase ask_3b9ce1c8bca670b2b68269aa`

    The outline of each record stays: its times, the kind of ask, and how it ended. Run this in the service's folder
    as the service's user, or give it a front end's token.
    """
    from answerback_agents.cli.api_client import call_service, resolve_access

    if not yes:
        question = f"Permanently erase what was written in {counted(len(asks), 'ask')}?"
        confirm(question, "Nothing was erased")

    async def work(client: AsyncClient) -> list[_Result]:
        return [await _erase_one(client, ask_id) for ask_id in asks]

    done = call_service(resolve_access(url, token, config), work)
    for result in done:
        if result["refused"] is None:
            say(" ".join([f"{result['id']}: erased.", *result["remains"]]))
        else:
            warn(f"{result['id']}: {result['refused']}")
    if json:
        print_json(done)
    if any(result["refused"] is not None for result in done):
        sys.exit(EXIT_FAILED)


class _Result(TypedDict):
    """The outcome for one ask: ``refused`` says why it was not erased, ``remains`` what has to be deleted elsewhere."""

    id: str
    erased: bool
    refused: str | None
    remains: list[str]


async def _erase_one(client: AsyncClient, ask_id: str) -> _Result:
    from answerback_client import RefusedError

    try:
        body = await client.call("POST", f"/v1/asks/{quote(ask_id, safe='')}/erase")
    except RefusedError as error:
        return {"id": ask_id, "erased": False, "refused": str(error), "remains": []}
    remains = body.get("remains")  # a service of an earlier version has none
    sentences = [str(each) for each in remains] if isinstance(remains, list) else []
    return {"id": ask_id, "erased": True, "refused": None, "remains": sentences}
