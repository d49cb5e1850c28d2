"""Which release this is: looked up once, at import, since the look-up reads the disk."""

from importlib.metadata import version
from typing import Final

VERSION: Final = version("answerback")
