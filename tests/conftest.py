"""Settings that all tests share."""

import matplotlib

matplotlib.use("Agg")  # no window, whatever the machine has
