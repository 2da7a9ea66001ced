"""curand_kernel.h: what an H200 drew, known answers, jumps, distributions, and what is refused.

curand_recorded.json holds eight draws of each function after each `curand_init`, and a row of draws
of several functions one after another ("mixed").
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from engine_support import array, launch, read

from nogpu import engine
from nogpu.faces import HEADERS

OPTIONS = (f"-I{HEADERS}",)

SOURCE = r"""
#include <curand_kernel.h>

template <class S>
__global__ void words(S* states, const unsigned long long* seed, unsigned* out, int n) {
    S* mine = &states[threadIdx.x];
    curand_init(seed[0], seed[1], seed[2], mine);
    skipahead(seed[3], mine);
    skipahead_sequence(seed[4], mine);
    S state = *mine;
    for (int i = 0; i < n; i++) out[i] = curand(&state);
    *mine = state;
}
template <class S> __global__ void reals(unsigned long long seed, float* out, double* wide, int n) {
    S state;
    curand_init(seed, threadIdx.x, 0, &state);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        out[i] = curand_uniform(&state);
        out[n + i] = curand_normal(&state);
        out[2 * n + i] = logf(curand_log_normal(&state, 3.0f, 2.0f));
        wide[i] = curand_uniform_double(&state);
        wide[n + i] = curand_normal_double(&state);
        wide[2 * n + i] = log(curand_log_normal_double(&state, 3.0, 2.0));
    }
}
template <class S> __global__ void counts(double rate, unsigned* out, int n) {
    S state;
    curand_init(7, threadIdx.x, 0, &state);
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = curand_poisson(&state, rate);
}
__global__ void fours(uint4* out, float4* units) {
    curandStatePhilox4_32_10_t state;
    curand_init(0, 0, 0, &state);
    out[0] = curand4(&state);
    curand_init(0, 0, 3, &state);
    out[1] = curand4(&state);
    units[0] = curand_uniform4(&state);
}
__global__ void far(curandState* state, const unsigned long long* jumps, unsigned* out, int n) {
    curand_init(1234, 0, 0, state);
    for (int i = 0; i < n; i++) skipahead(jumps[i], state);
    out[0] = curand(state);
}
__global__ void shared_state(curandState* states, unsigned* out) {
    out[threadIdx.x] = curand(states);
}
"""
XORWOW, PHILOX, MRG = "curandState", "curandStatePhilox4_32_10_t", "curandStateMRG32k3a"
STATES = {XORWOW: 48, PHILOX: 64, MRG: 48}
NAMES = tuple(
    f"{kernel}<{state}>" for kernel in ("words", "reals", "counts") for state in STATES
)
# Random123's known answers of philox4x32-10 for the counter and key 0, and for the counter 1
PHILOX_WORDS = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
N = 20_000


@pytest.fixture(scope="module")
def module() -> engine.Module:
    """The kernels above."""
    return engine.compile(SOURCE, OPTIONS, names=(*NAMES, "fours", "far", "shared_state"))


def words(
    module: engine.Module, state: str, seed: int = 1234, subsequence: int = 0, offset: int = 0,
    skip: int = 0, sequences: int = 0, n: int = 8,
) -> list[int]:  # fmt: skip
    """What `curand` gives after these jumps."""
    states = engine.allocate(STATES[state])
    out = array(np.zeros(n, np.uint32), "out")
    given = array(np.array([seed, subsequence, offset, skip, sequences], np.uint64), "seed")
    launch(module.kernel(f"words<{state}>"), 1, 1, states, given, out, np.int32(n))
    return read(out, np.uint32).tolist()


def test_philox_gives_the_known_answers(module):
    assert words(module, PHILOX, seed=0)[:4] == PHILOX_WORDS


def test_mrg32k3a_gives_its_authors_numbers(module):
    """L'Ecuyer's generator, started with 12345, begins with 0.1270111, 0.3185276, 0.3091860."""
    found = np.array(words(module, MRG, seed=0, n=3)) / 2**32
    assert found == pytest.approx([0.1270111, 0.3185276, 0.3091860], abs=1e-7)


def test_the_largest_word_of_mrg32k3a_stays_in_range():
    """Where both recurrences agree an H200 draws 2**32 - 1, and 1 as a uniform number."""
    made = engine.compile("""#include <curand_kernel.h>
    __global__ void draw(curandStateMRG32k3a* zeros, unsigned* word, float* unit) {
        word[0] = curand(zeros); unit[0] = curand_uniform(zeros);
    }""", OPTIONS)
    state, word = array(np.zeros(48, np.uint8), "state"), array(np.zeros(1, np.uint32), "word")
    unit = array(np.zeros(1, np.float32), "unit")
    launch(made.kernel("draw"), 1, 1, state, word, unit)
    assert read(word, np.uint32)[0] == 2**32 - 1 and read(unit, np.float32)[0] == 1


def test_four_words_at_a_time_go_on_where_one_stood(module):
    out, units = array(np.zeros(8, np.uint32), "out"), array(np.zeros(4, np.float32), "units")
    launch(module.kernel("fours"), 1, 1, out, units)
    series = words(module, PHILOX, seed=0, n=12)
    assert read(out, np.uint32).tolist() == series[:4] + series[3:7]
    assert read(units, np.float32) == pytest.approx(np.array(series[7:11]) / 2**32, abs=1e-6)


RECORDED = json.loads(Path(__file__).with_name("curand_recorded.json").read_text())
DRAWS = {
    "curand": ("unsigned", "curand(&s)"),
    "uniform": ("float", "curand_uniform(&s)"),
    "uniform_double": ("double", "curand_uniform_double(&s)"),
    "normal": ("float", "curand_normal(&s)"),
    "normal_double": ("double", "curand_normal_double(&s)"),
    "log_normal": ("float", "curand_log_normal(&s, 0.5f, 0.25f)"),
    "log_normal_double": ("double", "curand_log_normal_double(&s, 0.5, 0.25)"),
    "poisson_3.7": ("unsigned", "curand_poisson(&s, 3.7)"),
    "poisson_63.9": ("unsigned", "curand_poisson(&s, 63.9)"),
    "poisson_4001.0": ("unsigned", "curand_poisson(&s, 4001.0)"),
    "curand4": ("uint4", "curand4(&s)"),
    "uniform4": ("float4", "curand_uniform4(&s)"),
    "uniform2_double": ("double2", "curand_uniform2_double(&s)"),
    "normal4": ("float4", "curand_normal4(&s)"),
    "poisson4_3.7": ("uint4", "curand_poisson4(&s, 3.7)"),
}
MIXED = """
    out[0] = curand(&s); out[1] = curand_normal(&s); out[2] = curand_normal(&s);
    out[3] = curand_normal(&s); out[4] = curand_uniform(&s); out[5] = curand_normal(&s);
    float2 p = curand_normal2(&s); out[6] = p.x; out[7] = p.y;
    out[8] = curand_normal_double(&s); out[9] = curand_normal(&s);
    out[10] = curand_normal_double(&s); out[11] = curand_uniform_double(&s);
    out[12] = curand(&s); out[13] = curand_log_normal(&s, 0.f, 1.f);
    out[14] = curand_normal_double(&s); skipahead(3, &s); out[15] = curand_normal_double(&s);
    out[16] = curand_normal(&s); skipahead_sequence(2, &s); out[17] = curand(&s);
    out[18] = curand_normal(&s); out[19] = curand_poisson(&s, 5.0);
