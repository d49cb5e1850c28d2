"""The text in which a model reads a person's note with a decision, where its host has no place for it."""


def describe_note(headline: str, note: str) -> str:
    return f'The user was asked "{headline}", decided, and said: {note}'
