"""Errors of the driver, contexts, and devices.

Each thread has a stack of contexts. What is made in a context belongs to it: kernels, streams and
events cannot be used while another one is current. Memory is one for all contexts.

PyCUDA's own stack says which context it made current; the driver's (in `cupy_backends`) says which
one is, after CuPy's doings. That the two can differ is what surprises people late.
"""

from __future__ import annotations

import builtins
import itertools
import os
import threading
from collections.abc import Callable

from cupy_backends.cuda.api import _contexts as _driver
from cupy_backends.cuda.api import _errors, runtime

from nogpu import engine
from nogpu.faces import table

from . import _enums

__all__ = """
    Context Device Error LaunchError LogicError MemoryError RuntimeError init
""".split()  # `_driver` takes them over

_LAUNCH_ERRORS = {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "CUDA_ERROR_LAUNCH_FAILED"}
_RUNTIME_ERRORS = {"CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_FILE_NOT_FOUND", "CUDA_ERROR_UNKNOWN",
                   "CUDA_ERROR_NOT_READY"}
_TEXTS = {name: text for name, (_, text) in _errors.DRIVER.items()}


class Error(Exception):
    """Base of PyCUDA's errors."""


class MemoryError(Error):  # noqa: A001
    """The device has no room."""


class LogicError(Error):
    """A call that CUDA refuses."""


class LaunchError(Error):
    """A launch that the device refuses."""


class RuntimeError(Error):  # noqa: A001
    """Something outside the program: no device, no file."""


class ArgumentError(TypeError):
    """Arguments whose types fit no signature of a function of the binding."""

    __module__ = "Boost.Python"


def failed(routine: str, code: str, more: str = "") -> Error:
    """The exception for a driver's function that failed."""
    kind: type[Error] = LogicError
    if code == "CUDA_ERROR_OUT_OF_MEMORY":
        kind = MemoryError
    elif code in _LAUNCH_ERRORS:
        kind = LaunchError
    elif code in _RUNTIME_ERRORS:
        kind = RuntimeError
    return kind(f"{routine} failed: {_TEXTS[code]}{more}")


def stream_failed(routine: str, error: engine.StreamError) -> Error:
    """The same for what the engine says of a stream or an event."""
    _, text = _errors.RUNTIME.get(error.code, (0, str(error)))
    kind = RuntimeError if error.code == "cudaErrorNotReady" else LogicError
    return kind(f"{routine} failed: {text}")


class _State(threading.local):
    def __init__(self) -> None:
        self.stack: list[Context] = []


_state = _State()
_handles = itertools.count(0x7C0000, 0x100)
_initialised = False
_primary: dict[int, Context] = {}  # each device's


def init(flags: int = 0) -> None:
    """Begin; again is harmless."""
    global _initialised
    _initialised = True


def check_initialised(routine: str) -> None:
    """Refuse what comes before `init`."""
    if not (_initialised or _driver.initialised):
        raise failed(routine, "CUDA_ERROR_NOT_INITIALIZED")


class Context:
    """Where kernels, streams and memory belong; made by a `Device`."""

    def __init__(self) -> None:
        raise no_constructor()

    @classmethod
    def _make(cls, device: Device, primary: bool) -> Context:
        self = object.__new__(cls)
        self._device, self._valid = device, True
        self._handle = _driver.PRIMARY + device._number if primary else next(_handles)
        _driver.foreign_contexts[self._handle] = device._number
        return self

    @property
    def handle(self) -> int:
        """CUDA's number of it."""
        return self._handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self._handle == other._handle

    def __hash__(self) -> int:
        return hash(self._handle)

    def __bool__(self) -> bool:
        return True

    def push(self) -> None:
        """Make it current."""
        if self._valid:
            _state.stack.append(self)
            _driver.state.stack.append(self._handle)
            _driver.settle()

    @staticmethod
    def pop() -> None:
        """Leave the current one; the one before is current again."""
        if not _state.stack:
            raise failed("context::pop", "CUDA_ERROR_INVALID_CONTEXT",
                         " - cannot pop non-current context")  # fmt: skip
        _state.stack.pop()
        if _driver.state.stack:
            _driver.state.stack.pop()
            if _state.stack:  # the one before on PyCUDA's own list, whatever CuPy made current
                _driver.state.stack[-1:] = [_state.stack[-1]._handle]
            _driver.settle()

    def detach(self) -> None:
        """End it."""
        if not self._valid:
            raise failed("context::detach", "CUDA_ERROR_INVALID_CONTEXT",
                         " - cannot detach from invalid context")  # fmt: skip
        engine.streams.synchronize()
        self._valid = False
        if self in _state.stack:
            _state.stack.remove(self)
        if self._handle in _driver.state.stack:
            _driver.state.stack.remove(self._handle)
            _driver.settle()

    def get_api_version(self) -> int:
        """The version of the interface."""
        return 3020

    @staticmethod
    def get_current() -> Context | None:
        """The current one."""
        return current()

    @staticmethod
    def get_device() -> Device:
        """The current one's device."""
        need("cuCtxGetDevice")
        return Device(_driver.state.device)

    @staticmethod
    def synchronize() -> None:
        """Wait for all work of the device."""
        need("cuCtxSynchronize")
        engine.streams.synchronize(_driver.state.device)

    @staticmethod
    def enable_peer_access(peer: Context, flags: int = 0) -> None:
        """Let kernels of the current context use the memory of another device's."""
        _peer("cuCtxEnablePeerAccess", runtime.deviceEnablePeerAccess, peer)

    @staticmethod
    def disable_peer_access(peer: Context, flags: int = 0) -> None:
        """Let kernels of the current context use another device's memory no more."""
        _peer("cuCtxDisablePeerAccess", runtime.deviceDisablePeerAccess, peer)

    @staticmethod
    def get_limit(limit: int) -> int:
        """A limit of the device's runtime."""
        need("cuCtxGetLimit")
        return {0: 1024, 1: 2**20, 2: 8 * 2**20, 3: 2, 4: 2048}[int(limit)]


