// Random numbers inside kernels, in software: cuRAND's XORWOW, Philox4_32_10 and MRG32k3a with the
// sequences of a GPU (cuRAND Library, "Device API"). The generators are those of Marsaglia
// ("Xorshift RNGs", 2003), Salmon et al. ("Parallel random numbers: as easy as 1, 2, 3", 2011) and
// L'Ecuyer ("Good parameters and implementations for combined multiple recursive random number
// generators", 1999). States, words and distributions are those that an H200 gave. A state has the
// size of cuRAND's; every byte of it is written, so that it can be copied.
#pragma once
#pragma GCC system_header

struct __attribute__((aligned(8))) curandStateXORWOW {
    unsigned int d, v[5];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    int nogpu_padding;
    double boxmuller_extra_double;
};
struct __attribute__((aligned(16))) curandStatePhilox4_32_10 {
    uint4 ctr, output;
    uint2 key;
    unsigned int STATE;
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
struct __attribute__((aligned(8))) curandStateMRG32k3a {
    unsigned int s1[3], s2[3];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    int nogpu_padding;
    double boxmuller_extra_double;
};
typedef curandStateXORWOW curandStateXORWOW_t, curandState_t, curandState;
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
typedef curandStateMRG32k3a curandStateMRG32k3a_t;

namespace nogpu {
template <class S> static inline void no_normals_left(S* s) {
    s->boxmuller_flag = s->boxmuller_flag_double = 0;
    s->boxmuller_extra = 0;
    s->boxmuller_extra_double = 0;
}
}  // namespace nogpu

// XORWOW: a xorshift of five words, and a counter that is added to what comes out.

static inline void skipahead_sequence(unsigned long long n, curandStateXORWOW* s, int power = 67) {
    unsigned int v[5];
    for (int i = 0; i < 5; i++) v[i] = s->v[i];
    nogpu_skip_xorwow(v, n, power);
    for (int i = 0; i < 5; i++) s->v[i] = v[i];
}
static inline void skipahead(unsigned long long n, curandStateXORWOW* s) {
    skipahead_sequence(n, s, 0);
    s->d += 362437u * (unsigned int)n;
}
static inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                               unsigned long long offset, curandStateXORWOW* s) {
    const unsigned int low = 1099087573u * ((unsigned int)seed ^ 0xaad26b49u);
    const unsigned int high = 2591861531u * ((unsigned int)(seed >> 32) ^ 0xf7dcefddu);
    s->d = 6615241u + low + high;
    s->v[0] = 123456789u + low;
    s->v[1] = 362436069u ^ low;
    s->v[2] = 521288629u + high;
    s->v[3] = 88675123u ^ high;
    s->v[4] = 5783321u + low;
    s->nogpu_padding = 0;
    nogpu::no_normals_left(s);
    skipahead_sequence(subsequence, s);
    skipahead(offset, s);
}
static inline unsigned int curand(curandStateXORWOW* s) {
    const unsigned int first = s->v[0], last = s->v[4], t = first ^ (first >> 2);
    for (int i = 0; i < 4; i++) s->v[i] = s->v[i + 1];
    s->v[4] = last ^ (last << 4) ^ t ^ (t << 1);
    s->d += 362437u;
    return s->v[4] + s->d;
}

// Philox4_32_10: ten rounds that mix a counter of 128 bits with a key, four words at a time.

