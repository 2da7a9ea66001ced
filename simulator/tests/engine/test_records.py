"""What the runtime and Python exchange is laid out as the compiler lays it out, and named once."""

from __future__ import annotations

import ctypes
import json
import subprocess
from enum import IntEnum

import pytest

from nogpu import engine
from nogpu.engine import compiler, faults, records, switches

RECORDS = {
    name: cls
    for name, cls in vars(records).items()
    if isinstance(cls, type) and issubclass(cls, ctypes.Structure)
}
ENUMERATIONS = {
    name: cls
    for name, cls in vars(records).items()
    if isinstance(cls, type) and issubclass(cls, IntEnum) and cls is not IntEnum
}


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory) -> dict:
    """Size of each record, and size and offset of each of its fields, told by the compiler."""
    names = {name: ("nogpu::" if name == "Entry" else "") + name for name in RECORDS}
    lines = [
        f'printf("[\\"{name}\\", \\"{field}\\", %zu, %zu],\\n", '
        f"offsetof({names[name]}, {field}), sizeof({names[name]}::{field}));"
        for name, cls in RECORDS.items()
        for field, _ in cls._fields_
    ] + [
        f'printf("[\\"{name}\\", \\"\\", 0, %zu],\\n", sizeof({names[name]}));' for name in RECORDS
    ]
    program = tmp_path_factory.mktemp("records") / "layout"
    source = '#include <stddef.h>\n#include <stdio.h>\n#include "records.h"\nint main() {\n'
    found = compiler.find()
    status, log = found.run(
        ["-std=c++17", "-w", f"-I{compiler.RUNTIME}", "-x", "c++", "-", "-o", str(program)],
        source + "\n".join(lines) + "\n}\n",
    )
    assert status == 0, log
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return {(r, f): (o, s) for r, f, o, s in json.loads(f"[{printed.rstrip().rstrip(',')}]")}


@pytest.mark.parametrize("name", RECORDS)
def test_record_is_laid_out_as_in_the_runtime(name, laid_out) -> None:
    cls = RECORDS[name]
    assert (0, ctypes.sizeof(cls)) == laid_out[name, ""]
    for field, _ in cls._fields_:
        row = getattr(cls, field)
        assert (row.offset, row.size) == laid_out[name, field], field


def test_all_that_is_exchanged_is_there() -> None:
    assert len(RECORDS) == 13 and len(ENUMERATIONS) == 9


def test_enumerations_have_the_runtime_s_numbers() -> None:
    text = "".join(
        f"static_assert({name} == {int(member)});\n"
        for cls, prefix in (("FaultKind", "k"), ("CheckBits", "kCheck"), ("CopyEngine", "k"))
        for member in ENUMERATIONS[cls]
        for name in [f"{prefix}{member.name}"]
    )
    found = compiler.find()
    arguments = ["-std=c++17", "-fsyntax-only", f"-I{compiler.RUNTIME}", "-x", "c++", "-"]
    assert found.run(arguments, f'#include "records.h"\n{text}')[0] == 0
    assert found.run(arguments, f'#include "records.h"\n{text}static_assert(kRace == 9);')[0]


@pytest.mark.parametrize("text", ["float x", "uint32_t a, *b", "std::vector<int> v"])
def test_a_declaration_that_is_not_understood_is_refused(text) -> None:
    with pytest.raises((ValueError, AttributeError)):
        records._fields(text)


def test_each_recorded_fault_belongs_to_one_class() -> None:
    without = {"NoFault", "ArrayOutOfBounds", "Cancelled"}
    told = [number for cls in faults.KernelFault.__subclasses__() for number in cls.records]
    assert sorted(told) == [kind for kind in records.FaultKind if kind.name not in without]


def test_each_fault_says_what_it_is_called() -> None:
    classes = faults.KernelFault.__subclasses__()
    assert len({cls.called for cls in classes}) == len(classes) == 17
    assert all(cls.kind != engine.KernelFault.kind for cls in classes)


def test_checks_are_named_after_the_runtime_s_bits() -> None:
    assert switches.NAMES == {
        "global_bounds": 1, "shared_bounds": 2, "use_after_free": 4, "misaligned": 8,
        "uninitialised": 16, "race": 32, "barrier": 64, "division": 128,
        "order": 256,
    }  # fmt: skip
