"""Pairs of records: similarities of their values, and what these count for a match."""

import math

import numpy as np

from neardup.kernels.compiling import kernel
from neardup.kernels.jaccard import jaccard

#: How the values of a field are compared: as sets, as equal or not, or not here.
SETS, EXACT, NOT_HERE = 0, 1, 2


@kernel
def compare_values(sets, hashes, kinds, a, b, first, last, out):
    """Compare the values of pairs of records, field by field.

    Args:
        sets: `Sets`; that of field k of record r is number ``r * fields + k``.
        hashes: uint64[records, fields]: equal for equal values; 0 for a missing one.
        kinds: int64[fields]: how they are compared.
        a: int32[pairs]: the one record of each.
        b: int32[pairs]: the other.
        first: int: first pair.
        last: int: pair after the last.
        out: float32[pairs, fields]: gets the similarities; NaN where a value is missing.
    """
    fields = hashes.shape[1]
    for i in range(first, last):
        x, y = np.int64(a[i]), np.int64(b[i])
        for k in range(fields):
            out[i, k] = np.nan
            if hashes[x, k] == 0 or hashes[y, k] == 0 or kinds[k] == NOT_HERE:
                continue
            if hashes[x, k] == hashes[y, k]:
                out[i, k] = 1.0
            elif kinds[k] == EXACT:
                out[i, k] = 0.0
            else:
                out[i, k] = jaccard(sets, x * fields + k, y * fields + k, 0.0)


@kernel
def compare_swapped(sets, hashes, one, two, least, factor, a, b, first, last, out, swapped):
    """Compare two fields of pairs crosswise, and keep the more similar ones.

    Args:
        sets: As for `compare_values`.
        hashes: As for `compare_values`.
        one: int: a field.
        two: int: the other.
        least: float: mean of the crosswise similarities from which on values are swapped.
        factor: float: their similarities are multiplied with it.
        a: int32[pairs]: the one record of each.
        b: int32[pairs]: the other.
        first: int: first pair.
        last: int: pair after the last.
        out: float32[pairs, fields]: similarities, in which those of the two fields are replaced.
        swapped: bool[pairs, fields]: gets True for these.
    """
    fields = hashes.shape[1]
    for i in range(first, last):
        x, y = np.int64(a[i]), np.int64(b[i])
        straight, there = np.float64(0.0), np.int64(0)
        for k in (one, two):
            if not np.isnan(out[i, k]):
                straight += out[i, k]
                there += 1
        straight = straight / there if there else 0.0
        if straight >= factor:
            continue
        across, found = np.empty(2, np.float64), np.int64(0)
        # The sum is at most this; as soon as that is too low, nothing more is compared.
        total = np.float64(0.0)
        for turn in range(2):
            p, q = (one, two) if turn == 0 else (two, one)
            across[turn] = np.nan
            if hashes[x, p] != 0 and hashes[y, q] != 0:
                across[turn] = 1.0
                total += 1.0
                found += 1
        for turn in range(2):
            p, q = (one, two) if turn == 0 else (two, one)
            if not np.isnan(across[turn]) and hashes[x, p] != hashes[y, q]:
                if total / found < least or factor * total / found <= straight:
                    break
                across[turn] = jaccard(sets, x * fields + p, y * fields + q, 0.0)
                total = across[0] + across[1] if found == 2 else across[turn]
        if found and total / found >= least and factor * total / found > straight:
            # In either order of the records: the more similar one first, and a missing one last.
            if np.isnan(across[0]) or across[1] > across[0]:
                across[0], across[1] = across[1], across[0]
            out[i, one], out[i, two] = factor * across[0], factor * across[1]
            swapped[i, one] = swapped[i, two] = True


