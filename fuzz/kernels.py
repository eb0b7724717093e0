"""Kernels for texts and records on arbitrary texts and bytes, against their references."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np

from fuzz import paths  # noqa: F401  (the tests can be imported)
from fuzz.mutate import mutate
from fuzz.samples import samples

_LINES, _CSV = (dict(samples())[ending] for ending in ("jsonl", "csv"))
#: Texts of one case.
TEXTS = 50
_WORDS = [
    *("abc", "XYZ", "019", "_-.,", "é", "ß", "İ", "ſ", "Σσς", "Ж", "א", "ع़", "कानि", "中文", "漢"),
    *("ひら", "カタカナー", "ｶﾞ", "ไทย", "ກ່", "한", "②", "Ⅷ", "👍🏽", "\u0301", "\u200b"),
]


def make(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return bytes that hold texts, separated by a byte that no UTF-8 has."""
    texts = []
    for _ in range(TEXTS):
        kind = rng.integers(4)
        if kind == 0:
            codes = rng.integers(0, 0x3000, rng.integers(0, 40))
            text = "".join(map(chr, codes))
        elif kind == 1:
            codes = rng.integers(0, 128, rng.integers(0, 200))
            text = "".join(map(chr, codes))
        else:
            text = rng.choice(["", " ", ",", "\n"]).join(rng.choice(_WORDS, rng.integers(0, 60)))
        texts.append(text.encode())
    return "texts", b"\xff".join(texts)


def check(ending: str, data: bytes, folder: Path) -> None:
    """Compare kernels with their references in the tests."""
    import reference_text as reference
    import test_record_kernels as of_records
    import test_text_kernels as of_texts

    del ending, folder
    texts = [
        "".join(c for c in part.decode(errors="replace") if unicodedata.category(c) != "Cn")
        for part in data.split(b"\xff")
    ]
    for keep_case in (False, True):
        of_texts.check_words(texts, keep_case)
        for raw in (False, True):
            found = of_texts.rows(of_texts.characters(texts, keep_case, raw))
            expected = [reference.characters(text, keep_case, raw) for text in texts]
            assert found == expected, "characters differ"
    rng = np.random.default_rng(list(data[:64]))
    for sample, compare, *more in (
        (_LINES, of_records.test_lines_are_refused_as_python_refuses_them),
        (_CSV, of_records.test_csv_records_and_fields, b'"'),
        (_CSV, of_records.test_csv_records_and_fields, b"\\"),
    ):
        compare.hypothesis.inner_test(mutate(sample, data, rng), *more)