"""
MIXED_PHILOX = """
    out[0] = curand(&s); uint4 q = curand4(&s);
    out[1] = q.x; out[2] = q.y; out[3] = q.z; out[4] = q.w;
    out[5] = curand_normal(&s); float4 u = curand_uniform4(&s);
    out[6] = u.x; out[7] = u.y; out[8] = u.z; out[9] = u.w;
    out[10] = curand_uniform_double(&s); out[11] = curand(&s); u = curand_normal4(&s);
    out[12] = u.x; out[13] = u.y; out[14] = u.z; out[15] = u.w;
    double2 d = curand_uniform2_double(&s); out[16] = d.x; out[17] = d.y;
    skipahead(5, &s); out[18] = curand(&s);
    d = curand_normal2_double(&s); out[19] = d.x; out[20] = d.y; out[21] = curand(&s);
    skipahead(1, &s); q = curand4(&s); out[22] = q.x; out[23] = q.w;
"""


def drawing(state: str, draw: str, numbers: int) -> str:
    """A kernel that draws so many numbers after each start."""
    kind, call = DRAWS.get(draw, ("double", ""))
    results = numbers // (int(kind[-1]) if kind[-1] in "24" else 1)
    loop = f"for (int i = 0; i < {results}; i++) out[i] = {call};"
    return f"""__global__ void draw_{draw.replace('.', '_')}(
        const unsigned long long* starts, {kind}* all) {{
        const unsigned long long* mine = starts + 3 * threadIdx.x;
        {state} s;
        curand_init(mine[0], mine[1], mine[2], &s);
        {kind}* out = all + {results} * threadIdx.x;
        {dict(mixed=MIXED, mixed_philox=MIXED_PHILOX).get(draw, loop)}
    }}
    """


@pytest.mark.parametrize("name, state", [("xorwow", XORWOW), ("philox", PHILOX), ("mrg32k3a", MRG)])
def test_kernels_draw_what_an_h200_drew(name, state):
    """Whole numbers and uniform ones to the last bit, the others up to rounding."""
    recorded = {draw: np.array(rows) for draw, rows in RECORDED[name].items()
                if draw not in ("bytes", "starts")}  # fmt: skip
    assert RECORDED[name]["bytes"] == STATES[state]
    kernels = "".join(drawing(state, draw, rows.shape[1]) for draw, rows in recorded.items())
    made = engine.compile("#include <curand_kernel.h>\n" + kernels, OPTIONS)
    starts = RECORDED[name].get("starts", RECORDED["starts"])
    starts = array(np.array(starts, np.uint64), "starts")
    for draw, rows in recorded.items():
        kind = DRAWS.get(draw, ("double",))[0]
        dtype = {"u": np.uint32, "f": np.float32, "d": np.float64}[kind[0]]
        out = array(np.zeros(rows.shape, dtype), "out")
        launch(made.kernel(f"draw_{draw.replace('.', '_')}"), 1, len(rows), starts, out)
        found, rows = read(out, dtype, rows.shape).astype(float), rows.astype(dtype).astype(float)
        exact = (rows == np.floor(rows)) | draw.startswith("uniform")
        bound = np.where(exact, 0, 1e-14 if draw.endswith("_double") else 3e-6)
        assert (np.abs(found - rows) <= bound).all(), draw


@pytest.mark.parametrize("state", STATES)
def test_jumps_leave_out_what_they_say(module, state):
    series = words(module, state, n=40)
    assert words(module, state, offset=5) == series[5:13]
    assert words(module, state, skip=31) == series[31:39]
    assert words(module, state, offset=13, skip=6) == series[19:27]
    assert words(module, state, subsequence=1) != series[:8]


def test_a_sequence_of_xorwow_is_two_to_the_67_numbers(module):
    third = words(module, XORWOW, subsequence=3)
    assert words(module, XORWOW, sequences=3) == third
    assert words(module, XORWOW, subsequence=2, sequences=1) == third
    states, out = engine.allocate(48), array(np.zeros(1, np.uint32), "out")
    jumps = array(np.array([2**64 - 1] * 8 + [8], np.uint64), "jumps")
    launch(module.kernel("far"), 1, 1, states, jumps, out, np.int32(9))
    assert read(out, np.uint32)[0] == words(module, XORWOW, subsequence=1)[0]


@pytest.mark.parametrize("state", STATES)
def test_distributions_have_their_moments(module, state):
    out = array(np.zeros(3 * N, np.float32), "out")
    wide = array(np.zeros(3 * N, np.float64), "wide")
    launch(module.kernel(f"reals<{state}>"), 1, 64, np.uint64(99), out, wide, np.int32(N))
    for found in (read(out, np.float32, (3, N)), read(wide, np.float64, (3, N))):
        assert 0 < found[0].min() and found[0].max() <= 1
        assert found.mean(1) == pytest.approx([0.5, 0, 3], abs=0.06)
        assert found.std(1) == pytest.approx([12**-0.5, 1, 2], abs=0.05)


@pytest.mark.parametrize("rate", [0.5, 13.0, 100.0, 3000.0, 5000.0])
@pytest.mark.parametrize("state", [XORWOW, PHILOX])
def test_poisson_has_its_moments(module, state, rate):
    out = array(np.zeros(N, np.uint32), "out")
    launch(module.kernel(f"counts<{state}>"), 1, 64, np.float64(rate), out, np.int32(N))
    found = read(out, np.uint32).astype(np.float64)
    assert found.mean() == pytest.approx(rate, rel=0.02)
    assert found.var() == pytest.approx(rate, rel=0.05)


def test_a_state_of_two_threads_is_a_race(module):
    words(module, XORWOW)
    states, out = array(np.zeros(12, np.uint32), "states"), array(np.zeros(2, np.uint32), "out")
    with pytest.raises(engine.Race, match=r"states\[\d+\]"):
        launch(module.kernel("shared_state"), 1, 2, states, out)


def test_a_state_that_was_not_initialised_is_found(module):
    states, out = engine.allocate(48, "states"), array(np.zeros(2, np.uint32), "out")
    with pytest.raises(engine.UninitialisedRead):
        launch(module.kernel("shared_state"), 1, 1, states, out)


@pytest.mark.parametrize("name", ["curandStateMtgp32", "curandStateSobol32", "curandDiscrete"])
def test_what_is_lacking_is_refused_by_name(name):
    source = f"#include <curand_kernel.h>\n__global__ void k({name}* states) {{}}"
    with pytest.raises(engine.CompileError, match=f"{name}: nogpu lacks it"):
        engine.compile(source, OPTIONS)
