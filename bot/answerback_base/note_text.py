"""What a model reads of the words that a person added to a decision, where its host has no place for them."""


def describe_note(headline: str, note: str) -> str:
    return f'The user was asked "{headline}", decided, and said: {note}'
