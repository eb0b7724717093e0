"""The record of a run in a few lines."""

from __future__ import annotations

from typing import Any

__all__ = ["render"]


def render(record: dict[str, Any], out: str, format: str = "parquet") -> str:
    """Return what a person wants to know first.

    Args:
        record: What ``run.json`` holds.
        out: Folder of the outputs.
        format: Of the clean corpus.
    """
    counts, spec, bands = record["counts"], record["spec"], record["bands"]
    quality = record["quality"]
    total = counts["documents"]
    shingle = spec["shingle"]
    lines = [
        f"documents   {total:>12,}   {counts['empty']:,} empty, {counts['short']:,} short",
        f"kept        {counts['kept']:>12,}   {_share(counts['kept'], total)}",
        f"removed     {counts['removed']:>12,}   {_share(counts['removed'], total)}, of them "
        f"{counts['exact_duplicates']:,} exact duplicates "
        f"({counts['equal_bytes']:,} byte for byte)",
        f"clusters    {counts['clusters_of_two_or_more']:>12,}   of two and more; the largest has "
        f"{counts['largest_cluster']:,}",
        f"pairs       {quality['pairs_within']:>12,}   within clusters, "
        f"{'' if quality['exact'] else 'about '}{quality['same_low']:,} of them below "
        f"{spec['tree_threshold']}; {quality['different_high']:,} edges found between clusters",
        f"edges       {counts['edges']:>12,}   {counts['verified']:,} pairs were compared exactly",
    ]
    if counts["encoding_replaced"]:
        lines.append(f"replaced    {counts['encoding_replaced']:>12,}   texts that were not UTF-8")
    if counts["not_compared"]:
        lines.append(
            f"not compared{counts['not_compared']:>12,}   pairs that met in giant buckets, but by "
            "their clusters' roots only (--pairs all compares them)"
        )
    if counts["second_left_out"]:
        lines.append(
            f"left out    {counts['second_left_out']:>12,}   pairs of clusters the second "
            "round had no budget for"
        )
    if counts["kept_unsure"]:
        lines.append(
            f"kept unsure {counts['kept_unsure']:>12,}   not compared with all kept ones of their "
            "cluster"
        )
    how = f"{shingle['unit']}:{shingle['n']}" + (
        f", {shingle['stem']} stems" * bool(shingle["stem"])
    )
    lines.append(f"compared    by {how}; similarity from {spec['edge_threshold']}")
    if bands is None:
        lines.append("recall      1, by an exact join of all pairs")
    else:
        lines.append(
            f"recall      {bands['predicted_recall']:.4f} predicted at the threshold, by "
            f"{bands['num_bands']} bands of {bands['rows']} rows"
        )
    seconds = sum(record["seconds"].values())
    size = record["bytes"].get("read and sign", 0)
    rate = f", {size / seconds / 1e6:,.0f} MB/s" if size and seconds else ""
    lines.append(
        f"took        {seconds:.1f} s{rate}; peak memory {record['peak_memory'] / 1e6:,.0f} MB"
    )
    lines.append(f"written     {out}: clusters.parquet, edges.parquet, clean.{format}, run.json")
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""
