"""The sections of the page with times and memory: stores, limits and the ten million."""

from __future__ import annotations

from typing import Any

from experiments.claims import SPIKE, flushes, growth, points, slope
from experiments.markdown import count, figure, seconds, table
from experiments.timing import BANDS, FLUSHED, NOTES, PART, STEP, WORDS

__all__ = ["corpus", "limits", "time"]

Found = dict[str, Any]


def time(found: Found) -> str:
    """Return the section with figures 4 to 8."""
    most = max(row["notes"] for row in found["memory"])
    return f"""## Time and memory: figures 4 to 8

Whole jobs, from JSON lines to clusters and the clean corpus, two threads, {NOTES:,} made notes of
{WORDS} words and {BANDS} bands of 2 rows where nothing else is said; seconds, the fastest of three
(with Cassandra the only one). Design 1 has a row for each note and band, Design 2 one for each band
and part. Cassandra is one node on the same machine. All numbers are in [time.csv](time.csv) and
[memory.csv](memory.csv). The paper has curves in figures 4 to 8 and no numbers, so that there are
none beside ours; its machine, language and notes are others too, and only shapes are compared.

### Figure 4: time against bands

{figure("fig4-bands", "seconds of a whole job against bands, by store")}

{_seconds(found, "bands")}

Why they differ: reading, shingling and writing take the same time for any number of bands, and
weigh the less the slower the store is. {_growth(found, "bands")}

### Figure 5: time against notes

{figure("fig5-notes", "seconds of a whole job against notes, by store")}

{_seconds(found, "notes")}

Why they differ: in Design 2 a part is a few large blobs, in Design 1 a row for each of its keys.
{_growth(found, "notes")} {_beside_memory(found)}

### Figure 6: time against words

{figure("fig6-words", "seconds of a whole job against words of a note, by store")}

{_seconds(found, "words")}

Why they differ: words cost us little more than being read and hashed once for each row of a
signature, by compiled code, and keys in a store cost the same for a note of any length.
{_growth(found, "words")}

### Figure 7: the spikes at each flush

{FLUSHED:,} notes are signed by one thread, {STEP} at a time, and the keys put into the store after
each {PART:,}.

{figure("fig7-flush", "milliseconds for each step of notes, by store, with spikes at each flush")}

{_flushes(found)}

A spike is more than {SPIKE:g} times the median of the other steps. Why they differ: a part is
{BANDS * PART:,} rows in Design 1 and {BANDS} in Design 2, and where it is put faster than a step is
signed, its spike drowns.

### Figure 8: memory

Peaks of anonymous memory (`RssAnon`), seen from outside. At the left whole jobs; at the right the
store by itself, filled with random keys part by part and read back band by band. What Cassandra's
server takes (a heap of 768 MB) is not counted, and Design 1 is left out where it would take
minutes.

{figure("fig8-memory", "peaks of anonymous memory against notes, whole jobs and stores alone")}

Whole jobs, MB:

{_peaks(found, "memory")}

The store by itself, MB; 0 notes is the process alone:

{_peaks(found, "matrix")}

Why they differ: in a whole job most of the memory is libraries, texts at work and what is known of
each note besides its keys, whatever the store, while the keys of {most:,} notes are
{8 * BANDS * most / 1e6:.0f} MB, so that what the paper shows is seen of the store by itself
only."""


def _absent(found: Found, columns: int) -> list[list[str]]:
    return [
        [name, *("not run" for _ in range(columns))]
        for name, there in found["stores"].items()
        if not there
    ]


def _there(found: Found) -> list[str]:
    return [name for name, there in found["stores"].items() if there]


def _seconds(found: Found, what: str) -> str:
    values = sorted({row[what] for row in found[what]})
    seen = {(row["store"], row[what]): seconds(row["seconds"]) for row in found[what]}
    rows = [[name, *(seen[name, value] for value in values)] for name in _there(found)]
    header = [f"seconds by {what}", *(count(value) for value in values)]
    return table(header, rows + _absent(found, len(values)))


def _growth(found: Found, what: str) -> str:
    times, ratios = growth(found, what)
    low, high = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    return (
        f"{times:.0f} times as many {what} take {ratios[low]:.1f} ({low}) to {ratios[high]:.1f} "
        f"({high}) times as long."
    )


def _beside_memory(found: Found) -> str:
    most = found["notes"][-1]["notes"]
    took = {row["store"]: row["seconds"] for row in found["notes"] if row["notes"] == most}
    said = ", ".join(f"{took[n] / took['memory']:.1f} ({n})" for n in took if n != "memory")
    return f"At {most:,} notes a job takes so many times as long as one in memory: {said}."


