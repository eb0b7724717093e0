"""Candidates to probabilities: similarities, the weights learnt from these, and the decision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.records.blocks.record_blocks import Candidates
from neardup.records.decision.agreement_classes import exact
from neardup.records.decision.frequencies import ValueCounts, value_counts
from neardup.records.decision.labels import Labels, Marked, calibrated, learn_m, marked
from neardup.records.decision.learning import (
    Learnt,
    Seeds,
    learn,
    seeds_at,
    shares_of_matches,
    support,
    without_matches,
)
from neardup.records.decision.model import STEEP, Agreements, Model, logit, probability
from neardup.records.decision.random_pairs import random_pairs
from neardup.records.decision.rivals import BOTH, best_pairs, learn_two, rivals
from neardup.records.decision.threshold import Threshold, find_valley
from neardup.records.features import Features
from neardup.records.field_similarity import Compared, Pairs, compare, with_words
from neardup.records.fields import LinkSpec
from neardup.records.record_files import Records
from neardup.threads import Pool

#: No valley is looked for below, where candidates are incomplete.
_LOWEST = 0.3
#: Share of the seeds that both views confirm, and share of the matches of one view that the other
#: sees, below which seeds are coincidences.
_CONFIRMED, _AGREED = 0.05, 0.8


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
        spec: Settings of the call.
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
    else:
        x, y = random_pairs(features)
        other = compare(features, spec, x, y, pool)
        if two_files:
            other = with_words(other, records, features, spec, Pairs(x, y, pool))
        drawn = Agreements(x, other.classes, other.similarity)
        fields = agreements._replace(classes=compared.classes)
        known = Learnt(features, values, fields, drawn, found.possible)
        if two_files:
            model = _of_two_files(known, agreements, threshold)
        else:
            seeds = _seeds(found, agreements, threshold, len(records))
            model = _of_one_file(known, seeds, None if labels is None else marked(labels, found))
            if threshold.kind in ("shoulder", "default") and labels is None:
                confirmed, agreed = support(model, known, seeds)
                if confirmed < _CONFIRMED and agreed < _AGREED:
                    model = without_matches(model)
    log_odds = model.log_odds(agreements, values)
    if labels is not None:
        model = calibrated(model, log_odds, marked(labels, found))
        log_odds = model.log_odds(agreements, values)
    return Decision(compared, agreements, values, model, threshold, log_odds)


def _of_one_file(known: Learnt, seeds: Seeds, labels: Marked | None) -> Model:
    classes = known.candidates.classes
    if labels is not None:
        seeds = seeds._replace(weights=labels.put(seeds.weights))
    m = shares_of_matches(classes, seeds.weights)
    return learn(known, seeds, learn_m(labels, classes, m))


def _of_two_files(known: Learnt, agreements: Agreements, threshold: Threshold) -> Model:
    """Learn from each other's best, unless such pairs are due to chance.

    In files without a match there are pairs that are each other's best, too. Whether their fields
    agree more often than those of random pairs shows whether there are matches at all.
    """
    best = best_pairs(agreements, threshold.bottom)
    model = learn_two(agreements, known.values, best)
    seeds = Seeds(best.seeds, best.begin, best.begin)
    plain = learn(known, seeds, shares_of_matches(known.candidates.classes, seeds.weights))
    confirmed, agreed = support(plain, known, seeds)
    if confirmed >= _CONFIRMED:
        return model
    sure = threshold.kind == "valley" and agreed >= _AGREED
    return plain if sure else without_matches(plain)


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
    return Seeds(weights, middle, threshold.value)
