"""The notes that are made, and how many of them the disk holds."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness import NEARDUP

#: Template families among 10,000,000 notes; fewer notes have smaller ones, in proportion.
FAMILIES = (100_000, 30_000, 10_000, 3_000, 1_000)
OF = 10_000_000
NEAR, EXACT, SEED = 0.2, 0.1, 1
#: Bytes of a note in a file, and of what a run has on the disk for it at most, rounded up.
BYTES = {"jsonl": 2_300, "parquet": 1_050}
OUTPUT = 2_200
MARGIN = 2_000_000_000


@dataclass(frozen=True)
class Notes:
    documents: int
    format: str
    family_values: int
    folder: Path

    @property
    def families(self) -> list[int]:
        """Sizes of the families: the same share of the notes at any size, 2 and 100,000 aside."""
        return [min(size, max(2, round(size * self.documents / OF))) for size in FAMILIES]

    @property
    def path(self) -> Path:
        name = f"ten-million-{self.documents}-values{self.family_values}-seed{SEED}"
        return self.folder / f"{name}.{self.format}"

    @property
    def bytes(self) -> int:
        return self.path.stat().st_size

    def make(self) -> Notes:
        """Write the notes, unless they are there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            return self
        truth = self.path.with_suffix(".truth.parquet")
        command = [NEARDUP, "synth", "-n", str(self.documents), "-o", str(self.path)]
        command += ["--truth", str(truth), "--near", str(NEAR), "--exact", str(EXACT)]
        command += ["--seed", str(SEED), "--family-values", str(self.family_values)]
        for size in self.families:
            command += ["--family", str(size)]
        subprocess.run([*command, "--quiet", "--overwrite"], check=True)
        truth.unlink()
        return self

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def need(documents: int, form: str, there: int = 0) -> int:
    """Bytes of disk for so many notes and what a run makes of them; ``there`` is made already."""
    return int(documents * (BYTES[form] + OUTPUT)) + MARGIN - there


def fitting(sizes: list[int], form: str, folder: Path) -> tuple[list[int], int, str]:
    """Return the sizes that the disk holds, the bytes that are free, and what was left out.

    The largest size, if it does not fit, is replaced by the largest that does, rounded down.
    """
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    made = {
        size: sum(p.stat().st_size for p in folder.glob(f"ten-million-{size}-*")) for size in sizes
    }
    fit = [size for size in sizes if need(size, form, made[size]) <= free]
    left = [size for size in sizes if size not in fit]
    if not left:
        return fit, free, ""
    most = int((free - MARGIN) / (BYTES[form] + OUTPUT))
    unit = 10 ** max(0, len(str(max(most, 0))) - 2)
    most = most // unit * unit
    note = (
        f"{', '.join(f'{size:,}' for size in left)} notes would need up to "
        f"{need(left[-1], form) / 1e9:.0f} GB of disk, {free / 1e9:.0f} GB are free"
    )
    if most > max(fit, default=0) and most >= 1000:
        fit.append(most)
        note += f"; {most:,} notes are the most that fit, and taken instead"
    return fit, free, note
