"""What a compiled library says about itself: its arrays, its variables and its source lines.

ELF and DWARF are read with pyelftools: not every machine has addr2line.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import io
import re
import sys

from .errors import RuntimeUnavailable

try:
    from elftools.dwarf.descriptions import describe_form_class
    from elftools.elf.elffile import ELFFile
except ModuleNotFoundError:  # arrays need it not
    ELFFile = None
# Before Python 3.12 cached properties have locks: a fork's child may wait for one for ever.
for _kind in [k for name, m in sys.modules.items() if name.startswith("elftools.")
              for k in vars(m).values() if isinstance(k, type)]:  # fmt: skip
    for _member in vars(_kind).values():
        if isinstance(_member, functools.cached_property):
            _member.lock = contextlib.nullcontext()


def _open(data: bytes) -> ELFFile:
    """A library's content; RuntimeUnavailable where pyelftools is missing."""
    needed = "Kernels need the package pyelftools: python -m pip install pyelftools"
    if ELFFile is None:
        raise RuntimeUnavailable(needed)
    return ELFFile(io.BytesIO(data))


def plain_name(mangled: str) -> str:
    """The name of a variable as its source has it, without the scope around it.

    ``_ZZ4tileILi16EEvPfE4rows`` is ``rows``; a name that is not mangled is itself.
    """
    mangled = re.sub(r"\.\d+$", "", mangled)
    if not mangled.startswith("_Z"):
        return mangled
    mangled = re.sub(r"(?<=[A-Za-z_])_\d$", "", mangled)
    for found in re.finditer(r"\d+", mangled):
        digits = found.group()
        for k in range(len(digits)):
            length, rest = int(digits[k:]), mangled[found.end() :]
            if len(rest) == length or (len(rest) == length + 1 and rest.endswith("E")):
                return rest[:length]
    return mangled


def owner_of(mangled: str) -> str:
    """The name of the function around a static array, or an empty string."""
    found = re.match(r"_ZZ(?:N\w*?)?(\d+)", mangled)
    return mangled[found.end() : found.end() + int(found[1])] if found else ""


