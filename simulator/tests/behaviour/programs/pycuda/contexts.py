"""Contexts of PyCUDA, each program in a process of its own: nothing has been initialised."""

import pycuda.driver as drv

from tests.behaviour.marks import alone


class Attempt:
    """Prints what an action gives, or the exception that it raises."""

    def __init__(self, action):
        try:
            print(action())
        except Exception as error:
            print(f"{type(error).__module__}.{type(error).__name__}: {error}")


@alone
def device_count_without_init():
    """Before init() even counting devices is a LogicError."""
    print(drv.Device.count())


@alone
def memory_without_init():
    """Before init() an allocation is a LogicError."""
    drv.mem_alloc(16)


@alone
def memory_without_a_context():
    """After init(), but without a context, an allocation is a LogicError."""
    drv.init()
    drv.mem_alloc(16)


@alone
def module_without_a_context():
    """SourceModule without a context is a LogicError, before anything is compiled."""
    from pycuda.compiler import SourceModule

    drv.init()
    try:
        SourceModule("__global__ void k() {}")
    except drv.Error as error:  # what follows the dash is whatever lies there
        print(type(error).__name__, str(error).partition(" - ")[0])


@alone
def gpuarray_without_a_context():
    """to_gpu without a context is a LogicError."""
    import numpy as np
    from pycuda import gpuarray

    drv.init()
    gpuarray.to_gpu(np.zeros(3))


@alone
def objects_without_a_context():
    """Streams, events, synchronize, mem_get_info and get_device without a context: LogicError."""
    drv.init()
    Attempt(drv.Stream)
    Attempt(drv.Event)
    Attempt(drv.Context.synchronize)
    Attempt(drv.mem_get_info)
    Attempt(drv.Context.get_device)
    Attempt(drv.Context.get_current)
    Attempt(drv.Context.pop)
    Attempt(lambda: drv.pagelocked_empty(4, "f4"))


@alone
def device_without_a_context():
    """A Device can be asked without a context."""
    drv.init()
    d = drv.Device(0)
    print(drv.Device.count() >= 1, type(d.name()).__name__, d.compute_capability() >= (7, 5))


@alone
def init_twice():
    """init() can be called again."""
    print(drv.init(), drv.init())


@alone
def autoinit():
    """autoinit makes a context, current at once, and names it and its device."""
    import pycuda.autoinit

    print(type(pycuda.autoinit.context).__name__, type(pycuda.autoinit.device).__name__)
    print(drv.Context.get_current() == pycuda.autoinit.context)
    print(drv.Context.get_device() == pycuda.autoinit.device)
    print([n for n in dir(pycuda.autoinit) if not n.startswith("_")])


@alone
def autoprimaryctx():
    """autoprimaryctx retains the primary context and makes it current."""
    import pycuda.autoprimaryctx

    print(type(pycuda.autoprimaryctx.context).__name__)
    print(drv.Context.get_current() == pycuda.autoprimaryctx.context)
    print([n for n in dir(pycuda.autoprimaryctx) if not n.startswith("_")])


@alone
def autoinit_makes_another_context():
    """autoinit's context is not the primary one: autoprimaryctx after it has another."""
    import pycuda.autoinit
    import pycuda.autoprimaryctx

    print(pycuda.autoinit.context == pycuda.autoprimaryctx.context)
    print(drv.Context.get_current() == pycuda.autoprimaryctx.context)


@alone
def make_context():
    """make_context makes it current; push and pop change which one is."""
    drv.init()
    a = drv.Device(0).make_context()
    b = drv.Device(0).make_context()
    print(drv.Context.get_current() == b, a == b, a != b)
    drv.Context.pop()
    print(drv.Context.get_current() == a)
    a.push()
    drv.Context.pop()
    print(drv.Context.get_current() == a)
    drv.Context.pop()
    Attempt(drv.Context.get_current)


@alone
def pop_too_often():
    """pop() on an empty stack is a LogicError."""
    drv.init()
    drv.Device(0).make_context()
    drv.Context.pop()
    drv.Context.pop()


@alone
def retain_primary_context():
    """retain_primary_context does not make it current; push does."""
    drv.init()
    context = drv.Device(0).retain_primary_context()
    Attempt(drv.Context.get_current)
    context.push()
    print(drv.Context.get_current() == context, int(drv.mem_alloc(4)) > 0)
    drv.Context.pop()


