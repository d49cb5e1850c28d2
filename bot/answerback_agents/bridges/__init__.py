"""``answerback bridge``: forwards what an agent's own server asks its client to people, and their answers back."""
