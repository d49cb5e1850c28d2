"""An MCP server of somebody else's, whose tool asks its client's user: run on standard input and output."""

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, Field

server = MCPServer("travel")


class Seat(BaseModel):
    """What the tool wants to know."""

    seat: str = Field(description="Such as 12A")
    meal: bool


def which_seat() -> Elicit[Seat]:
    """Asks for it."""
    return Elicit("Which seat?", Seat)


@server.tool()
async def book(seat: Annotated[Seat, Resolve(which_seat)]) -> str:
    """Books a flight."""
    return f"Booked {seat.seat}, {'with' if seat.meal else 'without'} a meal."


if __name__ == "__main__":
    server.run("stdio")
