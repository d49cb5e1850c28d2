"""The text in which a model reads of a file that a person sent, and where it finds the file."""


def describe_file(name: str, place: str) -> str:
    """Return a line about a file.

    Args:
        place: a sentence about where it is, such as `place_in_service` returns.
    """
    return f'The user sent the file "{name}": {place}'


def describe_files_with(headline: str, files: str) -> str:
    """Return lines about files with the question that they answer, where nothing else says which that was."""
    return f'The user was asked "{headline}", and sent with the answer:\n{files}'


def place_in_service(file_id: str) -> str:
    return f"GET /v1/files/{file_id} returns it."
