"""Claude Code's HTTP hooks."""
