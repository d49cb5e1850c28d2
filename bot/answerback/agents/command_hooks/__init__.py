"""``answerback hook``: what the command hooks of agents run. Only the standard library: a hook has to start fast."""
