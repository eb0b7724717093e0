"""Candidates to scores: similarities, the weights learnt from these, and the decision."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from neardup.cluster.edges import batches
from neardup.linkage.blocks.large_groups import Copies, without
from neardup.linkage.blocks.record_blocks import Candidates, possible_pairs
from neardup.linkage.decision.labels import Labels, fitted
from neardup.linkage.decision.rivals import BOTH, best_pairs, learn_two, rivals, towards
from neardup.linkage.decision.threshold import Threshold, find_valley, index_threshold
from neardup.linkage.decision.weights.agreement_classes import EQUAL
from neardup.linkage.decision.weights.evidence import Learnt, plain_evidence, sum_of
from neardup.linkage.decision.weights.frequencies import ValueCounts, value_counts
from neardup.linkage.decision.weights.learning import confirmed, learn, without_matches
from neardup.linkage.decision.weights.model import (
    KNOWN,
    STEEP,
    Agreements,
    Model,
    logit,
    probability,
    view_log_odds,
)
from neardup.linkage.decision.weights.random_pairs import random_pairs
from neardup.linkage.decision.weights.seeding import Seeds, best_seeds, seeds_above, without_groups
from neardup.linkage.features import Features
from neardup.linkage.field_similarity import Compared, Pairs, compare, with_words
from neardup.linkage.fields import LinkSpec
from neardup.linkage.record_files import Records
from neardup.linkage.swapped_fields import find_swapped
from neardup.threads import Pool

#: No valley is looked for below, where candidates are incomplete.
_LOWEST = 0.3
#: Matches that seeds have to show; of two files, the share of them that the views confirm.
_FEWEST, _CONFIRMED = 3.0, 0.05
#: Similarity that no pair has.
_NEVER = 2.0
_NO_MATCH = (
    "chance explains what similar pairs share, which is no evidence of any match: all of it "
    "together does not make three matches, so there is none"
)


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
        labels: Pairs that are known, if any.
        groups: Numbers of the fields in which members of groups differ.
    """

    compared: Compared
    agreements: Agreements
    values: ValueCounts
    model: Model
    threshold: Threshold
    log_odds: np.ndarray
    doubts: tuple[str, ...] = ()
    labels: Labels | None = None
    groups: tuple[int, ...] = ()

    def margin(self, decide_at: float) -> np.ndarray:
        """Return float64[candidates]: log odds above those of a score; infinite if known."""
        return margin(self.log_odds, decide_at)

    def answered(self, spec: LinkSpec, found: Candidates, labels: Labels | None) -> MatchDecision:
        """Return the same with the answers that are known, whatever the records share.

        Records that differ where they must agree are none, unless they are marked.
        """
        answers = np.zeros(len(found.a), np.int8)
        answers[differ(spec, self.compared)] = -1
        if labels is not None:
            rows = labels.rows(found)
            there = rows >= 0
            answers[rows[there]] = np.where(labels.match[there], 1, -1)
        if answers.any():
            log_odds = np.where(answers == 0, self.log_odds, answers * KNOWN)
            return replace(self, log_odds=log_odds, labels=labels)
        return replace(self, labels=labels)


def margin(log_odds: np.ndarray, decide_at: float) -> np.ndarray:
    """Return float64[]: log odds above those of a score; infinite if the answer is known."""
    known = np.abs(log_odds) >= KNOWN
    return np.asarray(np.where(known, np.copysign(np.inf, log_odds), log_odds - logit(decide_at)))


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


