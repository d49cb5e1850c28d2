"""``answerback hook``: the program that agents run as a hook. Standard library only, so that it starts fast."""
