"""Windows of signals."""

from cupy import _tables

_tables.functions(globals(), _tables.on_host(), """
bartlett(M): Return the Bartlett window.
blackman(M): Return the Blackman window.
hamming(M): Return the Hamming window.
hanning(M): Return the Hanning window.
kaiser(M, beta): Return the Kaiser window.
""")
