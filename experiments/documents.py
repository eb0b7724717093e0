"""The five documents whose numbers are repeated: who wrote them, when, and where they are."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BLOG", "NOTEBOOK", "PAPER", "SLIDES", "TUTORIAL", "Document"]


class Document(NamedTuple):
    """What is needed to find a document.

    Attributes:
        authors: In full.
        title: As it stands on the document.
        date: Of the document; what is known of it.
        where: Identifier, address, or event.
    """

    authors: str
    title: str
    date: str
    where: str

    @property
    def cited(self) -> str:
        """A reference, as Markdown."""
        return f"{self.authors}: *{self.title}*, {self.date} ({self.where})"


PAPER = Document(
    "Sanjeev Shenoy, Tsung-Ting Kuo, Rodney Gabriel, Julian McAuley, Chun-Nan Hsu",
    "Deduplication in a massive clinical note dataset",
    "19 April 2017",
    "arXiv 1704.05617",
)
SLIDES = Document(
    "Carlos Castillo",
    "Finding near-duplicates",
    "several editions, none of which has a date on its slides",
    "slides of a course on data mining, Universitat Pompeu Fabra, lecture TT08 of "
    "github.com/chatox/data-mining-course; after Leskovec, Rajaraman and Ullman, Mining of massive "
    "datasets, chapter 3",
)
NOTEBOOK = Document(
    "Matti Lyra",
    "Document deduplication using locality sensitive hashing with minhash",
    "23 May 2017",
    "notebook of github.com/mattilyra/LSH; as a text at "
    "mattilyra.github.io/2017/05/23/document-deduplication-with-lsh.html",
)
BLOG = Document(
    "Edward Ross",
    "Searching for Near Duplicates with Minhash",
    "9 May 2020",
    "skeptric.com/minhash-lsh, after skeptric.com/minhash of 6 May 2020",
)
TUTORIAL = Document(
    "Andee Kaplan, Rebecca C. Steorts",
    "Introduction to locality sensitive hashing (LSH)",
    "11 October 2018",
    "slides of STA 325, Duke University",
)
