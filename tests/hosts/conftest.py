"""The fixtures of the tests with real agents."""

from tests.agents.conftest import home, person, served

__all__ = ["home", "person", "served"]
