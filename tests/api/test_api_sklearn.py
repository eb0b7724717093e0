"""The estimator behaves as scikit-learn expects of one that takes texts."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import neardup
from neardup.errors import InputError, SpecError

TEXTS = ["one two three four five six", "One, two; three four five six!", "x", "y", "x"]
#: Checks that need no data. The others send matrices of numbers, which are no texts;
#: `check_estimator` leaves them out by itself, by the tags of the estimator.
WITHOUT_DATA = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.fixture(scope="module")
def checks() -> Any:
    """Imported late: it takes a second of each process that collects tests."""
    return pytest.importorskip("sklearn.utils.estimator_checks")


@pytest.fixture(scope="module")
def ours(checks: Any) -> Any:
    return importlib.import_module("neardup.sklearn")


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_checks_without_data(name: str, ours: Any, checks: Any) -> None:
    getattr(checks, name)("Deduplicator", ours.Deduplicator())


def test_check_estimator_finds_nothing_wrong(ours: Any, checks: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the checks that it leaves out
        results = checks.check_estimator(ours.Deduplicator(threshold=0.8))
    assert results and all(result["status"] == "passed" for result in results)


def test_matrices_of_numbers_are_refused(ours: Any) -> None:
    """What the checks with data would send; each is one clear error."""
    with pytest.raises(SpecError, match="no sequence of texts"):
        ours.Deduplicator().fit(np.zeros((4, 2)))
    with pytest.raises(InputError, match="float"):
        ours.Deduplicator().fit([0.5, 1.5])
    with pytest.raises(SpecError):
        ours.Deduplicator().fit("one text")


@pytest.mark.parametrize("kind", [list, np.array, "pandas"])
def test_fit_predict(kind: Any, ours: Any) -> None:
    make = pytest.importorskip("pandas").Series if kind == "pandas" else kind
    found = ours.Deduplicator(threshold=0.8, keep="longest")
    assert found.fit_predict(make(TEXTS)).tolist() == [1, 1, 2, 3, 2]
    assert found.keep_mask_.tolist() == [False, True, True, True, False]
    assert found.run_.spec == neardup.Spec(threshold=0.8, keep="longest")
    again = pickle.loads(pickle.dumps(found))
    assert again.labels_.tolist() == found.labels_.tolist() and len(again.run_) == 5


@pytest.mark.parametrize("missing", ["NaN", "None", "NA"])
def test_missing_texts_are_empty(missing: str, ours: Any) -> None:
    pd = pytest.importorskip("pandas")
    texts = [*TEXTS, {"NaN": float("nan"), "None": None, "NA": pd.NA}[missing]]
    for given in (texts, pd.Series(texts), pd.Series(texts, dtype="string")):
        found = ours.Deduplicator(threshold=0.8).fit(given)
        assert found.keep_mask_.tolist() == [True, False, True, True, False, True]
    assert isinstance(found.run_.clean(), pd.Series)


def test_settings_are_those_of_dedup(ours: Any) -> None:
    found = ours.Deduplicator(preset="clinical", shingle="word:3").fit(TEXTS)
    assert (found.run_.spec.cluster, found.run_.spec.shingle.n) == ("bounded", 3)
    with pytest.raises(SpecError, match="threshold is 2"):
        ours.Deduplicator(threshold=2).fit(TEXTS)


def test_scikit_learn_is_imported_only_when_asked_for() -> None:
    code = "import sys, neardup; neardup.dedup(['a']); print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_copied_share(kernels: None, ours: Any, checks: Any) -> None:
    old, new = ["a b c d e", "x y a b c"], ["q a b c", "b c d e", "q a b c"]
    shares = ours.CopiedShare(words=3)
    assert shares.fit_transform(old).tolist() == [[0.0], [0.6]]
    assert shares.transform(new).tolist() == [[0.75], [1.0], [1.0]]
    assert shares.get_feature_names_out().tolist() == ["copied_share"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = checks.check_estimator(ours.CopiedShare())
    assert all(result["status"] == "passed" for result in results)
    with pytest.raises(SpecError, match="no sequence of texts"):
        ours.CopiedShare().fit("one text")
    with pytest.raises(pytest.importorskip("sklearn.exceptions").NotFittedError):
        ours.CopiedShare().transform(["one text"])
