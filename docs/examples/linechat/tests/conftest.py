"""What the contract needs."""

pytest_plugins = ["answerback.testing.plugin"]
