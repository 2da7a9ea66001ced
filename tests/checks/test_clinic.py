"""The clinic of lesson 10: every patient has its fault, and the record tells of every one."""

import json
import random
import re
from itertools import combinations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from authoring.notebook_form import ROOT, read
from checks import clinic, debugging_kernels
from checks.clinic import KINDS, PATIENTS, TOOLS
from helpers import draw

PATIENTS_LISTED = pytest.mark.parametrize("patient", PATIENTS.values(), ids=PATIENTS)


def test_every_kind_has_a_patient():
    assert len(PATIENTS) >= 10
    assert KINDS == ("out of bounds", "race", "barrier", "uninitialised", "misaligned")


@PATIENTS_LISTED
def test_the_simulator_finds_what_the_patient_has(patient):
    report = patient.examine()
    fault = report.fault
    assert fault.kind == patient.kind
    found = [(fault.block[0], fault.thread[0])]
    if patient.kind in ("race", "barrier"):
        found.append(((fault.other_block or fault.block)[0], fault.other_thread[0]))
    assert patient.threads(*sorted(found))
    assert report._fault_line() in patient.lines
    assert max(patient.lines) <= patient.source.count("\n")


@PATIENTS_LISTED
def test_few_threads_are_taken_for_those_at_fault(patient):
    """Not of `votes`, where nearly every pair meets, nor where every thread is at fault."""
    places = [(block, thread) for block in range(patient.grid) for thread in range(patient.block)]
    if patient.kind not in ("race", "barrier"):
        right = sum(patient.threads(place) for place in places)
        limit = 1 if patient.name in ("row_sums", "doubled") else 0.1
    else:
        places = random.Random(10).sample(places, min(len(places), 200))
        right = sum(patient.threads(*sorted(two)) for two in combinations(places, 2))
        places, limit = list(combinations(places, 2)), 0.5
    assert right < limit * len(places) or patient.name in ("votes", "warp_sum")


@PATIENTS_LISTED
def test_what_is_expected_fits_the_output(patient):
    arguments, output = patient.arguments()
    expected = patient.expected()
    assert (expected.shape, expected.dtype) == (arguments[output].shape, arguments[output].dtype)
    assert not np.array_equal(expected, patient.expected(8))


@PATIENTS_LISTED
def test_a_kernel_that_does_nothing_is_not_taken_for_right(patient):
    report = patient.examine(patient.source.replace("{", "{ return;", 1))
    assert report.ok
    got = list(report.arrays.values())[patient.arguments()[1]]
    assert not np.array_equal(got, patient.expected())


def test_the_record_tells_of_every_patient():
    content = json.loads((clinic.RECORDED / "nvidia-h200.json").read_text())
    assert set(content["patients"]) == set(PATIENTS)
    for said in content["patients"].values():
        assert {"plain", *TOOLS} <= set(said)
    heading, *rows = clinic.reports()
    assert {len(row) for row in rows} == {len(heading)}
    assert [row[1] for row in rows].count("20") == 4  # what lesson 10 says
    assert [row[2] for row in rows].count("error") == 2
    assert [row[3] for row in rows].count("none") == 4
    assert clinic.said("reverse", "racecheck").startswith("Error: Race reported")
    assert clinic.said("reverse", "memcheck") == "nothing"


@pytest.mark.parametrize("folder, names", [
    ("notebooks", ["squares", "reverse_all", "row_sums", "doubled"]),
    ("exercises", ["with_next", "sum_tree", "overlap_add", "block_maxima"]),
])
def test_the_patients_are_shown_as_they_are(folder, names):
    (path,) = (ROOT / folder).glob("*_debugging_kernels.ipynb")
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    shown = [re.sub(r"^ ?\d+ \| ", "", block, flags=re.M)
             for block in re.findall(r"```cpp\n(.*?)```", text, re.S)]
    assert [name for name, patient in PATIENTS.items() if patient.source in shown] == names


def test_the_hunted_fault_is_none_that_the_simulator_reports():
    patient = debugging_kernels.BRIGHTEST
    report = patient.examine()
    got = list(report.arrays.values())[1]
    assert report.ok and 0.2 < (got != patient.expected()).mean() < 0.5


@pytest.mark.parametrize("kind, last", [
    ("sum", "step 1   31 31 31 31 31 31 31 31"), ("scan", "step 4   3 4 8 9 14 23 25 31"),
])
def test_shuffles_add_up(kind, last, capsys):
    draw.shuffles([3, 1, 4, 1, 5, 9, 2, 6], kind)
    assert capsys.readouterr().out.split("\n")[-2] == last
    numbers = {text.get_text() for text in plt.gcf().axes[0].texts}
    assert {"31", "lane", "step 2"} <= numbers
    assert all(round(10 * inches, 6) % 1 == 0 for inches in plt.gcf().get_size_inches())
    plt.close("all")


def test_shuffles_refuse_what_they_cannot_draw():
    with pytest.raises(ValueError, match="not 3"):
        draw.shuffles([1, 2, 3])
    with pytest.raises(ValueError, match="kind='max'"):
        draw.shuffles([1, 2], "max")
