"""Right answers besides the solution, and wrong ones that are no known mistake."""

RIGHT = {
    "share_of_peak": [
        lambda nbytes, seconds, peak: 1e-9 * nbytes / (peak * seconds),
    ],
}

WRONG = {
    "share_of_peak": [
        (lambda nbytes, seconds, peak: f"{nbytes / seconds / peak / 1e9:.0%}", "expected a number"),
        (lambda nbytes, seconds, peak: 0.6, "expected 0.74"),
        (lambda nbytes, seconds: nbytes / seconds, "it must take 3 arguments"),
    ],
}
