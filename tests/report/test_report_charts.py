"""Charts: what they say, that they are the same each time, and how they are written."""

from __future__ import annotations

import functools
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
import pytest
from matplotlib.figure import Figure

from neardup.errors import OutputError, SpecError
from neardup.report import charts
from neardup.report.charts import INK, Chart, check_path, save

LINES = [
    {"similarity": s, "observed": share, "observed_low": low, "observed_high": 1}
    for s, share, low in ((0.65, 0.96, 0.9), (0.75, 1, 0.98), (0.95, 1, 0.99))
]
SCORES = [
    {"threshold": t, "precision": p, "recall": r, "f1": f}
    for t, p, r, f in (
        *((0.7, 0.8, 0.9, 0.85), (0.8, 0.9, 0.7, 0.8)),
        *((0.9, 1, 0.2, 0.3), (1, None, 0, None)),
    )
]
AUDIT = {"curve": LINES, "bands": {"num_bands": 17, "rows": 4}, "threshold": 0.7}
MAKERS: dict[str, Callable[[], Chart]] = {
    "s_curves": lambda: charts.s_curves([(42, 3), (17, 4)], [(0.5, 0.99), (0.05, 0.001)]),
    "s_curves, no points": lambda: charts.s_curves([(1, 1)]),
    "s_curves, at most": lambda: charts.s_curves([(5, 4)], [(0.2, 0.01)]),
    "observed": lambda: charts.observed_curve(AUDIT),
    "observed, join": lambda: charts.observed_curve({**AUDIT, "bands": None}),
    "observed, nothing": lambda: charts.observed_curve({**AUDIT, "curve": [], "bands": None}),
    "precision_recall": lambda: charts.precision_recall({"by_threshold": {"lines": SCORES}}),
    "precision_recall, nothing": lambda: charts.precision_recall({"by_threshold": {"lines": []}}),
}
SVG = "{http://www.w3.org/2000/svg}"


@functools.cache
def made(name: str) -> Chart:
    return MAKERS[name]()


def words(figure: Figure) -> list[str]:
    figure.canvas.draw()
    return [t.get_text() for t in figure.findobj(matplotlib.text.Text) if t.get_text()]


@pytest.mark.parametrize("name", MAKERS)
def test_axes_and_text_alternative(name: str) -> None:
    figure = made(name)
    assert isinstance(figure, Figure)
    assert figure.heading in words(figure)
    assert figure.alternative.startswith(figure.heading + ": ")
    assert figure.alternative.endswith(".")
    assert "nan" not in figure.alternative
    assert figure.axes[0].get_xlabel()
    assert all(axes.get_ylabel() for axes in figure.axes)


@pytest.mark.parametrize("ending", [".png", ".html", ".SVG"])
def test_files_are_the_same_each_time(tmp_path: Path, ending: str) -> None:
    one, two = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
    assert save(MAKERS["s_curves"](), one) == one
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "none"}):
        save(MAKERS["s_curves"](), two)
        assert matplotlib.rcParams["font.size"] == 30
    assert one.read_bytes() == two.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [one.name, two.name]


def test_what_is_written(tmp_path: Path) -> None:
    figure = made("observed")
    png = save(figure, tmp_path / "a.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", png[16:24])
    assert width > 1200
    assert height > 800
    svg = save(figure, tmp_path / "a.svg").read_text()
    assert svg.startswith("<?xml")
    root = ElementTree.fromstring(svg)
    assert root.findtext(f"{SVG}title") == figure.heading
    assert html.escape(figure.alternative) in svg
    assert INK in svg and "#ffffff" in svg
    # Nothing runs, and nothing is loaded: all that is referred to is in it.
    assert not {"script", "image", "text"} & {e.tag.removeprefix(SVG) for e in root.iter()}
    links = re.findall(r'href="([^"]+)"', svg) + re.findall(r"url\(([^)]+)\)", svg)
    assert links and all(link.startswith("#") for link in links)
    page = save(figure, tmp_path / "a.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert f"<figcaption>{html.escape(figure.alternative)}</figcaption>" in page
    assert "default-src &#39;none&#39;" in page
    assert page.count('<img src="data:image/svg+xml;base64,') == 1


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    chart = MAKERS["observed, nothing"]()
    chart.heading = chart.alternative = "</script><script>alert(1)</script>"
    assert "<script" not in save(chart, tmp_path / "a.html").read_text()
    assert "<script" not in save(chart, tmp_path / "a.svg").read_text()


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 240 + ".svg")
    path.write_text("before")
    link = tmp_path / "link.svg"
    link.symlink_to(path)
    save(MAKERS["s_curves"](), link)
    assert link.is_symlink()
    assert path.read_text().startswith("<?xml")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["a.pdf", "a", "svg", "a.svg.gz"])
def test_other_endings(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError, match=re.escape(repr(name))) as caught:
        save(MAKERS["s_curves"](), tmp_path / name)
    assert ".svg, .png, .html" in caught.value.hint


def test_places_that_can_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no folder"):
        check_path(tmp_path / "none" / "a.svg")
    (tmp_path / "a.svg").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        check_path(tmp_path / "a.svg")
    with pytest.raises(OutputError, match=r"can't be written: file name too long"):
        save(MAKERS["s_curves"](), tmp_path / ("n" * 300 + ".svg"))
    assert [p.name for p in tmp_path.iterdir()] == ["a.svg"]


def test_notebooks_show_them() -> None:
    assert MAKERS["s_curves"]()._repr_png_().startswith(b"\x89PNG")


def test_no_pyplot_and_what_to_install() -> None:
    code = (
        "import sys\n"
        "sys.modules['matplotlib.style'] = None\n"
        "try:\n"
        "    import neardup.report.charts\n"
        "except ImportError as error:\n"
        "    print(error.hint)\n"
        "del sys.modules['matplotlib.style']\n"
        "from neardup.report import charts\n"
        "charts.s_curves([(17, 4)])._repr_png_()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert not any('tk' in name.lower() for name in sys.modules)\n"
    )
    environment = {**os.environ, "MPLBACKEND": "tkagg"}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    )
    assert "neardup[report]" in done.stdout


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
    said = {name: made(name).alternative for name in MAKERS}
    assert "asked for was 0.1 % at 0.05; the first choice has 0.5 %" in said["s_curves"]
    assert (
        "of pairs around 0.65, 96.0 % (95 % interval 90.0 % to 100 %) share a bucket"
        in (said["observed"])
    )
    assert "100 %) were found;" in said["observed, join"]
    assert "no pairs were observed" in said["observed, nothing"]
    assert "from 1 on: precision none, recall 0 %, F1 none" in said["precision_recall"]
    assert "F1 is highest, 85.0 %, at 0.7" in said["precision_recall"]


def test_too_many_curves() -> None:
    for choices in ([], [(1, 1)] * 6):
        with pytest.raises(ValueError, match="expected 1 to 5"):
            charts.s_curves(choices)
