"""Named ranges for tools that draw when a program did what."""

from __future__ import annotations

import functools
from collections.abc import Callable

from cupy import cuda


class time_range:  # noqa: N801 -- the library's name
    """A named range: a context manager, or a decorator that takes the function's name."""

    def __init__(
        self, message: str | None = None, color_id: int | None = None,
        argb_color: int | None = None, sync: bool = False,
    ) -> None:  # fmt: skip
        if color_id is not None and argb_color is not None:
            raise ValueError("Only either color_id or argb_color can be specified")
        self.message, self.argb_color, self.sync = message, argb_color, sync
        self.color_id = -1 if color_id is None else color_id

    def _wait(self) -> None:
        if self.sync:
            cuda.runtime.deviceSynchronize()

    def __enter__(self) -> time_range:
        if self.message is None:
            raise ValueError(
                "when used as a context manager, the message argument cannot be None")
        self._wait()
        if self.argb_color is not None:
            cuda.nvtx.RangePushC(self.message, self.argb_color)
        else:
            cuda.nvtx.RangePush(self.message, self.color_id)
        return self

    def __exit__(self, *args: object) -> None:
        self._wait()
        cuda.nvtx.RangePop()

    def __call__(self, func: Callable) -> Callable:
        @functools.wraps(func)
        def inner(*args: object, **kwargs: object) -> object:
            if self.message is None:
                self.message = func.__name__
            with self:
                return func(*args, **kwargs)

        return inner
