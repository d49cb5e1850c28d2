"""``answerback acp``: a proxy between an editor and an agent. Only the standard library: an agent has to start fast."""
