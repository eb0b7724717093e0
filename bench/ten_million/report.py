"""Growth with the number of notes, targets, and tables of it all."""

from __future__ import annotations

import math
from typing import Any

from harness import table

Line = tuple[str, str, str, bool | None]  # what, target, measured, met
GROWING = {
    "seconds": "time",
    "anonymous_bytes": "anonymous memory",
    "run_bytes": "disk, run folder",
    "out_bytes": "disk, run folder and outputs",
}
WHOLE = 10_000_000


def slope(points: list[tuple[int, float]]) -> float | None:
    """Of the line through the logarithms, by least squares; 1 is growth in proportion."""
    logs = [(math.log(n), math.log(value)) for n, value in points if value > 0]
    if len(logs) < 2:
        return None
    x, y = (sum(column) / len(logs) for column in zip(*logs, strict=True))
    return sum((a - x) * (b - y) for a, b in logs) / sum((a - x) ** 2 for a, _ in logs)


def fit(scaling: list[dict[str, Any]]) -> dict[str, Any]:
    """How time, memory and disk grow; of all sizes, and from the last but one to the last."""
    found = [size for size in scaling if not size["failed"]]
    result: dict[str, Any] = {}
    for key in GROWING:
        points = [(size["documents"], size["median"][key]) for size in found]
        result[key] = {"slope": slope(points), "last_slope": slope(points[-2:])}
        if len(points) > 1:
            (few, little), (many, much) = points[-2:]
            result[key]["last_step"] = [few, many]
            result[key]["per_document_ratio"] = much / many / (little / few) if little else None
            result[key]["per_further_document"] = (much - little) / (many - few)
    return result