namespace nogpu {
static inline uint4 philox(uint4 counter, uint2 key) {
    unsigned int x = counter.x, y = counter.y, z = counter.z, w = counter.w;
    unsigned int k0 = key.x, k1 = key.y;
    for (int round = 0; round < 10; round++) {
        const unsigned long long a = 0xd2511f53ull * x, b = 0xcd9e8d57ull * z;
        x = (unsigned int)(b >> 32) ^ y ^ k0;
        z = (unsigned int)(a >> 32) ^ w ^ k1;
        y = (unsigned int)b;
        w = (unsigned int)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return uint4{x, y, z, w};
}
static inline void add(unsigned int& low, unsigned int& high, unsigned long long n) {
    const unsigned long long sum = (((unsigned long long)high << 32) | low) + n;
    low = (unsigned int)sum;
    high = (unsigned int)(sum >> 32);
}
// The next counters; what goes beyond 64 bits is carried to the upper half.
static inline void philox_forward(curandStatePhilox4_32_10* s, unsigned long long n) {
    const unsigned long long before = ((unsigned long long)s->ctr.y << 32) | s->ctr.x;
    add(s->ctr.x, s->ctr.y, n);
    if (before + n < before) add(s->ctr.z, s->ctr.w, 1);
}
static inline void philox_mix(curandStatePhilox4_32_10* s) { s->output = philox(s->ctr, s->key); }
}  // namespace nogpu

static inline void skipahead(unsigned long long n, curandStatePhilox4_32_10* s) {
    s->STATE += (unsigned int)(n & 3);
    n /= 4;
    if (s->STATE > 3) {
        n++;
        s->STATE -= 4;
    }
    nogpu::philox_forward(s, n);
    nogpu::philox_mix(s);
}
static inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10* s) {
    nogpu::add(s->ctr.z, s->ctr.w, n);
    nogpu::philox_mix(s);
}
static inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                               unsigned long long offset, curandStatePhilox4_32_10* s) {
    s->ctr = s->output = uint4{0, 0, 0, 0};
    s->key = uint2{(unsigned int)seed, (unsigned int)(seed >> 32)};
    s->STATE = 0;
    nogpu::no_normals_left(s);
    skipahead_sequence(subsequence, s);
    skipahead(offset, s);
}
static inline unsigned int curand(curandStatePhilox4_32_10* s) {
    const unsigned int at = s->STATE++;
    const unsigned int result =
        at == 0 ? s->output.x : at == 1 ? s->output.y : at == 2 ? s->output.z : s->output.w;
    if (s->STATE == 4) {
        s->STATE = 0;
        nogpu::philox_forward(s, 1);
        nogpu::philox_mix(s);
    }
    return result;
}
static inline uint4 curand4(curandStatePhilox4_32_10* s) {
    const uint4 old = s->output;
    nogpu::philox_forward(s, 1);
    nogpu::philox_mix(s);
    const uint4 next = s->output;
    const unsigned int words[8] = {old.x, old.y, old.z, old.w, next.x, next.y, next.z, next.w};
    const unsigned int at = s->STATE;
    return uint4{words[at], words[at + 1], words[at + 2], words[at + 3]};
}

// MRG32k3a: the difference of two recurrences.

namespace nogpu {
static inline void mrg_skip(curandStateMRG32k3a* s, unsigned long long n, int power) {
    unsigned int words[6];
    for (int i = 0; i < 3; i++) {
        words[i] = s->s1[i];
        words[3 + i] = s->s2[i];
    }
    nogpu_skip_mrg32k3a(words, n, power);
    for (int i = 0; i < 3; i++) {
        s->s1[i] = words[i];
        s->s2[i] = words[3 + i];
    }
}
// 1 to 4294967087
static inline unsigned int mrg_next(curandStateMRG32k3a* s) {
    const unsigned long long m1 = 4294967087ull, m2 = 4294944443ull;
    const unsigned long long p1 = (1403580ull * s->s1[1] + 810728ull * (m1 - s->s1[0])) % m1;
    const unsigned long long p2 = (527612ull * s->s2[2] + 1370589ull * (m2 - s->s2[0])) % m2;
    for (int i = 0; i < 2; i++) {
        s->s1[i] = s->s1[i + 1];
        s->s2[i] = s->s2[i + 1];
    }
    s->s1[2] = (unsigned int)p1;
    s->s2[2] = (unsigned int)p2;
    return (unsigned int)(p1 <= p2 ? p1 + m1 - p2 : p1 - p2);
}
static inline double mrg_unit(curandStateMRG32k3a* s) {
    return mrg_next(s) * (1.0 / 4294967087.0);
}
}  // namespace nogpu

static inline void skipahead(unsigned long long n, curandStateMRG32k3a* s) {
    nogpu::mrg_skip(s, n, 0);
}
static inline void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a* s) {
    nogpu::mrg_skip(s, n, 76);
}
static inline void skipahead_sequence(unsigned long long n, curandStateMRG32k3a* s) {
    nogpu::mrg_skip(s, n, 127);
}
static inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                               unsigned long long offset, curandStateMRG32k3a* s) {
    for (int i = 0; i < 3; i++) s->s1[i] = s->s2[i] = 12345;
    if (seed) {
        const unsigned long long low = (unsigned int)seed ^ 0x55555555u;
        const unsigned long long high = (unsigned int)(seed >> 32) ^ 0xaaaaaaaau;
        for (int i = 0; i < 3; i++) {
            s->s1[i] = (unsigned int)((i == 1 ? high : low) * 12345 % 4294967087ull);
            s->s2[i] = (unsigned int)((i == 1 ? low : high) * 12345 % 4294944443ull);
        }
    }
    s->nogpu_padding = 0;
    nogpu::no_normals_left(s);
    skipahead_subsequence(subsequence, s);
    skipahead(offset, s);
}
static inline unsigned int curand(curandStateMRG32k3a* s) {
    const double spread = nogpu::mrg_next(s) * 1.000000048662;  // over 32 bits
    return spread < 4294967295.0 ? (unsigned int)spread : 4294967295u;
}

