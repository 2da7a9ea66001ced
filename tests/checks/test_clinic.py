"""The clinic of lesson 10: every patient has its fault, and the record tells of every one."""

import json

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from checks import clinic
from checks.clinic import KINDS, PATIENTS, TOOLS
from helpers import draw

PATIENTS_LISTED = pytest.mark.parametrize("patient", PATIENTS.values(), ids=PATIENTS)


def test_every_kind_has_a_patient():
    assert len(PATIENTS) >= 10
    assert KINDS == ("out of bounds", "race", "barrier", "uninitialised", "misaligned")


@PATIENTS_LISTED
def test_the_simulator_finds_what_the_patient_has(patient):
    fault = patient.examine().fault
    assert fault.kind == patient.kind
    assert patient.examine().fault.thread[0] in patient.threads
    named = patient.examine()._fault_line()
    assert named in patient.lines
    assert max(patient.lines) <= patient.source.count("\n")


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
    text = clinic.recorded()
    assert all(name in text for name in PATIENTS) and "H200" in text
    assert max(map(len, text.split("\n"))) <= 96


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
