"""Functions in pieces."""

import numpy as np
from cupy import _host


def piecewise(x, condlist, funclist):
    """Return the value, of several, whose condition holds for each element."""
    if any(callable(one) for one in funclist):
        raise NotImplementedError(
            "Callable functions are not supported currently")
    if isinstance(x, _host.SCALARS):
        x, condlist = _host.asarray(x), [_host.asarray(one) for one in condlist]
    _host.argument(x)
    if _host.is_array(condlist):
        condlist = [condlist] if condlist.ndim == x.ndim else list(condlist)
    elif np.isscalar(condlist) or np.isscalar(condlist[0]):
        condlist = [condlist]
    conditions = [c if _host.is_array(c) else _host.device(np.broadcast_to(c, x.shape))
                  for c in condlist]
    count = len(conditions)
    if len(funclist) not in (count, count + 1):
        raise ValueError(
            f"with {count} condition(s), either {count} or {count + 1} functions are expected")
    values = [v if _host.is_array(v) else _host.device(v) for v in funclist]

    def work(v, *rest):
        result = np.zeros(v.shape, v.dtype)
        chosen, given = rest[:count], rest[count:]
        if len(given) > count:
            result[...] = given[count]
        for condition, value in zip(chosen, given):
            np.copyto(result, value, where=condition.astype(bool), casting="unsafe")
        return result

    return _host.compute(work, [x, *conditions, *values], x.shape, x.dtype)
