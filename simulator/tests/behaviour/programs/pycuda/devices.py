"""pycuda.driver.Device and what the driver tells."""

import pycuda
import pycuda.autoprimaryctx
import pycuda.driver as drv


def device():
    """Devices compare by number; a name is text, the memory an int."""
    d = drv.Device(0)
    print(d == drv.Device(0), hash(d) == hash(drv.Device(0)), type(d.name()).__name__)
    print(type(d.total_memory()).__name__, type(d.compute_capability()).__name__)


def device_by_position_only():
    """Device() without a number is an error of the binding: ArgumentError."""
    try:
        drv.Device()
    except Exception as error:
        print(type(error).__name__)


def device_that_is_missing():
    """A device that does not exist is a LogicError."""
    drv.Device(99)


def negative_device():
    """Device(-1) is a LogicError."""
    drv.Device(-1)


def count_is_static():
    """count() can be called on the class and on an object."""
    print(drv.Device.count() == drv.Device(0).count())


def attributes():
    """get_attribute takes a member of device_attribute; names of it are attributes of a Device."""
    d, names = drv.Device(0), drv.device_attribute
    print(d.get_attribute(names.WARP_SIZE), d.get_attribute(names.MAX_THREADS_PER_BLOCK))
    print(d.warp_size, d.max_block_dim_z, d.max_grid_dim_y, d.MAX_BLOCK_DIM_X)


def all_attributes():
    """get_attributes is a dictionary by member."""
    found = drv.Device(0).get_attributes()
    print(type(found).__name__, found[drv.device_attribute.MAX_GRID_DIM_X])
    print(str(drv.device_attribute.WARP_SIZE), repr(drv.device_attribute.WARP_SIZE))
    print(int(drv.device_attribute.WARP_SIZE), type(drv.device_attribute.WARP_SIZE).__name__)


def attribute_that_is_missing():
    """An attribute without such a member is an AttributeError."""
    drv.Device(0).flux_capacity


def shared_memory_per_block():
    """48 KB of shared memory without asking for more."""
    print(drv.Device(0).max_shared_memory_per_block, drv.Device(0).total_constant_memory)


def pci_bus_id():
    """pci_bus_id is text with two colons."""
    print(drv.Device(0).pci_bus_id().count(":"))


def versions():
    """get_version is a tuple, get_driver_version a number; pycuda.VERSION a tuple."""
    print(type(drv.get_version()).__name__, len(drv.get_version()), drv.get_driver_version() > 9000)
    print(type(pycuda.VERSION).__name__, pycuda.VERSION_TEXT == ".".join(map(str, pycuda.VERSION)))


def memory_info():
    """mem_get_info is (free, total) in bytes."""
    free, total = drv.mem_get_info()
    print(type(free).__name__, 0 < free <= total, drv.Device(0).total_memory() == total)


def can_access_peer():
    """A device is no peer of itself."""
    print(drv.Device(0).can_access_peer(drv.Device(0)))


def context_of_this_program():
    """get_device of the current context is the device."""
    print(drv.Context.get_device() == drv.Device(0))
    print(drv.Context.get_device().name() == drv.Device(0).name())


def synchronize():
    """Context.synchronize is a static method and returns None."""
    print(drv.Context.synchronize())


def errors_are_no_builtins():
    """Errors of pycuda are other classes than those that Python has under the same names."""
    print(issubclass(drv.MemoryError, MemoryError), issubclass(drv.RuntimeError, RuntimeError))
    print(drv.MemoryError is MemoryError, issubclass(drv.LogicError, drv.Error))


def no_such_name():
    """A name that the driver does not have is an AttributeError."""
    drv.no_such_name


def function_attribute_names():
    """Members of function_attribute, by name and number."""
    names = drv.function_attribute
    print(names.NUM_REGS, int(names.SHARED_SIZE_BYTES), int(names.MAX_THREADS_PER_BLOCK))


def flags():
    """Flags of contexts, events and host memory are numbers in classes."""
    print(int(drv.ctx_flags.SCHED_AUTO), int(drv.ctx_flags.MAP_HOST))
    print(int(drv.event_flags.BLOCKING_SYNC), int(drv.event_flags.DISABLE_TIMING))
    print(int(drv.host_alloc_flags.DEVICEMAP), int(drv.mem_attach_flags.GLOBAL))
