"""Files of citations and contacts: their columns, their records as they were, and bad ones."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from entry_samples import BIBTEX, ENDNOTE, FILES, NBIB, RIS, VCARD
from io_samples import opened, texts_of, zst

import neardup
from common import Command
from neardup.errors import FormatError

#: Columns of texts, where those of the format do not do.
TEXT: dict[str, Any] = {"a.vcf": "name"}
NAMES = list(FILES)


def text_of(name: str) -> Any:
    return TEXT.get(f"a.{name.split('.')[1]}", "text")


def records_of(path: Path, partition_bytes: int = 8 << 20) -> list[dict[str, str]]:
    """The columns of all records that have a value."""
    parts = opened(path, partition_bytes, text=text_of(path.name)).partitions()
    rows = [row for part in parts for row in part.read(None).columns.to_pylist()]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def copied(path: Path, rows: np.ndarray | None = None) -> bytes:
    """The bytes of some records, by `Partition.records`."""
    (part,) = opened(path, text=text_of(path.name)).partitions()
    return bytes(part.records(rows, len(part.read().text)))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [64, 300, 8 << 20])
@pytest.mark.parametrize("kind", ["plain", "crlf", "mark", "gz", "zst"])
@pytest.mark.parametrize("name", NAMES)
def test_columns(tmp_path: Path, name: str, kind: str, size: int) -> None:
    text, expected = FILES[name]
    raw = text.encode()
    if kind == "crlf":
        raw = raw.replace(b"\n", b"\r\n")
    if kind == "mark":
        raw = b"\xef\xbb\xbf" + raw
    path = tmp_path / (f"{name}.{kind}" if kind in ("gz", "zst") else name)
    path.write_bytes({"gz": gzip.compress, "zst": zst}.get(kind, bytes)(raw))
    assert records_of(path, size) == expected


def test_files_that_were_put_together(tmp_path: Path) -> None:
    for name in NAMES:
        text, expected = FILES[name]
        if name != "a.xml":
            path = tmp_path / name
            path.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\n\xef\xbb\xbf" + text.encode())
            assert records_of(path) == expected * 2


def test_records_as_they_were(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).write_text(FILES[name][0])
    ris = RIS[RIS.index("TY") :].replace("2.\nTY", "TY").replace("3.\nTY", "TY")
    assert copied(tmp_path / "a.ris").decode() == ris
    assert copied(tmp_path / "a.nbib").decode() == NBIB
    assert copied(tmp_path / "a.vcf").decode() == VCARD
    found = copied(tmp_path / "a.bib").decode()
    assert found == BIBTEX[BIBTEX.index("@Article") :].replace("text between entries\n", "")
    found = copied(tmp_path / "a.xml").decode()
    assert found == ENDNOTE[ENDNOTE.index("<record>") :].replace("</records></xml>\n", "\n")
    # Of some of them, each is complete.
    second = copied(tmp_path / "a.ris", np.array([1])).decode()
    assert second == ris[ris.index("TY  - CHAP") : ris.index("TY  - BOOK")]


@pytest.mark.parametrize("name", NAMES)
def test_the_default_text_is_title_and_abstract(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name][0])
    texts = texts_of(opened(path, text=text_of(name)))
    keys = ("name",) if name == "a.vcf" else ("title", "abstract")
    assert texts == [" ".join(row.get(key, "") for key in keys) for row in FILES[name][1]]


def read_by_others(path: Path) -> list[str]:
    """The titles, or names, that another reader of a format finds in a file."""
    if path.suffix == ".ris":
        import rispy

        return [row.get("title", row.get("primary_title")) for row in rispy.loads(path.read_text())]
    if path.suffix == ".nbib":
        import nbib

        return [row["title"] for row in nbib.read_file(path)]
    if path.suffix == ".bib":
        from pybtex.database import parse_file

        return [entry.fields["title"] for entry in parse_file(path).entries.values()]
    if path.suffix == ".vcf":
        import vobject

        return [card.fn.value for card in vobject.readComponents(path.read_text())]
    found = ElementTree.parse(path).getroot()
    assert (found.tag, found[0].tag) == ("xml", "records")
    return ["".join(title.itertext()) for title in found.iter("title")]


def many(name: str) -> str:
    """A file of 12 records with 4 titles, each of them three times."""
    titles = [f"An evaluation of memory number {'abcd'[i % 4] * 3}" for i in range(12)]
    entry = {
        "ris": "TY  - JOUR\nTI  - {}\nAU  - Smith, J.\nID  - {}\nER  - \n\n",
        "nbib": "PMID- {1}\nTI  - {0}\nFAU - Smith, John\n\n",
        "bib": "@article{{key{1}, title = {{{0}}}, journal = jm}}\n\n",
        "xml": "<record><rec-number>{1}</rec-number><titles><title>{0}</title></titles></record>",
        "vcf": "BEGIN:VCARD\nVERSION:3.0\nN:;;;;\nFN:{}\nUID:{}\nEND:VCARD\n",
    }[name.split(".")[1]]
    body = "".join(entry.format(title, i) for i, title in enumerate(titles))
    head = {"a.bib": '@string{jm = "Journal"}\n', "a.xml": "<xml><records>"}.get(name, "")
    return head + body + ("</records></xml>" if name == "a.xml" else "")


@pytest.mark.parametrize("name", NAMES)
def test_other_readers_open_what_is_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(many(name))
    out = tmp_path / "out"
    how: dict[str, Any] = {"text": text_of(name), "shingle": "word:2", "progress": False}
    run = neardup.dedup(path, out=out, removed=True, id="id", **how)
    assert run.summary["counts"]["kept"] == 4
    ending = path.suffix
    assert sorted(read_by_others(out / f"clean/part-00000{ending}")) == [
        f"An evaluation of memory number {c * 3}" for c in "abcd"
    ]
    removed = out / f"removed/part-00000{ending}"
    assert len(read_by_others(removed)) == 8
    kept = {str(row) for row in run.clusters.column("doc_id").to_pylist()[:4]}
    found = re.findall(r"duplicate.of\W+(?:key)?(\d+)", removed.read_text(), re.IGNORECASE)
    assert set(found) == {key.removeprefix("key") for key in kept} and len(found) == 8
    # It is read again, by the command too.
    again = neardup.dedup(out / "clean", out=tmp_path / "again", **how)
    assert again.summary["counts"]["kept"] == 4
    removed_id = run.clusters.column("doc_id")[4].as_py()
    assert "tokens; removed" in str(neardup.open(out).explain(removed_id))


def test_strings_of_bibtex_are_those_before_an_entry(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    entries = [f"@article{{k{i}, title={{Title {i}}}, journal=j{i // 10}}}\n" for i in range(100)]
    for i in range(10):
        entries.insert(11 * i, f'@string{{j{i} = "Journal {i}"}}\n')
    path.write_text("".join(entries))
    for size in (64, 500, 8 << 20):
        found = [row["journal"] for row in records_of(path, size)]
        assert found == [f"Journal {i // 10}" for i in range(100)]
    neardup.dedup(path, out=tmp_path / "out", shingle="word:1", progress=False)
    from pybtex.database import parse_file

    read = parse_file(tmp_path / "out/clean/part-00000.bib").entries
    assert read["k99"].fields["journal"] == "Journal 9" and len(read) == 100


def test_oddities_of_programs_that_export(tmp_path: Path) -> None:
    # Keys that repeat in a line, signs as macros, macros without their arguments, many braces.
    path = tmp_path / "a.bib"
    deep = "{" * 3000 + r"\o" + "}" * 3000
    path.write_text(
        "@misc{a, title={1}} @misc{a, title={2}}\n"
        r"@misc{b, title={p {\textless} 5 {\textbar} \href{http://a}{c}}}"
        + "\n@misc{c, title={\\sqrt}}\n"
        + f"@misc{{d, title={{{deep}}}}}"
    )
    found = records_of(path)
    assert [row["id"] for row in found] == ["a", "a", "b", "c", "d"]
    assert [row["title"] for row in found[:2]] == ["1", "2"] and "\\href" in found[2]["title"]
    path.write_text(r"@misc{b, title={p {\textless} 5 {\textbar} x\textgreater y}}")
    assert records_of(path)[0]["title"] == "p < 5 | x>y"
    # A last line of some databases; numbers of other databases than PubMed.
    path = tmp_path / "a.ris"
    path.write_text("TY  - JOUR\nTI  - One\nER  - \n\nEF  - \n")
    assert records_of(path) == [{"type": "JOUR", "title": "One"}]
    path = tmp_path / "a.xml"
    path.write_text(ENDNOTE.replace("12345678", "104567890"))
    assert "pmid" not in records_of(path)[0]


BAD = [
    ("d.ris", RIS.replace("\n", "\r"), "lines end with carriage returns"),
    ("b.nbib", NBIB.replace("\n", "\r"), "lines end with carriage returns"),
    ("a.ris", RIS.replace("TY  - CHAP\n", ""), "line 23: no record before this tag"),
    ("b.ris", "XX  - 1\n" + RIS, "line 1: no record before this tag"),
    ("c.ris", "<html>\nno citations\n</html>\n", "no line begins with 'TY  - '"),
    ("a.nbib", "no citations\n", "no line begins with a tag"),
    ("a.bib", "\n@misc{a, title = {b}\n\n@misc{c, title={d}}\n", "line 2: the entry does not end"),
    ("b.bib", "@misc{c, title={d}}\n@misc{a, title = {b}", "line 2: the entry does not end"),
    ("c.bib", "@misc{a title = {zebrafinch}}\n", "line 1: the entry is no valid BibTeX"),
    ("d.bib", "no citations\n", "no line begins with '@'"),
    ("a.xml", ENDNOTE.replace("</rec-number>", ""), "line 1: the record is no well-formed XML"),
    ("b.xml", ENDNOTE.replace("</record>", ""), "line 1: the record does not end"),
    ("c.xml", ENDNOTE.replace("A &lt;", "&nbsp;"), "line 1: the record is no well-formed XML"),
    ("d.xml", '<!DOCTYPE a [<!ENTITY b "c">]>\n' + ENDNOTE[ENDNOTE.index("<xml") :], "DOCTYPE"),
    ("e.xml", "<?xml version='1.0'?><TEI><record/></TEI>", "no XML of EndNote"),
    ("f.xml", ENDNOTE.replace("UTF-8", "ISO-8859-1"), "it is in ISO-8859-1"),
    ("g.xml", "<xml><records></records></xml>", "no element 'record'"),
    ("a.vcf", VCARD.replace("END:VCARD\n\n", "\n"), "line 1: the contact does not end"),
    ("b.vcf", "no contacts\n", "no line is 'BEGIN:VCARD'"),
]


@pytest.mark.parametrize(("name", "text", "said"), BAD, ids=[bad[0] for bad in BAD])
def test_bad_files(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        records_of(path)
    assert str(caught.value).startswith(f"{path}: ") and said in str(caught.value)
    assert "zebrafinch" not in f"{caught.value} {caught.value.hint}"


def test_nothing_is_logged(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_text("@misc{a title = {zebrafinch}}\n")
    done = subprocess.run(
        [sys.executable, "-m", "neardup", "dedup", str(path), "-o", str(tmp_path / "out")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "zebrafinch" not in done.stderr and "Parsing" not in done.stderr


def test_invalid_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.ris"
    path.write_bytes(RIS.encode().replace(b"Its abstract", b"Its \xff"))
    with pytest.raises(neardup.errors.EncodingError, match=r"line 25, byte \d+: 0xFF"):
        records_of(path)
    (part,) = opened(path, encoding_errors="replace").partitions()
    found = part.read()
    assert found.text.to_pylist()[1] == "Second Its \ufffd." and found.replaced == 1
    assert b"Its \xff" in copied_replacing(path)


def copied_replacing(path: Path) -> bytes:
    (part,) = opened(path, encoding_errors="replace").partitions()
    return bytes(part.records(None, 3))  # type: ignore[arg-type]


def test_large_records(tmp_path: Path) -> None:
    path = tmp_path / "a.ris"
    path.write_text(RIS.replace("First abstract.", "word " * 1000))
    with pytest.raises(FormatError, match="line 4: a record of more than 1,000 bytes"):
        records_of_small(path)
    (part,) = opened(path, max_document=1000, skip_large=True).partitions()
    found = part.read()
    assert len(found.text) == 2 and found.skipped.large == 1


def records_of_small(path: Path) -> None:
    for part in opened(path, max_document=1000).partitions():
        part.read()


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    for name in NAMES:
        for text in ("", "\n\n \n"):
            path = tmp_path / name
            path.write_text(text)
            assert records_of(path) == []


def test_citations_of_two_formats_are_linked(tmp_path: Path) -> None:
    (tmp_path / "a.ris").write_text(many("a.ris"))
    (tmp_path / "b.bib").write_text(many("b.bib").replace("journal = jm", "year = 1999"))
    run = neardup.link(tmp_path / "a.ris", tmp_path / "b.bib", fields=["title"])
    assert run.summary["counts"]["records"] == 24


GOOD_RIS = ["TY  - JOUR\nTI  - One a\nER  - \n\n", "TY  - JOUR\nTI  - Two b\nER  - \n\n"]
GOOD_BIBTEX = ["@misc{a, title = {one a}}\n\n", "@misc{c, title={two b}}\n"]
#: A file with two good entries, these, and the lines and reasons of those that are left out.
LEFT_OUT = [
    (
        "a.ris",
        "XX  - 1\n\n" + "TI  - lost\nAU  - lost\n\n".join(GOOD_RIS),
        GOOD_RIS,
        ["line 1 no record before this tag", "line 7 no record before this tag"],
    ),
    (
        "a.bib",
        "@misc{b, title={lost\n\n".join(GOOD_BIBTEX) + "@misc{d title={lost}}\n",
        GOOD_BIBTEX,
        ["line 3 the entry does not end", "line 6 the entry is no valid BibTeX"],
    ),
    (
        "keys.bib",
        "@misc{title={lost}}\n".join(GOOD_BIBTEX) + "@misc{f title={lost}}\n",
        GOOD_BIBTEX,
        ["line 3 the entry is no valid BibTeX", "line 5 the entry is no valid BibTeX"],
    ),
    (
        "strings.bib",
        '@string{j = "Journal"\n'.join(['@string{k = "K"}\n', *GOOD_BIBTEX]),
        ['@string{k = "K"}\n', *GOOD_BIBTEX],
        ["line 2 the entry does not end", "line 5 the entry does not end"],
    ),
]


@pytest.mark.parametrize(
    ("name", "text", "good", "said"), LEFT_OUT, ids=[each[0] for each in LEFT_OUT]
)
def test_bad_entries_are_left_out(
    tmp_path: Path, name: str, text: str, good: list[str], said: list[str], command: Command
) -> None:
    path, out = tmp_path / name, tmp_path / "out"
    path.write_text(text)
    how: dict[str, Any] = {"shingle": "word:1", "progress": False}
    with pytest.raises(FormatError) as caught:
        neardup.dedup(path, **how)
    assert said[0].split(" ", 2)[2] in str(caught.value)
    assert caught.value.hint == "`skip_bad`=True leaves such records out and counts them"
    run = neardup.dedup(path, out=out, skip_bad=True, **how)
    assert run.summary["counts"]["skipped_bad"] == 2
    assert run.summary["notes"] == [f"{path}: {each}; left out" for each in said]
    # No byte more than the entries have.
    assert (out / f"clean/part-00000{path.suffix}").read_text() == "".join(good)
    words = ["dedup", str(path), "--shingle", "word:1", "-o", str(tmp_path / "again")]
    answer = command(*words)
    assert answer.code == 1
    assert "--skip-bad leaves such records out and counts them" in answer.err
    words = [sys.executable, "-m", "neardup", *words, "--skip-bad"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and "lost" not in done.stdout + done.stderr


def test_bytes_between_entries_leave_none_out(tmp_path: Path) -> None:
    path = tmp_path / "a.ris.gz"
    path.write_bytes(gzip.compress(b"M\xfcller\n\n" + "".join(GOOD_RIS).encode()))
    (part,) = opened(path, skip_bad=True).partitions()
    found = part.read()
    assert len(found.text) == 2 and found.skipped.bad == 0


def test_contacts_in_bytes_of_their_encoding(tmp_path: Path) -> None:
    """As phones of version 2.1 write them: the hint leads on."""
    path = tmp_path / "a.vcf"
    line = "{};CHARSET=WINDOWS-1252:{}\r\n"
    card = f"BEGIN:VCARD\r\nVERSION:2.1\r\n{line.format('FN', 'Jürgen Groß')}END:VCARD\r\n"
    path.write_bytes((card * 2).encode("cp1252"))
    with pytest.raises(neardup.errors.EncodingError, match=r"\(line 3, byte 26: 0xFC\)") as caught:
        records_of(path)
    assert "`encoding`='cp1252'" in caught.value.hint
    how: dict[str, Any] = {"encoding": "cp1252", "text": "name", "progress": False}
    run = neardup.dedup(path, out=tmp_path / "out", **how)
    assert run.clean()["name"].to_pylist() == ["Jürgen Groß"]
    assert read_by_others(tmp_path / "out/clean/part-00000.vcf") == ["Jürgen Groß"]


def test_quoted_bytes_that_are_not_of_their_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.vcf"
    card = "BEGIN:VCARD\nFN{}:M=FCller\nEND:VCARD\n"
    quoted = ";CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE"
    path.write_text(card.format(quoted) + card.format(quoted.replace("ISO-8859-1", "NIX-9")))
    with pytest.raises(neardup.errors.EncodingError) as caught:
        records_of(path)
    assert str(caught.value) == f"{path}: line 4: a value is not of the encoding that it names"
    (part,) = opened(path, text="name", skip_bad=True).partitions()
    found = part.read()
    assert found.text.to_pylist() == ["Müller"] and found.skipped.bad == 1
