"""How kernels are compiled: kept on disk, without the GIL or functions that are not called.

Numba makes two more functions of each, one to call it from Python, one to call it from C; to
compile them takes a tenth of the time of a first run.
"""

from functools import partial

from numba import njit

#: A function that Python calls.
kernel = partial(njit, cache=True, nogil=True, no_cfunc_wrapper=True)

#: A function that only kernels call.
inner = partial(kernel, no_cpython_wrapper=True)

#: A long function that one line calls: compiled as a part of the kernel that calls it.
part = partial(inner, inline="always")