def targets(
    scaling: list[dict[str, Any]], growth: dict[str, Any], versus: list[dict[str, Any]]
) -> list[Line]:
    whole = next((s for s in scaling if s["documents"] == WHOLE and not s["failed"]), None)
    lines: list[Line] = []

    def add(what: str, target: str, value: float | None, form: str, met: bool | None) -> None:
        measured = "not measured" if value is None else form.format(value)
        lines.append((what, target, measured, met if value is not None else None))

    median = whole["median"] if whole else {}
    minutes = median["seconds"] / 60 if whole else None
    add("10,000,000 notes", "10 min", minutes, "{:.1f} min", minutes is not None and minutes <= 10)
    peak = median["anonymous_bytes"] / 1e9 if whole else None
    add("10,000,000 notes, RssAnon", "4 GB", peak, "{:.2f} GB", peak is not None and peak <= 4)
    time = growth["seconds"]
    few, many = time.get("last_step", (0, 0))
    ratio = time.get("per_document_ratio") if many else None
    proper = (few, many) == (WHOLE // 10, WHOLE)
    names = f"{many:,} over {few:,}" if many else "10,000,000 over 1,000,000"
    met = ratio is not None and ratio <= 1.3
    add(f"time per note, {names}", "1.3", ratio, "{:.2f}", met if proper else None)
    goals = {"store": 1.15, "overhead": 1.05}
    for found in versus:
        goal = goals.get(found["name"])
        first, second = found["sides"]
        what = f"{first} / {second}, {found['documents']:,}"
        target = "" if goal is None else f"{goal:.2f}"
        if found["failed"]:
            lines.append((what, target, found["failed"], None))
            continue
        low, high = min(found["ratios"]), max(found["ratios"])
        measured = f"{found['median_ratio']:.3f} ({low:.2f} to {high:.2f})"
        lines.append((what, target, measured, goal and found["median_ratio"] <= goal))
    return lines


def text(content: dict[str, Any]) -> str:
    parts = [f"Notes: {content['notes']['format']}; --memory {content['memory']}"]
    if content["disk"]["note"]:
        parts.append(f"Disk: {content['disk']['note']}")
    good = [size for size in content["scaling"] if not size["failed"]]
    parts += [
        f"{size['documents']:,} notes failed: {size['failed']}"
        for size in content["scaling"]
        if size["failed"]
    ]
    if good:
        parts += [_sizes(good), _stages(good), _growth(content["fit"])]
    if content["comparisons"]:
        parts.append(_versus(content["comparisons"]))
    rows = [
        [what, target, measured, {True: "yes", False: "no", None: ""}[met]]
        for what, target, measured, met in content["targets"]
    ]
    parts.append(table(["target", "at most", "measured", "met"], rows))
    return "\n\n".join(parts)


def _sizes(scaling: list[dict[str, Any]]) -> str:
    header = ["notes", "GB", "s", "us/note", "CPU s", "RssAnon GB", "own GB", "peak RSS GB"]
    header += ["run folder GB", "with outputs GB", "disk taken GB", "bands", "store", "passes"]
    header += ["removed"]
    rows = []
    for size in scaling:
        median, record, n = size["median"], size["record"], size["documents"]
        store, bands = record["store"] or {}, record["bands"]
        rows.append(
            [
                f"{n:,}",
                f"{size['notes_bytes'] / 1e9:.2f}",
                f"{median['seconds']:.1f}",
                f"{median['seconds'] / n * 1e6:.1f}",
                f"{median['cpu_seconds']:.1f}",
                f"{median['anonymous_bytes'] / 1e9:.2f}",
                f"{(record['peak_anonymous'] or 0) / 1e9:.2f}",
                f"{median['peak_bytes'] / 1e9:.2f}",
                f"{median['run_bytes'] / 1e9:.2f}",
                f"{median['out_bytes'] / 1e9:.2f}",
                f"{median['disk_taken_bytes'] / 1e9:.2f}",
                f"{bands['num_bands']} x {bands['rows']}",
                str(store.get("store") or store.get("url") or "").split(" ")[0],
                str(record["passes"]),
                f"{record['counts']['removed'] / n:.1%}",
            ]
        )
    return table(header, rows)


def _stages(scaling: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for size in scaling for name in size["record"]["seconds"]))
    header = ["stage"]
    for size in scaling:
        header += [f"{size['documents']:,}: s", "us/note"]
    rows: list[list[str]] = []
    for name in [*names, "start and end"]:
        row = [name]
        for size in scaling:
            stages = size["record"]["seconds"]
            seconds = stages.get(name, 0)
            if name == "start and end":
                seconds = size["median"]["seconds"] - sum(stages.values())
            row += [f"{seconds:.2f}", f"{seconds / size['documents'] * 1e6:.2f}"]
        rows.append(row)
    return table(header, rows)


def _growth(growth: dict[str, Any]) -> str:
    header = ["growth", "slope, all sizes", "slope, last step", "per note, ratio", "a further note"]

    def number(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    rows = []
    for key, name in GROWING.items():
        found = growth[key]
        further = found.get("per_further_document")
        unit = "us" if key == "seconds" else "bytes"
        if further is not None and key == "seconds":
            further *= 1e6
        rows.append(
            [
                name,
                number(found["slope"], ".2f"),
                number(found["last_slope"], ".2f"),
                number(found.get("per_document_ratio"), ".2f"),
                "" if further is None else f"{further:,.1f} {unit}",
            ]
        )
    return table(header, rows)


def _versus(versus: list[dict[str, Any]]) -> str:
    header = ["comparison", "notes", "s", "against s", "ratio of medians", "median of ratios"]
    header += ["ratios", "CPU ratio", "same result"]
    rows = []
    for found in versus:
        label = " / ".join(found["sides"])
        if found["failed"]:
            rows.append([f"{label}: {found['failed']}", *[""] * (len(header) - 1)])
            continue
        rows.append(
            [
                label,
                f"{found['documents']:,}",
                f"{found['seconds'][0]:.2f}",
                f"{found['seconds'][1]:.2f}",
                f"{found['ratio_of_medians']:.3f}",
                f"{found['median_ratio']:.3f}",
                " ".join(f"{ratio:.2f}" for ratio in found["ratios"]),
                f"{found['cpu_ratio']:.3f}",
                "yes" if found["same_result"] else "NO",
            ]
        )
    return table(header, rows)
