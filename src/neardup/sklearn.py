"""Near-duplicates as an estimator of scikit-learn, which is imported with this module only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np

from neardup.api.copying import passages
from neardup.api.dedup import dedup
from neardup.errors import DependencyError, SpecError
from neardup.spec import ShingleSpec

try:
    from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
    from sklearn.utils import Tags
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise DependencyError(
        "scikit-learn 1.6 is not installed", "pip install scikit-learn"
    ) from error


class Deduplicator(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Find near-duplicate texts; a clusterer that takes texts instead of numbers.

    Args:
        preset: As for `neardup.dedup`, as are all other arguments; None for that of the preset.

    Attributes:
        labels_: int64[documents]: number of the cluster of each text, that of its first document.
        keep_mask_: bool[documents]: whether each text is kept.
        run_: The `neardup.DedupRun`.

    Examples:
        >>> texts = ["one two three four five six", "One, two; three four five six!", "x"]
        >>> Deduplicator().fit_predict(texts).tolist()
        [0, 0, 2]
    """

    def __init__(
        self,
        *,
        preset: str = "web",
        threshold: float | None = None,
        recall: float | None = None,
        shingle: str | ShingleSpec | None = None,
        keep: str | None = None,
        cluster: str | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
    ) -> None:
        self.preset = preset
        self.threshold = threshold
        self.recall = recall
        self.shingle = shingle
        self.keep = keep
        self.cluster = cluster
        self.memory = memory
        self.threads = threads

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Find the near-duplicates of some texts.

        Args:
            X: The texts; a list, an array, or a Series. A missing one is empty.
            y: Not used.

        Raises:
            InputError: There are no texts, or they can't be used.
            SpecError: A setting is out of range, or the texts are not strings.
        """
        texts = _texts(X)
        self.run_ = dedup(texts, progress=False, **self.get_params())
        self.labels_: np.ndarray = self.run_.labels
        self.keep_mask_: np.ndarray = self.run_.keep_mask
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = False, True
        tags.input_tags.string = True
        return tags


class CopiedShare(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The share of the words of each text that were copied from an earlier one, as a column.

    `fit_transform` compares each text with those before it. `transform` compares each with those
    that were fitted, and with those before it.

    Args:
        words: Words of the shortest run that counts.
        memory: As for `neardup.passages`, as is ``threads``.

    Examples:
        >>> texts = ["one two three four", "zero one two three four"]
        >>> CopiedShare(words=3).fit_transform(texts).tolist()
        [[0.0], [0.8]]
    """

    def __init__(
        self, *, words: int = 25, memory: int | str | None = None, threads: int | None = None
    ) -> None:
        self.words = words
        self.memory = memory
        self.threads = threads

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Keep the texts that later ones are compared with.

        Args:
            X: The texts; a list, an array, or a Series. A missing one is empty.
            y: Not used.

        Raises:
            SpecError: The texts are not strings.
        """
        self.texts_ = _texts(X)
        return self

    def fit_transform(self, X: Iterable[str], y: object = None) -> np.ndarray:
        """Return float64[texts, 1]: the share of each, compared with those before it."""
        self.fit(X, y)
        return self._shares(self.texts_, None)

    def transform(self, X: Iterable[str]) -> np.ndarray:
        """Return float64[texts, 1]: the share of each, compared with those that were fitted too."""
        check_is_fitted(self, "texts_")
        return self._shares(_texts(X), self.texts_)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Return the name of the column."""
        return np.array(["copied_share"], object)

    def _shares(self, texts: object, old: object) -> np.ndarray:
        run = passages(texts, against=old, progress=False, **self.get_params())
        found: np.ndarray = run.documents.column("copied_share").to_numpy()
        return found.reshape(-1, 1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = False, True
        tags.input_tags.string = True
        return tags


def _texts(X: Iterable[str]) -> object:
    """Return texts that can be read; SpecError unless they are a sequence."""
    if isinstance(X, str | bytes) or getattr(X, "ndim", 1) != 1:
        raise SpecError("`X` is no sequence of texts", "give a list, an array or a Series")
    return X if hasattr(X, "to_frame") else list(X)
