"""Every number of the paper that ours are compared with."""

from __future__ import annotations

#: Notes of sections 9 and 10, and documents of section 10 with near-duplicates.
NOTES, DOCUMENTS = 521, 1021
#: Bands and rows of all experiments after section 9.1; parts of Design 2 (9.2); and notes whose
#: keys are written together (figure 7).
BANDS, PARTS, FLUSH = (50, 2), 10, 50
#: Section 7: n-grams of a billion documents, and the size of the notes.
NGRAMS, GIGABYTES = 10**12, 20
#: Candidate pairs of section 10.
CANDIDATES = 6388
#: Edge thresholds of tables 5 and 6.
THRESHOLDS = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


def _by_threshold(*values: float) -> dict[float, float]:
    return dict(zip(THRESHOLDS, values, strict=True))


#: Table 5: candidate pairs that were not compared.
EXCLUDED = _by_threshold(3398, 3440, 3428, 3409, 2696, 2409, 1837, 1707)
#: Table 6: modularity, and clusters of two or more documents.
MODULARITY = _by_threshold(0.156, 0.162, 0.161, 0.159, 0.090, 0.071, 0.042, 0.036)
CLUSTERS = _by_threshold(55, 49, 46, 45, 45, 45, 45, 45)
#: Table 7, at 0.75: same set (high, mid, low), different sets (high), modularity, clusters.
TABLE_7 = {
    "paper: Louvain": ("954", "3,741", "1,693", "0", "0.490", "57"),
    "paper: disjoint sets": ("> 1,000", "173", "0", "56", "0.159", "45"),
}
#: Of section 9.1, false candidates "at worst"; of table 7, high pairs in different sets.
FALSE_AT_WORST, SEPARATED = 250, 56
#: Section 11: notes that fit into so many bytes of memory.
MEMORY = 4 * 10**9
LIMITS = {"in memory": 10_000_000, "Design 1": 500_000_000, "Design 2": 100_000_000}
#: Section 12.
CORPUS = {
    "notes": 10_000_000,
    "first_hours": 75,
    "second_hours": 24,
    "pairs": 341_000_000,
    "equal_groups": 6160,
    "largest_equal": 2540,
    "clusters": 13_233,
    "largest_cluster": 9849,
}
