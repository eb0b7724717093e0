"""Files of formats that are not read, and the commands that convert them."""

import re
from typing import NamedTuple

from neardup.io.remote import last_name
from neardup.io.unpacking.first_bytes import OF_TABLE, data_in

#: The functions of pandas that read files of other endings.
_PANDAS = {
    **dict.fromkeys((".pkl", ".pickle"), "read_pickle"),
    **dict.fromkeys((".h5", ".hdf", ".hdf5"), "read_hdf"),
    **dict.fromkeys((".sas7bdat", ".xpt"), "read_sas"),
    ".dta": "read_stata",
    ".sav": "read_spss",
}
_DATABASES = (".sqlite", ".sqlite3", ".db")
#: Endings of other tables: the Python that converts one.
_PYTHON = {
    ".orc": "import pyarrow.orc as o, pyarrow.parquet as p; "
    "p.write_table(o.read_table({old!r}), {new!r})",
    ".avro": "import polars; polars.read_avro({old!r}).write_parquet({new!r})",
    **dict.fromkeys(
        _DATABASES,
        "import pandas, sqlite3; pandas.read_sql('SELECT * FROM NAME', "
        "sqlite3.connect({old!r})).to_parquet({new!r})",
    ),
    ".duckdb": "import duckdb; duckdb.connect({old!r}).sql('FROM NAME').write_parquet({new!r})",
}
#: Endings of archives and compressed files: the command that unpacks one.
_PACKED = {
    ".lz4": "lz4 -d",
    ".br": "brotli -d",
    ".zip": "unzip",
    ".7z": "7z x",
    ".rar": "unrar x",
    **dict.fromkeys((".tar", ".tgz", ".tbz", ".txz"), "tar xf"),
}
_TOOLS = {"gzip": "gunzip", "zstd": "unzstd", "bz2": "bunzip2", "xz": "unxz"}
_DOCUMENTS = {
    ".pdf": "pdftotext {old} {new}",
    **dict.fromkeys((".docx", ".odt", ".rtf", ".epub"), "pandoc -t plain {old} -o {new}"),
    **dict.fromkeys((".doc", ".ppt", ".pptx"), "soffice --convert-to txt {old}"),
}
#: Other endings of formats that are read.
_KNOWN = {
    **dict.fromkeys((".pq", ".parq"), "parquet"),
    **dict.fromkeys((".jl", ".jsonlines", ".ldjson"), "jsonl"),
    **dict.fromkeys((".tab",), "tsv"),
    **dict.fromkeys((".md", ".markdown", ".rst", ".log", ".text", ".html", ".tex"), "text"),
}
_TO_FILE = "copy it to a file, and name that"
_PLAIN = re.compile(r"[\w./\-]+")


class Unread(NamedTuple):
    """Why a file is not read, and a remedy."""

    what: str
    hint: str


def unread(path: str, compression: str | None, formats: str, head: bytes = b"") -> Unread:
    """Return why a file is not read whose ending names no format, and how to convert it.

    ``formats`` lists those that are read, and ``head`` are its first bytes, if they are known.

    >>> unread("x.rtf", None, "csv")
    Unread(what="unknown ending '.rtf'", hint='convert it to text: pandoc -t plain x.rtf -o x.txt')
    """
    name = last_name(path).lstrip(".")
    endings = [f".{part}" for part in name.split(".")[1:]]
    if compression is not None and len(endings) > 1:
        inner = endings[-2].lower()
        if inner in (".parquet", ".arrow", ".feather", ".ipc") or _converted("x", inner):
            tool = "tar xf" if inner == ".tar" else _TOOLS[compression]
            what = f"{inner[1:]} within {compression}, which is not read"
            return Unread(what, f"unpack it first: {tool} {_shown(path, ''.join(endings[-2:]))}")
        ending = endings[-2]
    else:
        ending = endings[-1] if endings else ""
    what = f"unknown ending {ending!r}" if ending else "its name has no ending"
    if known := _KNOWN.get(ending.lower()):
        return Unread(what, f"name its format: `input_format`={known!r}")
    hint = _converted(path, ending.lower())
    if ending.lower() == ".zip" and not head:
        return Unread("a zip archive in a pipe or at a URL, which is not read", _TO_FILE)
    if found := data_in(path, head):
        # With the command, where one is known.
        begin = hint.partition(":")[0]
        return Unread(found.what, found.hint.replace(begin, hint, 1) if begin else found.hint)
    others = f"name its format with `input_format` ({formats}); text is one document a file"
    return Unread(what, hint or others)


def _converted(path: str, ending: str) -> str:
    """Return the command that converts or unpacks a file, or nothing where none is known."""
    old = _shown(path, ending)
    stem = old[: len(old) - len(ending)]
    if ending in _PANDAS:
        written = f"pandas.{_PANDAS[ending]}({old!r}).to_parquet({f'{stem}.parquet'!r})"
        return f'convert it: python -c "import pandas; {written}"'
    if ending in _PYTHON:
        code = _PYTHON[ending].format(old=old, new=f"{stem}.parquet")
        of_table = OF_TABLE if "NAME" in code else ""
        return f'convert it{of_table}: python -c "{code}"'
    if ending in _PACKED:
        return f"unpack it: {_PACKED[ending]} {old}"
    if ending in _DOCUMENTS:
        return f"convert it to text: {_DOCUMENTS[ending].format(old=old, new=f'{stem}.txt')}"
    return ""


def _shown(path: str, ending: str) -> str:
    """Return a path if a shell takes it without quotes, else another name with its ending."""
    return path if _PLAIN.fullmatch(path) and path.lower().endswith(ending) else f"FILE{ending}"
