"""The sections of the page with times and memory: stores, limits and ten million notes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from experiments import paper
from experiments.claims_time import SPIKE, growth, points, slope
from experiments.markdown import chart, count, table
from experiments.sizes import PARTITION
from neardup.kernels.grouping import PAIRS

__all__ = ["corpus", "limits", "time"]

Found = dict[str, Any]

#: Peaks of memory that differ by no more are taken as equal, in bytes.
_NOISE = 5_000_000
#: Stores of section 11, as in figure 8.
_LIMITED = {"Design 1": "Design 1, SQLite", "Design 2": "Design 2, SQLite, 10 parts"}


def time(found: Found) -> str:
    """Return the section with figures 4 to 8."""
    fixed = found["settings"]
    found = {**found, **_medians(found)}
    highest = max(row["notes"] for row in found["memory"])
    return f"""\
Whole jobs, from JSON lines to clusters, with two threads. Where nothing else is said, there are
{fixed["notes"]:,} synthetic notes of {fixed["words"]} words, {fixed["bands"]} bands of
{fixed["rows"]} rows. All jobs run once in each of {fixed["rounds"]} rounds, store after store;
times are medians of the rounds, and charts show the fastest and the slowest too. Jobs differ in
the store of the band keys alone; no clean corpus is written. Cassandra is one node on the same
machine. All numbers are in [time.csv](time.csv) and [memory.csv](memory.csv). The paper has curves
in figures 4 to 8 and no numbers; its machine, language and notes are different too, so that only
shapes can be compared.

### Figure 4: time against bands, in memory

{chart("fig4-bands", "Seconds of a whole job in memory against bands, by rows")}

{_by_rows(found["bands"])}

Why they differ: reading and shingling take the same time for any number of bands, and hashing is
compiled code.

### Figure 5: time against notes

{chart("fig5-notes", "Seconds of a whole job against notes, by store")}

{_seconds(found, "notes")}

Why they differ: in Design 2 a partition is a few large blobs, in Design 1 a row for each of its
keys. {_growth(found, "notes")} {_against_memory(found["notes"])}

### Figure 6: time against words

{chart("fig6-words", "Seconds of a whole job against words of a note, by store")}

{_seconds(found, "words")}

Why they differ: each word is read and hashed by compiled code, and keys in a store take the same
time for a note of any length. {_growth(found, "words")}

### Figure 7: the spikes at each write

The synthetic notes of section 9, sketched one by one. As in the paper, Design 1 writes the keys of
each note at once, and Design 2 those of {fixed["flush"]} notes after every {fixed["flush"]} notes.
The stores alternate in {len(found["flush"]["passes"])} passes, at a load of the machine of
{found["flush"]["load"]}. The chart has the fastest pass of each note, the table medians of the
passes.

{chart("fig7-writes", "Milliseconds for each note, by store")}

{_writes(found)}

A spike is more than {SPIKE:g} times the median of the other notes. The paper shows Design 2, and
points out the spike at note 300. Why they differ: a write is {fixed["bands"]} rows of one key in
Design 1, {fixed["flush"]} times as often, and {fixed["bands"]} blobs of {fixed["flush"]} keys in
Design 2. So all notes of Design 1 together take {_all_notes(found)} as long as those of Design 2.

Peaks of private memory of a store that is filled by these writes, with random keys, and read band
by band, MB; 0 notes is the process alone:

{_peaks(found, "written")}

Why they grow: SQLite caches the pages that it has written, until its cache is full, which is where
figure 8 begins; and each write is a partition, of which the package has an entry in memory. So
Design 1 has the more of them.

### Figure 8: memory

Peaks of private memory (RSS of anonymous pages), seen from outside. On the left whole jobs; on the
right the store by itself, filled with random keys partition by partition and read band by band. The
memory of Cassandra's server (a heap of 768 MB) is not counted. Design 1 is left out where it would
take minutes. Partitions have {PARTITION:,} notes; *{fixed["parts"]} parts* is Design 2 with as many
as in the paper, however many notes there are. Each peak is of one run.

{chart("fig8-memory", "Peaks of private memory against notes, whole jobs and stores alone")}

Whole jobs, MB:

{_peaks(found, "memory")}

The store by itself, MB; 0 notes is the process alone:

{_peaks(found, "stored")}

