"""Numba inner loops on plain arrays, each with an obvious twin in ``reference.py``.

Kernels release the GIL, take every parameter as an argument (Numba freezes globals) and cast at
every arithmetic step (Numba widens, NumPy wraps). They know nothing of files, specs or threads.
"""
