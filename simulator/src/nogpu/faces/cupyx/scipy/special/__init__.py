"""Special functions."""

from cupyx.scipy.special._elementwise import (
    entr,
    erf,
    erfc,
    erfcx,
    expit,
    gamma,
    gammaln,
    kl_div,
    log_expit,
    log_ndtr,
    logit,
    ndtr,
    rel_entr,
    xlog1py,
    xlogy,
)
from cupyx.scipy.special._logsumexp import log_softmax, logsumexp, softmax

from nogpu.faces import missing as _missing

__all__ = [
    "entr", "erf", "erfc", "erfcx", "expit", "gamma", "gammaln", "kl_div", "log_expit", "log_ndtr",
    "log_softmax", "logit", "logsumexp", "ndtr", "rel_entr", "softmax", "xlog1py", "xlogy",
]
__getattr__ = _missing.missing(__name__)
