"""The ids in the `_meta` of a host's MCP requests: the object `MCP_META` of its part `mcp_meta`."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from answerback_base.hosts import load_parts


class McpMeta(NamedTuple):
    """The fields with ids that a host adds to a call of a tool. They mean nothing to people, who are not shown them."""

    session: str | None = None
    """The session's id, which the host's hook and bridge use for a conversation."""
    call: str | None = None
    """The id of the model's tool call, which another call may have, too."""
    others: tuple[str, ...] = ()
    """Ids of anything else."""

    @property
    def ids(self) -> frozenset[str]:
        """All of these fields."""
        return frozenset(filter(None, (self.session, self.call, *self.others)))


@cache
def declared() -> tuple[McpMeta, ...]:
    """Return what the hosts declare, in alphabetical order of their names."""
    return tuple(part.MCP_META for part in load_parts("mcp_meta").values())
