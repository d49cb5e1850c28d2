"""The root of the errors, in a module of its own: the command line handles it and should start fast."""


class AnswerbackError(Exception):
    """The root of everything Answerback raises on purpose."""
