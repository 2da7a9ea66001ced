"""Run one published kernel in this process and print one line of JSON about it.

The same file runs with nogpu and with the real CuPy on a GPU, where `--record` writes what the
kernel's arrays hold afterwards.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zlib

import cut
import numpy as np

SIZE, SCALAR = 65536, 64  # elements of an array, value of a whole number: unless the list says so
NUMBERS = {
    "float": "f4",
    "double": "f8",
    "int": "i4",
    "unsigned": "u4",
    "unsigned int": "u4",
    "uint": "u4",
    "char": "i1",
    "signed char": "i1",
    "unsigned char": "u1",
    "uchar": "u1",
    "short": "i2",
    "unsigned short": "u2",
    "ushort": "u2",
    "long": "i8",
    "long int": "i8",
    "long long": "i8",
    "unsigned long": "u8",
    "unsigned long long": "u8",
    "unsigned long long int": "u8",
    "long long int": "i8",
    "size_t": "u8",
    "ptrdiff_t": "i8",
    "bool": "?",
    "half": "f2",
    "__half": "f2",
    "int8_t": "i1",
    "uint8_t": "u1",
    "int16_t": "i2",
    "uint16_t": "u2",
    "int32_t": "i4",
    "uint32_t": "u4",
    "int64_t": "i8",
    "uint64_t": "u8",
    "u_int8_t": "u1",
    "cufftReal": "f4",
    "unsigned short int": "u2",
    "std::size_t": "u8",
    "void": "u1",
}
BFLOAT = ("__nv_bfloat16", "nv_bfloat16")
# What <float.h>, <limits.h>, <math.h> and <stdint.h> give to nvcc and NVRTC lacks.
PRELUDE = """
#ifdef __CUDACC_RTC__
#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623158e+308
#endif
#ifndef INT_MAX
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffU
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#endif
"""

WHOLE_NUMBERS = {
    "uint": "unsigned int",
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long",
    "uint64_t": "unsigned long",
}


def prelude(code: str, nvrtc: bool) -> str:
    """Return what the host's headers, which were cut away, gave to the kernel."""
    if not nvrtc:
        return "#include <stdint.h>\n"
    if re.search(
        r"#include <(cuda/|cooperative_groups|cub/|curand)", code
    ):  # these define them, too
        return PRELUDE + "typedef unsigned int uint;\n"
    return PRELUDE + "".join(
        f"typedef {meaning} {name};\n"
        for name, meaning in WHOLE_NUMBERS.items()
        if re.search(rf"\b{name}\b", code)
    )


def plain_type(kind: str, names: dict[str, str]) -> str:
    """Return a type without qualifiers, with the file's own names for types resolved."""
    for _ in range(6):
        kind = re.sub(r"\b(const|struct|volatile|typename|register)\b", " ", kind)
        kind = " ".join(kind.replace("*", " * ").split()).replace(" *", "*")
        base = kind.rstrip("*")
        if base not in names or names[base] == base:
            break
        kind = names[base] + kind[len(base) :]
    return kind


def type_names(text: str, kernel: cut.Kernel, instance: str) -> dict[str, str]:
    """Return what the file's names for types stand for: typedefs, macros, template arguments."""
    names = {
        match[2]: match[1] for match in re.finditer(r"\btypedef\s+([\w\s]+?)\s+(\w+)\s*;", text)
    }
    names |= {m[1]: m[2].strip() for m in re.finditer(r"\busing\s+(\w+)\s*=\s*([\w\s:]+);", text)}
    names |= {
        m[1]: m[2].strip()
        for m in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([a-zA-Z_][\w ]*)$", text, re.M)
    }
    for parameter, value in zip(kernel.template, cut.split(instance)):
        if re.match(r"(typename|class)\b", parameter):
            names[re.sub(r"^(typename|class)\s+", "", parameter).split("=")[0].strip()] = value
    return names


def shape_of(base: str) -> tuple[np.dtype, int] | None:
    """Return the NumPy type and the number of components of a CUDA type."""
    if base in NUMBERS:
        return np.dtype(NUMBERS[base]), 1
    if base in BFLOAT:
        return np.dtype("u2"), 1
    vector = re.fullmatch(
        r"(u?(?:char|short|int|long|longlong)|float|double|half|__nv_bfloat16)([234])", base
    )
    if vector:
        name = vector[1].replace("longlong", "long")
        number = (
            np.dtype("u2")
            if name == "__nv_bfloat16"
            else np.dtype(NUMBERS[("unsigned " + name[1:]) if name[0] == "u" else name])
        )
        return number, int(vector[2])
    return {
        "cuFloatComplex": (np.dtype("f4"), 2),
        "cuComplex": (np.dtype("f4"), 2),
        "cufftComplex": (np.dtype("f4"), 2),
    }.get(base)