@alone
def primary_context_is_one():
    """Two retained primary contexts are equal, or not, as recorded."""
    drv.init()
    a, b = (drv.Device(0).retain_primary_context() for _ in range(2))
    print(a == b, type(a).__name__)
    print(a.handle == b.handle)


@alone
def detach():
    """detach() ends a context; it cannot be pushed again: LogicError or RuntimeError."""
    drv.init()
    context = drv.Device(0).make_context()
    context.detach()
    Attempt(drv.Context.get_current)
    Attempt(drv.Context.pop)
    context.push()


@alone
def memory_of_a_detached_context():
    """An allocation of a context that was detached: free says something, or nothing."""
    drv.init()
    context = drv.Device(0).make_context()
    a = drv.mem_alloc(16)
    context.detach()
    Attempt(a.free)


@alone
def memory_freed_in_another_context():
    """An allocation remembers its context: free works while another one is current."""
    drv.init()
    drv.Device(0).make_context()
    a = drv.mem_alloc(16)
    drv.Device(0).make_context()
    Attempt(a.free)


@alone
def kernel_of_another_context():
    """A kernel launched while another context is current: LogicError, invalid resource handle."""
    import pycuda.autoinit
    from pycuda.compiler import SourceModule

    k = SourceModule("__global__ void k() {}").get_function("k")
    other = pycuda.autoinit.device.make_context()
    Attempt(lambda: k(block=(1, 1, 1)))
    other.pop()
    Attempt(lambda: k(block=(1, 1, 1)))


@alone
def stream_of_another_context():
    """A stream of another context: what record and a launch on it say, and synchronize."""
    import pycuda.autoinit
    from pycuda.compiler import SourceModule

    s = drv.Stream()
    pycuda.autoinit.device.make_context()
    k = SourceModule("__global__ void k() {}").get_function("k")
    Attempt(lambda: k(block=(1, 1, 1), stream=s))
    Attempt(lambda: drv.Event().record(s) is not None)
    Attempt(s.synchronize)


@alone
def memory_of_another_context():
    """A copy from an allocation of another context works: addresses are one for all."""
    import numpy as np
    import pycuda.autoinit

    a, host = drv.to_device(np.arange(4, dtype=np.int32)), np.zeros(4, dtype=np.int32)
    pycuda.autoinit.device.make_context()
    Attempt(lambda: drv.memcpy_dtoh(host, a))
    print(host)


@alone
def get_current_in_a_thread():
    """A new thread has no context: LogicError there; push in it works."""
    import threading

    import pycuda.autoinit

    found = []
    t = threading.Thread(target=lambda: found.append(drv.Context.get_current()))
    t.start()
    t.join()
    print(found)
    t = threading.Thread(target=lambda: Attempt(lambda: drv.mem_alloc(4)))
    t.start()
    t.join()


@alone
def api_version():
    """get_api_version and the context's limits."""
    import pycuda.autoinit

    print(type(pycuda.autoinit.context.get_api_version()).__name__)
    print(drv.Context.get_limit(drv.limit.PRINTF_FIFO_SIZE) > 0)
    print(drv.Context.get_cache_config())


@alone
def errors_before_anything():
    """The exception classes: bases, modules; none is a builtin's subclass but Exception."""
    for kind in (drv.Error, drv.MemoryError, drv.LogicError, drv.LaunchError, drv.RuntimeError,
                 drv.CompileError):
        print(kind.__module__, kind.__name__, [b.__name__ for b in kind.__mro__[1:]])


@alone
def make_default_context():
    """tools.make_default_context makes one on the first device that works."""
    from pycuda.tools import make_default_context

    drv.init()
    context = make_default_context()
    print(type(context).__name__, drv.Context.get_current() == context)
    context.pop()


@alone
def default_context_by_environment():
    """CUDA_DEVICE names the device; one that is missing is a LogicError."""
    import os

    from pycuda.tools import make_default_context

    drv.init()
    os.environ["CUDA_DEVICE"] = "99"
    make_default_context()


@alone
def default_context_by_a_bad_environment():
    """CUDA_DEVICE that is no number: ValueError."""
    import os

    from pycuda.tools import make_default_context

    drv.init()
    os.environ["CUDA_DEVICE"] = "first"
    make_default_context()
