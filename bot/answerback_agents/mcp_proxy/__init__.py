"""``answerback mcp-proxy``: people decide about an MCP server's tool calls. Standard library only, to start fast."""
