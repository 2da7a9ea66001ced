"""Compiler options as CuPy and PyCUDA users write them, turned into the host compiler's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from .errors import OptionError

# Options that take a value as the next word, and that change nothing here.
_IGNORED_WITH_VALUE = {
    "-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code",
    "-maxrregcount", "--maxrregcount", "-prec-div", "--prec-div",
    "-prec-sqrt", "--prec-sqrt", "-fmad", "--fmad", "-Xptxas", "--ptxas-options",
    "-Xcompiler", "--compiler-options", "-O", "--optimize", "-diag-suppress", "--diag-suppress",
    "-split-compile", "--split-compile", "-minimal", "-opt-level", "--opt-level",
}  # fmt: skip
_IGNORED = {
    "-G", "--device-debug", "-g", "--debug", "-lineinfo", "--generate-line-info",
    "-restrict", "--restrict", "-w", "--disable-warnings",
    "-rdc=false", "-dw", "--device-w", "-cubin", "--cubin", "-lcudadevrt",
    "-m64", "-v", "--verbose", "-keep", "--keep", "-O0", "-O1", "-O2", "-O3",
    "-extra-device-vectorization", "--extra-device-vectorization", "-default-device",
    "--device-as-default-execution-space",
    "-dopt=on", "--dopt=on", "-no-source-include", "--no-source-include",
    "-extended-lambda", "--extended-lambda", "-expt-extended-lambda", "--expt-extended-lambda",
    "-expt-relaxed-constexpr", "--expt-relaxed-constexpr", "-relocatable-device-code=false",
    "--relocatable-device-code=false", "--std-default", "-modify-stack-limit=false",
}  # fmt: skip
# Relocatable code: only then nvcc lets kernels launch kernels.
_RELOCATABLE = {"-rdc=true", "--relocatable-device-code=true", "-relocatable-device-code=true",
                "-dc", "--device-c"}  # fmt: skip
_STANDARDS = {"c++11", "c++14", "c++17", "c++20"}


@dataclass(frozen=True)
class Options:
    """What of the options matters.

    The language standard, -D, -U and -I in their order, and whether the code is relocatable.
    """

    standard: str = "c++17"
    preprocessor: tuple[str, ...] = ()
    relocatable: bool = False


def parse(options: Sequence[str]) -> Options:
    """Read NVRTC's or nvcc's options.

    Parameters
    ----------
    options : sequence of str
        One option each, its value joined (``-DN=4``, ``-std=c++14``) or as the next item.

    Raises
    ------
    OptionError
        For an option that is unknown, lacks its value, or names an unsupported standard.
    """
    standard, kept = "c++17", []
    rest = [str(option) for option in options]
    while rest:
        option = rest.pop(0)
        name, joined, value = option.partition("=")
        if name in ("-std", "--std"):
            value = value if joined else _next(rest, option)
            if value not in _STANDARDS:
                known = ", ".join(sorted(_STANDARDS))
                raise OptionError(f"{option}: nogpu knows the standards {known}")
            standard = value
        elif name in ("--define-macro", "--undefine-macro", "--include-path"):
            letter = {"--define-macro": "-D", "--undefine-macro": "-U", "--include-path": "-I"}
            kept.append(letter[name] + (value if joined else _next(rest, option)))
        elif name in ("--pre-include", "-include"):
            kept += ["-include", value if joined else _next(rest, option)]
        elif option in ("-D", "-U", "-I"):
            kept.append(option + _next(rest, option))
        elif option[:2] in ("-D", "-U", "-I") and len(option) > 2:
            kept.append(option)
        elif option in _IGNORED | _RELOCATABLE:
            continue
        elif name in ("-ftz", "--ftz"):
            on = (value if joined else _next(rest, option)) == "true"
            kept += ["-UCUSIM_FTZ", f"-DCUSIM_FTZ={int(on)}"]
        elif option in ("-use_fast_math", "--use_fast_math"):
            kept += ["-UCUSIM_FTZ", "-DCUSIM_FTZ=1"]
        elif name in _IGNORED_WITH_VALUE:
            if not joined:
                _next(rest, option)
        else:
            raise OptionError(f"error: unrecognized option {option} found")
    relocatable = not _RELOCATABLE.isdisjoint(map(str, options))
    return Options(standard, tuple(map(_after_own, kept)), relocatable)


def _after_own(option: str) -> str:
    """Let a folder with a CUDA toolkit's headers come after nogpu's own, for those of one name."""
    folder, marks = option[2:], ("cuda_runtime.h", "crt/mma.h")
    if option[:2] == "-I" and any(os.path.exists(os.path.join(folder, name)) for name in marks):
        return f"-idirafter{folder}"
    return option


def _next(rest: list[str], option: str) -> str:
    if not rest:
        raise OptionError(f"option {option} needs a value")
    return rest.pop(0)
