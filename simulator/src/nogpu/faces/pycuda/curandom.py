"""Random numbers: cuRAND is not simulated, as it is absent from many builds of PyCUDA."""

from . import _driver

_driver.get_curand_version()
