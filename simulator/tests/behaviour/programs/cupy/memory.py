"""Allocation: pools and their figures, pointers, pinned memory."""

import cupy as cp
import cupyx
import numpy as np

from tests.behaviour.marks import alone


def blocks_are_rounded():
    """400 bytes take a block of 512; 513 take 1024."""
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ndarray(100, dtype=cp.float32)
        print(pool.used_bytes(), x.nbytes, x.data.mem.size)
        y = cp.ndarray(513, dtype=cp.uint8)
        print(pool.used_bytes(), pool.total_bytes())


def freed_blocks_stay():
    """A freed array's block stays in the pool and is used again."""
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ndarray(100, dtype=cp.float32)
        first = x.data.ptr
        del x
        print(pool.used_bytes(), pool.free_bytes(), pool.total_bytes(), pool.n_free_blocks())
        y = cp.ndarray(128, dtype=cp.float32)
        print(y.data.ptr == first, pool.used_bytes(), pool.n_free_blocks())


def free_all_blocks():
    """free_all_blocks gives the unused blocks back to the device."""
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        x, y = cp.ndarray(1000), cp.ndarray(1000)
        del x
        pool.free_all_blocks()
        print(pool.used_bytes(), pool.free_bytes(), pool.total_bytes())


def large_blocks_are_split():
    """A smaller request is cut from a free block; neighbours join again when both are free."""
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ndarray(4096, dtype=cp.uint8)
        del x
        y, z = cp.ndarray(1024, dtype=cp.uint8), cp.ndarray(1024, dtype=cp.uint8)
        print(z.data.ptr - y.data.ptr, pool.total_bytes(), pool.n_free_blocks())
        del y, z
        print(pool.n_free_blocks(), pool.free_bytes())


def nothing_takes_nothing():
    """An empty array takes no block."""
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ndarray(0)
        print(pool.used_bytes(), pool.total_bytes(), x.data.ptr == 0)


def empty_like_takes_its_memory_once():
    """An array like another takes one block, whatever the other's order."""
    pool = cp.cuda.MemoryPool()
    x = cp.ones((256, 4))
    with cp.cuda.using_allocator(pool.malloc):
        for like in x, x.T, x[::2]:
            y = cp.empty_like(like)
            print(y.strides, pool.used_bytes(), pool.total_bytes())
            del y
            pool.free_all_blocks()


def like_with_an_empty_shape():
    """shape=() and shape=0 count as not given: the other array's shape."""
    x = cp.ones((3, 2))
    print(*[like(x, shape=()).shape for like in (cp.empty_like, cp.zeros_like, cp.ones_like)],
          cp.full_like(x, 2, shape=()).shape, cp.empty_like(x, shape=0).shape,
          cp.empty_like(x, shape=(0,)).shape)


def views_hold_the_memory():
    """A view keeps the whole block alive."""
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ndarray(1024, dtype=cp.uint8)
        v = x[1000:]
        del x
        print(pool.used_bytes(), v.nbytes)


def temporaries_of_an_expression():
    """a * b + c makes one temporary beside the result: two blocks in all."""
    a = cp.ones(128, dtype=cp.float32)
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        d = a * a + a
        print(pool.used_bytes(), pool.total_bytes())


def in_place_makes_no_temporary():
    """a += b allocates nothing."""
    a = cp.ones(128, dtype=cp.float32)
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        a += a
        print(pool.total_bytes(), a[0])


def limit():
    """Beyond set_limit(size=) an allocation is an OutOfMemoryError that gives the figures."""
    pool = cp.cuda.MemoryPool()
    pool.set_limit(size=3072)
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ndarray(2048, dtype=cp.uint8)
        print(pool.get_limit(), pool.used_bytes())
        cp.ndarray(1_000_000)


def out_of_memory_is_a_memory_error():
    """OutOfMemoryError is a MemoryError; the pool goes on working."""
    pool = cp.cuda.MemoryPool()
    pool.set_limit(size=1024)
    with cp.cuda.using_allocator(pool.malloc):
        try:
            cp.ndarray(1000)
        except MemoryError as error:
            print(type(error).__name__, cp.ndarray(10).size)


def limit_counts_free_blocks():
    """Unused blocks are given back before the limit refuses a request."""
    pool = cp.cuda.MemoryPool()
    pool.set_limit(size=4096)
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ndarray(2048, dtype=cp.uint8)
        del x
        y = cp.ndarray(4096, dtype=cp.uint8)
        print(pool.used_bytes(), pool.total_bytes())


def limit_of_a_wrong_fraction():
    """A fraction above 1 is a ValueError."""
    cp.cuda.MemoryPool().set_limit(fraction=1.5)


def limit_of_both():
    """size and fraction together are a ValueError."""
    cp.cuda.MemoryPool().set_limit(size=1024, fraction=0.5)


def no_limit_is_zero():
    """Without a limit get_limit is 0."""
    print(cp.cuda.MemoryPool().get_limit())


def more_than_the_device_has():
    """A petabyte is an OutOfMemoryError with a message of the same form."""
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        cp.ndarray(2**50, dtype=cp.uint8)


def negative_shape():
    """A negative size is a ValueError."""
    cp.zeros(-1)


def blocks_belong_to_their_stream():
    """A block freed on one stream is not given to another."""
    pool, s = cp.cuda.MemoryPool(), cp.cuda.Stream()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ndarray(100)
        del x
        with s:
            y = cp.ndarray(100)
        print(pool.total_bytes(), pool.free_bytes(), pool.used_bytes())


