"""Graphs: recorded work that can be launched again."""

from __future__ import annotations

from collections.abc import Callable

from cupy_backends.cuda.api import runtime


class Graph:
    """Recorded work of a stream; `Stream.end_capture` makes it."""

    _handle_of: Callable[[object], int]  # the module of streams, above this one, sets it

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise NotImplementedError(
            "currently this class cannot be initiated by the user and must be created via "
            "stream capture")

    @classmethod
    def _from_handle(cls, handle: int) -> Graph:
        graph = cls.__new__(cls)
        graph.graph = graph.graphExec = handle
        graph._engine = runtime._graphs[handle]
        return graph

    def __del__(self) -> None:
        handle = getattr(self, "graph", None)
        if handle is not None:
            runtime._graphs.pop(handle, None)

    def launch(self, stream: object = None) -> None:
        """Queue the whole of it on a stream; None is the current one."""
        runtime.graphLaunch(self.graphExec, self._handle_of(stream))

    def upload(self, stream: object = None) -> None:
        """Prepare a launch: there is nothing to prepare here."""
        runtime.graphUpload(self.graphExec, self._handle_of(stream))

    def debug_dot_str(self, flags: int = 0) -> str:
        """A drawing of it in the DOT language: its nodes, in order."""
        return runtime.graphDebugDotStr(self.graph, flags)
