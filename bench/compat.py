"""Run the tests of other packages against the layers of `neardup.compat`.

python bench/compat.py [--lsh FOLDER] [--out FILE]

The tests of datasketch come from its source distribution, which the package registry has. Those of
mattilyra/lsh are in no registry: give the folder with its ``test_cache.py``. Nothing of them stays.

It also signs the same adverts with `MinHash.update`, shingle by shingle, by the layer and by the
datasketch of bench/peers, alternately.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

from neardup.compat.datasketch import MinHash

#: The last source distribution of datasketch that has the tests.
VERSION = "1.7.0"
FILES = ("test_minhash.py", "test_lean_minhash.py", "test_lsh.py", "test_lshforest.py")
#: A class that is not of the layer.
OTHER = "bBit"

_LSH = (
    "from neardup.compat.lsh.cache import *\nfrom neardup.compat.lsh.cache import Cache\n"
    "from neardup.compat.lsh.minhash import *\nfrom neardup.compat.lsh.minhash import MinHasher\n"
)
_DATASKETCH = """
import neardup.compat.datasketch as _layer
from neardup.compat.datasketch import *
from neardup.compat.datasketch import LeanMinHash, MinHash, MinHashLSH, MinHashLSHForest
from datasketch.weighted_minhash import WeightedMinHashGenerator
bBitMinHash = None
"""
#: Modules that the tests import, by path.
SHIMS = {
    "lsh/__init__.py": "",
    "lsh/cache.py": _LSH,
    "lsh/minhash.py": _LSH,
    "datasketch/__init__.py": _DATASKETCH,
    "datasketch/minhash.py": _DATASKETCH,
    "datasketch/lean_minhash.py": _DATASKETCH,
    "datasketch/lsh.py": _DATASKETCH,
    "datasketch/lshforest.py": _DATASKETCH,
    "datasketch/b_bit_minhash.py": _DATASKETCH,
    "mockredis.py": "",
    "mock.py": "from unittest.mock import patch\n",
    "redis.py": "Redis = None\n",
    "test/__init__.py": "",
    "test/utils.py": "def fake_hash_func(value):\n    return value\n",
}


def tests_of(folder: Path, files: list[Path]) -> dict[str, str]:
    """Run tests with the layers in place of the packages; return how each ended, by name."""
    for name, code in SHIMS.items():
        path = folder / "shims" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    report = folder / "report.xml"
    paths = [str(folder / "shims"), *sys.path, os.environ.get("PYTHONPATH", "")]
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder]
    more = ["--import-mode=importlib", "--continue-on-collection-errors", f"--junitxml={report}"]
    subprocess.run(
        [*pytest, "-o", "addopts=", *more, *map(str, files)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        cwd=folder,
        check=False,
        stdout=subprocess.DEVNULL,
    )
    found = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        if OTHER not in name:
            ended = {child.tag for child in case} & {"failure", "error", "skipped"}
            found[name] = ended.pop() if ended else "passed"
    return found


def adverts(count: int = 1000, words: int = 250) -> list[list[bytes]]:
    """Return for each of some texts its shingles of 3 words."""
    drawn = np.random.default_rng(1).zipf(1.3, (count, words)) % 20_000
    return [
        [" ".join(map(str, row[i : i + 3])).encode() for i in range(words - 2)] for row in drawn
    ]


def signing(peers: Path, rounds: int = 5) -> dict[str, Any]:
    """Measure `update` of both, shingle by shingle, until the signature is there."""
    sys.path.insert(0, str(peers))
    import datasketch

    texts = adverts()
    kinds: dict[str, Any] = {
        "neardup.compat": lambda: MinHash(128),
        f"datasketch {datasketch.__version__}": lambda: datasketch.MinHash(128),
        f"datasketch {datasketch.__version__}, legacy": lambda: datasketch.MinHash(
            128, scheme="legacy"
        ),
    }
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    signed = {}
    for _ in range(rounds):
        for name, make in kinds.items():
            begin = time.perf_counter()
            found = []
            for shingles in texts:
                minhash = make()
                for shingle in shingles:
                    minhash.update(shingle)
                found.append(minhash.hashvalues)
            seconds[name].append(round(time.perf_counter() - begin, 3))
            signed[name] = np.array(found)
    ours, _, legacy = signed.values()
    assert np.array_equal(ours, legacy)
    return {
        "texts": len(texts),
        "shingles_each": len(texts[0]),
        "load": os.getloadavg()[0],
        "seconds": seconds,
        "median": {name: float(np.median(took)) for name, took in seconds.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lsh", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/compat.json")
    options = parser.parse_args()
    found: dict[str, dict[str, str]] = {}
    counts: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        wanted = [f"datasketch=={VERSION}", "--no-binary", "datasketch", "-d", name]
        subprocess.run([*pip, *wanted], check=True)
        with tarfile.open(next(folder.glob("datasketch-*.tar.gz"))) as source:
            source.extractall(folder, filter="data")
        there = folder / f"datasketch-{VERSION}"
        files = []
        for file in FILES:
            files.append(folder / file)
            files[-1].write_text((there / "test" / file).read_text())
        # Weighted signatures are made by datasketch itself, and put into our classes.
        theirs = Path("datasketch/weighted_minhash.py")
        (folder / "shims/datasketch").mkdir(parents=True)
        (folder / "shims" / theirs).write_text((there / theirs).read_text())
        found[f"datasketch {VERSION}"] = tests_of(folder, files)
        if options.lsh is not None:
            copy = folder / "test_cache.py"
            copy.write_text((options.lsh / copy.name).read_text())
            found["mattilyra/lsh"] = tests_of(folder, [copy])
        peers = Path(__file__).parent / "peers/requirements-datasketch.txt"
        named = next(line for line in peers.read_text().split() if line.startswith("datasketch="))
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--target",
            str(folder / "peer"),
        ]
        subprocess.run([*pip, named, "scipy"], check=True)
        counts["update"] = signing(folder / "peer")
        print("update", json.dumps(counts["update"], indent=1))
    for package, ended in found.items():
        # Redis is asked for by name.
        servers = [name for name in ended if "redis" in name]
        passed = sum(ended[name] == "passed" for name in ended if name not in servers)
        counts[package] = {
            "passed": passed,
            "of": len(ended) - len(servers),
            "need_servers": len(servers),
            "failed": sorted(n for n in ended if ended[n] != "passed" and n not in servers),
        }
        print(package, json.dumps(counts[package], indent=1))
    options.out.write_text(json.dumps(counts, indent=1) + "\n")


if __name__ == "__main__":
    main()