def free_all_blocks_of_a_stream():
    """free_all_blocks(stream=) frees one stream's blocks only."""
    pool, s = cp.cuda.MemoryPool(), cp.cuda.Stream()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ndarray(100)
        with s:
            y = cp.ndarray(200)
        del x, y
        print(pool.free_bytes())
        pool.free_all_blocks(stream=s)
        print(pool.free_bytes())


def using_allocator_restores():
    """After the with block the default pool is used again."""
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        pass
    x = cp.ndarray(100)
    print(pool.total_bytes(), cp.get_default_memory_pool() is cp.get_default_memory_pool())


def without_a_pool():
    """using_allocator(None) allocates straight from the device."""
    with cp.cuda.using_allocator(None):
        x = cp.zeros(3)
        print(type(x.data.mem).__name__, x)
    print(type(cp.zeros(3).data.mem).__name__)


def alloc_and_pointer_arithmetic():
    """cupy.cuda.alloc gives a MemoryPointer; + and - move it."""
    p = cp.cuda.alloc(100)
    q = p + 8
    print(type(p).__name__, q.ptr - p.ptr, (q - 4).ptr - p.ptr, p.mem.size >= 100, q.mem is p.mem)


def memset_and_copies():
    """MemoryPointer can set and copy bytes."""
    p, q = cp.cuda.alloc(8), cp.cuda.alloc(8)
    p.memset(1, 8)
    q.copy_from_device(p, 8)
    host = np.zeros(2, dtype=np.int32)
    q.copy_to_host(host.ctypes.data, 8)
    print(host)


def pointer_has_no_length():
    """A MemoryPointer is no array: len is a TypeError."""
    len(cp.cuda.alloc(8))


def managed_memory():
    """malloc_managed as an allocator."""
    with cp.cuda.using_allocator(cp.cuda.MemoryPool(cp.cuda.malloc_managed).malloc):
        x = cp.arange(3)
        print(x, type(x.data.mem).__name__)


def asynchronous_pool():
    """malloc_async as an allocator."""
    with cp.cuda.using_allocator(cp.cuda.malloc_async):
        x = cp.arange(3)
        print(x, type(x.data.mem).__name__)


def python_function_allocator():
    """An allocator of one's own is a function of a size that gives a MemoryPointer."""
    sizes = []

    def allocate(size):
        sizes.append(size)
        return pool.malloc(size)

    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(allocate):
        x = cp.ndarray(100, dtype=cp.float32)
    print(sizes)


def set_allocator_in_using_allocator():
    """set_allocator inside using_allocator is a ValueError."""
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        cp.cuda.set_allocator(pool.malloc)


def unowned_memory():
    """UnownedMemory looks at memory that something else owns, and keeps the owner alive."""
    x = cp.arange(4, dtype=cp.int32)
    memory = cp.cuda.UnownedMemory(x.data.ptr, x.nbytes, x)
    y = cp.ndarray(4, cp.int32, cp.cuda.MemoryPointer(memory, 0))
    y[0] = 9
    print(x, memory.size, y.data.ptr == x.data.ptr, memory.device_id)


def unowned_memory_is_not_checked():
    """An array larger than its UnownedMemory is accepted; only its shape is looked at."""
    x = cp.arange(4, dtype=cp.int32)
    memory = cp.cuda.UnownedMemory(x.data.ptr, 4, x)
    print(cp.ndarray(1000, cp.int32, cp.cuda.MemoryPointer(memory, 0)).shape)


def pinned_arrays():
    """cupyx.empty_pinned, zeros_pinned and their _like forms give NumPy arrays."""
    x = cupyx.zeros_pinned((2, 3), dtype=np.float32)
    print(type(x).__module__, x, type(x.base).__name__, cupyx.empty_like_pinned(x).shape)
    print(cupyx.empty_pinned(3).dtype, cupyx.zeros_like_pinned(x).dtype)


def pinned_order():
    """order="F" is kept."""
    print(cupyx.empty_pinned((2, 3), order="F").strides)


def pinned_memory_pointer():
    """alloc_pinned_memory gives a buffer for np.frombuffer, rounded up in the pool."""
    memory = cp.cuda.alloc_pinned_memory(400)
    x = np.frombuffer(memory, np.float32, 100)
    x[:] = 1
    print(type(memory).__name__, x.sum(), memory.size(), memory.mem.size)


def pinned_pool():
    """The pinned pool counts its free blocks."""
    pool = cp.cuda.PinnedMemoryPool()
    memory = pool.malloc(100)
    print(pool.n_free_blocks())
    del memory
    print(pool.n_free_blocks())
    pool.free_all_blocks()
    print(pool.n_free_blocks())


def pool_hooks():
    """A memory hook sees each request: the asked and the rounded size."""
    class Hook(cp.cuda.MemoryHook):
        def malloc_preprocess(self, device_id, size, mem_size):
            print("malloc", size, mem_size)

    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc), Hook():
        x = cp.ndarray(100, dtype=cp.float32)


def device_memory_info():
    """mem_info is free and total bytes of the device."""
    free, total = cp.cuda.Device().mem_info
    print(0 < free <= total, cp.cuda.runtime.memGetInfo()[1] == total)


def get_allocator():
    """get_allocator names the default pool's malloc."""
    print(cp.cuda.get_allocator() == cp.get_default_memory_pool().malloc)


@alone
def default_pool_starts_empty():
    """A fresh process has an empty default pool; its first array takes one block."""
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.used_bytes()
    x = cp.ndarray(100, dtype=cp.float32)
    print(before, pool.used_bytes(), cp.get_default_pinned_memory_pool().n_free_blocks())
