"""An MCP server made with the official SDK, over standard input or, with a port as argument, over HTTP."""

import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

server = MCPServer("An impostor")


class Room(BaseModel):
    """What the server asks for."""

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


@server.resource("note://{name}")
def note(name: str) -> str:
    """A note."""
    return f"The note {name}."


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