class Inputs:
    """Makes a kernel's arguments from its parameters and from what the list says about them."""

    def __init__(self, spec: str) -> None:
        self.random = np.random.default_rng(7)
        self.said = {}
        for part in filter(None, (part.strip() for part in spec.split(";"))):
            name, _, value = part.partition("=")
            self.said[name.strip()] = value.strip()

    def floats(self, count: int = SIZE, low: float = 0.1, high: float = 1.1) -> np.ndarray:
        return self.random.uniform(low, high, count)

    def ints(self, count: int = SIZE, high: int = SCALAR, low: int = 0) -> np.ndarray:
        return self.random.integers(low, high, count)

    def value(self, text: str) -> object:
        """Evaluate an entry of the list: numbers, NumPy, `floats`, `ints`, `zeros`."""
        known = {
            "np": np,
            "floats": self.floats,
            "ints": self.ints,
            "zeros": lambda count=SIZE: np.zeros(count),
            "n": SIZE,
        }
        return eval(text, {"__builtins__": {"range": range}}, known)  # noqa: S307 - our own list

    def make(self, kind: str, name: str) -> object:
        """Return one argument: an array of the host for a pointer, else a NumPy scalar."""
        if name in self.said and self.said[name].startswith("raw "):
            return np.asarray(self.value(self.said[name][4:]))
        said = self.value(self.said[name]) if name in self.said else None
        if kind.count("*") > 1 and said is None:
            raise LookupError(f"no rule for the parameter {kind} {name}")
        base = kind.rstrip("*").strip()
        shape = shape_of(base)
        if not kind.endswith("*"):
            if shape is None or shape[1] != 1:
                raise LookupError(f"no rule for the parameter {kind} {name}")
            if said is None:
                said = 0.5 if shape[0].kind == "f" else 1 if shape[0].kind == "b" else SCALAR
            return shape[0].type(said)
        if shape is None:  # a structure's memory
            return np.zeros(int(said) if said is not None else SIZE, dtype="u1")
        dtype, components = shape
        if said is None:
            high = 2 if dtype.kind == "b" else SCALAR
            said = (
                self.floats(SIZE * components)
                if dtype.kind == "f" or base.startswith(BFLOAT)
                else self.ints(SIZE * components, high)
            )
        if base.startswith(BFLOAT):
            bits = np.asarray(said, dtype="f4").view("u4")
            return (bits >> 16).astype("u2")
        return np.ascontiguousarray(said).astype(dtype)


def digest(
    before: np.ndarray, after: np.ndarray, span: tuple[int, int] | None, bfloat: bool
) -> tuple[int, int, list[float]] | None:
    """Describe what changed: the first and last changed element, and between them the mean, the
    mean absolute value, a weighted sum and 16 elements. None if nothing changed."""
    if span is None:
        changed = np.flatnonzero(
            before.view(f"u{before.itemsize}") != after.view(f"u{after.itemsize}")
        )
        if not changed.size:
            return None
        span = int(changed[0]), int(changed[-1])
    part = after[span[0] : span[1] + 1]
    if bfloat:
        part = (part.astype("u4") << 16).view("f4")
    if part.dtype.kind in "iub" and part.itemsize > 1:
        return *span, [float(zlib.crc32(part.tobytes())), *map(float, part[_samples(part.size)])]
    part = part.astype("f8")
    finite = np.where(np.isfinite(part), part, 0.0)
    weights = np.cos(np.arange(part.size) * 1.7) + 1.5
    return *span, [
        float(np.mean(finite)),
        float(np.mean(abs(finite))),
        float(np.mean(finite * weights)),
        *map(float, part[_samples(part.size)]),
    ]


def _samples(size: int) -> np.ndarray:
    return np.unique(np.linspace(0, size - 1, 16).astype(int))


def same(ours: list[float], recorded: list[float], dtype: np.dtype, bfloat: bool) -> bool:
    """Compare two digests within the rounding of the type."""
    if dtype.kind in "iub" and dtype.itemsize > 1 and not bfloat:
        return ours == recorded
    close = 2e-2 if dtype.itemsize <= 2 else 2e-3  # bytes are mostly colours, rounded from floats
    scale = max(recorded[1], 1e-30)
    return bool(np.allclose(ours, recorded, rtol=close, atol=close * scale, equal_nan=True))