// Distributions. Of two normal numbers that come out together the second is kept for the next call.

namespace nogpu {
static inline float unit(unsigned int word) {  // above 0, up to 1
    return (float)word * 2.3283064365386963e-10f + 1.1641532182693481e-10f;
}
static inline double unit_double(unsigned int low, unsigned int high) {
    const unsigned long long bits = low ^ ((unsigned long long)high << 21);
    return (double)bits * 1.1102230246251565e-16 + 5.5511151231257827e-17;
}
static inline float2 normals(float u, float turn) {  // Box and Muller
    const float r = __builtin_sqrtf(-2.0f * logf(u));
    return float2{r * sinf(turn), r * cosf(turn)};
}
static inline double2 normals_double(double u, double half_turns) {
    const double r = __builtin_sqrt(-2.0 * log(u));
    return double2{r * sinpi(half_turns), r * cospi(half_turns)};
}
template <class V, class T> static inline V log_normals(V z, T mean, T deviation) {
    return V{exp(mean + deviation * z.x), exp(mean + deviation * z.y)};
}
static inline float2 normal_pair(unsigned int x, unsigned int y) {
    return normals(unit(x), (float)y * 1.46291807926715968e-9f + 7.3145903963357984e-10f);
}
static inline double2 normal_pair_double(unsigned int x0, unsigned int x1, unsigned int y0,
                                         unsigned int y1) {
    const unsigned long long bits = y0 ^ ((unsigned long long)y1 << 21);
    return normals_double(unit_double(x0, x1),
                          (double)bits * 2.2204460492503131e-16 + 1.1102230246251565e-16);
}
template <class S> static inline float2 normal_pair(S* s) {
    const unsigned int x = curand(s), y = curand(s);
    return normal_pair(x, y);
}
static inline float2 normal_pair(curandStateMRG32k3a* s) {
    const float u = (float)mrg_unit(s), v = (float)mrg_unit(s);
    return normals(u, v * 6.2831853071795860f);
}
static inline double2 normal_pair_double(curandStateXORWOW* s) {
    const unsigned int x0 = curand(s), x1 = curand(s), y0 = curand(s), y1 = curand(s);
    return normal_pair_double(x0, x1, y0, y1);
}
static inline double2 normal_pair_double(curandStatePhilox4_32_10* s) {
    const uint4 words = curand4(s);
    return normal_pair_double(words.x, words.y, words.z, words.w);
}
static inline double2 normal_pair_double(curandStateMRG32k3a* s) {
    const double u = mrg_unit(s), v = mrg_unit(s);
    return normals_double(u, 2 * v);
}
}  // namespace nogpu

template <class S> static inline float curand_uniform(S* s) { return nogpu::unit(curand(s)); }
static inline float curand_uniform(curandStateMRG32k3a* s) { return (float)nogpu::mrg_unit(s); }
template <class S> static inline double curand_uniform_double(S* s) {
    const unsigned int low = curand(s), high = curand(s);
    return nogpu::unit_double(low, high);
}
static inline double curand_uniform_double(curandStatePhilox4_32_10* s) {
    return (curand(s) + 1.0) * 2.3283064365386963e-10;  // one word, unlike XORWOW's
}
static inline double curand_uniform_double(curandStateMRG32k3a* s) { return nogpu::mrg_unit(s); }

template <class S> static inline float2 curand_normal2(S* s) { return nogpu::normal_pair(s); }
template <class S> static inline double2 curand_normal2_double(S* s) {
    return nogpu::normal_pair_double(s);
}
template <class S> static inline float2 curand_log_normal2(S* s, float mean, float deviation) {
    return nogpu::log_normals(nogpu::normal_pair(s), mean, deviation);
}
template <class S>
static inline double2 curand_log_normal2_double(S* s, double mean, double deviation) {
    return nogpu::log_normals(nogpu::normal_pair_double(s), mean, deviation);
}
// KIND is 1 for a normal number that is kept, 2 for a log-normal one: neither serves for the other.
#define CUSIM_KEPT(NAME, T, SUFFIX, KIND, PARAMETERS, ARGUMENTS)                   \
    template <class S> static inline T curand_##NAME##SUFFIX PARAMETERS {          \
        if (s->boxmuller_flag##SUFFIX == KIND) {                                   \
            s->boxmuller_flag##SUFFIX = 0;                                         \
            return s->boxmuller_extra##SUFFIX;                                     \
        }                                                                          \
        const T##2 pair = curand_##NAME##2##SUFFIX ARGUMENTS;                      \
        s->boxmuller_extra##SUFFIX = pair.y;                                       \
        s->boxmuller_flag##SUFFIX = KIND;                                          \
        return pair.x;                                                             \
    }