Why they differ: most of the memory of a small job is for libraries, for the texts in progress, and
for what is known of each note besides its keys. The keys of {highest:,} notes are
{8 * fixed["bands"] * highest / 1e6:.1f} MB, so that what the paper shows is seen in the store by
itself only."""


def _medians(found: Found) -> Found:
    """Return the lines of each curve with the median of the seconds of all rounds."""
    return {
        what: [{**line, "seconds": statistics.median(line["seconds"])} for line in found[what]]
        for what in ("bands", "notes", "words")
    }


def _by_rows(lines: Sequence[Found]) -> str:
    seen = {(line["rows"], line["bands"]): f"{line['seconds']:.2f}" for line in lines}
    bands = sorted({line["bands"] for line in lines})
    rows = sorted({line["rows"] for line in lines})
    cells = [[f"rows: {row}", *(seen[row, band] for band in bands)] for row in rows]
    return table(["seconds by bands", *map(count, bands)], cells)


def _by_store(found: Found, header: Sequence[str], cells: Callable[[str], list[str]]) -> str:
    """Return a table with a line for each store."""
    absent = ["not run"] * (len(header) - 1)
    stores = found["stores"].items()
    return table(header, [[name, *(cells(name) if there else absent)] for name, there in stores])


def _seconds(found: Found, what: str) -> str:
    values = sorted({line[what] for line in found[what]})
    seen = {(line["store"], line[what]): f"{line['seconds']:.2f}" for line in found[what]}
    header = [f"seconds by {what}", *map(count, values)]
    return _by_store(found, header, lambda name: [seen[name, value] for value in values])


def _peaks(found: Found, what: str) -> str:
    values = sorted({line["notes"] for line in found[what]})
    seen = {
        (line["store"], line["notes"]): "left out"
        if line["private_bytes"] is None
        else f"{line['private_bytes'] / 1e6:.0f}"
        for line in found[what]
    }
    header = ["MB by notes", *map(count, values)]
    more = {line["store"]: True for line in found[what]}
    return _by_store(
        {
            "stores": {n: there for n, there in found["stores"].items() if n in more or not there}
            | more
        },
        header,
        lambda name: [seen[name, value] for value in values],
    )


def _writes(found: Found) -> str:
    def cells(name: str) -> list[str]:
        passes = [one[name] for one in found["flush"]["passes"]]
        return [f"{1000 * statistics.median(v):.2f}" for v in zip(*passes, strict=True)]

    header = ["milliseconds of a note", "median of the others", "shortest of every 50th"]
    return _by_store(found, [*header, "longest of every 50th", "longest of all"], cells)


def _all_notes(found: Found) -> str:
    """Return how many times as long all notes of Design 1 take as those of Design 2."""
    total = {name: sum(seconds) for name, seconds in found["flush"]["seconds"].items()}
    ratios = [
        f"{total[name] / total[name.replace('1', '2')]:.1f} times ({name.partition(', ')[2]})"
        for name in total
        if "Design 1" in name
    ]
    return " and ".join(ratios)


def _growth(found: Found, what: str) -> str:
    times, ratios = growth(found, what)
    low, high = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    return (
        f"{times:.0f} times as many {what} take {ratios[low]:.1f} ({low}) to {ratios[high]:.1f} "
        f"({high}) times as long."
    )


def _against_memory(lines: Sequence[Found]) -> str:
    highest = max(line["notes"] for line in lines)
    took = {line["store"]: line["seconds"] for line in lines if line["notes"] == highest}
    memory = took.pop("in memory")
    shown = ", ".join(f"{value / memory:.1f} ({name})" for name, value in took.items())
    return f"At {highest:,} notes a job takes so many times as long as one in memory: {shown}."


def limits(found: Found, others: dict[str, Found | None]) -> str:
    """Return the section on section 11.

    Args:
        found: The plan.
        others: What other experiments found.
    """
    timed, run = others["time"], (others["corpus"] or {}).get("clinical")
    rows = []
    for name, notes in paper.LIMITS.items():
        store, planned = (name, name) if name == "in memory" else (_LIMITED[name], "in a store")
        measured = ["not measured", "-"]
        if timed is not None:
            measured[0] = "too little to measure"
            peaks = [peak for _, peak in points(timed, store)]
            if max(peaks) - min(peaks) > _NOISE:
                each = slope(timed, store)
                measured = [f"{each:.0f}", f"{found['memory'] / each / 1e6:,.0f} million"]
        published = [f"{found['memory'] / notes:.0f}", f"{notes / 1e6:.0f} million"]
        rows.append([name, *published, *measured, f"{found['notes'][planned] / 1e6:.1f} million"])
    header = ["", "paper: bytes a note", "paper: notes in 4 GB", "our keys alone: bytes a note"]
    header += ["our keys alone: notes in 4 GB", "our plan of a whole job: notes in 4 GB"]
    checked = ""
    if run is not None:
        checked = f"""For {run["notes"] / 1e6:.0f} million notes ({run["bands"]}, `--memory 4GB`)
