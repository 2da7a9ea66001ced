"""autoinit beside CuPy, in one process: two contexts, and what each library makes of it."""

import numpy as np
import pycuda.driver as drv

from tests.behaviour.marks import alone

TWICE = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }"
PLUS = 'extern "C" __global__ void plus(float* x) { x[threadIdx.x] += 1; }'


class Attempt:
    """Prints what an action gives, or the exception that it raises."""

    def __init__(self, action):
        try:
            print(action())
        except Exception as error:
            print(f"{type(error).__module__}.{type(error).__name__}: {error}")


@alone
def autoinit_then_cupy():
    """CuPy after autoinit: arrays, arithmetic, a sum, a RawKernel."""
    import cupy as cp
    import pycuda.autoinit

    Attempt(lambda: cp.arange(4))
    Attempt(lambda: cp.arange(4) + 1)
    Attempt(lambda: cp.arange(4).sum())
    x = cp.zeros(4, dtype=cp.float32)
    Attempt(lambda: cp.RawKernel(PLUS, "plus")((1,), (4,), (x,)))
    Attempt(lambda: x)
    Attempt(lambda: cp.cuda.driver.ctxGetCurrent() == pycuda.autoinit.context.handle)


@alone
def cupy_then_autoinit():
    """CuPy first, then autoinit: CuPy's kernels belong to the other context; late errors."""
    import cupy as cp

    x = cp.zeros(4, dtype=cp.float32)
    x += 1
    plus = cp.RawKernel(PLUS, "plus")
    plus((1,), (4,), (x,))
    print(x)
    import pycuda.autoinit

    Attempt(lambda: x.get())
    Attempt(lambda: x + 1)
    Attempt(lambda: x * 3)
    Attempt(lambda: plus((1,), (4,), (x,)))
    Attempt(lambda: cp.cuda.Device().synchronize())
    Attempt(lambda: cp.cuda.driver.ctxGetCurrent() == pycuda.autoinit.context.handle)


@alone
def cupy_then_autoinit_then_pop():
    """After popping autoinit's context CuPy works again."""
    import cupy as cp

    x = cp.zeros(4, dtype=cp.float32)
    x += 1
    import pycuda.autoinit

    Attempt(lambda: x + 1)
    pycuda.autoinit.context.pop()
    Attempt(lambda: x + 1)
    pycuda.autoinit.context.push()


@alone
def cupy_import_then_autoinit():
    """CuPy only imported before autoinit: it works, or not, as recorded."""
    import cupy as cp
    import pycuda.autoinit

    Attempt(lambda: cp.ones(3) * 2)
    Attempt(lambda: cp.cuda.Stream().ptr > 2)
    Attempt(lambda: cp.arange(4.0).reshape(2, 2) @ cp.arange(4.0).reshape(2, 2))


@alone
def autoinit_then_pop_then_cupy():
    """CuPy used after autoinit's context has been popped: the primary context, until push."""
    import pycuda.autoinit

    pycuda.autoinit.context.pop()
    import cupy as cp

    x = cp.ones(3)
    Attempt(lambda: x + 1)
    pycuda.autoinit.context.push()
    Attempt(lambda: x + 1)


@alone
def gpuarray_of_autoinit_in_cupy():
    """cp.asarray of a GPUArray in autoinit's context, CuPy used first there."""
    import cupy as cp
    import pycuda.autoinit
    from pycuda import gpuarray

    g = gpuarray.to_gpu(np.arange(4, dtype=np.float32))
    Attempt(lambda: cp.asarray(g))
    Attempt(lambda: cp.asarray(g) + 1)
    Attempt(lambda: cp.asarray(g).sum())


@alone
def gpuarray_of_autoinit_in_cupy_used_before():
    """The same where CuPy was used before autoinit: late errors."""
    import cupy as cp

    cp.arange(4, dtype=cp.float32) + 1
    cp.arange(4, dtype=cp.float32).sum()
    import pycuda.autoinit
    from pycuda import gpuarray

    g = gpuarray.to_gpu(np.arange(4, dtype=np.float32))
    Attempt(lambda: cp.asarray(g))
    Attempt(lambda: cp.asarray(g) + 1)
    Attempt(lambda: cp.asarray(g).sum())
    Attempt(lambda: g + 1)


@alone
def cupy_array_in_a_kernel_of_autoinit():
    """A CuPy array from the primary context in a kernel of autoinit's: it works."""
    import cupy as cp

    x = cp.arange(4, dtype=cp.float32)
    cp.cuda.Device().synchronize()
    import pycuda.autoinit
    from pycuda.compiler import SourceModule

    twice = SourceModule(TWICE).get_function("twice")
    Attempt(lambda: twice(x, block=(4, 1, 1)))
    Attempt(drv.Context.synchronize)
    Attempt(lambda: x.get())


@alone
def cupy_array_made_after_autoinit_in_its_kernel():
    """A CuPy array made after autoinit in a kernel of autoinit's context."""
    import cupy as cp
    import pycuda.autoinit
    from pycuda.compiler import SourceModule

    x = cp.arange(4, dtype=cp.float32)
    twice = SourceModule(TWICE).get_function("twice")
    Attempt(lambda: twice(x, block=(4, 1, 1)))
    Attempt(drv.Context.synchronize)
    Attempt(lambda: x)


