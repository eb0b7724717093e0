"""Candidates to probabilities: similarities, the weights learnt from these, and the decision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.cluster.edges import batches
from neardup.linkage.blocks.large_groups import Copies, without
from neardup.linkage.blocks.record_blocks import Candidates, possible_pairs
from neardup.linkage.decision.labels import Labels, Marked, calibrated, learn_m, marked
from neardup.linkage.decision.rivals import BOTH, best_pairs, learn_two, rivals
from neardup.linkage.decision.threshold import Threshold, find_valley, index_threshold
from neardup.linkage.decision.weights.agreement_classes import EQUAL, exact
from neardup.linkage.decision.weights.frequencies import ValueCounts, value_counts
from neardup.linkage.decision.weights.learning import (
    Learnt,
    Views,
    by_chance,
    learn,
    support,
    without_matches,
)
from neardup.linkage.decision.weights.model import (
    STEEP,
    Agreements,
    Model,
    logit,
    probability,
    view_log_odds,
)
from neardup.linkage.decision.weights.random_pairs import random_pairs
from neardup.linkage.decision.weights.seeding import (
    Random,
    Seeds,
    coincidences,
    seeds_at,
    without_groups,
)
from neardup.linkage.features import Features
from neardup.linkage.field_similarity import Compared, Pairs, compare, with_words
from neardup.linkage.fields import LinkSpec
from neardup.linkage.record_files import Records
from neardup.linkage.swapped_fields import find_swapped
from neardup.threads import Pool

#: No valley is looked for below, where candidates are incomplete.
_LOWEST = 0.3
#: Share of the seeds that both views confirm, and share of the matches of one view that the other
#: sees, below which seeds are coincidences.
_CONFIRMED, _AGREED = 0.05, 0.8
#: Kinds of thresholds of histograms with one mode.
_NO_VALLEY = ("shoulder", "default")
#: Pairs that can't be decided, and their share of the matches, from which on a note says so.
_FEW_PAIRS, _MANY = 10, 0.1
#: Similarity that no pair has.
_NEVER = 2.0


@dataclass(frozen=True)
class MatchDecision:
    """How likely candidates are matches, and why.

    Attributes:
        compared: Similarities of the candidates.
        agreements: Their classes of agreement.
        values: Records by value.
        model: Match weights.
        threshold: The valley of the similarities.
        log_odds: float64[candidates]: of a match.
        doubts: Reasons why similar pairs may be no matches, a sentence each.
        by_view: Candidates that each view takes for matches; none if that is not known.
    """

    compared: Compared
    agreements: Agreements
    values: ValueCounts
    model: Model
    threshold: Threshold
    log_odds: np.ndarray
    doubts: tuple[str, ...] = ()
    by_view: tuple[int, ...] = ()

    @property
    def probability(self) -> np.ndarray:
        """float64[candidates]: probability of a match; never NaN."""
        return probability(self.log_odds)

    def margin(self, decide_at: float) -> np.ndarray:
        """Return float64[candidates]: log odds above those of a probability."""
        return np.asarray(self.log_odds - logit(decide_at))


def by_known_weights(
    compared: Compared,
    agreements: Agreements,
    values: ValueCounts,
    model: Model,
    threshold: float,
    pool: Pool | None = None,
) -> MatchDecision:
    """Decide candidates by match weights that were learnt before, as those of an index.

    Args:
        compared: Similarities of the candidates.
        agreements: Their classes of agreement.
        values: Records by value.
        model: The match weights.
        threshold: The valley of the similarities from which these were learnt.
        pool: Threads.
    """
    valley = index_threshold(threshold, compared.similarity)
    log_odds = model.log_odds(agreements, values, pool)
    return MatchDecision(compared, agreements, values, model, valley, log_odds)


def decide_candidates(
    records: Records,
    features: Features,
    spec: LinkSpec,
    found: Candidates,
    labels: Labels | None,
    pool: Pool,
) -> MatchDecision:
    """Compare candidates, and learn from them how likely each is a match.

    Args:
        records: The records.
        features: Theirs.
        spec: Settings of the call.
        found: The candidates.
        labels: Pairs that are known, if any.
        pool: Threads.
    """
    features = features._replace(swapped=find_swapped(features, spec, found.a, found.b, pool))
    compared = compare(features, spec, found.a, found.b, pool)
    with pool.stage("learn weights"):
        lowest = min(_LOWEST, spec.block_at or _LOWEST)
        threshold = find_valley(compared.similarity, lowest, pool.empty)
        two_files = len(records.ids) > 1
        counted = without(features, found.copies)
        values = counts_of(features, found.copies, pool)
        if two_files and len(spec.fields) > 1:
            pairs = Pairs(found.a, found.b, pool)
            compared = with_words(compared, records, features, spec, pairs)
        agreements = agreements_of(found, compared, two_files, pool)
        doubts: tuple[str, ...] = ()
        of_views: tuple[np.ndarray, ...] | None = None
        if len(spec.fields) == 1 or threshold.kind == "few":
            model, doubts = _of_scalar(spec, threshold)
        else:
            x, y = random_pairs(counted)
            other = compare(features, spec, x, y, pool)
            if two_files:
                other = with_words(other, records, features, spec, Pairs(x, y, pool))
            drawn = Agreements(x, y, other.classes, other.similarity)
            fields = agreements._replace(classes=compared.classes)
            single = ~found.copies.are
            possible = possible_pairs(int(single.sum()), int(single[: records.first].sum()))
            known = Learnt(counted, values, fields, drawn, possible, pool)
            if two_files:
                model = _of_two_files(known, agreements, threshold)
            else:
                seeds = _seeds(found, agreements, threshold, pool)
                if labels is None:
                    (model, of_views), doubts = _unlabelled(known, seeds, threshold, spec)
                else:
                    model, of_views = _labelled(known, seeds, marked(labels, found))
        model = model._replace(swapped=features.swapped)
        if of_views is None:
            of_views = tuple(view_log_odds(view, agreements, values, pool) for view in model.views)
        log_odds = model.together(of_views, agreements.similarity, pool)
        if labels is not None:
            known_pairs = marked(labels, found)
            model = calibrated(model, log_odds, known_pairs)
            model = model._replace(by_labels=bool(len(known_pairs.rows)))
            log_odds = model.together(of_views, agreements.similarity, pool)
        by_view = tuple(int((of_view >= 0).sum()) for of_view in of_views)
        return MatchDecision(
            compared, agreements, values, model, threshold, log_odds, doubts, by_view
        )


def _of_scalar(spec: LinkSpec, threshold: Threshold) -> tuple[Model, tuple[str, ...]]:
    """Return a model in which the similarity decides, and what to think of it."""
    if len(spec.fields) > 1:
        return Model((), threshold.value), ()
    if spec.fields[0].compare == "numeric":
        said = "one numeric field is compared: that two numbers are nearly equal is no evidence"
        return Model((), _NEVER), (said,)
    said = (
        "one field is compared, and its similarity decides: records that share a value by chance "
        "are pairs, too"
    )
    return Model((), threshold.value), (said,)


def _unlabelled(
    known: Learnt, similar: Seeds, threshold: Threshold, spec: LinkSpec
) -> tuple[tuple[Model, tuple[np.ndarray, ...] | None], tuple[str, ...]]:
    """Learn from seeds that are no members of groups, unless there are no matches.

    Args:
        known: Pairs that weights are learnt from.
        similar: Seeds by similarity.
        threshold: The valley.
        spec: Settings of the call.

    Returns:
        Match weights with the log odds by each view, if these are known; and doubts.
    """
    seeds, matches = similar, known.tally(similar.weights)
    if threshold.kind not in _NO_VALLEY:  # where seeds are best pairs, and mostly differ
        random = Random(known.drawn, known.values)
        seeds = without_groups(similar, matches, known.candidates, random, known.pool)
    doubts: tuple[str, ...] = ()
    if seeds.groups:
        names = ", ".join(spec.names[k] for k in seeds.groups)
        doubts = (
            f"most of the similar pairs have nothing in common in {names}, and are taken for "
            "members of groups, such as households; leave out a field in which matches may differ",
        )
    if seeds.groups:
        matches = known.tally(seeds.weights)
    learnt = learn(known, seeds, matches)
    confirmed, agreed = support(learnt, known, seeds)
    unsure = confirmed < _CONFIRMED and agreed < _AGREED
    if by_chance(known, seeds, matches):
        said = "chance explains what similar pairs share: they are no evidence of any match"
        return (without_matches(learnt.model), None), (*doubts, said)
    of_groups = seeds.groups and _by_groups(seeds, known, learnt.model)
    if of_groups or (unsure and threshold.kind in _NO_VALLEY):
        model = without_matches(learnt.model)
        return (model, None), doubts + _undecided(seeds, known, model, spec)
    return learnt, doubts + _undecided(seeds, known, learnt.model, spec)


def _undecided(seeds: Seeds, known: Learnt, model: Model, spec: LinkSpec) -> tuple[str, ...]:
    """Return a note on similar pairs that agree in what identifies, and are no matches."""
    if not seeds.groups:
        return ()
    pairs = known.candidates
    log_odds, count = model.log_odds(pairs, known.values, known.pool), 0
    for rows in batches(len(log_odds)):
        agree = (pairs.classes[rows, list(seeds.groups)] == EQUAL).all(axis=1)
        similar = (log_odds[rows] < 0) & (pairs.similarity[rows] >= seeds.middle)
        count += int((agree & similar).sum())
    if count < max(_FEW_PAIRS, _MANY * int((log_odds >= 0).sum())):
        return ()
    names = ", ".join(spec.names[k] for k in seeds.groups)
    return (
        f"{count:,} similar pairs agree in {names} and can't be decided by these fields: members "
        "of large groups agree in it by chance as often; add a field in which they differ, such as "
        "a date of birth, or mark some pairs on the page of the report and give them as `labels`",
    )


def _by_groups(seeds: Seeds, known: Learnt, model: Model) -> bool:
    """Return whether most of the pairs that were found are members of groups nevertheless."""
    found = int((model.log_odds(known.candidates, known.values, known.pool) >= 0).sum())
    by_chance = coincidences(seeds, model, known.candidates, Random(known.drawn, known.values))
    return by_chance > found / 2


def _labelled(known: Learnt, seeds: Seeds, labels: Marked) -> Views:
    seeds = seeds._replace(weights=labels.put(seeds.weights))
    matches = known.tally(seeds.weights)
    return learn(known, seeds, matches, learn_m(labels, known.candidates.classes, matches.shares()))


def _of_two_files(known: Learnt, agreements: Agreements, threshold: Threshold) -> Model:
    """Learn from each other's best, unless such pairs are due to chance.

    In files without a match there are pairs that are each other's best, too. Whether their fields
    agree more often than those of random pairs shows whether there are matches at all.
    """
    best = best_pairs(agreements, threshold.bottom, known.pool)
    model = learn_two(agreements, known.values, best, known.pool)
    seeds = Seeds(best.seeds, best.begin, best.begin, apart=False)
    plain = learn(known, seeds, known.tally(seeds.weights))
    confirmed, agreed = support(plain, known, seeds)
    if confirmed >= _CONFIRMED:
        return model
    sure = threshold.kind == "valley" and agreed >= _AGREED
    return plain.model if sure else without_matches(plain.model)


def counts_of(features: Features, copies: Copies, pool: Pool) -> ValueCounts:
    """Count the records by value, in which copies do not count."""
    values = value_counts(without(features, copies), pool)
    are = np.flatnonzero(copies.are)
    values.counts[are] = values.counts[copies.of[are]]
    return values


def agreements_of(found: Candidates, compared: Compared, two_files: bool, pool: Pool) -> Agreements:
    """Return the agreements of candidates; of two files with whether they are each other's best."""
    classes = compared.classes
    if two_files and classes.shape[1] > 1:
        copies = found.copies.are
        best = rivals(found.a, found.b, compared.similarity, len(copies))
        with_best = pool.empty((len(best), classes.shape[1] + 1), np.int8)
        with_best[:, :-1], with_best[:, -1] = classes, best
        if found.copies.number:  # others are as good, and not compared
            for rows in batches(len(best)):
                with_best[rows, -1] *= ~(copies[found.a[rows]] | copies[found.b[rows]])
        classes = with_best
    return Agreements(found.a, found.b, classes, compared.similarity)


def _seeds(found: Candidates, agreements: Agreements, threshold: Threshold, pool: Pool) -> Seeds:
    """Return the seeds: by the valley, or else the pairs that are each other's best."""
    similarity = agreements.similarity
    if threshold.bottom is not None:
        return seeds_at(similarity, threshold.bottom, threshold.value, pool)
    if threshold.kind == "matches":
        return seeds_at(similarity, threshold.value, threshold.value, pool)
    is_best = rivals(found.a, found.b, similarity, len(found.copies.of)) == BOTH
    middle = float(np.median(similarity[is_best])) if is_best.any() else 1.0

    def weights(low: int, high: int) -> np.ndarray:
        similar = probability(STEEP * (similarity[low:high] - middle))
        return exact(is_best[low:high] * similar)

    return Seeds(pool.filled(weights, len(similarity)), middle, threshold.value, apart=False)
