"""The fixtures that the contract needs."""

pytest_plugins = ["answerback_testing.pytest_plugin"]
