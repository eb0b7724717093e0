"""Figures: what they say, that they are the same each time, and how they are written."""

from __future__ import annotations

import html
import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from neardup.errors import OutputError, SpecError
from neardup.report import charts
from neardup.report.figures import INK, Chart, check_path, save, to_svg

NAN = float("nan")
HALF = np.linspace(0, 1, 51)
MAKERS: dict[str, Callable[[], Chart]] = {
    "s_curves": lambda: charts.s_curves([(42, 3), (17, 4)], [(0.5, 0.99), (0.05, 0.001)]),
    "s_curves, no points": lambda: charts.s_curves([(1, 1)]),
    "s_curves, at most": lambda: charts.s_curves([(5, 4)], [(0.2, 0.01)]),
    "histogram": lambda: charts.similarity_histogram(
        np.r_[np.arange(50), 30], np.r_[HALF, 1.02], (17, 4), 0.7, "edges"
    ),
    "histogram, log": lambda: charts.similarity_histogram(
        np.r_[[1] * 25, [10**6] * 25], HALF, None, 0.7
    ),
    "histogram, nothing": lambda: charts.similarity_histogram(np.zeros(50), HALF, (17, 4)),
    "cluster_sizes": lambda: charts.cluster_sizes({1: 9000, 2: 800, 3: 40, 700: 1}),
    "cluster_sizes, one": lambda: charts.cluster_sizes({2: 1}),
    "cluster_sizes, nothing": lambda: charts.cluster_sizes({}),
    "observed": lambda: charts.observed_curve(
        [0.65, 0.75, 0.85, 0.95],
        [0.96, 1, NAN, 1],
        [0.9, 0.98, 0, 0.99],
        [1, 1, 1, 1],
        (17, 4),
        0.7,
    ),
    "observed, nothing": lambda: charts.observed_curve([], [], [], []),
    "candidates": lambda: charts.candidates_per_band([30, 31, 29], 30.5),
    "candidates, nothing": lambda: charts.candidates_per_band([]),
    "bucket_sizes": lambda: charts.bucket_sizes(
        {"2": 900, "3-4": 80, "5-8": 7, "9-16": 1, "17-32": 1, "33-64": 1, "65-128": 2}
    ),
    "bucket_sizes, nothing": lambda: charts.bucket_sizes({}),
    "stages": lambda: charts.stages(
        {"read and sign": 12.5, "band": 3.0, "write": 0.04},
        {"read and sign": 3e8, "band": 1e8},
        {"read and sign": 14.0},
    ),
    "stages, times": lambda: charts.stages({"band": 3.0}),
    "stages, nothing": lambda: charts.stages({}),
    "precision_recall": lambda: charts.precision_recall(
        [0.7, 0.8, 0.9, 1], [0.8, 0.9, 1, NAN], [0.9, 0.7, 0.2, 0], [0.85, 0.8, 0.3, 0]
    ),
    "precision_recall, nothing": lambda: charts.precision_recall([], [], []),
}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(params=list(MAKERS))
def make(request: pytest.FixtureRequest) -> Callable[[], Chart]:
    return MAKERS[request.param]


def words(figure: Figure) -> list[str]:
    figure.canvas.draw()
    return [t.get_text() for t in figure.findobj(matplotlib.text.Text) if t.get_text()]


def test_axes_and_text_alternative(make: Callable[[], Chart]) -> None:
    figure = make()
    assert isinstance(figure, Figure)
    assert figure.heading in words(figure)
    told = charts.alternative(figure)
    assert told.startswith(figure.heading + ": ")
    assert told.endswith(".")
    assert "nan" not in told
    if figure.heading.startswith("Time"):  # the names of the stages are the second axis
        assert [axes.get_xlabel() for axes in figure.axes] in (
            ["seconds"],
            ["seconds", "memory, MB"],
            [""],  # no stages
        )
    else:
        assert figure.axes[0].get_xlabel()
        assert all(axes.get_ylabel() for axes in figure.axes)


def test_svg_can_stand_in_a_page(make: Callable[[], Chart]) -> None:
    text = to_svg(make())
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    figure = make()
    title, description = root[0], root[1]
    assert (title.tag, description.tag) == (f"{SVG}title", f"{SVG}desc")
    assert (title.text, description.text) == (figure.heading, figure.alternative)
    assert root.get("aria-labelledby") == title.get("id")
    assert root.get("aria-describedby") == description.get("id")
    # Nothing that a strict page forbids, or that would leak into it.
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {
        "svg",
        "title",
        "desc",
        "g",
        "path",
        "defs",
        "use",
        "clipPath",
        "rect",
        "pattern",
    }
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not {name for name in attributes if name.startswith("on") or name in ("style", "class")}
    references = set(re.findall(r"url\(#([^)]+)\)", text))
    references |= {e.attrib["href"].removeprefix("#") for e in root.iter() if "href" in e.attrib}
    ids = [e.attrib["id"] for e in root.iter() if "id" in e.attrib]
    assert len(ids) == len(set(ids))
    assert references <= set(ids)
    assert set(re.findall(r"https?://[^\s\"<]+", text)) == {"http://www.w3.org/2000/svg"}
    # Readable on light and dark: ink is that of the page, and there is no background.
    assert "currentColor" in text
    assert INK not in text
    assert "#ffffff" not in text


