"""``answerback connect``: the configuration of agents, changed in place and put back as it was."""