the plan needs at least {run["planned_bytes"] / 1e9:.2f} GB; measured, the peak of private memory
was {run["private_bytes"] / 1e9:.2f} GB."""
    return f"""{table(header, rows)}

*Keys alone* is the slope of the right half of figure 8, with {found["bands"]} bands, where peaks
differ by more than {_NOISE / 1e6:.0f} MB. By arithmetic, a band of keys takes 8 bytes a note in
both designs. The *plan* is that of a run (`neardup.memory_plan.plan_memory`): as many bands,
notes of {found["text_bytes"]:,} bytes, two threads, all keys in memory, or read from a store band
by band. Design 2 has {paper.PARTS} parts, as in the paper. {checked}

Why they differ: the paper counts keys alone. 400 bytes are 50 keys, 8 bytes are one, and 40 bytes
are a tenth of 400, as one of 10 partitions is in memory at a time. Our plan counts all that a run
keeps of a note while it looks at all notes, such as hashes, lengths and the answer:
{found["per_note"]:.0f} bytes with its id, for both designs."""


def corpus(found: Found) -> str:
    """Return the section on section 12."""
    published = paper.CORPUS
    hours = published["first_hours"] + published["second_hours"]
    lines = [
        ("signatures and writes", f"{published['first_hours']} h", "first_seconds", "s"),
        ("bands, pairs and clusters", f"{published['second_hours']} h", "second_seconds", "s"),
        ("clean corpus and tables", "-", "writing_seconds", "s"),
        ("together", f"{hours} h", "seconds", "s"),
        ("candidate pairs", f"{published['pairs'] / 1e6:.0f} million pairs", "candidates", ""),
        ("pairs compared", "", "pairs_compared", ""),
        ("pairs that reach 0.75, exact copies included", "", "edges", ""),
        ("clusters of equal notes", count(published["equal_groups"]), "equal_groups", ""),
        ("notes in the largest", count(published["largest_equal"]), "largest_equal", ""),
        ("clusters at 0.75", count(published["clusters"]), "clusters", ""),
        ("notes in the largest", count(published["largest_cluster"]), "largest_cluster", ""),
        ("notes removed", "", "removed", ""),
    ]
    ours = [found["clinical"], found.get("paper")]
    rows = [["notes", count(published["notes"]), *(_cell(one, "notes") for one in ours)]]
    rows += [[name, old, *(_cell(o, key, unit) for o in ours)] for name, old, key, unit in lines]
    peaks = (_cell(one and {"GB": one["private_bytes"] / 1e9}, "GB") for one in ours)
    rows.append(["peak of private memory", "", *peaks])
    rows.append(
        ["hashes of a note", str(math.prod(paper.BANDS)), *(_cell(o, "hashes") for o in ours)]
    )
    run, (bands, each) = found["clinical"], paper.BANDS
    runs = "a single run" if run["runs"] == 1 else f"the median of {run['runs']} runs"
    missing = "" if "paper" in found else f" The column {bands} x {each} waits for `make times`."
    header = ["", "paper", f"neardup, {run['bands']}", f"neardup, {bands} x {each}"]
    return f"""{table(header, rows)}

Ours are {run["bytes"] / 1e9:.1f} GB of synthetic notes, the preset clinical, {runs} with two cores
and 4 GB of memory (`bench/ten_million.py`, neardup {found["version"]}). Candidate pairs are counted
once for each band in which they share a bucket; {count(run["not_compared"])} of them, in buckets of
more than {math.isqrt(PAIRS):,} notes, were not compared. Clusters of equal notes are those of the
ground truth.{missing}

