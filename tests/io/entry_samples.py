"""Files of entries, written by hand with the oddities of the programs that export them."""

from __future__ import annotations

#: Numbered records, a missing end, text before the first one, an unknown tag, an end without blank.
RIS = """\
Exported from a database, 3 records

1.
TY  - JOUR
ID  - 12
TI  - A title that
goes on in the next line
AU  - Smith, John
AU  - Doe, Jane A.
PY  - 1999/03//Spring
T2  - The Journal
VL  - 7
IS  - 2
SP  - 100
EP  - 10
UR  - https://doi.org/10.1000/ABC
AB  - First abstract.
KW  - one
KW  - two
XX  - kept as it is
ER  -
2.
TY  - CHAP
TI  - Second
N2  - Its abstract.
N1  - PMID: 123456
3.
TY  - BOOK
T1  - Third
DO  - doi:10.1002/X.
DB  - PubMed
AN  - 7654321
ER  -\x20
"""
RIS_COLUMNS = [
    {
        "id": "12",
        "type": "JOUR",
        "title": "A title that goes on in the next line",
        "author": "Smith, John; Doe, Jane A.",
        "year": "1999",
        "journal": "The Journal",
        "volume": "7",
        "number": "2",
        "pages": "100-110",
        "doi": "10.1000/abc",
        "abstract": "First abstract.",
        "keywords": "one; two",
        "url": "https://doi.org/10.1000/ABC",
        "other_fields": '{"PY": ["1999/03//Spring"], "XX": ["kept as it is"]}',
    },
    {
        "type": "CHAP",
        "title": "Second",
        "abstract": "Its abstract.",
        "pmid": "123456",
        "other_fields": '{"N1": ["PMID: 123456"]}',
    },
    {
        "id": "7654321",
        "type": "BOOK",
        "title": "Third",
        "doi": "10.1002/x",
        "pmid": "7654321",
        "other_fields": '{"DB": ["PubMed"]}',
    },
]

#: Two authors, lines that go on, a translated title; the last one without a blank line before it.
NBIB = """\
PMID- 12345678
OWN - NLM
DP  - 2001 Mar-Apr
TI  - A title that goes on in
      the next line.
PG  - 1001-4
LID - 10.1000/ABC [doi]
AID - S0140-6736(05)1 [pii]
AB  - BACKGROUND: First
      abstract.
FAU - Smith, John
AU  - Smith J
FAU - Doe, Jane
AU  - Doe J
MH  - Humans
OT  - memory
JT  - The journal
TA  - J
VI  - 7
IP  - 2 Suppl
PT  - Journal Article
PT  - Review

PMID- 2
BTI - [A book.]
AU  - Solo A
PMID- 3
TI  - Third
ZZZ - unknown
"""
NBIB_COLUMNS = [
    {
        "id": "12345678",
        "type": "Journal Article; Review",
        "title": "A title that goes on in the next line.",
        "author": "Smith, John; Doe, Jane",
        "year": "2001",
        "journal": "The journal",
        "volume": "7",
        "number": "2 Suppl",
        "pages": "1001-1004",
        "doi": "10.1000/abc",
        "abstract": "BACKGROUND: First abstract.",
        "keywords": "Humans; memory",
        "pmid": "12345678",
        "other_fields": (
            '{"OWN": ["NLM"], "DP": ["2001 Mar-Apr"], "AU": ["Smith J", "Doe J"], "TA": ["J"]}'
        ),
    },
    {"id": "2", "title": "[A book.]", "author": "Solo A", "pmid": "2"},
    {"id": "3", "title": "Third", "pmid": "3", "other_fields": '{"ZZZ": ["unknown"]}'},
]
#: Braces and accents, names, strings, comments, a repeated key and a repeated field.
BIBTEX = r"""% exported by hand
@string{jm = "Journal of {Memory}"}
@STRING(ser = {Series})
@preamble{ "\newcommand{\noop}[1]{}" }
@comment{jabref-meta: databaseType:bibtex;}

@Article{mueller99,
  author   = {M{\"u}ller, Hans and Jane van Doe and {World Health and more}
              and others},
  title    = "{DNA} and $\alpha$-synuclein: 5% of \textit{E. coli}",
  journal  = jm # ", " # ser # { A},
  year     = 1999,
  volume   = 7, issue = 2,
  pages    = {100--10},
  doi      = {https://doi.org/10.1000/ABC},
  abstract = {An a@b.c address, and {"}quotes{"} = 1.},
  keywords = {one; two},
  unknown  = {kept},
}
text between entries
@misc{mueller99, title = {Same key}, title = {twice}, date={2001-02-03}, pmid="5"} @misc{c}
@inproceedings(d, booktitle={Proc.}, title={In (round) brackets},
  author = "Erd\H{o}s, P. and \v{C}ern{\'y}, Jr., J.", url = {http://a.b/~c})
"""
BIBTEX_COLUMNS = [
    {
        "id": "mueller99",
        "type": "article",
        "title": "DNA and α-synuclein: 5% of E. coli",
        "author": "Müller, Hans; van Doe, Jane; World Health and more",
        "year": "1999",
        "journal": "Journal of Memory, Series A",
        "volume": "7",
        "number": "2",
        "pages": "100-110",
        "doi": "10.1000/abc",
        "abstract": 'An a@b.c address, and "quotes" = 1.',
        "keywords": "one; two",
        "other_fields": '{"unknown": ["kept"]}',
    },
    {
        "id": "mueller99",
        "type": "misc",
        "title": "Same key",
        "year": "2001",
        "pmid": "5",
        "other_fields": '{"title": ["twice"], "date": ["2001-02-03"]}',
    },
    {"id": "c", "type": "misc"},
    {
        "id": "d",
        "type": "inproceedings",
        "title": "In (round) brackets",
        "author": "Erdős, P.; Černý, J., Jr.",
        "journal": "Proc.",
        "url": "http://a.b/~c",
    },
]

