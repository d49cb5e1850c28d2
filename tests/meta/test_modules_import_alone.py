"""Each module can be imported first, by itself, without a warning: no hidden order, no cycle."""

import subprocess
import sys

from tests.meta.project import PACKAGES, ROOT, module_name, sources

# What others wrote is imported once, before; then every module of ours is imported in a process
# of its own, forked from there, in which none of ours has been imported yet.
_SCRIPT = """
import importlib, os, sys, traceback, warnings

warnings.simplefilter("ignore")
for name in ("aiohttp.web", "discord", "jsonschema", "jsonschema_rs", "mcp", "pydantic_settings",
             "slack_bolt.async_app", "slack_sdk.web.async_client", "sqlite_utils", "typer"):
    importlib.import_module(name)
warnings.simplefilter("error")

failed = 0
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except BaseException:
            print(f"--- import {name}", flush=True)
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
            os._exit(1)
        os._exit(0)
    failed |= os.waitpid(child, 0)[1]
sys.exit(bool(failed))
"""


def test_each_module_imports_alone_and_without_a_warning() -> None:
    names = [module_name(path) for path in sources(*PACKAGES)]
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *names],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
        timeout=50,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
