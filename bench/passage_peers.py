"""neardup passages beside other tools that find copied text, on a set of real texts.

    python setup_peers.py pydivsufsort copyforward copydetect bloatectomy datatrove
    python passage_peers.py [--set mtsamples] [--runs 1]

The tools take turns; each run is a fresh process that reads JSON lines. Only the first two count
the same: words in runs of 25 words that occur earlier. copyforward and copydetect know characters,
bloatectomy sentences and lines, datatrove spans of three sentences. Writes
bench/results/passage-peers-SET.json.
"""

from __future__ import annotations

import argparse
import json

import pyarrow.parquet as pq

from harness import BENCH, DATA, NEARDUP, TEXTS, measure, median, peer_python, save, say, table

PEERS = ("pydivsufsort", "copyforward", "copydetect", "bloatectomy", "datatrove")
WORDS = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", default="mtsamples")
    parser.add_argument("--runs", type=int, default=1)
    args = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    source = DATA / f"{args.set}.jsonl"
    texts = pq.read_table(TEXTS / args.set / "docs.parquet", columns=["text"]).column(0)
    with source.open("w", encoding="utf-8") as out:
        for number, text in enumerate(texts.to_pylist()):
            out.write(json.dumps({"id": number, "text": text}, ensure_ascii=False) + "\n")
    folder = DATA / "out"
    options = ["--words", str(WORDS), "--id", "id", "--overwrite", "--quiet"]
    ways = {"neardup": [NEARDUP, "passages", str(source), "-o", str(folder), *options]}
    for name in PEERS:
        if (BENCH / ".venvs" / name / "installed").exists():
            script = BENCH / "peers" / f"with_{name}.py"
            python = str(peer_python(name))
            ways[name] = [python, str(script), str(source), str(DATA / f"peer-{name}")]
            ways[name] += ["--words", str(WORDS)]
    found: dict[str, list[dict[str, object]]] = {name: [] for name in ways}
    for _ in range(args.runs):
        for name, command in ways.items():
            found[name].append(measure(command))
    results: dict[str, object] = {"bytes": source.stat().st_size, "documents": len(texts)}
    rows = []
    for name, runs in found.items():
        path = folder / "run.json" if name == "neardup" else DATA / f"peer-{name}"
        record = json.loads(path.read_text()) if path.exists() else {}
        copied = record.get("counts", record).get("copied_words")
        one = {**median(runs), "copied_words": copied}
        results[name] = one
        if one.get("seconds"):
            peak = one["peak_bytes"] / 1e6
            rows.append([name, f"{one['seconds']:.2f}", f"{peak:,.0f}", str(copied)])
    print(table(["tool", "seconds", "peak MB", "copied words"], rows))
    say(str(save(f"passage-peers-{args.set}", results)))


if __name__ == "__main__":
    main()