def _peer(routine: str, change: Callable, peer: Context) -> None:
    need(routine)
    try:
        change(peer._device._number)
    except runtime.CUDARuntimeError as error:
        name = next(name for name, (status, _) in _errors.DRIVER.items() if status == error.status)
        raise failed(routine, name) from None


def _setting(name: str) -> Callable:
    """A getter or setter of the context: nothing can be set here."""
    routine = "cuCtx" + name.title().replace("_", "").replace("SharedC", "SharedMemC")
    value = _SETTINGS.get(name)

    def call(*arguments: int) -> int | None:
        need(routine)
        return value

    return call


_SETTINGS = {
    "get_cache_config": _enums.func_cache.PREFER_NONE,
    "get_shared_config": _enums.shared_config.FOUR_BYTE_BANK_SIZE,
}
table.methods(Context, _setting, """
set_limit(limit: int, value: int) -> None: Accepted; it changes nothing here.
get_cache_config() -> int: How cache and shared memory are divided.
set_cache_config(config: int) -> None: Accepted; it changes nothing here.
get_shared_config() -> int: The width of a bank of shared memory.
set_shared_config(config: int) -> None: Accepted; it changes nothing here.
""", static=True)


def no_constructor() -> Exception:
    """What the binding says to the constructor of a class that has none."""
    return builtins.RuntimeError("This class cannot be instantiated from Python")


def current() -> Context | None:
    """This thread's current context."""
    return _state.stack[-1] if _state.stack else None


def need(routine: str, more: str = "") -> None:
    """The driver's error where no context is current, PyCUDA's or CuPy's."""
    check_initialised(routine)
    if not _driver.current():
        raise failed(routine, "CUDA_ERROR_INVALID_CONTEXT", more)


_kernels: dict[tuple, int] = {}  # PyCUDA's own kernels, and the driver's context at their loading


def check_kernel(key: object) -> None:
    """Refuse one of PyCUDA's own kernels that it loaded in another context.

    It keeps them by the context that it takes for the current one.
    """
    mine, real = current(), _driver.current()
    if _kernels.setdefault((mine and mine.handle, key), real) != real:
        raise failed("cuFuncSetBlockShape", "CUDA_ERROR_INVALID_HANDLE")


class Dependent:
    """Belongs to the context that is current when it is made."""

    def _enter_context(self) -> None:
        context = current()
        if context is None:
            raise failed("explicit_context_dependent", "CUDA_ERROR_INVALID_CONTEXT",
                         " - no currently active context?")  # fmt: skip
        self._context = context
        self._home = _driver.current()

    def _check_context(self, routine: str) -> None:
        if _driver.current() != self._home:
            raise failed(routine, "CUDA_ERROR_INVALID_HANDLE")


class Device:
    """A device by its number."""

    def __init__(self, *number: int) -> None:
        if len(number) != 1 or not isinstance(number[0], int):
            raise ArgumentError("Device: Python argument types did not match C++ signature")
        number = number[0]
        check_initialised("cuDeviceGet")
        if not 0 <= number < engine.devices.count:
            raise failed("cuDeviceGet", "CUDA_ERROR_INVALID_DEVICE")
        self._number = number

    @staticmethod
    def count() -> int:
        """How many there are."""
        check_initialised("cuDeviceGetCount")
        return engine.devices.count

    def name(self) -> str:
        """What it is called."""
        return runtime._NAME

    def compute_capability(self) -> tuple[int, int]:
        """What it can do."""
        return engine.limits.COMPUTE_CAPABILITY

    def total_memory(self) -> int:
        """Bytes of its memory."""
        return engine.usage(self._number)[1]

    def pci_bus_id(self) -> str:
        """Where it sits."""
        return runtime._PCI[self._number]

    def get_attribute(self, attribute: int) -> int:
        """The value of a member of ``device_attribute``; 0 for what the simulator lacks."""
        values = dict.fromkeys(map(int, _enums.device_attribute.values), 0)
        values.update(runtime._attributes().values())
        if int(attribute) not in values:
            raise failed("cuDeviceGetAttribute", "CUDA_ERROR_INVALID_VALUE")
        return values[int(attribute)]

    def get_attributes(self) -> dict:
        """All attributes by member."""
        members = _enums.device_attribute.names.values()
        return {member: self.get_attribute(member) for member in members}

    def __getattr__(self, name: str) -> int:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get_attribute(getattr(_enums.device_attribute, name.upper()))

    def can_access_peer(self, other: Device) -> bool:
        """Whether it reaches another device's memory."""
        return bool(runtime.deviceCanAccessPeer(self._number, other._number))

    def make_context(self, flags: int = 0) -> Context:
        """A new context, current at once."""
        context = Context._make(self, primary=False)
        context.push()
        return context

    def retain_primary_context(self) -> Context:
        """The primary context; `Context.push` makes it current."""
        if self._number not in _primary:
            _primary[self._number] = Context._make(self, primary=True)
        return _primary[self._number]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self._number == other._number

    def __hash__(self) -> int:
        return hash(self._number)


def chosen_device() -> str | None:
    """The device that the environment names, as text."""
    named = os.environ.get("CUDA_DEVICE")
    if named is None:
        try:
            with open(os.path.join(os.environ["HOME"], ".cuda_device")) as file:
                named = file.read().strip()
        except (OSError, KeyError):
            return None
    return named
