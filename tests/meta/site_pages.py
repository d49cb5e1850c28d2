"""Pages of the built documentation that are made from the project, as an mkdocs hook that `.mkdocs.yml` names.

https://www.mkdocs.org/user-guide/configuration/#hooks
"""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parents[2]))  # mkdocs runs the hook without the checkout

from tests.meta import rules

_RULES = """# Rules and their tests

Each rule of the [specification](specification.md) that is implemented, and the tests that name it with
`@pytest.mark.rule`. A mark on a file stands for all its tests. `make test` fails if a rule has no test.

"""


def on_files(files: Files, /, *, config: MkDocsConfig) -> Files:
    """Add the table of rules and the tests that prove them."""
    files.append(File.generated(config, "specification-tests.md", content=_RULES + rules.table()))
    return files
