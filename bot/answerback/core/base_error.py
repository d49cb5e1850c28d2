"""The base class of all errors, in its own module so that the command line, which handles it, starts fast."""


class AnswerbackError(Exception):
    """The base class of every exception that Answerback raises on purpose."""
