"""``answerback bridge``: what an agent's own server asks its client goes to people, and their answers go back."""