def _flushes(found: Found) -> str:
    rows = []
    for name in _there(found):
        spikes, others = flushes(found["flush"][name])
        shown = (others, min(spikes), max(spikes), max(found["flush"][name]))
        rows.append([name, *(f"{1000 * value:,.0f}" for value in shown)])
    header = ["milliseconds of a step", "median without a flush", "least with a flush"]
    return table([*header, "most with a flush", "longest of all"], rows + _absent(found, 4))


def _peaks(found: Found, what: str) -> str:
    values = sorted({row["notes"] for row in found[what]})
    seen = {(row["store"], row["notes"]): row["anonymous_bytes"] for row in found[what]}
    rows = [
        [
            name,
            *(
                "left out" if seen[name, v] is None else f"{seen[name, v] / 1e6:.0f}"
                for v in values
            ),
        ]
        for name in _there(found)
    ]
    return table(
        ["MB by notes", *(count(value) for value in values)], rows + _absent(found, len(values))
    )


def limits(found: Found, timed: Found) -> str:
    """Return the section on section 11."""
    stores = {
        "in memory": (10_000_000, "memory", "memory"),
        "Design 1": (500_000_000, "sqlite", "Design 1, SQLite"),
        "Design 2": (100_000_000, "sqlite", "Design 2, SQLite"),
    }
    run = found["measured"]
    run_of_ten_million = (
        f"{run['least_bytes'] / 1e9:.2f} GB at least",
        f"{run['anonymous_bytes'] / 1e9:.2f} GB",
    )
    rows = [
        [
            name,
            f"{notes / 1e6:.0f} million",
            f"{found['memory'] / notes:.0f}",
            _slope(timed, store),
            f"{found['plan'][plan] / 1e6:.1f} million",
            *(run_of_ten_million if name == "Design 2" else ("", "")),
        ]
        for name, (notes, plan, store) in stores.items()
    ]
    header = ["", "paper: notes in 4 GB", "that is, bytes a note", "ours, keys alone: bytes a note"]
    million = f"{run['notes'] / 1e6:.0f} million notes"
    ten = [f"our plan: {million}", f"measured: {million}"]
    return f"""## Limits: section 11

{table([*header, "our plan of a whole job: notes in 4 GB", *ten], rows)}

*Keys alone* is the slope of the right half of figure 8, with {found["bands"]} bands. The plan
(`neardup.run.memory.estimate`, `neardup plan`) is of a whole job with as many bands, notes of
{found["text_bytes"]:,} bytes and two threads. {million} were planned and run with
bands and rows {run["bands"]} and `--memory 4GB` (`bench/ten_million`); what was measured is the
peak of anonymous memory.

Why they differ: the paper counts keys alone, as 400 bytes are 50 of them and 8 bytes one, while our
plan counts all that a job needs of a note while it looks at all of them, such as masks, positions
and sums: {found["least_per_note"]} bytes, and the same for both designs."""


def _slope(timed: Found, store: str) -> str:
    """Return bytes a note; two points that lie close together tell nothing."""
    there = points(timed, store)
    return f"{slope(timed, store):.0f}" if len(there) > 2 else f"not told by {len(there)} points"


def corpus(found: Found) -> str:
    """Return the section on section 12."""
    rows = [
        ["notes", "10 million", count(found["notes"])],
        [
            "time, two steps",
            "75 h + 24 h",
            f"{found['first_seconds']:.0f} s (read, sign, store) + "
            f"{found['second_seconds']:.0f} s (all else)",
        ],
        ["pairs", "341 million", f"{found['candidates'] / 1e6:,.0f} million"],
        ["clusters of equal notes (ours: by the recipe)", "6,160", count(found["exact_groups"])],
        ["clusters", "13,233", f"{count(found['clusters'])} of two and more"],
        ["notes in the largest", "", count(found["largest_cluster"])],
        ["notes removed", "", count(found["removed"])],
        ["peak of anonymous memory", "", f"{found['anonymous_bytes'] / 1e9:.2f} GB"],
    ]
    return f"""## The corpus: section 12

{table(["", "paper", "bench/ten_million"], rows)}

Ours are {found["bytes"] / 1e9:.1f} GB of made notes, bands and rows {found["bands"]}, one run on
two cores, with the clean corpus written (`bench/results/ten_million.json`). Pairs count once for
each band in which they meet; {count(found["verified"])} had to be compared, bitmaps ruled out the
others. Clusters of equal notes are not what the run found, which does not count them, but follow
from the recipe by which the notes were made.

Why they differ: signatures by compiled code, keys in blobs and a machine of these years make hours
minutes, and the counts are those of the recipe, in which a tenth of the notes are exact copies and
a fifth near-duplicates, where the paper's notes repeat each other far less."""
