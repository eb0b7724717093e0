"""Made corpora of clinical-note-like texts, with the truth about who was made from whom.

    SynthSpec     what a corpus depends on
    generate      the documents of any slice of positions, as an Arrow table
    truth         what each document of a slice was made from, and how
    write         both, streamed to files

A document is a pure function of spec and position, so any slice can be made alone, and the corpus
is the same for any number of threads.
"""

from neardup.synth.output import Written, truth_path, write
from neardup.synth.spec import SynthSpec
from neardup.synth.tables import generate, truth

__all__ = ["SynthSpec", "Written", "generate", "truth", "truth_path", "write"]
