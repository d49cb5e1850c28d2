"""A third-party MCP server whose tool asks its client's user; it runs on stdio."""

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, Field

server = MCPServer("travel")


class Seat(BaseModel):
    """The information that the tool asks for."""

    seat: str = Field(description="Such as 12A")
    meal: bool


def which_seat() -> Elicit[Seat]:
    """Ask for a seat."""
    return Elicit("Which seat?", Seat)


@server.tool()
async def book(seat: Annotated[Seat, Resolve(which_seat)]) -> str:
    """Book a flight."""
    return f"Booked {seat.seat}, {'with' if seat.meal else 'without'} a meal."


if __name__ == "__main__":
    server.run("stdio")
