"""Times of the tokeniser for ten languages, in composed (NFC) and decomposed (NFD) characters.

Texts of about 2,000 characters are made of common words. Another tree, such as one of the commit
before, is measured in turns with this one; of all turns the lowest time counts.

    python bench/languages.py [--turns 5] [--before OTHER_TREE/src]

With `--signs` the three values of that option are compared, for code too, whose lines have a sign
for each two words; and the hash of bytes that tells which texts are the same.

    python bench/languages.py --signs
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import numpy as np

#: Common words; those of Thai and Japanese are not separated.
WORDS = {
    "English": """the of and to in is was for that with as on are this by at from his they which one
        had you were all she there would their we him been has when who will more no if out""",
    "French": """le de un être et à il avoir ne je son que se qui ce dans en du elle au pour pas
        été déjà après où très même père mère élève forêt façon hôpital noël naïve cœur""",
    "Vietnamese": """và của là có được trong một người không những này đã cho với các để khi đến
        nhiều việt nước năm làm việc phải cũng như từ tại về trên đường trường học tiếng""",
    "Russian": """и в не на я быть он с что это по весь она так его но да ты к у же вы за бы
        только мочь человек время рука дело жизнь день голова ребёнок Москва ещё её""",
    "Korean": """이 그 것은 있다 하는 나는 우리 사람 한국 시간 말을 없다 보고 같은 때문에 일을
        대한민국의 정부는 그러나 사회 문제 생각 여자 학교 세계 경제 다른 어떤""",
    "Japanese": """の に は を た が で て と し れ さ 日本 学生 時間 会社 人々 これは ありがとう
        コンピュータ データ 東京 問題 です ます 、 。 ください グループ プログラム""",
    "Arabic": """في من على أن إلى كان هذا التي الذي عن مع ما هو كل بعد أو قد بين هي قال يوم
        العالم كِتَاب مُحَمَّد رحمــة شيء مؤسسة القرآن مدرسة جدًّا شُكْرًا""",
    "Hindi": """के में की है यह और से को पर इस होता कि जो कर मे गया करने किया लिये अपने ने बनी
        नहीं तो ही या एवं दिया हो इसका था द्वारा हुआ तक साथ प्रधानमंत्री ज़्यादा सड़क""",
    "Bengali": """এবং করা হয় থেকে এই একটি তার জন্য করে না ও ছিল বাংলা দেশ মানুষ কোনো সময় বাংলাদেশের
        ভালো দৌড় গাড়ি নৌকা পৌঁছে স্বাধীনতা বিশ্ববিদ্যালয়""",
    "Thai": """ที่ การ เป็น และ ของ ใน มี ไม่ ได้ ว่า ให้ กับ จะ คน ประเทศ น้ำ ผู้ เมื่อ ต้อง แล้ว
        ก็ ไป เรา นี้ ด้วย เพื่อ ทำงาน บ้าน โรงเรียน ภาษาไทย กรุงเทพ""",
}
#: Words between two spaces.
JOINED = {"Thai": 8, "Japanese": 12}
#: Characters of a text, and texts that are tokenised together.
SIZE, TEXTS = 2000, 100


def text_of(language: str) -> str:
    """A text of about 2,000 characters in composed form."""
    generator = random.Random(language)
    words, out = WORDS[language].split(), ""
    while len(out) < SIZE:
        row = "".join(generator.choice(words) for _ in range(JOINED.get(language, 1)))
        out += row + generator.choice([" "] * 12 + [", ", ". ", "\n"])
    return unicodedata.normalize("NFC", out)


def measure() -> dict[str, dict[str, float]]:
    """Microseconds for a text of each language, by form; of the tree of this process."""
    from neardup import ShingleSpec
    from neardup.sketch.tokenising import Tokeniser

    tokeniser = Tokeniser(ShingleSpec(n=1))
    found: dict[str, dict[str, float]] = {}
    for language in WORDS:
        for form in ("NFC", "NFD"):
            text = unicodedata.normalize(form, text_of(language))
            data, offsets = tokeniser.normalise([text] * TEXTS)
            best = float("inf")
            for _ in range(60):
                begin = time.perf_counter()
                tokeniser.tokens(data, offsets)
                best = min(best, time.perf_counter() - begin)
            found.setdefault(language, {})[form] = best / TEXTS * 1e6
    return found


#: Lines of programs, with a sign for each two words.
CODE = """if (x >= limit && y < 0) return total + rate;
    count += 1; values[i] = values[i - 1] + delta;
    for item in items: print(item @ matrix, end="#")
    price = $amount * 100 % size; flags = a & b;
""".splitlines(keepends=True)


def measure_signs() -> None:
    """Print microseconds for a text of each language and of code, by the value of `signs`."""
    from neardup import ShingleSpec
    from neardup.kernels.text.tokens import hash_tokens
    from neardup.sketch.tokenising import Tokeniser

    generator, code = random.Random("code"), ""
    while len(code) < SIZE:
        code += generator.choice(CODE)
    values = ("none", "short", "all")
    by_value = {value: Tokeniser(ShingleSpec(n=5, signs=value)) for value in values}
    print("| text | none, µs | short, µs | all, µs | short, ratio | all, ratio | same, µs |")
    print("|---|---|---|---|---|---|---|")
    for name in (*WORDS, "code"):
        text = code if name == "code" else text_of(name)
        best = dict.fromkeys((*values, "same"), float("inf"))
        data, offsets = by_value["none"].normalise([text] * TEXTS)
        calls = {
            value: functools.partial(of.documents, data, offsets) for value, of in by_value.items()
        }
        calls["same"] = functools.partial(hash_tokens, data, offsets, np.empty(TEXTS, np.uint64))
        for _ in range(100):
            for call, measured in calls.items():
                begin = time.process_time()
                measured()
                best[call] = min(best[call], (time.process_time() - begin) / TEXTS * 1e6)
        base = best["none"]
        times = " | ".join(f"{best[value]:.1f}" for value in values)
        ratios = " | ".join(f"{best[value] / base:.2f}" for value in values[1:])
        print(f"| {name} | {times} | {ratios} | {best['same']:.2f} |")


def in_tree(source: str) -> dict[str, dict[str, float]]:
    """The same of another tree."""
    command = [sys.executable, __file__, "--times"]
    environment = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    times: dict[str, dict[str, float]] = json.loads(done.stdout)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--before", help="src of another tree")
    parser.add_argument("--times", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--signs", action="store_true", help="the values of that option")
    asked = parser.parse_args()
    if asked.signs:
        measure_signs()
        return
    if asked.times:
        print(json.dumps(measure()))
        return
    trees = [str(Path(__file__).parents[1] / "src")]
    trees += [asked.before] if asked.before else []
    turns = [[in_tree(tree) for tree in trees] for _ in range(asked.turns)]
    print("| language | form | before, µs | now, µs | ratio |\n|---|---|---|---|---|")
    for language in WORDS:
        for form in ("NFC", "NFD"):
            best = [min(each[language][form] for each in tree) for tree in zip(*turns, strict=True)]
            before = best[-1]
            row = f"{before:.1f} | {best[0]:.1f} | {best[0] / before:.2f}"
            print(f"| {language} | {form} | {row} |")


if __name__ == "__main__":
    main()
