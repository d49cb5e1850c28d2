"""Any module can be imported first: there are no import cycles, and no import warns."""

import graphlib
import subprocess
import sys

import grimp

from tests.meta.project import PACKAGES, ROOT, SOURCE_FOLDERS, module_name, sources


def test_there_are_no_import_cycles() -> None:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    # In this order, each module imports only what comes before it, so importing any of them terminates.
    assert len(list(graphlib.TopologicalSorter(imports).static_order())) == len(imports)


def test_every_module_imports_in_a_fresh_interpreter_without_a_warning() -> None:
    names = [module_name(path) for path in sources(*SOURCE_FOLDERS)]
    others_first = "import aiohttp.web, discord, mcp.server, slack_bolt.async_app, slack_sdk"
    script = [
        "import importlib, sys, warnings",
        "warnings.simplefilter('ignore')",  # warnings of other packages are not ours to fix
        others_first,
        "warnings.simplefilter('error')",
        "[importlib.import_module(name) for name in sys.argv[1:]]",
    ]
    completed = subprocess.run(
        [sys.executable, "-c", "\n".join(script), *names],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    assert completed.returncode == 0, completed.stderr
