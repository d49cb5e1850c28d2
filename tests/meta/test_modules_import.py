"""Any module can be imported first: there is no cycle to get caught in, and importing warns of nothing."""

import graphlib
import subprocess
import sys

import grimp

from tests.meta.project import PACKAGES, ROOT, SOURCE_FOLDERS, module_name, sources


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    # In the order found here each module meets only what has been imported before: from whichever
    # of them one begins, its imports end.
    assert len(list(graphlib.TopologicalSorter(imports).static_order())) == len(imports)


def test_every_module_imports_in_a_fresh_interpreter_without_a_warning() -> None:
    names = [module_name(path) for path in sources(*SOURCE_FOLDERS)]
    others_first = "import aiohttp.web, discord, mcp.server, slack_bolt.async_app, slack_sdk"
    script = [
        "import importlib, sys, warnings",
        "warnings.simplefilter('ignore')",  # what others' packages warn of is not ours to fix
        others_first,
        "warnings.simplefilter('error')",
        "[importlib.import_module(name) for name in sys.argv[1:]]",
    ]
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(script), *names],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
        timeout=50,
    )
    assert ran.returncode == 0, ran.stderr