_STYLE = '<style face="normal" font="default" size="100%">'
#: Titles in three styles: of several pieces, of one, and without any.
ENDNOTE = f"""\
<?xml version="1.0" encoding="UTF-8" ?><!-- by hand --><xml><records><record>\
<database name="My.enl" path="C:\\My.enl">My.enl</database><rec-number>7</rec-number>\
<foreign-keys><key app="EN" db-id="abc">7</key></foreign-keys>\
<ref-type name="Journal Article">17</ref-type><contributors><authors>\
<author>{_STYLE}Müller, H.</style></author><author>Doe, A. B.</author></authors></contributors>\
<titles><title>{_STYLE}Effect of </style><style face="italic">E. coli</style>{_STYLE} on \
A &lt; B</style></title><secondary-title>J</secondary-title></titles>
<periodical><full-title>The Journal</full-title></periodical><pages>100-5</pages>\
<volume>3</volume><number>2</number><dates><year>2001</year><pub-dates><date>Mar</date>\
</pub-dates></dates><accession-num>12345678</accession-num><abstract>An
abstract</abstract><keywords><keyword>one</keyword><keyword>two</keyword></keywords>\
<electronic-resource-num>10.1000/ABC</electronic-resource-num>\
<urls><related-urls><url>http://x.y</url></related-urls></urls><custom9>kept</custom9></record>
<record><titles><title>{_STYLE}One piece</style></title></titles></record>\
<record><titles><title>Plain</title></titles></record></records></xml>
"""
ENDNOTE_COLUMNS = [
    {
        "id": "7",
        "type": "Journal Article",
        "title": "Effect of E. coli on A < B",
        "author": "Müller, H.; Doe, A. B.",
        "year": "2001",
        "journal": "The Journal",
        "volume": "3",
        "number": "2",
        "pages": "100-105",
        "doi": "10.1000/abc",
        "abstract": "An abstract",
        "keywords": "one; two",
        "pmid": "12345678",
        "url": "http://x.y",
        "other_fields": (
            '{"database": ["My.enl"], "foreign-keys/key": ["7"], '
            '"titles/secondary-title": ["J"], "dates/pub-dates/date": ["Mar"], '
            '"custom9": ["kept"]}'
        ),
    },
    {"title": "One piece"},
    {"title": "Plain"},
]

#: Three versions: quoted-printable in another encoding, groups and escapes, folded lines.
VCARD = """\
BEGIN:VCARD
VERSION:2.1
N;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:M=FCller;Hans
FN;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Hans =
M=C3=BCller
TEL;HOME;VOICE:123
TEL;WORK:456
END:VCARD

BEGIN:VCARD
VERSION:3.0
UID:urn:uuid:1
N:Doe;Jane;Q.;Dr.;
FN:Jane Doe
ORG:Clinic\\, West;Ward 2
item1.EMAIL;TYPE="a:b",INTERNET:jane@example.org
ADR;TYPE=home:;;1 Main St\\, Apt 2;Town;CA;12345;USA
BDAY:1980-02-01
NOTE:long no
 te\\nnext
END:VCARD
begin:vcard
VERSION:4.0
FN:Solo
X-KEPT:as it is
end:vcard
"""
VCARD_COLUMNS = [
    {"name": "Hans Müller", "family": "Müller", "given": "Hans", "phone": "123; 456"},
    {
        "id": "urn:uuid:1",
        "name": "Jane Doe",
        "family": "Doe",
        "given": "Jane",
        "organization": "Clinic, West",
        "email": "jane@example.org",
        "street": "1 Main St, Apt 2",
        "city": "Town",
        "region": "CA",
        "postcode": "12345",
        "country": "USA",
        "birthday": "1980-02-01",
        "note": "long note next",
        "other_fields": '{"N": ["Doe;Jane;Q.;Dr.;"], "ORG": ["Clinic\\\\, West;Ward 2"]}',
    },
    {"name": "Solo", "other_fields": '{"X-KEPT": ["as it is"]}'},
]

#: Of each format a file, and its columns that are not null.
FILES = {
    "a.ris": (RIS, RIS_COLUMNS),
    "a.nbib": (NBIB, NBIB_COLUMNS),
    "a.bib": (BIBTEX, BIBTEX_COLUMNS),
    "a.xml": (ENDNOTE, ENDNOTE_COLUMNS),
    "a.vcf": (VCARD, VCARD_COLUMNS),
}