def describe(data: bytes) -> dict:
    """Shared arrays, variables and extents of a library, as plain values for the cache.

    Returns
    -------
    dict
        ``shared``: rows ``[name, offset in the thread-local block, bytes, owner, kind]``, where
        kind is 2 for a flag of the compiler's own and else 0;
        ``data``: rows ``[name, mangled name, address, bytes]``; ``tls_size``, ``marker``
        (offset of the marker) and ``image`` (bytes of the loaded image).
    """
    elf = _open(data)
    tls_size = image = 0
    writable = []
    for segment in elf.iter_segments():
        kind, flags = segment["p_type"], segment["p_flags"]
        if kind == "PT_TLS":
            align = max(1, segment["p_align"])
            tls_size = -(-segment["p_memsz"] // align) * align
        elif kind == "PT_LOAD":
            end = segment["p_vaddr"] + segment["p_memsz"]
            image = max(image, end)
            if flags & 2:
                writable.append((segment["p_vaddr"], end))
    shared, variables, marker = [], [], 0
    table = elf.get_section_by_name(".symtab")
    for symbol in table.iter_symbols() if table else ():
        kind, size = symbol["st_info"]["type"], symbol["st_size"]
        if symbol["st_shndx"] == "SHN_UNDEF":
            continue
        if kind == "STT_TLS":
            if "nogpu_marker" in symbol.name:
                marker = symbol["st_value"]
            elif size:
                name = plain_name(symbol.name)
                guard = 2 if symbol.name.startswith("_ZGV") else 0
                owner = owner_of(symbol.name.replace("_ZGV", "_Z", 1))
                shared.append([name, symbol["st_value"], size, owner, guard])
        elif kind == "STT_OBJECT" and size:
            at = symbol["st_value"]
            inside = any(low <= at < high for low, high in writable)
            internal = symbol.name.startswith(("nogpu_", "_ZN5nogpu", "_ZZN5nogpu", "_DYNAMIC"))
            if inside and not internal and not symbol.name.startswith(("_ZTV", "_ZTI", "_GLOBAL_")):
                if ".Lubsan" in symbol.name or "ubsan" in symbol.name:
                    continue
                variables.append([plain_name(symbol.name), symbol.name, at, size])
    return {"shared": shared, "data": variables, "tls_size": tls_size, "marker": marker,
            "image": image}  # fmt: skip


def source_line(data: bytes, address: int, ours: str) -> tuple[str, int] | None:
    """File and line of an instruction, as the learner sees it.

    Parameters
    ----------
    data : bytes
        The library.
    address : int
        Of the instruction, relative to where the library is loaded.
    ours : str
        The folder of the engine's headers: an instruction there (an atomic, a vector copy) was
        inlined, and the place of the call is meant.
    """
    for unit, program, starts, rows in _units(data):
        # The last row that begins at or before the address; of several the first that holds it.
        at = bisect.bisect_right(starts, address)
        held = [row for row in rows[max(0, at - 8) : at] if row[0] <= address < row[1]]
        if not held:
            continue
        file, line = held[0][2:]
        if not file.startswith(ours) and "nogpu_" not in file:
            return file, line
        return _call_site(unit, program, address, ours) or (file, line)
    return None


@functools.lru_cache(maxsize=4)
def _units(data: bytes) -> list[tuple]:
    """The compilation units of a library, each with its table of lines: sorted starts, and rows."""
    elf = _open(data)
    if not elf.has_dwarf_info():
        return []
    dwarf, units = elf.get_dwarf_info(), []
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is not None:
            rows = sorted(_rows(program), key=lambda row: row[0])
            units.append((unit, program, [row[0] for row in rows], rows))
    return units


def _file_name(program, index: int) -> str:
    version = program.header["version"]
    entries = program.header["file_entry"]
    i = index if version >= 5 else index - 1
    if not 0 <= i < len(entries):
        return ""
    entry = entries[i]
    name = entry.name.decode(errors="replace")
    directories = program.header["include_directory"]
    d = entry.dir_index if version >= 5 else entry.dir_index - 1
    if name.startswith("/") or not 0 <= d < len(directories):
        return name
    folder = directories[d].decode(errors="replace")
    return f"{folder}/{name}" if "include" in folder else name


def _rows(program) -> list[tuple[int, int, str, int]]:
    """Where a run of instructions begins and ends, and the file and line that it came from."""
    rows, unknown = [], []
    previous, last = None, 0
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if previous is not None and previous.address < state.address:
            # Code that was moved has no line: the one after it is the nearest that is known.
            unknown.append((previous.address, state.address))
            if previous.line or state.end_sequence:
                place = _file_name(program, previous.file), previous.line or last
                rows += [(*span, *place) for span in unknown]
                unknown = []
        previous = None if state.end_sequence else state
        last = state.line or last
    return rows


def _ranges(die, unit) -> list[tuple[int, int]]:
    attributes = die.attributes
    if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        low = attributes["DW_AT_low_pc"].value
        high = attributes["DW_AT_high_pc"]
        end = high.value if describe_form_class(high.form) == "address" else low + high.value
        return [(low, end)]
    if "DW_AT_ranges" in attributes:
        lists = unit.dwarfinfo.range_lists()
        if lists is None:
            return []
        base = 0
        top = unit.get_top_DIE().attributes
        if "DW_AT_low_pc" in top:
            base = top["DW_AT_low_pc"].value
        result = []
        rows = lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, cu=unit)
        for row in rows:
            if hasattr(row, "begin_offset"):
                offset = 0 if getattr(row, "is_absolute", False) else base
                result.append((row.begin_offset + offset, row.end_offset + offset))
            elif hasattr(row, "base_address"):
                base = row.base_address
        return result
    return []


def _call_site(unit, program, address: int, ours: str) -> tuple[str, int] | None:
    """Where the learner's code calls the header function that was inlined at ``address``."""
    best = None
    for die in unit.iter_DIEs():
        if die.tag != "DW_TAG_inlined_subroutine" or "DW_AT_call_line" not in die.attributes:
            continue
        if not any(low <= address < high for low, high in _ranges(die, unit)):
            continue
        file = _file_name(program, die.attributes["DW_AT_call_file"].value)
        if not file.startswith(ours) and "nogpu_" not in file and "cuda_fp16" not in file:
            best = file, die.attributes["DW_AT_call_line"].value
    return best


def address_of(data: bytes, name: str) -> int:
    """Where a function or variable of the library lies, relative to its start."""
    return _open(data).get_section_by_name(".symtab").get_symbol_by_name(name)[0]["st_value"]
