"""How kernels are compiled: kept on disk, without the GIL or functions that are not called.

Numba makes two more functions of each, one to call it from Python, one to call it from C; to
compile them takes a tenth of the time of a first run.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import config, njit
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys


class _Kept(FunctionCache):  # type: ignore[misc]
    """Compiled kernels on disk, loaded without what only compiling takes.

    Before it looks for a file, Numba enters all types and functions that it knows: 0.1 s of the
    0.6 s of a short run. Its compiler does so once more where there is no file.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)  # what kernels allocate arrays with
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Make a kernel of a function, which Python calls."""
    found: Any = njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    if not config.DISABLE_JIT:
        found._cache = _Kept(function)
    return found


#: A function that only kernels call.
inner = partial(kernel, no_cpython_wrapper=True)

#: A long function that one line calls: compiled as a part of the kernel that calls it.
part = partial(inner, inline="always")