CUSIM_KEPT(normal, float, , 1, (S * s), (s))
CUSIM_KEPT(normal, double, _double, 1, (S * s), (s))
CUSIM_KEPT(log_normal, float, , 2, (S * s, float mean, float deviation), (s, mean, deviation))
CUSIM_KEPT(log_normal, double, _double, 2, (S * s, double mean, double deviation),
           (s, mean, deviation))
#undef CUSIM_KEPT

static inline float4 curand_uniform4(curandStatePhilox4_32_10* s) {
    const uint4 w = curand4(s);
    return float4{nogpu::unit(w.x), nogpu::unit(w.y), nogpu::unit(w.z), nogpu::unit(w.w)};
}
static inline double2 curand_uniform2_double(curandStatePhilox4_32_10* s) {
    const uint4 w = curand4(s);
    return double2{nogpu::unit_double(w.x, w.y), nogpu::unit_double(w.z, w.w)};
}
static inline double4 curand_uniform4_double(curandStatePhilox4_32_10* s) {
    const double2 a = curand_uniform2_double(s), b = curand_uniform2_double(s);
    return double4{a.x, a.y, b.x, b.y};
}
static inline float4 curand_normal4(curandStatePhilox4_32_10* s) {
    const uint4 w = curand4(s);
    const float2 a = nogpu::normal_pair(w.x, w.y), b = nogpu::normal_pair(w.z, w.w);
    return float4{a.x, a.y, b.x, b.y};
}
static inline double4 curand_normal4_double(curandStatePhilox4_32_10* s) {
    const double2 a = curand_normal2_double(s), b = curand_normal2_double(s);
    return double4{a.x, a.y, b.x, b.y};
}
static inline float4 curand_log_normal4(curandStatePhilox4_32_10* s, float mean, float deviation) {
    const float4 z = curand_normal4(s);
    const float2 a = nogpu::log_normals(float2{z.x, z.y}, mean, deviation);
    const float2 b = nogpu::log_normals(float2{z.z, z.w}, mean, deviation);
    return float4{a.x, a.y, b.x, b.y};
}
static inline double4 curand_log_normal4_double(curandStatePhilox4_32_10* s, double mean,
                                                double deviation) {
    const double2 a = curand_log_normal2_double(s, mean, deviation);
    const double2 b = curand_log_normal2_double(s, mean, deviation);
    return double4{a.x, a.y, b.x, b.y};
}

// Poisson: below 64 Knuth's product of uniform numbers, above 4000 a rounded normal number, both
// as cuRAND. Between, W. Hörmann's PTRS ("The transformed rejection method for generating Poisson
// random variables", 1993): the same distribution, other values than cuRAND's.
template <class S> static inline unsigned int curand_poisson(S* s, double lambda) {
    if (lambda < 64) {
        unsigned int count = 0;
        for (float product = expf((float)lambda); (product *= curand_uniform(s)) > 1.0f;) count++;
        return count;
    }
    if (lambda > 4000)
        return (unsigned int)(curand_normal_double(s) * __builtin_sqrt(lambda) + lambda + 0.5);
    const double b = 0.931 + 2.53 * __builtin_sqrt(lambda), a = -0.059 + 0.02483 * b;
    for (;;) {
        const double u = curand_uniform(s) - 0.5, v = curand_uniform(s);
        const double us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + lambda + 0.43);
        if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return (unsigned int)k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(1.1239 + 1.1328 / (b - 3.4)) - log(a / (us * us) + b) <=
            k * log(lambda) - lambda - lgamma(k + 1))
            return (unsigned int)k;
    }
}
static inline uint4 curand_poisson4(curandStatePhilox4_32_10* s, double lambda) {
    uint4 result;
    result.x = curand_poisson(s, lambda);
    result.y = curand_poisson(s, lambda);
    result.z = curand_poisson(s, lambda);
    result.w = curand_poisson(s, lambda);
    return result;
}
