"""The task of the first lesson: a share of what the machine can do."""

from .machinery.task import Mistake, Task


def _share_of_peak(nbytes, seconds, peak):
    return nbytes / seconds / (peak * 1e9)


share_of_peak = Task(
    name="share_of_peak",
    spec=_share_of_peak,
    cases=lambda: [
        (24_000_000, 2e-3, 20.0),  # 12 GB/s of 20
        (3 * 8 * 10**6, 0.0015, 21.5),
        (2**30, 0.25, 4178.0),
        (1, 1.0, 1e-9),
        (50_000_000, 1e-3, 20.0),  # 2.5: more than the peak, from a cache
    ],
    mistakes=[
        Mistake("a share in percent; 0.6 is wanted, not 60",
                lambda nbytes, seconds, peak: 100 * nbytes / seconds / (peak * 1e9)),
        Mistake("the inverse: what the machine can do, divided by what you reached",
                lambda nbytes, seconds, peak: peak * 1e9 / (nbytes / seconds)),
        Mistake("a GB of 2**30 bytes; bandwidths are quoted in GB of 10**9 bytes",
                lambda nbytes, seconds, peak: nbytes / seconds / (peak * 2**30)),
        Mistake("bytes/s divided by GB/s without converting one into the other",
                lambda nbytes, seconds, peak: nbytes / seconds / peak),
        Mistake("a GB of 10**6 bytes; it has 10**9",
                lambda nbytes, seconds, peak: nbytes / seconds / (peak * 1e6)),
        Mistake("a share cut off at 1; more than 1 says that a count or the peak is wrong, so keep"
                " it", lambda nbytes, seconds, peak: min(1.0, nbytes / seconds / (peak * 1e9))),
        Mistake("a product of bytes and seconds; a rate is bytes divided by seconds",
                lambda nbytes, seconds, peak: nbytes * seconds / (peak * 1e9)),
        Mistake("the rate in GB/s, not yet divided by the peak",
                lambda nbytes, seconds, peak: nbytes / seconds / 1e9),
    ],
)