def elementwise(text: str, name: str, cp: object) -> object:
    """Return the ElementwiseKernel that a Python file assigns to a name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return eval(compile(ast.Expression(node.value), "kernel", "eval"), {"cp": cp})  # noqa: S307
    raise LookupError(name)


def run(row: dict[str, str], text: str, recorded: dict[str, list], record: bool) -> dict:
    """Compile and launch the kernel of one row; return the verdict as a dictionary."""
    import cupy as cp

    state = {"id": row["id"], "stage": "compile", "digests": {}}
    try:
        inputs = Inputs(row["arguments"])
        if row["mode"] == "elementwise":
            kernel = elementwise(text, row["kernel"], cp)
            names = [str(i) for i in range(len(inputs.said))]
            host = [np.asarray(inputs.value(value)) for value in inputs.said.values()]
            bfloats = [False] * len(host)
        else:
            found = next(k for k in cut.kernels(text) if k.name == row["kernel"])
            nvrtc = row["mode"] == "nvrtc"
            code = cut.device_part(text, not nvrtc, row["kernel"], not nvrtc)
            name = f"{row['kernel']}<{row['instance']}>" if nvrtc else row["kernel"]
            options = ("-std=c++17",) + tuple(
                f"-D{d}" for d in inputs.said.pop("define", "").split()
            )
            if record and nvrtc:  # the wheels of CUDA lack some of its headers
                options += ("-I/usr/local/cuda/include",)
            module = cp.RawModule(
                code=prelude(code, nvrtc) + code,
                options=options,
                backend=row["mode"],
                name_expressions=[name] if nvrtc else None,
                enable_cooperative_groups="this_grid" in code,
            )
            kernel = module.get_function(name)
            for symbol in [key for key in inputs.said if key.startswith("@")]:
                values = cp.asarray(inputs.value(inputs.said.pop(symbol)))
                cp.cuda.runtime.memcpy(
                    module.get_global(symbol[1:]).ptr, values.data.ptr, values.nbytes, 3
                )
            state["stage"] = "arguments"
            types = type_names(text, found, row["instance"])
            kinds = [(plain_type(kind, types), name) for kind, name in found.parameters]
            host = [inputs.make(kind, name) for kind, name in kinds]
            names = [name or str(i) for i, (_, name) in enumerate(kinds)]
            bfloats = [kind.rstrip("*").startswith(BFLOAT) for kind, _ in kinds]
        state["stage"] = "launch"
        device = [cp.asarray(a) if a.ndim and a.dtype.kind != "V" else a[()] for a in host]
        if row["mode"] == "elementwise":
            kernel(*device, **({"size": int(row["grid"])} if row["grid"] else {}))
        else:
            flat = "threadIdx.y" not in code
            grid = (
                tuple(map(int, row["grid"].split("x"))) if row["grid"] else (2,) if flat else (4, 4)
            )
            block = (
                tuple(map(int, row["block"].split("x")))
                if row["block"]
                else (256,)
                if flat
                else (16, 16)
            )
            shared = int(row["shared"] or 16384)
            if shared > 48 << 10:
                kernel.max_dynamic_shared_size_bytes = shared
            kernel(grid, block, tuple(device), shared_mem=shared)
        cp.cuda.Device().synchronize()
        state["stage"] = "compare"
        wrong = []
        for name, before, array, bfloat in zip(names, host, device, bfloats):
            if not isinstance(array, cp.ndarray) or before.dtype.kind not in "fiub":
                continue
            then = recorded.get(name)
            after, before = cp.asnumpy(array).ravel(), before.ravel()
            now = digest(before, after, tuple(then[:2]) if then else None, bfloat)
            if record and now:
                state["digests"][name] = now
            elif (
                not record
                and recorded
                and (
                    (then is None) != (now is None)
                    or then
                    and not same(now[2], then[2], before.dtype, bfloat)
                )
            ):
                wrong.append(name)
        state["verdict"] = "wrong value" if wrong else "right" if recorded else "runs"
        state["message"] = " ".join(wrong)
    except Exception as error:  # noqa: BLE001 - the measurement is about what is raised
        state["verdict"], state["error"] = "raised", type(error).__name__
        state["message"] = str(error)
        state["fault"] = any(base.__name__ == "KernelFault" for base in type(error).__mro__)
    return state


def main() -> None:
    """Read rows as JSON lines from standard input; answer each with a line."""
    record = "--record" in sys.argv
    for line in sys.stdin:
        row, text, recorded = json.loads(line)
        answer = json.dumps(run(row, text, recorded, record))
        print("\n" + answer, flush=True)  # a kernel's printf need not end its line


if __name__ == "__main__":
    main()
