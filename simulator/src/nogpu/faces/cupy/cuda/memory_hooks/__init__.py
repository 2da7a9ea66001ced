"""Hooks that are there to be used."""

from .debug_print import DebugPrintHook as DebugPrintHook
from .line_profile import LineProfileHook as LineProfileHook
