import numpy as np, math
def r1(first, second, part):
    e, st = np.polyfit([first[0], second[0]], [first[1], second[1]], 1); n = 1
    while n / (st + n * e) < part / e: n += 1
    return n
def r2(first, second, part):
    (a, s), (b, t) = first, second
    ratio = (s * b - t * a) / (t - s)
    return math.ceil(part / (1 - part) * ratio)
for x in [((1,.0011),(11,.0021),.88),((11,.0021),(1,.0011),.88),((2,2.5),(6,4.5),.5)]: print(r1(*x),r2(*x))
from math import nan
def e1(b, a):
    f = np.array(b) / np.array(a); s = np.sign(np.subtract(b, a))
    return float(np.median(f)) if abs(s.sum()) == len(s) else math.nan
for a,b in [([2.0, 6.0, 3.0], [1.5, 4.0, 1.0]),([1.0, 2.0, 1.5], [2.0, 3.0, 2.0]),([6.0]*3,[2.,4,3]),([1.0, 1.2, 1.1], [1.1, 1.0, 1.0]),([2.0, 2.0, 4.0], [1.0, 1.0, 4.0])]: print(e1(a,b))
