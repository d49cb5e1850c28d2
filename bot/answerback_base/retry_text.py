"""The sentence that tells a model to try again what nobody allowed in time."""

from __future__ import annotations


def describe_retry(headline: str, text: str | None) -> str:
    """Say to a model what a person tells it to try again."""
    said = f' They say: "{text}"' if text else ""
    return (
        f"The user was asked for permission ({headline}), and it was denied because it was not decided in time. Now "
        f"the user wants you to try again.{said} Nothing is approved: make the call again if it is still needed, and "
        "they will be asked again."
    )
