"""People as others have them: contacts of a CRM, and members of households."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from neardup.synth.linked_records import File, LinkedFiles, Record, RecordSpec, as_csv
from neardup.synth.person_names import GIVEN, mistyped, surname
from neardup.synth.synthetic_words import make_words

_CONTACT = ("id", "First Name", "Last Name", "Company", "Email", "Phone", "City")
_MEMBER = ("id", "given_name", "surname", "birth", "street", "postcode", "city", "phone")
_CITIES = ("Springfield", "Riverton", "Oakdale", "Milford", "Georgetown", "Ashland", "Dover")
_LEGAL = ("Inc.", "Incorporated", "LLC", "Ltd", "")
_BUSINESS = ("Systems", "Logistics", "Foods", "Consulting", "Medical", "Energy", "Textiles")
_STREETS = ("street", "road", "avenue", "lane", "court")
#: Values in records whose owner has none, or gave none.
_NO_PHONE, _NO_EMAIL = "000-000-0000", "none@none.com"


@dataclass(frozen=True, slots=True)
class _Company:
    name: str
    domain: str
    phone: str
    city: str


@dataclass(frozen=True, slots=True)
class _Contact:
    given: Sequence[str]
    surname: str
    company: _Company
    phone: str


def contacts(spec: RecordSpec) -> LinkedFiles:
    """Generate contacts of companies, whose members share a domain and often a number.

    >>> made = contacts(RecordSpec(10))
    >>> len(made.truth), made.files[0].content.splitlines()[0]
    (10, 'id,First Name,Last Name,Company,Email,Phone,City')
    """
    draw = random.Random(f"contacts {spec.seed}")
    companies = [_company(draw) for _ in range(max(1, spec.sources // 6))]
    people = [
        _Contact(draw.choice(GIVEN), surname(draw), draw.choice(companies), _phone(draw))
        for _ in range(spec.sources)
    ]
    return _made(
        spec, draw, _CONTACT, lambda of, again: _contact(people[of], companies, again, draw)
    )


def _made(
    spec: RecordSpec,
    draw: random.Random,
    names: Sequence[str],
    record: Callable[[int, bool], Sequence[str]],
    more: Callable[[int], Record] = lambda of: {},
) -> LinkedFiles:
    """Make records of persons, of whom each has one, and some have another one."""
    of = [(k, False) for k in range(spec.sources)]
    rest = spec.documents - spec.sources
    of += [(draw.randrange(spec.sources), True) for _ in range(rest)]
    draw.shuffle(of)
    rows, truth = list[Record](), list[Record]()
    for number, (person, again) in enumerate(of):
        id_ = f"c{number:07}"
        rows.append(dict(zip(names, (id_, *record(person, again)), strict=True)))
        truth.append({"id": id_, "group": f"person-{person:07}", **more(person)})
    return LinkedFiles((File(".csv", as_csv(rows, names)),), truth)


def _company(draw: random.Random) -> _Company:
    words = make_words(6000)
    word = "".join(filter(str.isalpha, draw.choice(words[420:]))).capitalize()
    domain = f"{word.lower()}.com"
    return _Company(f"{word} {draw.choice(_BUSINESS)}", domain, _phone(draw), draw.choice(_CITIES))


def _phone(draw: random.Random) -> str:
    return f"{draw.randint(201, 989)}{draw.randint(200, 999)}{draw.randint(0, 9999):04}"


def _as_written(phone: str, draw: random.Random) -> str:
    area, middle, last = phone[:3], phone[3:6], phone[6:]
    return draw.choice(
        (
            f"({area}) {middle}-{last}",
            f"+1 {area} {middle} {last}",
            f"{area}.{middle}.{last}",
            f"1-{area}-{middle}-{last}",
            phone,
        )
    )


def _contact(
    of: _Contact, companies: Sequence[_Company], again: bool, draw: random.Random
) -> Sequence[str]:
    """Return the values of a record; of another one of the person, more of them are others."""
    company, given, last = of.company, of.given[0], of.surname
    email = f"{given}.{last}@{company.domain}".lower().replace(" ", "")
    number = of.phone if draw.random() < 0.7 else company.phone
    if again and draw.random() < 0.4:
        given = draw.choice(of.given)
    if again and draw.random() < 0.05:
        given = f"{given[0]}."
    if again and draw.random() < 0.08:
        last = mistyped(last, draw)
    if again and draw.random() < 0.05:
        company = draw.choice(companies)
    if draw.random() < 0.2:
        email = f"{given[0]}{of.surname}{len(last)}@mail.com".lower().replace(" ", "")
    name = f"{company.name} {draw.choice(_LEGAL)}".strip()
    phone = _as_written(number, draw)
    if draw.random() < 0.15:
        email = draw.choice(("", _NO_EMAIL, f"info@{company.domain}"))
    if draw.random() < 0.15:
        phone = draw.choice(("", _NO_PHONE))
    values = [given, last, name, email, phone, company.city if draw.random() < 0.9 else ""]
    if draw.random() < 0.1:
        values[:3] = [value.upper() for value in values[:3]]
    return values


@dataclass(frozen=True, slots=True)
class _Member:
    given: str
    surname: str
    birth: str
    street: str
    postcode: str
    city: str
    phone: str
    household: int
    role: str


def households(spec: RecordSpec) -> LinkedFiles:
    """Generate households: parents, siblings, also of one birthday, sons with a father's name.

    The truth has the household and the role of each record besides.

    >>> made = households(RecordSpec(10))
    >>> list(made.truth[0])
    ['id', 'group', 'household', 'role']
    """
    draw, members = random.Random(f"households {spec.seed}"), list[_Member]()
    while len(members) < spec.sources:
        members += _household(draw, members[-1].household + 1 if members else 0)
    del members[spec.sources :]

    def more(of: int) -> Record:
        return {"household": f"{members[of].household}", "role": members[of].role}

    return _made(spec, draw, _MEMBER, lambda of, again: _of(members[of], again, draw), more)


def _household(draw: random.Random, number: int) -> list[_Member]:
    street = f"{draw.randint(1, 200)} {draw.choice(make_words(4000)[420:])} {draw.choice(_STREETS)}"
    city = draw.randrange(len(_CITIES))
    given = [names[0] for names in draw.sample(GIVEN, 7)]
    born = draw.randint(1935, 1985)
    address = (street, f"{1000 + 100 * city + draw.randint(0, 30)}", _CITIES[city], _phone(draw))
    father = _Member(given[0], surname(draw), _day(draw, born), *address, number, "father")
    found = [father]
    if draw.random() < 0.7:
        birth = _day(draw, born + draw.randint(-4, 6))
        found.append(replace(father, given=given[1], birth=birth, role="mother"))
    year = born + draw.randint(22, 32)
    for child in range(draw.choice((0, 0, 1, 2, 2, 3))):
        one = replace(father, given=given[2 + child], birth=_day(draw, year), role="child")
        if child == 0 and draw.random() < 0.15:
            one = replace(one, given=father.given, role="son of one name")
        found.append(one)
        if draw.random() < 0.08:
            found.append(replace(one, given=given[6], role="twin"))
            break
        year += draw.randint(1, 4)
    return found


def _day(draw: random.Random, year: int) -> str:
    return f"{year}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"


def _of(member: _Member, again: bool, draw: random.Random) -> Sequence[str]:
    values = [
        *(member.given, member.surname, member.birth),
        *(member.street, member.postcode, member.city, _as_written(member.phone, draw)),
    ]
    if again:
        for _ in range(draw.randint(1, 2)):
            at = draw.choice((0, 1, 2, 3, 4, 6))
            values[at] = mistyped(values[at], draw)
    return [value if draw.random() < 0.97 else "" for value in values]
