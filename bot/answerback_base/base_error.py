"""The base class of all errors, in its own module so that the command line, which handles it, starts fast."""


class AnswerbackError(Exception):
    """The base class of every exception that Answerback raises on purpose."""


class StoreError(AnswerbackError):
    """A database operation failed. Except for `CommitUnknownError`, nothing was stored."""