@dataclass
class _Learning:
    """Match weights that candidates teach.

    Attributes:
        model: Match weights.
        of_views: float64[candidates] by each view; None if they are not known.
        threshold: The valley, or where nearly all seeds are above.
        doubts: Reasons why similar pairs may be no matches, a sentence each.
        groups: Numbers of the fields in which members of groups differ.
    """

    model: Model
    threshold: Threshold
    doubts: tuple[str, ...] = ()
    of_views: tuple[np.ndarray, ...] | None = None
    groups: tuple[int, ...] = ()


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
        found: The candidates, with all pairs of the labels.
        labels: Pairs that are known, if any.
        pool: Threads.
    """
    features = features._replace(swapped=find_swapped(features, spec, found.a, found.b, pool))
    compared = compare(features, spec, found.a, found.b, pool)
    with pool.stage("learn weights"):
        if records.across and len(spec.fields) > 1:
            pairs = Pairs(found.a, found.b, pool)
            compared = with_words(compared, records, features, spec, pairs)
        agreements = agreements_of(found, compared, records.apart, pool)
        values = counts_of(features, found.copies, pool)
        learning = _learn(records, features, spec, found, (compared, agreements, values), pool)
        model = learning.model._replace(swapped=features.swapped)
        of_views = learning.of_views
        if of_views is None:
            of_views = tuple(view_log_odds(view, agreements, values, pool) for view in model.views)
        log_odds = model.together(of_views, agreements, pool)
        doubts = learning.doubts
        if labels is not None:
            doubts += contradicted(log_odds, found, labels, spec)
            rows = labels.rows(found)
            classes = compared.classes[rows]
            model = fitted(model, log_odds[rows], classes, labels.match)
            if model.by_labels is not None:
                log_odds = model.together(of_views, agreements, pool)
        decision = MatchDecision(
            compared, agreements, values, model, learning.threshold, log_odds, doubts
        )
        decision = replace(decision, groups=learning.groups)
        return decision.answered(spec, found, labels)


def contradicted(
    log_odds: np.ndarray, found: Candidates, labels: Labels | None, spec: LinkSpec
) -> tuple[str, ...]:
    """Return a note on the marks that evidence contradicts, if there are any.

    Args:
        log_odds: float64[candidates]: by evidence only.
        found: The candidates, with all pairs of the labels.
        labels: Pairs that are known, if any.
        spec: Settings of the call.
    """
    if labels is None:
        return ()
    rows = labels.rows(found)
    wrong = int(((log_odds[rows] >= logit(spec.decide_at)) != labels.match).sum())
    if not wrong:
        return ()
    return (
        f"the evidence contradicts {wrong:,} of the {len(rows):,} marked pairs, which have their "
        "answers nevertheless",
    )


def differ(spec: LinkSpec, compared: Compared) -> np.ndarray:
    """Return bool[pairs]: which have two values that differ, in a field that must agree."""
    found = np.zeros(len(compared.similarity), np.bool_)
    for k, least in spec.agreeing():
        classes, similarity = compared.classes[:, k], compared.by_field[:, k]
        found |= (classes >= 0) & (classes != EQUAL if least >= 1 else similarity < least)
    return found


def _learn(
    records: Records,
    features: Features,
    spec: LinkSpec,
    found: Candidates,
    pairs: tuple[Compared, Agreements, ValueCounts],
    pool: Pool,
) -> _Learning:
    """Learn match weights; where there is nothing to learn from, the similarity decides."""
    compared, agreements, values = pairs
    lowest = min(_LOWEST, spec.block_at or _LOWEST)
    threshold = find_valley(compared.similarity, lowest, pool.empty)
    one_field = len(spec.fields) == 1
    if one_field and spec.fields[0].compare == "numeric":
        said = "one numeric field is compared: that two numbers are nearly equal is no evidence"
        return _Learning(Model((), _NEVER), threshold, (said,))
    if threshold.kind == "few" or (one_field and threshold.kind != "none"):
        return _of_scalar(threshold, one_field)
    counted = without(features, found.copies)
    x, y = random_pairs(counted)
    other = compare(features, spec, x, y, pool)
    if records.across and not one_field:
        other = with_words(other, records, features, spec, Pairs(x, y, pool))
    drawn = Agreements(x, y, other.classes, other.similarity)
    fields = agreements._replace(classes=compared.classes)
    single = ~found.copies.are
    possible = possible_pairs(
        int(single.sum()), None if records.apart is None else records.apart[single]
    )
    known = Learnt(counted, values, fields, drawn, possible, pool)
    if records.across and not one_field:
        return _of_files(known, agreements, threshold)
    if threshold.kind == "none":
        best = rivals(found.a, found.b, compared.similarity, len(found.copies.of), ties=True)
        seeds = best_seeds(known, best == BOTH)
        threshold = replace(threshold, value=seeds.foot)
        if one_field:
            return _of_scalar(threshold, one_field)
    else:
        bottom = threshold.value if threshold.bottom is None else threshold.bottom
        seeds = seeds_above(known, bottom, threshold.value)
        if seeds.total < _FEWEST:
            others = seeds_above(known, bottom, threshold.value, by_similar=True)
            seeds = seeds if without_groups(others, known).groups else others
    return _of_one_file(known, seeds, threshold, spec)


def _of_scalar(threshold: Threshold, one_field: bool) -> _Learning:
    """Return a model in which the similarity decides, and what to think of it."""
    said = (
        "one field is compared, and its similarity decides: records that share a value by chance "
        "are pairs, too"
    )
    return _Learning(Model((), threshold.value), threshold, (said,) if one_field else ())


def _of_one_file(known: Learnt, seeds: Seeds, threshold: Threshold, spec: LinkSpec) -> _Learning:
    """Learn from seeds that are no members of groups, unless they do not show any match."""
    doubts: tuple[str, ...] = ()
    if seeds.apart:  # without a valley seeds are best pairs, and mostly differ
        seeds = without_groups(seeds, known)
    if seeds.groups:
        names = ", ".join(spec.names[k] for k in seeds.groups)
        doubts = (
            f"most of the similar pairs have nothing in common in {names}, and are taken for "
            "members of groups, such as households; leave out a field in which matches may differ",
        )
    learnt = learn(known, seeds)
    if seeds.total < _FEWEST:
        return _Learning(without_matches(learnt.model), threshold, (*doubts, _NO_MATCH))
    return _Learning(learnt.model, threshold, doubts, learnt.of_views, seeds.groups)


def _of_files(known: Learnt, agreements: Agreements, threshold: Threshold) -> _Learning:
    """Learn from each other's best, unless such pairs are due to chance.

    In files without a match there are pairs that are each other's best, too. Neither plain evidence
    nor the views of one file see a match in them, then.
    """
    best, plain = best_pairs(agreements, threshold.bottom, known.pool), plain_evidence(known)
    model = learn_two(agreements, known.values, best, plain.u, known.pool)
    log_odds = view_log_odds(plain, known.candidates, known.values, known.pool)
    if sum_of(known, lambda rows: probability(log_odds[rows])) < _FEWEST:
        drawn = probability(STEEP * (known.drawn.similarity - best.begin))
        seeds = Seeds(best.seeds, drawn, best.begin, apart=False)
        views = learn(known, seeds)
        if confirmed(views, known, seeds) < _CONFIRMED:
            return _Learning(without_matches(model), threshold, (_NO_MATCH,))
    return _Learning(model, threshold)


def counts_of(features: Features, copies: Copies, pool: Pool) -> ValueCounts:
    """Count the records by value, in which copies do not count."""
    values = value_counts(without(features, copies), pool)
    are = np.flatnonzero(copies.are)
    values.counts[are] = values.counts[copies.of[are]]
    return values


def agreements_of(
    found: Candidates, compared: Compared, apart: np.ndarray | None, pool: Pool
) -> Agreements:
    """Return the agreements of candidates; across files with whether they are each other's best."""
    classes = compared.classes
    if apart is not None and classes.shape[1] > 1:
        copies = found.copies.are
        a, b, records = towards(found.a, found.b, apart)
        best = rivals(a, b, compared.similarity, records)
        with_best = pool.empty((len(best), classes.shape[1] + 1), np.int8)
        with_best[:, :-1], with_best[:, -1] = classes, best
        if found.copies.number:  # others are as good, and not compared
            for rows in batches(len(best)):
                with_best[rows, -1] *= ~(copies[found.a[rows]] | copies[found.b[rows]])
        classes = with_best
    return Agreements(found.a, found.b, classes, compared.similarity)