@kernel
def count_crosswise(hashes, one, two, a, b, first, last, out):
    """Count the pairs whose two values in two fields are equal crosswise, and differ.

    Args:
        hashes: As for `compare_values`.
        one: int64[k]: a field.
        two: int64[k]: the other.
        a: int32[pairs]: the one record of each.
        b: int32[pairs]: the other.
        first: int: first pair.
        last: int: pair after the last.
        out: int64[k]: the counts, to which pairs are added.
    """
    for i in range(first, last):
        x, y = np.int64(a[i]), np.int64(b[i])
        for k in range(one.shape[0]):
            p, q = hashes[x, one[k]], hashes[x, two[k]]
            if p == hashes[y, two[k]] and q == hashes[y, one[k]]:
                out[k] += np.int64(p != q and p != 0 and q != 0)


@kernel
def classify(by_field, hashes, edges, equal, a, b, first, last, out):
    """Find the classes of agreement of pairs.

    Args:
        by_field: float32[pairs, fields]: similarities; NaN where a value is missing.
        hashes: As for `compare_values`.
        edges: float32[]: where classes begin, ascending; those below the first are class 0.
        equal: int: the class of equal values.
        a: int32[pairs]: the one record of each.
        b: int32[pairs]: the other.
        first: int: first pair.
        last: int: pair after the last.
        out: int8[pairs, fields]: gets the classes; -1 where a value is missing.
    """
    for i in range(first, last):
        x, y = np.int64(a[i]), np.int64(b[i])
        for k in range(by_field.shape[1]):
            similarity, of = by_field[i, k], np.int64(0)
            if np.isnan(similarity):
                of = np.int64(-1)
            elif hashes[x, k] == hashes[y, k]:
                of = np.int64(equal)
            else:
                for edge in edges:
                    of += np.int64(similarity >= edge)
            out[i, k] = of


@kernel
def tally_classes(classes, weights, coarse, single, double):
    """Add up the weights of pairs by the class of each field, and by those of each two fields.

    Args:
        classes: int8[pairs, fields]: agreements; -1 where a value is missing.
        weights: float64[pairs]: what each pair counts.
        coarse: int8[classes + 1]: levels of the classes; -1 for a missing one.
        single: float64[fields, classes + 1]: is added to; the last one for -1.
        double: float64[fields, fields, levels + 1, levels + 1]: the same of the levels of two
            fields, the first of which is before the second.
    """
    fields = classes.shape[1]
    levels = np.empty(fields, np.int64)
    for i in range(classes.shape[0]):
        weight = weights[i]
        if weight == 0.0:
            continue
        for k in range(fields):
            single[k, classes[i, k]] += weight
            levels[k] = coarse[classes[i, k]]
            for other in range(k):
                double[other, k, levels[other], levels[k]] += weight


@kernel
def add_weights(classes, weights, ratios, coarse, one, two, out):
    """Add up match weights, and take off what dependent fields count twice.

    Args:
        classes: int8[pairs, fields or more]: agreements; -1 where a value is missing.
        weights: float64[fields, classes + 1]: what each counts; the last one for -1.
        ratios: float64[edges, levels + 1, levels + 1]: is taken off for two fields.
        coarse: int8[classes + 1]: levels of the classes; -1 for a missing one.
        one: int64[edges]: the first field of each.
        two: int64[edges]: the second.
        out: float64[pairs]: is changed.
    """
    for i in range(classes.shape[0]):
        total = out[i]
        for k in range(weights.shape[0]):
            total += weights[k, classes[i, k]]
        for edge in range(one.shape[0]):
            x, y = coarse[classes[i, one[edge]]], coarse[classes[i, two[edge]]]
            total -= ratios[edge, x, y]
        out[i] = total


@kernel
def add_rarity(classes, a, b, counts, scale, typical, out):
    """Add how much rarer the values of pairs are than those of matches, by their logarithms.

    Args:
        classes: int8[pairs, fields]: agreements.
        a: int32[pairs]: the one record of each.
        b: int32[pairs]: the other.
        counts: int32[records, counted fields]: records that have the value.
        scale: float64[counted fields]: the logarithm of the records that may have it.
        typical: float64[counted fields, classes + 1]: that of matches; NaN where it does not count.
        out: float64[pairs]: is changed.
    """
    for i in range(classes.shape[0]):
        total = out[i]
        for k in range(counts.shape[1]):
            usual = typical[k, classes[i, k]]
            if not np.isnan(usual):
                x, y = max(counts[a[i], k] - 1.0, 0.5), max(counts[b[i], k] - 1.0, 0.5)
                total += math.log((1.0 / x + 1.0 / y) / 2.0) + scale[k] - usual
        out[i] = total


