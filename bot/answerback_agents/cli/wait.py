"""``answerback wait``: waits until an ask has ended, and prints the tool result."""

from __future__ import annotations

import math

from answerback_agents.cli.options import AskId, Content, Json, Token, Url, Wait


def command(
    ask: AskId,
    wait: Wait = 600,
    url: Url = None,
    token: Token = None,
    content: Content = False,
    json: Json = False,
) -> None:
    """Wait until an ask has ended, and print the tool result.

    Example: `answerback wait ask_0123456789abcdef --wait 900`

    Keeps waiting if the service restarts. The exit status is that of `answerback ask`: 0 if answered, 3 if cancelled,
    4 if the turn ended, 5 if expired, 6 if withdrawn, 7 if failed, 8 if nobody has answered yet, and 9 if a person
    asked back.
    """
    from answerback_agents.bridges.ask_people import with_saved_files
    from answerback_agents.cli.api_client import agent_access, call_service
    from answerback_agents.cli.ask_output import exit_with
    from answerback_client import Ask, AsyncClient, StillOpenError, UnreachableError

    access = agent_access(url, token)

    async def read(client: AsyncClient) -> Ask:
        found = await client.get(ask)
        async with AsyncClient(access.url, token, patience=math.inf) as patient:
            try:
                return await with_saved_files(patient, await patient.wait(ask, timeout=wait))
            except (StillOpenError, UnreachableError) as error:
                return error.ask if isinstance(error, StillOpenError) else found

    done = call_service(access, read)
    exit_with(done.json, content=content, whole=json)
