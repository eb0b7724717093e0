"""Words by rank: common ones by hand, the rest from syllables.

All lower-cased words differ, and none holds white space, a quote or a backslash, so that texts need
no escaping in JSON besides their line breaks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from neardup.errors import SpecError
from neardup.kernels.synth import WORD_BYTES

__all__ = ["COMMON", "HEADINGS", "KINDS", "byte_matrix", "make_words"]

# The most frequent words, in order. Some are not ASCII, so that every corpus exercises UTF-8.
_COMMON = """
    the of and patient with to was for in is no on a at he she be denies mg pain has by or his her
    this history as from blood left right not daily are had that normal day chest noted per reports
    will given days after which admitted follow status acute pressure mild without up well heart
    but negative prior home ago also due have stable last he's been disease twice who exam clear
    today care time him past treatment continue since plan one other started if symptoms any
    difficulty two increased during followed abdominal µg seen renal medical admission rate some
    presented significant positive cardiac discharge then pulmonary all week fever small now she's
    hours until lower night lung while oral severe three evidence upper over hospital soft chronic
    moderate they took under more family weeks edema less back breath shortness moved ml before
    cough nausea changes surgery vomiting oriented years alert old transferred new bilateral
    found showed about unremarkable tolerated once diet head naïve room bowel appears bed there
    emergency weight loss dose infection output valve pulse neck months through most skin tablet
    needed sounds both warm dry low high likely pneumonia related dizziness sodium potassium
    glucose count white red cell platelets Müller urine culture sent pending remains resting further
    improved intact motor sensory extremities strength gait walking asked wife husband daughter son
    lives alone works smokes alcohol never quit known allergies none drug reaction aspirin insulin
    metformin heparin lisinopril furosemide warfarin morphine antibiotic course completed scan image
    ultrasound film view contrast mass lesion node biopsy tissue margin free benign stage therapy
    café cycle line catheter drain wound site dressing clean incision healing fracture bone joint
    knee hip spine shoulder ankle swelling range motion exercise goal support nursing consult
    service team called discussed agrees informed questions answered understands return clinic call
    worse appointment primary physician doctor Sjögren review systems vital signs temperature
    respirations saturation oxygen air mask flow volume wheeze crackles murmur gallop rub rhythm
    regular sinus atrial ventricular ejection fraction vessel artery vein stent graft bypass
    Ménière coronary stroke seizure headache vision hearing speech swallow memory mood anxiety sleep
    appetite energy stool constipation diarrhea bleeding ulcer liver spleen kidney bladder prostate
    uterus ovary pregnancy delivery infant child mother father brother sister cancer diabetes
    hypertension asthma arthritis thyroid anemia obesity gout β-blocker Köhler α-agonist résumé
    Ångström señor Łukasz fiancée Guillain-Barré über Zoë Núñez
    """
COMMON = tuple(_COMMON.split())

_HEADINGS = """
    ASSESSMENT: PLAN: HISTORY: MEDICATIONS: ALLERGIES: EXAMINATION: LABORATORY: IMAGING: IMPRESSION:
    SUBJECTIVE: OBJECTIVE: COURSE: DISPOSITION: FOLLOW-UP: VITALS: PROCEDURE: FINDINGS: COMPLAINT:
    DIAGNOSIS: SOCIAL: RECOMMENDATION: CONDITION: DIET: ACTIVITY:
    """
HEADINGS = tuple(_HEADINGS.split())

KINDS = ("progress", "discharge", "admission", "nursing", "radiology", "consult", "operative", "ed")

_ONSETS = "b c d f g h l m n p r s t v z br cl cr dr fl gl gr ph pl pr sc sp st th tr"
_VOWELS = "a e i o u y a e i o ae ia io eu ou"
_CODAS = ["", "", "", "", "l", "m", "n", "r", "s", "x", "ct", "nd", "rt", "st"]
_SUFFIXES = "itis osis oma emia algia ectomy ine ol al ic ous ing ed tion ity ate ide ism s"
_ONSET, _VOWEL, _SUFFIX = _ONSETS.split(), _VOWELS.split(), _SUFFIXES.split()
_ACCENTS = str.maketrans("aeiouyn", "áéïöüýñ")
_ACCENTED = 48  # one made word in so many carries accents

_MASK = 2**64 - 1


def _mix(z: int) -> int:
    """SplitMix64's output function, so that words are the same on every version of Python."""
    z = (z + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _invent(number: int) -> str:
    """Make a word of two to four syllables, or fewer and a suffix, from a number."""
    draw = _mix(number)
    syllables = (2, 2, 3, 3, 3, 2, 4, 3)[draw & 7]
    suffixed = draw >> 3 & 1
    draw >>= 4
    parts = []
    for _ in range(syllables - suffixed):
        draw, onset = divmod(draw, len(_ONSET))
        draw, vowel = divmod(draw, len(_VOWEL))
        parts += [_ONSET[onset], _VOWEL[vowel]]
    draw = _mix(number ^ _MASK)
    draw, ending = divmod(draw, len(_SUFFIX) if suffixed else len(_CODAS))
    parts.append(_SUFFIX[ending] if suffixed else _CODAS[ending])
    word = "".join(parts)
    return word.translate(_ACCENTS) if draw % _ACCENTED == 0 else word


def make_words(count: int) -> list[str]:
    """Return the ``count`` most frequent words, most frequent first.

    A smaller vocabulary is the beginning of a larger one. About 2 us for each word.

    >>> make_words(100)[:4]
    ['the', 'of', 'and', 'patient']
    """
    words = list(COMMON[:count])
    seen = {word.lower() for word in words}
    number = 0
    while len(words) < count:
        word = _invent(number)
        number += 1
        if word not in seen and len(word.encode()) < WORD_BYTES:
            seen.add(word)
            words.append(word)
    return words


def byte_matrix(words: list[str] | tuple[str, ...]) -> npt.NDArray[np.uint8]:
    """Return the UTF-8 of words as uint8 (words, 16): up to 15 bytes, and their number.

    Raises:
        SpecError: A word has more than 15 bytes.
    """
    rows = bytearray(len(words) * WORD_BYTES)
    for i, word in enumerate(words):
        data = word.encode()
        if len(data) >= WORD_BYTES:
            raise SpecError(f"a word of {len(data)} bytes; expected at most {WORD_BYTES - 1}")
        rows[i * WORD_BYTES : i * WORD_BYTES + len(data)] = data
        rows[(i + 1) * WORD_BYTES - 1] = len(data)
    return np.frombuffer(rows, dtype=np.uint8).reshape(len(words), WORD_BYTES)
