"""Band keys in memory: nothing outlives the process."""

from collections.abc import Iterator

import numpy as np

from neardup.errors import SpecError
from neardup.files.scratch import Slabs
from neardup.state.band_store import BandStore, Entry


class MemoryStore(BandStore):
    def __init__(self, url: str = "memory", run: str = "") -> None:
        if url != "memory":
            raise SpecError(f"no store is known for {url!r}", "write memory")
        super().__init__(url)
        self._text: str | None = None
        self._stored: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # keys, and metadata as uint8[]
        #: Where keys and metadata are kept.
        self.slabs = Slabs(np.empty)
        self._notes: dict[str, str] = {}

    def __getstate__(self) -> dict[str, object]:
        # Scratch files are those of this process.
        return {**vars(self), "slabs": Slabs(np.empty)}

    def _read_header(self) -> str | None:
        return self._text

    def _write_header(self, text: str) -> bool:
        self._text = text
        return True

    def _put(self, partition: int, keys: np.ndarray, metadata: bytes) -> None:
        # Copies: the caller may overwrite its arrays.
        copied = self.slabs.copy(np.ascontiguousarray(keys).reshape(-1).view(np.uint8))
        stored = copied.view(np.uint64).reshape(keys.shape)
        self._stored[partition] = stored, self.slabs.copy(metadata)

    def _partitions(self) -> dict[int, Entry]:
        stored = dict(self._stored)  # another thread may put some in
        return {number: Entry(keys.shape[1], len(data)) for number, (keys, data) in stored.items()}

    def _metadata(self, partition: int) -> memoryview | None:
        return self._stored[partition][1].data if partition in self._stored else None

    def _band(self, band: int, entries: dict[int, Entry]) -> Iterator[tuple[int, np.ndarray]]:
        for partition in entries:
            yield partition, self._stored[partition][0][band]

    def _write_note(self, name: str, text: str) -> None:
        self._notes[name] = text

    def _read_notes(self) -> dict[str, str]:
        return self._notes

    def _drop(self) -> None:
        self._text = None
        self._stored.clear()
        self._notes.clear()

    def _close(self) -> None:
        self._drop()
