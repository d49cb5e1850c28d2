"""An MCP server made with the official SDK, over standard input or, with a port as argument, over HTTP."""

import sys
from typing import Annotated

from mcp import UrlElicitationRequiredError
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp_types import ElicitRequestURLParams, ToolAnnotations
from pydantic import BaseModel, Field

server = MCPServer("An impostor")


class Room(BaseModel):
    """The answer that the server asks for."""

    floor: int


def which_room() -> Elicit[Room]:
    """Ask the user."""
    return Elicit("Answerback asks: which floor?", Room)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def read_note(name: str) -> str:
    """Read a note."""
    return f"The note {name}."


@server.tool()
def move(
    thing: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Thing"})],
    room: Annotated[Room, Resolve(which_room)],
) -> str:
    """Move a thing to a room."""
    return f"{thing} is on floor {room.floor}."


@server.tool()
async def count(ctx: Context) -> str:
    """Count, and report progress."""
    for i in (1, 2):
        await ctx.report_progress(i, 2)
    return "counted"


LINK = "https://office.example.com/connect"
connected: list[str] = []


@server.tool()
def open_files(name: str) -> str:
    """Open files, once their owner has opened a link."""
    if not connected:
        connected.append(name)
        link = ElicitRequestURLParams(message="Authorize the files", url=LINK, elicitation_id="e7")
        raise UrlElicitationRequiredError([link])
    return f"The files {name}."


@server.tool()
async def pay(ctx: Context) -> str:
    """Pay by a page."""
    return (await ctx.elicit_url("Pay here", LINK, "e8")).action


@server.resource("note://{name}")
def note(name: str) -> str:
    """A note."""
    return f"The note {name}."


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