@alone
def autoinit_then_cupy_then_pop():
    """CuPy used first inside autoinit's context, then outside: its kernels are the other one's."""
    import cupy as cp
    import pycuda.autoinit

    x = cp.ones(3)
    Attempt(lambda: x + 1)
    pycuda.autoinit.context.pop()
    Attempt(lambda: x + 1)
    Attempt(lambda: cp.ones(3))
    Attempt(lambda: x.get())
    pycuda.autoinit.context.push()
    Attempt(lambda: x + 1)


@alone
def cupy_stream_and_autoinit():
    """A CuPy stream made before autoinit, used after it."""
    import cupy as cp

    s, e = cp.cuda.Stream(), cp.cuda.Event()
    import pycuda.autoinit

    with s:
        Attempt(lambda: cp.ones(3))
    Attempt(lambda: e.record(s))
    Attempt(s.synchronize)


@alone
def pycuda_stream_of_autoinit_in_cupy():
    """A stream of autoinit's context in a CuPy that was used before, and in one that was not."""
    import cupy as cp
    import pycuda.autoinit

    s = drv.Stream()
    with cp.cuda.ExternalStream(s.handle):
        Attempt(lambda: cp.ones(3) + 1)
    Attempt(s.synchronize)


@alone
def cupy_then_autoprimaryctx():
    """autoprimaryctx after CuPy: one context, nothing breaks."""
    import cupy as cp

    x = cp.arange(4, dtype=cp.float32)
    x += 1
    import pycuda.autoprimaryctx
    from pycuda.compiler import SourceModule

    SourceModule(TWICE).get_function("twice")(x, block=(4, 1, 1))
    print(x, x + 1, pycuda.autoprimaryctx.context is not None)


@alone
def autoprimaryctx_then_cupy():
    """autoprimaryctx before CuPy: one context, nothing breaks."""
    import cupy as cp
    import pycuda.autoprimaryctx
    from pycuda import gpuarray

    g = gpuarray.arange(4, dtype=np.float32)
    print(cp.asarray(g) + 1, cp.asarray(g).sum(), pycuda.autoprimaryctx.context is not None)


@alone
def cupy_without_pycudas_context():
    """CuPy used first makes no context of PyCUDA's: LogicError for an allocation, or it works."""
    import cupy as cp

    cp.arange(3)
    Attempt(lambda: drv.mem_alloc(16) is not None)
    drv.init()
    Attempt(lambda: drv.mem_alloc(16) is not None)
    Attempt(lambda: drv.Context.get_current() is None)


@alone
def kernel_with_cupys_context_only():
    """A SourceModule where only CuPy has made a context: it works, or LogicError."""
    import cupy as cp
    from pycuda.compiler import SourceModule

    drv.init()
    x = cp.arange(4, dtype=cp.float32)
    Attempt(lambda: SourceModule(TWICE).get_function("twice")(x, block=(4, 1, 1)))
    Attempt(lambda: x)


@alone
def exchange_by_the_host():
    """Through the host it always works: get() before autoinit, to_gpu after."""
    import cupy as cp

    host = (cp.arange(4, dtype=cp.float32) + 1).get()
    import pycuda.autoinit
    from pycuda import gpuarray

    print(gpuarray.to_gpu(host) * 2, pycuda.autoinit.device is not None)


@alone
def kernel_of_autoinit_after_cupy_is_used():
    """A PyCUDA kernel made before CuPy's first array, launched after it: LogicError, late."""
    import cupy as cp
    import pycuda.autoinit
    from pycuda.compiler import SourceModule

    twice = SourceModule(TWICE).get_function("twice")
    x = cp.arange(4, dtype=cp.float32)
    Attempt(lambda: twice(x, block=(4, 1, 1)))
    Attempt(lambda: x)
    Attempt(lambda: twice(x, block=(4, 1, 1)))


@alone
def kernel_of_autoinit_after_a_print():
    """CuPy used before, a PyCUDA kernel works until a CuPy array is printed: LogicError, late."""
    import cupy as cp

    x = cp.arange(4, dtype=cp.float32)
    import pycuda.autoinit
    from pycuda.compiler import SourceModule

    twice = SourceModule(TWICE).get_function("twice")
    Attempt(lambda: twice(x, block=(4, 1, 1)))
    pycuda.autoinit.context.synchronize()  # the print copies in the other context
    Attempt(lambda: x)
    Attempt(lambda: twice(x, block=(4, 1, 1)))
    pycuda.autoinit.context.push()
    Attempt(lambda: twice(x, block=(4, 1, 1)))


@alone
def stream_and_event_of_autoinit_after_a_print():
    """A stream and an event made before CuPy is used: what still works after."""
    import cupy as cp
    import pycuda.autoinit
    from pycuda import gpuarray

    s, e, g = drv.Stream(), drv.Event(), gpuarray.zeros(3, np.float32)
    print(cp.arange(3))
    Attempt(lambda: e.record(s) is e)
    Attempt(lambda: e.record() is e)
    Attempt(s.synchronize)
    Attempt(lambda: g.get())
    Attempt(lambda: g + 1)


@alone
def gpuarray_of_autoinit_after_a_print():
    """GPUArray's own kernels after CuPy took over: those made before fail, LogicError."""
    import cupy as cp
    import pycuda.autoinit
    from pycuda import gpuarray

    g = gpuarray.zeros(3, np.float32)
    Attempt(lambda: g + 1)
    print(cp.arange(3))
    Attempt(lambda: g + 1)
    Attempt(lambda: g * g)
    Attempt(lambda: drv.Context.get_current() == pycuda.autoinit.context)
