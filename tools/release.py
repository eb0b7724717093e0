"""Build wheel and sdist, check both, and try the wheel alone in an empty environment.

python tools/release.py [--out dist]

Nothing is uploaded. Needs the packages `build` and `twine` (the extra ``release``).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What must not be said again once all kernels are compiled.
_COMPILING = "compiling kernels"


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a command and return what it printed; end with its error where it fails."""
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{said}")
    return said


def build(out: Path) -> tuple[Path, Path]:
    """Return the wheel and the sdist, made anew and checked."""
    shutil.rmtree(out, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", out)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    print(run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist).strip())
    return wheel, sdist


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel alone, and run the main job, a page, an index and passages with it."""
    venv.create(folder / "env", with_pip=True)
    python, neardup = folder / "env/bin/python", folder / "env/bin/neardup"
    run(
        python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[report]"
    )
    clear = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    clear |= {"HOME": str(folder / "home")}
    (folder / "home").mkdir()

    def call(line: str) -> str:
        said = run(neardup, *line.split(), cwd=folder, env=clear)
        assert line == "warmup" or _COMPILING not in said, f"neardup {line} compiled kernels"
        return said

    where = run(python, "-c", "import neardup; print(neardup.__file__)", cwd=folder, env=clear)
    assert str(folder / "env") in where, where
    print(call("--version").strip())
    print(call("warmup").strip())
    call("synth -n 2000 -o notes.jsonl")
    print(call("dedup notes.jsonl -o out --preset clinical --id id").strip())
    call("report out -o report.html")
    call("index create index")
    call("index add index notes.jsonl --id id")
    print(call("index stats index").strip())
    call("passages notes.jsonl -o copied --id id")
    for name in ("out/clean", "out/clusters.parquet", "report.html", "copied/passages.parquet"):
        assert (folder / name).exists(), name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out = parser.parse_args().out
    wheel, sdist = build(out)
    with tempfile.TemporaryDirectory() as folder:
        try_wheel(wheel, Path(folder))
    for path in (wheel, sdist):
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
