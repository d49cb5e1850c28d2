"""What the contract needs."""

pytest_plugins = ["answerback.testing.pytest_plugin"]
