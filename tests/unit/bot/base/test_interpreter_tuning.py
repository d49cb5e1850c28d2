"""The tuning of the interpreter for a service."""

from __future__ import annotations

import platform
import subprocess
import sys
from typing import Final

import pytest

from tests.meta.project import PYTHONPATH

_HEAPS_OF_THREADS: Final = """
import ctypes, sys, threading
from answerback_base.interpreter_tuning import share_one_heap

share_one_heap()
allocated, done = threading.Barrier(5), threading.Event()

def allocate():
    kept = bytearray(5_000)
    allocated.wait()
    done.wait()

for _ in range(4):
    threading.Thread(target=allocate).start()
allocated.wait()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.malloc_info(0, ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w")))
libc.fflush(None)
done.set()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have one heap")
def test_the_threads_of_a_service_share_one_heap() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _HEAPS_OF_THREADS],
        env={"PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
    )
    assert done.stdout.count("<heap nr=") == 1, done.stdout
