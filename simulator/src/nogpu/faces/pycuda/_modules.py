"""Modules and functions: compiled source, loaded."""

from __future__ import annotations

import re
from pathlib import Path

from cupy_backends.cuda.api import _errors

from nogpu import engine

from . import _contexts, _enums, _memory, _streams
from ._contexts import Dependent, failed

__all__ = ["Function", "Module", "module_from_buffer", "module_from_file"]

# The letters of the C++ ABI for builtin types.
_TYPES = {
    "v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long",
    "x": "long long", "y": "unsigned long long", "f": "float", "d": "double",
}  # fmt: skip
_INSTANCE = re.compile(r"\btemplate\s+__global__\s+void\s+([A-Za-z_]\w*\s*<[^;()]*>)\s*\(")


def instances(source: str) -> tuple[str, ...]:
    """The instances of template kernels that a source asks for: ``scale<float>``."""
    return tuple(" ".join(found.split()) for found in _INSTANCE.findall(source))


def plain_name(mangled: str) -> str | None:
    """``k`` of ``_Z1kPi``, ``set<int>`` of ``_Z3setIiEvPT_``; None for what is no such name."""
    found = re.match(r"_Z(N?)((?:\d+)?)", mangled)
    if found is None or not (found.group(2) or found.group(1)):
        return None
    at, parts = 2 + len(found.group(1)), []
    while size := re.match(r"\d+", mangled[at:]):
        at += size.end()
        parts.append(mangled[at : at + int(size.group())])
        at += int(size.group())
    name = "::".join(parts)
    if mangled[at : at + 1] != "I":
        return name
    at, arguments = at + 1, []
    while at < len(mangled) and mangled[at] != "E":
        number = re.match(r"L([a-z])(n?)(\d+)E", mangled[at:])
        if number:
            value = ("-" if number.group(2) else "") + number.group(3)
            if number.group(1) == "b":
                value = "true" if value == "1" else "false"
            arguments.append(value)
            at += number.end()
        elif mangled[at] in _TYPES:
            arguments.append(_TYPES[mangled[at]])
            at += 1
        else:
            return None
    return f"{name}<{', '.join(arguments)}>"


def _same(name: str) -> str:
    return re.sub(r"\s+", "", name)


class Module(Dependent):
    """Loaded code: kernels and variables by name.

    ``_plain`` says that all of it stood in ``extern "C"``: names are as they are written.
    """

    def __init__(self) -> None:
        raise _contexts.no_constructor()

    @classmethod
    def _of(cls, module: engine.Module, plain: bool) -> Module:
        self = object.__new__(cls)
        self._enter_context()
        self._module, self._plain = module, plain
        return self

    def _find(self, name: str) -> str | None:
        kernels = {kernel.name: kernel for kernel in self._module._scan.kernels}
        if name in kernels and not kernels[name].is_template:
            if self._plain or kernels[name].extern_c or name in self._module._names:
                return name
        if self._plain:
            return None
        wanted = plain_name(name)
        if wanted is None:
            return None
        for known in self._module.kernel_names:
            declared = kernels.get(known)
            if _same(known) == _same(wanted) and not (declared and declared.extern_c):
                return known
        return None

    def get_function(self, name: str) -> Function:
        """A kernel."""
        known = self._find(name)
        if known is None:
            raise failed("cuModuleGetFunction", "CUDA_ERROR_NOT_FOUND")
        return Function._of(self, self._module.kernel(known))

    def get_global(self, name: str) -> tuple[int, int]:
        """Address and size of a ``__device__`` or ``__constant__`` variable."""
        try:
            found = self._module.variable(name)
        except engine.KernelNotFound:
            raise failed("cuModuleGetGlobal", "CUDA_ERROR_NOT_FOUND") from None
        return found.address, found.nbytes