@kernel
def weigh_sets(sets, weights, first, last, out):
    """Add up the weights of the members of sets.

    Args:
        sets: `Sets`.
        weights: float32[power of two]: weight of a value by its last bits.
        first: int: first set.
        last: int: set after the last.
        out: float64[sets]: gets the sums.
    """
    mask = np.uint64(weights.shape[0] - 1)
    for d in range(first, last):
        total = 0.0
        for i in range(sets.begin[d], sets.begin[d] + sets.size[d]):
            total += weights[sets.values[i] & mask]
        out[d] = total


@kernel
def weigh_shared(sets, weights, a, b, first, last, out):
    """Add up the weights of the members that pairs of sets share.

    Args:
        sets: `Sets`.
        weights: float32[power of two]: weight of a value by its last bits.
        a: int32[pairs]: the one set of each.
        b: int32[pairs]: the other.
        first: int: first pair.
        last: int: pair after the last.
        out: float64[pairs]: gets the sums.
    """
    values, mask, one = sets.values, np.uint64(weights.shape[0] - 1), np.uint64(1)
    for pair in range(first, last):
        i, j = np.uint64(sets.begin[a[pair]]), np.uint64(sets.begin[b[pair]])
        end_i, end_j = i + np.uint64(sets.size[a[pair]]), j + np.uint64(sets.size[b[pair]])
        shared = more = 0.0
        left = np.int64(min(end_i - i, end_j - j))
        while left > 1:
            # From both ends at the same time, as `neardup.kernels.jaccard.jaccard` does. Few
            # members are shared: the others need neither a weight nor a branch.
            for _ in range(left >> 1):
                u, v, s, t = values[i], values[j], values[end_i - one], values[end_j - one]
                if u == v:
                    shared += weights[u & mask]
                if s == t:
                    more += weights[s & mask]
                i += np.uint64(u <= v)
                j += np.uint64(v <= u)
                end_i -= np.uint64(s >= t)
                end_j -= np.uint64(t >= s)
            left = np.int64(min(end_i - i, end_j - j))
        while i < end_i and j < end_j:
            u, v = values[i], values[j]
            if u == v:
                shared += weights[u & mask]
            i += np.uint64(u <= v)
            j += np.uint64(v <= u)
        out[pair] = shared + more


@kernel
def keep_lowest(keys, a, b, begin, filled, heaps):
    """Keep the lowest keys of the pairs of each record.

    Args:
        keys: uint64[pairs]: keys of pairs.
        a: int32[pairs]: the one record of each.
        b: int32[pairs]: the other.
        begin: int64[records + 1]: where the keys of each record begin; some records keep none.
        filled: int64[records]: keys that each has so far.
        heaps: uint64[]: the keys; where those of a record begin is its highest one.
    """
    for i in range(keys.shape[0]):
        for record in (np.int64(a[i]), np.int64(b[i])):
            low, capacity = begin[record], begin[record + 1] - begin[record]
            if capacity == 0 or (filled[record] == capacity and keys[i] >= heaps[low]):
                continue
            if filled[record] < capacity:
                at = filled[record]
                filled[record] += 1
                while at > 0 and heaps[low + (at - 1) // 2] < keys[i]:
                    heaps[low + at] = heaps[low + (at - 1) // 2]
                    at = (at - 1) // 2
            else:
                at = np.int64(0)
                while 2 * at + 1 < capacity:
                    child = 2 * at + 1
                    if child + 1 < capacity and heaps[low + child + 1] > heaps[low + child]:
                        child += 1
                    if heaps[low + child] <= keys[i]:
                        break
                    heaps[low + at] = heaps[low + child]
                    at = child
            heaps[low + at] = keys[i]