Why they differ: {run["bands"]} take 1 / {hours * 3600 / run["seconds"]:,.0f} of the time, but that
is no comparison of programs. Code is compiled, keys are in blobs, the machine is of these years;
and the job is smaller: {count(run["pairs_compared"])} pairs are compared with {run["hashes"]}
hashes, where the paper lists {published["pairs"] / 1e6:.0f} million with {bands * each}. Its notes
have few and very large groups of equal ones, from templates; ours, of which a tenth are exact
copies and a fifth near-duplicates of notes drawn at random, have very many small ones.

The paper names two oddities of its notes: ids that are not consecutive, and notes of fewer than 4
words. neardup takes any ids that are unique, and compares a note that is shorter than a shingle as
one shingle. What the paper names as future work: why dense clusters occur (`neardup report` and
`neardup explain` show what the notes of a cluster share), clean data sets for training (the clean
corpus), and an order of edges by a maximum spanning tree (`--cluster bounded`, see
above).{_in_shape(found.get("shape"))}"""


def _in_shape(found: Found | None) -> str:
    """Return the part on the job in the shape of the paper; nothing where it has not been run."""
    if found is None:
        return ""
    known, published = found["known"], paper.CORPUS
    scale = known["documents"] / published["notes"]
    share = "as many notes as the paper has" if scale == 1 else f"{scale:.3g} of the paper's notes"
    hours = published["first_hours"] + published["second_hours"]
    lines = [
        ("time", f"{hours} h", "seconds", " s"),
        ("CPU", "", "cpu_seconds", " s"),
        ("signatures and writes", f"{published['first_hours']} h", "first_seconds", " s"),
        ("disjoint sets", "", "sets_seconds", " s"),
        ("counting all pairs", "", "count_seconds", " s"),
        ("load of the machine before", "", "load", ""),
        ("candidates, in each band", "", "candidates", ""),
        ("candidate pairs, each once", "", "candidate_pairs", ""),
        ("pairs compared for the sets", "", "set_pairs_compared", ""),
        ("pairs saved", "", "set_pairs_saved", ""),
        ("left out of large buckets", "", "not_compared", ""),
        ("pairs that reach 0.75", count(published["pairs"]), "pairs", ""),
        ("of these in clusters", "", "pairs_in_clusters", ""),
        ("clusters at 0.75", count(published["clusters"]), "clusters_of_two_or_more", ""),
        ("notes in the largest", count(published["largest_cluster"]), "largest_cluster", ""),
    ]
    made = {
        "pairs": known["pairs"],
        "clusters_of_two_or_more": known["clusters"],
        "largest_cluster": known["largest"],
    }
    rows = [["notes", count(published["notes"]), *[count(known["documents"])] * 3]]
    for name, old, key, unit in lines:
        cells = [f"{run[key]:,}{unit}" for run in found["runs"].values()]
        rows.append([name, old, count(made[key]) if key in made else "", *cells])
    peaks = [f"{run['private_bytes'] / 1e9:.2f} GB" for run in found["runs"].values()]
    rows.append(["peak of private memory", "", "", *peaks])
    header = ["", "paper", "as made", *(f"neardup, {bands}" for bands in found["runs"])]
    return f"""

### In the shape of the paper

`neardup synth --shape paper` makes clusters in the paper's numbers and sizes, scaled by the notes:
{known["clusters"]:,} of near-duplicates with up to {known["largest"]:,} notes, and
{known["equal_groups"]:,} groups of equal notes with up to {known["largest_equal"]:,}. The paper has
no sizes but the largest; the others follow a power law by which 10 million notes have 341 million
pairs in clusters. These are {known["bytes"] / 1e9:.1f} GB, {share}, with
`--cluster disjoint-sets --pairs count`, two cores and 4 GB (`bench/paper_shape.py`, neardup
{found["version"]}):

{table(header, rows)}

Numbers of clusters grow with the notes, pairs in clusters with their square. Of more clusters than
were made, some are the parts of one that the tree threshold separates."""


def _cell(found: Found | None, key: str, unit: str = "") -> str:
    if found is None:
        return "not run"
    return f"{found[key]:.2f} GB" if key == "GB" else f"{count(found[key])} {unit}".strip()
