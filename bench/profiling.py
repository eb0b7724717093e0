"""Where the time of `neardup dedup` goes.

    python bench/profiling.py [--shape mixed] [--size 1000000] [--form parquet]

With `perf record`, where that is there and allowed: shares of the CPU time by library (kernels that
Numba compiled have none, nor has the operating system), and the most expensive functions. Else by
py-spy, if it is installed, else by cProfile, which sees the main thread alone.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from harness import DATA, NEARDUP, clear, neardup, synthetic, table

#: What a shared object (or, first, a function) counts as; the first pattern that fits.
GROUPS = {
    "copying and clearing (libc)": r"^mem(move|cpy|set)|__mem",
    "our kernels": r"\[JIT\]|//anon|^\[unknown\]|perf-\d+\.map|\[heap\]|memfd",
    "operating system": r"\[kernel|\[vdso|\[hypervisor",
    "Arrow": r"libarrow|libparquet|pyarrow|_s3fs",
    "NumPy": r"_multiarray|numpy|openblas",
    "Numba and LLVM": r"llvm|numba|_dispatcher|_helperlib",
    "interpreter": r"python",
    "other": "",
}


def group(library: str, function: str) -> str:
    names = list(GROUPS)
    if re.search(GROUPS[names[0]], function) and "kernel" not in library:
        return names[0]
    return next(name for name in names[1:] if re.search(GROUPS[name], library, re.I))


def by_perf(words: list[str], data: Path) -> str:
    """Record and add up; raises OSError where perf is not allowed to."""
    record = ["perf", "record", "-F", "299", "-o", str(data), "--", *words]
    done = subprocess.run(record, capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.stderr.strip().splitlines()[-1:])
    fields = ["perf", "report", "-i", str(data), "--stdio", "--sort", "dso,sym", "-t", "\t"]
    report = subprocess.run(fields, capture_output=True, text=True, check=True).stdout
    shares: Counter[str] = Counter()
    functions: Counter[tuple[str, str]] = Counter()
    for line in report.splitlines():
        share, *names = (field.strip() for field in line.split("\t"))
        if line.startswith("#") or len(names) < 2 or not share.endswith("%"):
            continue
        library, function = names[0], re.sub(r"^\[.\] ", "", names[1])
        which = group(library, function)
        shares[which] += float(share[:-1])
        functions[which, function if which != "our kernels" else "(compiled)"] += float(share[:-1])
    top = [[f"{share:.1f} %", *key] for key, share in functions.most_common(25)]
    groups = [[name, f"{share:.1f} %"] for name, share in shares.most_common()]
    return f"{table(['CPU time of', 'share'], groups)}\n\n" + "\n".join("  ".join(t) for t in top)


def by_python(words: list[str]) -> str:
    spy = shutil.which("py-spy")
    if spy is not None:
        target = DATA / "profile.txt"
        subprocess.run([spy, "record", "-n", "-f", "raw", "-o", str(target), "--", *words])
        return f"stacks of py-spy: {target}"
    command = [sys.executable, "-m", "cProfile", "-s", "tottime", NEARDUP, *words[1:]]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return "\n".join(lines[:50])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="mixed")
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--form", choices=["parquet", "jsonl"], default="parquet")
    args = parser.parse_args()
    source = getattr(synthetic(args.shape, args.size, (args.form,)), args.form)
    output, data = DATA / "out-profile", DATA / "perf.data"
    clear(output)
    words = neardup(source, output)
    try:
        print(by_perf(words, data))
    except OSError as error:
        print(f"without perf: {error}\n{by_python(words)}")
    clear(output)
    clear(data)


if __name__ == "__main__":
    main()
