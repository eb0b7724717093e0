"""Candidates to probabilities: what is compared, what is learnt from it, and what it decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.records.blocks.record_blocks import Candidates
from neardup.records.decision.agreement import exact
from neardup.records.decision.frequencies import ValueCounts, value_counts
from neardup.records.decision.labels import Labels, calibrated, learn_m, marked
from neardup.records.decision.learning import (
    Learnt,
    Seeds,
    learn,
    seeds_at,
    shares_of_matches,
)
from neardup.records.decision.model import STEEP, Agreements, Model, logit, probability
from neardup.records.decision.random_pairs import random_pairs
from neardup.records.decision.rivals import BOTH, learn_two, rivals
from neardup.records.decision.threshold import Threshold, find_valley
from neardup.records.features import Features
from neardup.records.field_similarity import Compared, Pairs, compare, with_words
from neardup.records.fields import LinkSpec
from neardup.records.record_files import Records
from neardup.threads import Pool

#: No valley is looked for below, where candidates are incomplete.
_LOWEST = 0.3


@dataclass(frozen=True)
class Decision:
    """How likely candidates are matches, and why.

    Attributes:
        compared: Similarities of the candidates.
        agreements: Their classes of agreement.
        values: Records by value.
        model: Match weights.
        threshold: The valley of the similarities.
        log_odds: float64[candidates]: of a match.
    """

    compared: Compared
    agreements: Agreements
    values: ValueCounts
    model: Model
    threshold: Threshold
    log_odds: np.ndarray

    @property
    def probability(self) -> np.ndarray:
        """float64[candidates]: probability of a match; never NaN."""
        return probability(self.log_odds)

    def margin(self, decide_at: float) -> np.ndarray:
        """Return float64[candidates]: log odds above those of a probability."""
        return np.asarray(self.log_odds - logit(decide_at))


def decide_candidates(
    records: Records,
    features: Features,
    spec: LinkSpec,
    found: Candidates,
    labels: Labels | None,
    pool: Pool,
) -> Decision:
    """Compare candidates, and learn from them how likely each is a match.

    Args:
        records: The records.
        features: Theirs.
        spec: What is asked for.
        found: The candidates.
        labels: Pairs that are known, if any.
        pool: Threads.
    """
    compared = compare(features, spec, found.a, found.b, pool)
    lowest = min(_LOWEST, spec.block_at or _LOWEST)
    threshold = find_valley(compared.similarity, lowest)
    two_files = len(records.ids) > 1
    values = value_counts(features)
    if two_files and len(spec.fields) > 1:
        pairs = Pairs(found.a, found.b, pool)
        compared = with_words(compared, records, features, spec, pairs)
    agreements = agreements_of(found, compared, len(records), two_files)
    if len(spec.fields) == 1 or threshold.kind == "few":
        model = Model((), threshold.value)
    elif two_files:
        model = learn_two(agreements, values, threshold.bottom)
    else:
        x, y = random_pairs(features)
        other = compare(features, spec, x, y, pool)
        drawn = Agreements(x, other.classes, other.similarity)
        known = Learnt(features, values, agreements, found.b, drawn)
        seeds = _seeds(found, agreements, threshold, len(records))
        known_pairs = None if labels is None else marked(labels, found)
        if known_pairs is not None:
            seeds = seeds._replace(weights=known_pairs.put(seeds.weights))
        m = shares_of_matches(agreements.classes, seeds.weights)
        model = learn(known, seeds, learn_m(known_pairs, agreements.classes, m))
    log_odds = model.log_odds(agreements, values)
    if labels is not None:
        model = calibrated(model, log_odds, marked(labels, found))
        log_odds = model.log_odds(agreements, values)
    return Decision(compared, agreements, values, model, threshold, log_odds)


def agreements_of(
    found: Candidates, compared: Compared, records: int, two_files: bool
) -> Agreements:
    """Return the agreements of candidates; of two files with whether they are each other's best."""
    classes = compared.classes
    if two_files and classes.shape[1] > 1:
        best = rivals(found.a, found.b, compared.similarity, records)
        classes = np.column_stack([classes, best])
    return Agreements(found.a, classes, compared.similarity)


def _seeds(found: Candidates, agreements: Agreements, threshold: Threshold, records: int) -> Seeds:
    """Return the seeds: by the valley, or else the pairs that are each other's best."""
    similarity = agreements.similarity
    if threshold.bottom is not None:
        return seeds_at(similarity, threshold.bottom, threshold.value)
    if threshold.kind == "matches":
        return seeds_at(similarity, threshold.value, threshold.value)
    is_best = rivals(found.a, found.b, similarity, records) == BOTH
    middle = float(np.median(similarity[is_best])) if is_best.any() else 1.0
    weights = exact(is_best * probability(STEEP * (similarity - middle)))
    return Seeds(weights, middle, min(threshold.value, middle))
