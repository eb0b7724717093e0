"""Arguments that no function takes: each is refused in one line that says what was expected."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup
from common import Command
from neardup.errors import (
    ColumnError,
    FormatError,
    InputError,
    NeardupError,
    OutputError,
    SpecError,
    StoreError,
)
from neardup.io.opening import open_source
from neardup.io.source import Columns
from neardup.options.option_groups import Reading, Writing
from neardup.state import open_store
from neardup.state.cassandra.driver import Contact
from neardup.state.database import refuse_links
from neardup.state.memory_store import MemoryStore
from neardup.state.shards import Shard
from neardup.state.sqlite_store import SqliteStore
from neardup.synth.note_files import ending_of

TEXTS = ["one text with some words in it", "another one that differs", "one text with some words"]


@pytest.fixture(scope="module")
def run() -> Any:
    return neardup.dedup(TEXTS, progress=False)


@pytest.fixture(scope="module")
def index() -> Any:
    return neardup.Index.create()


#: What is called with a run, an index and an empty folder; the error; what it says.
CALLS: list[tuple[Callable[[Any, Any, Path], object], type[NeardupError], str]] = [
    (lambda r, i, p: r.clean("frame"), SpecError, "`kind` is 'frame'; expected arrow"),
    (lambda r, i, p: r.to_pandas("edges"), SpecError, "no table 'edges'"),
    (lambda r, i, p: r.to_pandas("all"), SpecError, "`table` is 'all'; expected one of clusters"),
    (lambda r, i, p: r.report(p / "a.html", context=-1), SpecError, "`context` is -1; expected 0"),
    (
        lambda r, i, p: r.report(p / "a.html", texts=False, show=["x"]),
        SpecError,
        "`show` and `by` need texts=True",
    ),
    (lambda r, i, p: r.report(p), OutputError, "is a folder"),
    (lambda r, i, p: i.merge(i), SpecError, "can't be merged with itself"),
    (lambda r, i, p: i.add("a text"), SpecError, "a string was given; expected texts or a table"),
    (
        lambda r, i, p: neardup.Index.create(spec=neardup.Spec(), preset="web"),
        SpecError,
        "give a neardup.Spec as `spec`, or a `preset`",
    ),
    (
        lambda r, i, p: neardup.dedup(TEXTS, spec=neardup.Spec(), preset="web"),
        SpecError,
        "`spec` and `preset` are both given",
    ),
    (
        lambda r, i, p: neardup.decontaminate(TEXTS, TEXTS, by="length"),
        SpecError,
        "`by` is 'length'; expected containment or similarity",
    ),
    (
        lambda r, i, p: neardup.dedup(TEXTS, store=f"sqlite:{p / 'a'}"),
        SpecError,
        "`store` is outside this process",
    ),
    (
        lambda r, i, p: neardup.dedup({"text": TEXTS, "l": [[1], [2], [3]]}, keep="max:l"),
        ColumnError,
        "column 'l' has the type list<item: int64>, which can't be compared",
    ),
    (
        lambda r, i, p: neardup.dedup({"train": {"text": TEXTS}}),
        InputError,
        "a mapping (dict) whose values are no columns",
    ),
    (lambda r, i, p: open_source(b"text", Columns()), InputError, "a single string is no frame"),
    (
        lambda r, i, p: open_source(TEXTS, Columns(), partition_bytes=3),
        SpecError,
        "`partition_bytes` is 3, expected at least 64",
    ),
    (lambda r, i, p: Reading(()), SpecError, "`text` names no column"),
    (lambda r, i, p: Columns(("a", "a")), SpecError, "`text` names a column twice: a"),
    (lambda r, i, p: Shard.parse("3"), SpecError, "shard is '3'; expected NUMBER/OF"),
    (lambda r, i, p: Shard.parse("²/3"), SpecError, "shard is '²/3'; expected NUMBER/OF"),
    (lambda r, i, p: Shard.parse("3/2"), SpecError, "shard is 3/2; expected 1/2 or above"),
    (lambda r, i, p: Writing(tables="xls"), SpecError, "`tables` is 'xls'; expected"),
    (lambda r, i, p: open_store("redis://host"), SpecError, "no store is known for 'redis'"),
    (lambda r, i, p: open_store("USER:SECRET@host"), SpecError, "no store is known for that URL"),
    (lambda r, i, p: MemoryStore("sqlite"), SpecError, "no store is known for 'sqlite'"),
    (lambda r, i, p: SqliteStore("sqlite:"), SpecError, "no store is known for 'sqlite:'"),
    (
        lambda r, i, p: neardup.dedup(TEXTS, memory="lots"),
        SpecError,
        "`memory` is 'lots', which is",
    ),
    (
        lambda r, i, p: neardup.dedup(TEXTS, max_document="lots"),
        SpecError,
        "`max_document` is 'lots', which is not a size",
    ),
    (
        lambda r, i, p: neardup.candidate_probability("a", 1, 1),  # type: ignore[call-overload]
        SpecError,
        "`similarity` is 'a'; expected a number in [0, 1]",
    ),
    (
        lambda r, i, p: neardup.candidate_probability(5, 2, 1),
        SpecError,
        "`similarity` is 5; expected a number in [0, 1]",
    ),
    (
        lambda r, i, p: neardup.candidate_probability(np.array([0.5, 1.5]), 2, 1),
        SpecError,
        "`similarity` has a value that is no number in [0, 1]",
    ),
    (
        lambda r, i, p: neardup.candidate_probability(0.5, 0, 1),
        SpecError,
        "`num_bands` is 0; expected an integer from 1",
    ),
    (lambda r, i, p: neardup.Spec.from_dict({}), SpecError, "no mapping `shingle` is among"),
    (
        lambda r, i, p: neardup.Recipe.from_dict({"shingle": {}}),
        SpecError,
        "no mapping `versions` is among",
    ),
    (lambda r, i, p: neardup.Recipe(num_bands="a"), SpecError, "`num_bands` is 'a'; expected"),  # type: ignore[arg-type]
    (lambda r, i, p: neardup.Recipe(scheme="none"), SpecError, "no signature scheme 'none'"),
    (lambda r, i, p: ending_of(p / "a.xls", (".csv",)), SpecError, "a.xls names no format"),
]


@pytest.mark.parametrize(("call", "kind", "message"), CALLS, ids=[call[2][:40] for call in CALLS])
def test_refused(
    call: Callable[[Any, Any, Path], object],
    kind: type[NeardupError],
    message: str,
    run: Any,
    index: Any,
    tmp_path: Path,
) -> None:
    with pytest.raises(kind) as caught:
        call(run, index, tmp_path)
    said = str(caught.value)
    assert message in said
    assert "\n" not in said
    assert "SECRET" not in said


@pytest.mark.parametrize(
    ("kind", "keyword", "meant"),
    [
        (neardup.Spec, "thresh", "threshold"),
        (neardup.ShingleSpec, "keepcase", "keep_case"),
        (neardup.Recipe, "bands", "num_bands"),
    ],
)
def test_a_setting_that_there_is_not_is_named_with_the_nearest(
    kind: Any, keyword: str, meant: str
) -> None:
    for error in (SpecError, TypeError):
        with pytest.raises(
            error, match=rf"{kind.__name__}\(\) has no argument '{keyword}'"
        ) as caught:
            kind(**{keyword: 1})
        assert caught.value.hint == f"did you mean {meant}?"  # type: ignore[attr-defined]
    made = kind()
    assert pickle.loads(pickle.dumps(made)) == made
    assert meant in inspect.signature(kind).parameters


#: Texts in the place of a setting.
GIVEN: list[Callable[[Any, Any, Any], object]] = [
    *(
        lambda given, r, i, name=name: neardup.dedup(TEXTS, **{name: given})
        for name in ("text", "id", "out", "threshold", "keep", "shingle", "memory", "max_document")
    ),
    lambda given, r, i: neardup.dedup(TEXTS, preset=given),
    lambda given, r, i: neardup.dedup(TEXTS, threads=given),
    lambda given, r, i: neardup.dedup(TEXTS, progress=given),
    lambda given, r, i: neardup.Spec(threshold=given, keep=given),
    lambda given, r, i: neardup.Spec(keep=given),
    lambda given, r, i: neardup.ShingleSpec(n=given),
    lambda given, r, i: neardup.ShingleSpec(stem=given),
    lambda given, r, i: neardup.decontaminate(TEXTS, TEXTS, test_text=given),
    lambda given, r, i: neardup.open(given),
    lambda given, r, i: r.save(given),
    lambda given, r, i: r.report(given),
    lambda given, r, i: r.to_pandas(given),
    lambda given, r, i: r.evaluate([], kind=given),
    lambda given, r, i: i.query(TEXTS, threshold=given),
    lambda given, r, i: i.query(TEXTS, top=given),
    lambda given, r, i: i.update("a", given),
]


@pytest.mark.parametrize("call", GIVEN)
def test_texts_are_not_quoted_where_a_setting_is_expected(
    call: Callable[..., object], run: Any, index: Any
) -> None:
    pd = pytest.importorskip("pandas")
    text = "SECRET " * 30
    for given in ([text], pd.Series([text, text]), pd.DataFrame({"SECRET": [text]})):
        with pytest.raises(NeardupError) as caught:
            call(given, run, index)
        said = f"{caught.value} {caught.value.hint}"
        assert "SECRET" not in said and "\n" not in said
        if not isinstance(given, list):
            assert f"of type {type(given).__name__}" in said


def test_another_frame_than_that_of_the_run() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": TEXTS})
    run = neardup.dedup(frame, progress=False)
    frame.drop(index=1, inplace=True)  # the one that the run was given
    with pytest.raises(InputError, match="the frame has another length than in the run"):
        run.clean()


def test_an_index_that_was_opened_to_be_read(tmp_path: Path) -> None:
    neardup.Index.create(tmp_path / "index").close()
    index = neardup.Index.open(tmp_path / "index", readonly=True)
    with index, pytest.raises(StoreError, match="was opened for reading only"):
        index.add(["a text"], ids=["a"])
    with pytest.raises(InputError, match="there is neither an index nor a finished run"):
        neardup.against(TEXTS, tmp_path)


def test_texts_and_tables_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a text")
    (tmp_path / "b.parquet").write_bytes(b"")
    with pytest.raises(FormatError, match="plain texts and tables mixed"):
        open_source([tmp_path / "a.txt", tmp_path / "b.parquet"], Columns())


def test_a_link_where_a_run_writes(tmp_path: Path) -> None:
    link = tmp_path / "run.lock"
    try:
        link.symlink_to(tmp_path / "elsewhere")
    except OSError:
        pytest.skip("links can't be made here")
    with pytest.raises(OutputError, match="is a symbolic link"):
        refuse_links(link)


def test_settings_of_a_cassandra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_CASSANDRA_PATIENCE", "soon")
    with pytest.raises(SpecError, match="NEARDUP_CASSANDRA_PATIENCE is 'soon', expected seconds"):
        Contact.parse("cassandra://host/keyspace")


def test_commands(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id,name\n1,anna\n2,ana\n", encoding="utf-8")
    truth = tmp_path / "truth.csv"
    truth.write_text("id_a,id_b\n1,2\n", encoding="utf-8")
    out = tmp_path / "out"
    words = ("--fields", "name", "--id", "id", "--decide-at", "0.3")
    assert command("link", path, "-o", out, *words).code == 0
    evaluate = ("evaluate", out, "--truth", truth)
    assert "--only-named does not apply" in command(*evaluate, "--only-named").error
    groups = tmp_path / "groups.csv"
    groups.write_text("id,group\n1,a\n2,a\n", encoding="utf-8")
    assert command("evaluate", out, "--truth", groups).code == 0
    assert command("compare", tmp_path, path).error.endswith("expected a file with one text")
    recall = ("--recall", "0.9", "--bands", "3", "--rows", "2")
    assert "exclude each other" in command("dedup", path, "-o", tmp_path / "no", *recall).error
    synth = ("synth", "-n", "10", "-o", tmp_path / "a.parquet", "--truth", tmp_path / "a.parquet")
    assert "expected another file than" in command(*synth).error
    assert not (tmp_path / "no").exists()
