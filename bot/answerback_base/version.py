"""Which release this is. `.ci/release` checks that ``pyproject.toml`` says the same.

To look it up in the installed metadata would take a tenth of the time of `answerback --help`.
"""

from typing import Final

VERSION: Final = "0.1.0"