class Function:
    """A kernel of a module. `pycuda.driver` adds the ways to call it."""

    def __init__(self) -> None:
        raise _contexts.no_constructor()

    @classmethod
    def _of(cls, module: Module, kernel: engine.Kernel) -> Function:
        self = object.__new__(cls)
        self._module, self._kernel = module, kernel
        scan = next((k for k in module._module._scan.kernels if k.name == kernel.name), None)
        self._names = tuple(scan.parameters) if scan is not None else ()
        return self

    def get_attribute(self, attribute: int) -> int:
        """The value of a member of ``function_attribute``."""
        names, kernel = _enums.function_attribute, self._kernel
        major, minor = engine.limits.COMPUTE_CAPABILITY
        values = {
            names.MAX_THREADS_PER_BLOCK: kernel.max_threads,
            names.SHARED_SIZE_BYTES: kernel.static_shared,
            names.CONST_SIZE_BYTES: 0,
            names.LOCAL_SIZE_BYTES: 0,
            names.NUM_REGS: 0,  # the simulator has none
            names.PTX_VERSION: 10 * major + minor,
            names.BINARY_VERSION: 10 * major + minor,
            names.CACHE_MODE_CA: 0,
            names.MAX_DYNAMIC_SHARED_SIZE_BYTES: kernel.max_dynamic_shared,
            names.PREFERRED_SHARED_MEMORY_CARVEOUT: -1,
        }
        if int(attribute) not in values:
            raise failed("cuFuncGetAttribute", "CUDA_ERROR_INVALID_VALUE")
        return values[int(attribute)]

    def set_attribute(self, attribute: int, value: int) -> None:
        """Set one of the two that can be set."""
        if int(attribute) == _enums.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES:
            try:
                self._kernel.max_dynamic_shared = int(value)
            except engine.InvalidLaunch:
                raise failed("cuFuncSetAttribute", "CUDA_ERROR_INVALID_VALUE") from None

    def set_cache_config(self, config: int) -> None:
        """Accepted; it changes nothing here."""

    def set_shared_config(self, config: int) -> None:
        """Accepted; it changes nothing here."""

    def _set_block_shape(self, *sizes: int) -> None:
        if len(sizes) != 3:
            raise _memory.mismatch("Function._set_block_shape", self, *sizes)
        sizes = [_size(value, "_set_block_shape") for value in sizes]
        if not all(sizes) or sizes[0] * sizes[1] * sizes[2] > self._kernel.max_threads:
            raise _errors.noted(
                failed("cuFuncSetBlockShape", "CUDA_ERROR_INVALID_VALUE"),
                f"block of {tuple(sizes)}: 1 to {self._kernel.max_threads:,} threads are possible")

    _set_block_shape.__qualname__ = "_set_block_shape"  # so the binding shows it

    def _launch_kernel(
        self, grid: tuple, block: tuple, buffer: bytes, shared: int, stream: object,
        pointers: tuple = (),
    ) -> None:  # fmt: skip
        if not isinstance(grid, tuple) or not isinstance(block, tuple):
            kinds = (self, grid, block, buffer, shared, stream)
            raise _contexts.ArgumentError(
                "Python argument types in\n    Function._launch_kernel("
                + ", ".join(type(kind).__name__ for kind in kinds)
                + ")\ndid not match C++ signature:\n    _launch_kernel(pycuda::function {lvalue}, "
                "pycudaboost::python::tuple, pycudaboost::python::tuple, "
                "pycudaboost::python::api::object, unsigned int, "
                "pycudaboost::python::api::object)")
        grid = tuple(_size(value, "_launch_kernel") for value in grid)
        block = tuple(_size(value, "_launch_kernel") for value in block)
        queue, kernel = _streams.queue_of(stream), self._kernel
        self._module._check_context("cuLaunchKernel")
        if stream is not None:
            stream._check_context("cuLaunchKernel")
        if len(buffer) > kernel.parameter_bytes:
            raise failed("cuLaunchKernel", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")
        # What was not passed is whatever lies there.
        buffer = buffer.ljust(kernel.parameter_bytes, b"\xcd")
        for name, address in zip(self._names, pointers):
            found = engine.lookup(address) if address else None
            if found is not None and name and not found.is_variable:
                found.name = name
        try:
            queue.launch(kernel, grid, block, buffer, int(shared))
        except engine.InvalidLaunch as error:
            raise _errors.noted(failed("cuLaunchKernel", error.code), error) from None


def _size(value: object, function: str) -> int:
    if not isinstance(value, int):
        if function == "_launch_kernel":
            raise TypeError(f"No registered converter was able to produce a C++ rvalue of type "
                            f"unsigned int from this Python object of type {type(value).__name__}")
        raise _memory.mismatch(f"Function.{function}", value)
    if value < 0:
        raise OverflowError("can't convert negative value to unsigned int")
    return int(value)


def load(module: engine.Module, plain: bool) -> Module:
    """Load what was compiled."""
    return Module._of(module, plain)


def module_from_buffer(
    buffer: bytes, options: tuple = (), message_handler: object = None
) -> Module:
    """Load an image that `pycuda.compiler.compile` or CuPy's NVRTC made."""
    from cupy.cuda import compiler

    _contexts.need("cuModuleLoadDataEx")
    content = compiler._open_image(buffer)
    if content is None:
        more = " - error   : Binary format for key='0', ident='' is not recognized"
        raise failed("cuModuleLoadDataEx", "CUDA_ERROR_INVALID_IMAGE", more)
    module = compiler._compile(
        content["source"], content["options"], content["names"], content["backend"])
    return load(module, bool(content.get("plain")))


def module_from_file(filename: str) -> Module:
    """Load an image from a file."""
    _contexts.need("cuModuleLoad")
    try:
        image = Path(filename).read_bytes()
    except OSError:
        raise failed("cuModuleLoad", "CUDA_ERROR_FILE_NOT_FOUND") from None
    return module_from_buffer(image)
