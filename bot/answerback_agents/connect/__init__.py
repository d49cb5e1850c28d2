"""``answerback connect``: changes the configuration of agents in place, and restores it."""
