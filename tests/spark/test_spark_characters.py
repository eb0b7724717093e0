"""Forms of characters, hyphens and signs on Spark: the answers of one machine."""

from __future__ import annotations

import random
import unicodedata
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from spark_parts import NO_SPARK, expected, found, rows_of

import neardup
from neardup.spec import Spec

pytestmark = pytest.mark.skipif(bool(NO_SPARK), reason=NO_SPARK)

SENTENCES = (
    "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền",
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다",
    "Ärzte müssen größere Übungen für die Prüfung am Freitag früh ankündigen",
)
#: Each makes the same text of other characters: composed, decomposed, and with ignorable ones.
FORMS = (
    lambda text: text,
    lambda text: unicodedata.normalize("NFD", text),
    lambda text: text.replace("h", "h\u200d").replace("에", "에\u2060"),
    lambda text: text.replace("nh", "n\u00adh").replace("다", "\u00ad\n다").replace("ü", "\u00adü"),
)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Each sentence in each form, near copies of them, words cut at line ends, and signs alone."""
    rng = random.Random(3)
    texts = [form(text) for text in SENTENCES for form in FORMS]
    for text in SENTENCES * 8:
        words = text.split()
        words[rng.randrange(len(words))] = rng.choice(["mới", "새", "tägliche", "\u0301", "≠"])
        texts.append(rng.choice(FORMS)(" ".join(words)))
    texts += [
        "an exam-\nple of words",
        "an example of words",
        "C#",
        "C++",
        "< 5",
        "> 5",
        "❤\ufe0f",
        "❤",
    ]
    return pa.table({"id": range(len(texts)), "text": texts})


def frame(spark: Any, table: pa.Table) -> Any:
    return spark.createDataFrame(
        list(zip(*table.to_pydict().values(), strict=True)), "id int, text string"
    )


def test_forms_are_the_same_text(spark: Any, table: pa.Table) -> None:
    from neardup.spark import dedup

    few = table.slice(0, len(SENTENCES) * len(FORMS))
    clusters, _ = found(dedup(frame(spark, few)))
    first = [len(FORMS) * (number // len(FORMS)) for number in range(len(few))]
    assert [row[1] for row in clusters] == first
    assert {row[4] for row in clusters if not row[2]} == {1.0}


@pytest.mark.parametrize(
    "options", [{}, {"join_hyphens": True}, {"signs": "all"}, {"signs": "none"}], ids=str
)
def test_the_answer_is_that_of_one_machine(
    spark: Any, table: pa.Table, options: dict[str, Any]
) -> None:
    from neardup.spark import dedup

    spec = Spec(pairs="all", threshold=0.5)
    spec = replace(spec, shingle=replace(spec.shingle, n=2, **options))
    assert found(dedup(frame(spark, table), spec=spec)) == expected(table, spec)


def test_passages_are_those_of_one_machine(spark: Any, table: pa.Table) -> None:
    """Their ends are characters of the original texts."""
    from neardup.spark import passages

    run = passages(frame(spark, table), words=4)
    one = neardup.passages(table, id="id", words=4, order_by="id", progress=False)
    assert rows_of(run.passages) == rows_of(one.passages)
    assert rows_of(run.documents) == rows_of(one.documents)
    assert len(one.passages) >= len(SENTENCES) * (len(FORMS) - 1)
