"""``answerback acp``: a proxy between an editor and an agent. Standard library only, so that an agent starts fast."""
