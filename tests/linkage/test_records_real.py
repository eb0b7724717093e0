"""Public records with exact truth: one default for all, chosen without the truth."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.csv as pcsv
import pytest

import neardup
from common import core

DATA = Path(os.environ.get("NEARDUP_DATA") or Path(__file__).parents[3] / "shared/data")
PERSON = "given_name surname street_number address_1 address_2 suburb postcode state date_of_birth"
#: Fields; minimum F1 of the decision, pairs completeness and reduction ratio.
SETS = {
    "rldata500": ("fname_c1 fname_c2 lname_c1 lname_c2 by bm bd", 0.98, 1.0, 0.95),
    # Its histogram has a false bottom.
    "rldata10000": ("fname_c1 fname_c2 lname_c1 lname_c2 by bm bd", 0.96, 0.99, 0.99),
    # Equal names of different persons: the similarity alone would reach 0.74 at best.
    "rldata500:names": ("fname_c1 lname_c1", 0.72, 1.0, 0.96),
    "febrl1": (f"{PERSON} soc_sec_id", 0.997, 0.998, 0.97),
    "febrl2": (f"{PERSON} soc_sec_id", 0.997, 0.998, 0.97),
    "febrl3": (f"{PERSON} soc_sec_id", 0.997, 0.998, 0.97),
    "restaurant": ("name addr city phone type", 0.93, 0.99, 0.90),
    # Names are swapped in one record of ten.
    "fake1000": ("first_name surname dob:digits city email", 0.95, 0.95, 0.98),
    "cora": (
        "address author editor institution month note pages publisher title venue volume year",
        *(0.82, 0.97, 0.70),
    ),
}


@pytest.mark.skipif(not (DATA / "cora").is_dir(), reason=f"no public records in {DATA}")
@pytest.mark.parametrize("name", core(SETS, next(iter(SETS))))
def test_one_default_for_all(name: str) -> None:
    fields, f1, completeness, reduction = SETS[name]
    name = name.partition(":")[0]
    run = neardup.link(DATA / name / "records.csv", id="row", fields=fields.split())
    truth = pcsv.read_csv(DATA / name / "truth_pairs.csv")
    found = run.evaluate(truth)
    assert run.threshold.kind == "valley"
    assert found["decision"]["pairs"]["f1"] >= f1
    assert found["blocking"]["pairs_completeness"] >= completeness
    assert found["blocking"]["reduction_ratio"] >= reduction
