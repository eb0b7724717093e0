"""Charts of the documentation: what is on them, and that they are the same each time."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

from experiments import charts

LINES = [
    {"similarity": s, "observed": share, "observed_low": low, "observed_high": 1}
    for s, share, low in ((0.65, 0.96, 0.9), (0.75, 1, 0.98), (0.95, 1, 0.99))
]
AUDIT = {"curve": LINES, "bands": {"num_bands": 17, "rows": 4}, "threshold": 0.7}
MAKERS = {
    "curves": lambda: charts.s_curves([(42, 3), (17, 4)], (0.5, 0.99)),
    "observed": lambda: charts.observed_curve(AUDIT),
    "histogram": lambda: charts.similarity_histogram([5, 0, 2, 1], lambda s: s**2),
}


@pytest.mark.long
@pytest.mark.parametrize("name", MAKERS)
def test_files_are_the_same_each_time(name: str, tmp_path: Path) -> None:
    chart = MAKERS[name]()
    assert all(axes.get_ylabel() for axes in chart.axes) and chart.axes[0].get_xlabel()
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    charts.save(chart, one)
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "none"}):
        charts.save(MAKERS[name](), two)
        assert mpl.rcParams["font.size"] == 30
    assert one.read_bytes() == two.read_bytes()
    ElementTree.fromstring(one.read_text())


def test_regions_between_curve_and_point() -> None:
    """Missed above the curve from 0.5 on, in vain below it up to there."""
    missed, vain = charts.s_curves([(42, 3)], (0.5, 0.99)).axes[0].collections
    at_half = 1 - (1 - 0.5**3) ** 42
    x, y = np.array(missed.get_paths()[0].vertices).T
    assert (x.min(), x.max(), y.min()) == (pytest.approx(0.5), 1, pytest.approx(at_half))
    x, y = np.array(vain.get_paths()[0].vertices).T
    assert (x.min(), y.min(), x.max(), y.max()) == (
        0,
        0,
        pytest.approx(0.5),
        pytest.approx(at_half),
    )