def test_ids_of_different_figures_differ() -> None:
    seen: set[str] = set()
    for name in ("s_curves", "histogram", "cluster_sizes", "stages"):
        ids = set(re.findall(r' id="([^"]+)"', to_svg(MAKERS[name]())))
        assert len(ids) > 3
        assert not ids & seen
        seen |= ids


@pytest.mark.parametrize("ending", [".svg", ".png", ".html", ".SVG"])
def test_files_are_the_same_each_time(tmp_path: Path, ending: str) -> None:
    one, two = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
    assert save(MAKERS["s_curves"](), one) == one
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "none"}):
        save(MAKERS["s_curves"](), two)
        assert matplotlib.rcParams["font.size"] == 30
    assert one.read_bytes() == two.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [one.name, two.name]


def test_what_is_written(tmp_path: Path) -> None:
    figure = MAKERS["histogram"]()
    png = save(figure, tmp_path / "a.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", png[16:24])
    assert width > 1200
    assert height > 800
    svg = save(figure, tmp_path / "a.svg").read_text()
    assert svg.startswith("<?xml")
    assert "currentColor" not in svg
    assert INK in svg
    assert "#ffffff" in svg
    page = save(figure, tmp_path / "a.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert f"<figcaption>{html.escape(figure.alternative)}</figcaption>" in page
    assert "default-src 'none'" in page
    assert page.count("<svg") == 1


def test_foreign_figures_can_be_saved(tmp_path: Path) -> None:
    figure = Figure()
    figure.subplots().plot([1, 2], [3, 4])
    assert charts.alternative(figure) == ""
    root = ElementTree.fromstring(to_svg(figure))
    assert root.find(f"{SVG}desc") is None
    assert save(figure, tmp_path / "a.html").stat().st_size > 1000


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    figure = charts.stages({"</script><script>alert(1)</script>": 1.0})
    text = save(figure, tmp_path / "a.html").read_text()
    assert "<script" not in text


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 240 + ".svg")
    path.write_text("before")
    link = tmp_path / "link.svg"
    link.symlink_to(path)
    save(MAKERS["candidates"](), link)
    assert link.is_symlink()
    assert path.read_text().startswith("<?xml")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["a.pdf", "a", "svg", "a.svg.gz"])
def test_other_endings(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError, match=re.escape(repr(name))) as caught:
        save(MAKERS["candidates"](), tmp_path / name)
    assert ".svg, .png, .html" in caught.value.hint


def test_places_that_can_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no folder"):
        check_path(tmp_path / "none" / "a.svg")
    (tmp_path / "a.svg").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        check_path(tmp_path / "a.svg")
    with pytest.raises(OutputError, match=r"can't write .*: File name too long"):
        save(MAKERS["candidates"](), tmp_path / ("n" * 300 + ".svg"))
    assert [p.name for p in tmp_path.iterdir()] == ["a.svg"]


def test_notebooks_show_them() -> None:
    figure = MAKERS["candidates"]()
    assert figure._repr_html_() == to_svg(figure)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_no_window_and_no_pyplot() -> None:
    code = (
        "import sys\n"
        "from neardup.report import charts\n"
        "charts.to_svg(charts.s_curves([(17, 4)]))\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert not any('tk' in name.lower() for name in sys.modules)\n"
    )
    environment = {**os.environ, "MPLBACKEND": "tkagg"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=120)


def test_regions_between_curve_and_points() -> None:
    """Missed above the curve from 0.5 on, in vain below it up to there."""
    figure = charts.s_curves([(42, 3)], [(0.5, 0.99), (0.05, 0.001)])
    missed, vain = figure.axes[0].collections
    assert missed.get_label() == "missed (false negatives)"
    x, y = missed.get_paths()[0].vertices.T
    assert x.min() == pytest.approx(0.5)
    assert x.max() == 1
    assert y.min() == pytest.approx(1 - (1 - 0.5**3) ** 42)
    x, y = vain.get_paths()[0].vertices.T
    assert (x.min(), y.min()) == (0, 0)
    assert x.max() == pytest.approx(0.5)
    assert y.max() == pytest.approx(1 - (1 - 0.5**3) ** 42)


def test_what_the_alternatives_say() -> None:
    said = {name: make().alternative for name, make in MAKERS.items()}
    assert "asked for was 0.1 % at 0.05; the first choice has 0.5 %" in said["s_curves"]
    assert "17 bands of 4 rows find 99.1 %" in said["histogram"]
    assert "the largest cluster has 700" in said["cluster_sizes"]
    assert "of pairs around 0.65, 96.0 % share a bucket" in said["observed"]
    assert "0.85" not in said["observed"]
    assert "longest stage was read and sign with 12.5 seconds" in said["stages"]
    assert "F1 is highest, 85.0 %, at 0.7" in said["precision_recall"]


def test_too_many_curves() -> None:
    for choices in ([], [(1, 1)] * 6):
        with pytest.raises(ValueError, match="expected 1 to 5"):
            charts.s_curves(choices)
