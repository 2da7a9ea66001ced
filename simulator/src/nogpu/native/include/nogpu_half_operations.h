// What both 16-bit formats can do: included once for each, with H, H2 and HALF_OF as its names. Each
// operation is computed in a wider format and rounded once.
//
// H: the format. H2: two of them. HALF_OF(bits): one from its bits. INFINITE: the bits of infinity.

struct __attribute__((aligned(4))) H2 {
    H x, y;
    H2(H x_, H y_) : x(x_), y(y_) {}
    CUSIM_COPIES(H2, 4)
};

#define CUSIM_HALF_OPERATOR(OP, NAME)                                                       \
    static inline H operator OP(H a, H b) { return H((float)a OP (float)b); }               \
    static inline H NAME(H a, H b) { return a OP b; }                                       \
    static inline H NAME##_rn(H a, H b) { return a OP b; }                                  \
    static inline H& operator OP##=(H& a, H b) { return a = a OP b; }                       \
    static inline H2 operator OP(H2 a, H2 b) { return H2(a.x OP b.x, a.y OP b.y); }         \
    static inline H2 NAME##2(H2 a, H2 b) { return a OP b; }                                 \
    static inline H2 NAME##2_rn(H2 a, H2 b) { return a OP b; }                              \
    static inline H2& operator OP##=(H2& a, H2 b) { return a = a OP b; }
CUSIM_HALF_OPERATOR(+, __hadd)
CUSIM_HALF_OPERATOR(-, __hsub)
CUSIM_HALF_OPERATOR(*, __hmul)
CUSIM_HALF_OPERATOR(/, __hdiv)
#undef CUSIM_HALF_OPERATOR
static inline H2 __h2div(H2 a, H2 b) { return a / b; }
static inline H operator-(H a) { return HALF_OF(a.bits ^ 0x8000u); }
static inline H operator+(H a) { return a; }
static inline H2 operator-(H2 a) { return H2(-a.x, -a.y); }
static inline H __hneg(H a) { return -a; }
static inline H __habs(H a) { return HALF_OF(a.bits & 0x7fffu); }
// The product of two is exact in double, so there is one rounding, as in hardware.
static inline H __hfma(H a, H b, H c) {
    return H(fma((double)(float)a, (double)(float)b, (double)(float)c));
}
static inline H __saturated(H a) {
    const float x = (float)a;
    return H(x > 1 ? 1.0f : x > 0 ? x : 0.0f);
}
static inline H __hadd_sat(H a, H b) { return __saturated(a + b); }
static inline H __hsub_sat(H a, H b) { return __saturated(a - b); }
static inline H __hmul_sat(H a, H b) { return __saturated(a * b); }
static inline H __hfma_sat(H a, H b, H c) { return __saturated(__hfma(a, b, c)); }
static inline H __hfma_relu(H a, H b, H c) {
    const H result = __hfma(a, b, c);
    return (float)result < 0 ? H(0.0f) : result;
}

static inline bool __hisnan(H a) { return (a.bits & 0x7fffu) > INFINITE; }
static inline int __hisinf(H a) {
    return (a.bits & 0x7fffu) == INFINITE ? ((a.bits & 0x8000u) ? -1 : 1) : 0;
}
static inline H __hmax(H a, H b) { return H(fmaxf((float)a, (float)b)); }
static inline H __hmin(H a, H b) { return H(fminf((float)a, (float)b)); }
static inline H __hmax_nan(H a, H b) {
    return __hisnan(a) || __hisnan(b) ? HALF_OF(0x7fffu) : __hmax(a, b);
}
static inline H __hmin_nan(H a, H b) {
    return __hisnan(a) || __hisnan(b) ? HALF_OF(0x7fffu) : __hmin(a, b);
}
#define CUSIM_HALF_BY_TWO(NAME)                                                             \
    static inline H2 NAME##2(H2 a, H2 b) { return H2(NAME(a.x, b.x), NAME(a.y, b.y)); }
CUSIM_HALF_BY_TWO(__hmax)
CUSIM_HALF_BY_TWO(__hmin)
static inline H2 __hadd2_sat(H2 a, H2 b) { return H2(__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)); }
static inline H2 __hmul2_sat(H2 a, H2 b) { return H2(__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)); }
#undef CUSIM_HALF_BY_TWO
static inline H2 __hneg2(H2 a) { return -a; }
static inline H2 __habs2(H2 a) { return H2(__habs(a.x), __habs(a.y)); }
static inline H2 __hfma2(H2 a, H2 b, H2 c) {
    return H2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
static inline H2 __hfma2_relu(H2 a, H2 b, H2 c) {
    return H2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}

#define CUSIM_HALF_COMPARE(OP, NAME, LETTERS)                                               \
    static inline bool operator OP(H a, H b) { return (float)a OP (float)b; }               \
    static inline bool NAME(H a, H b) { return a OP b; }                                    \
    static inline H2 NAME##2(H2 a, H2 b) {                                                  \
        return H2(H(a.x OP b.x ? 1.0f : 0.0f), H(a.y OP b.y ? 1.0f : 0.0f));                \
    }                                                                                       \
    static inline bool __hb##LETTERS##2(H2 a, H2 b) { return a.x OP b.x && a.y OP b.y; }
CUSIM_HALF_COMPARE(==, __heq, eq)
CUSIM_HALF_COMPARE(!=, __hne, ne)
CUSIM_HALF_COMPARE(<, __hlt, lt)
CUSIM_HALF_COMPARE(<=, __hle, le)
CUSIM_HALF_COMPARE(>, __hgt, gt)
CUSIM_HALF_COMPARE(>=, __hge, ge)
#undef CUSIM_HALF_COMPARE

#define CUSIM_HALF_FUNCTION(NAME, FUNCTION)                                                 \
    static inline H h##NAME(H a) { return H(FUNCTION((float)a)); }                          \
    static inline H2 h2##NAME(H2 a) { return H2(h##NAME(a.x), h##NAME(a.y)); }
CUSIM_HALF_FUNCTION(sqrt, sqrtf)
CUSIM_HALF_FUNCTION(rsqrt, rsqrtf)
CUSIM_HALF_FUNCTION(rcp, 1.0f /)
CUSIM_HALF_FUNCTION(exp, expf)
CUSIM_HALF_FUNCTION(exp2, exp2f)
CUSIM_HALF_FUNCTION(exp10, exp10f)
CUSIM_HALF_FUNCTION(log, logf)
CUSIM_HALF_FUNCTION(log2, log2f)
CUSIM_HALF_FUNCTION(log10, log10f)
CUSIM_HALF_FUNCTION(sin, sinf)
CUSIM_HALF_FUNCTION(cos, cosf)
CUSIM_HALF_FUNCTION(tanh, tanhf)
CUSIM_HALF_FUNCTION(floor, floorf)
CUSIM_HALF_FUNCTION(ceil, ceilf)
CUSIM_HALF_FUNCTION(rint, rintf)
CUSIM_HALF_FUNCTION(trunc, truncf)
#undef CUSIM_HALF_FUNCTION

static inline float __low2float(H2 v) { return (float)v.x; }
static inline float __high2float(H2 v) { return (float)v.y; }
static inline H2 __lowhigh2highlow(H2 v) { return H2(v.y, v.x); }
static inline H2 __low2half2(H2 v) { return H2(v.x, v.x); }
static inline H2 __high2half2(H2 v) { return H2(v.y, v.y); }
static inline H2 __lows2half2(H2 a, H2 b) { return H2(a.x, b.x); }
static inline H2 __highs2half2(H2 a, H2 b) { return H2(a.y, b.y); }

static inline H atomicAdd(H* address, H value) {
    return nogpu::update(address, [value](H old) { return old + value; });
}
static inline H2 atomicAdd(H2* address, H2 value) {
    return nogpu::update(address, [value](H2 old) { return old + value; });
}
#define CUSIM_HALF_SHUFFLE(NAME, SOURCE_TYPE)                                               \
    static inline H NAME(unsigned int mask, H value, SOURCE_TYPE source, int width = 32,    \
                         CUSIM_LINE) {                                                      \
        const unsigned int bits = value.bits;                                               \
        return HALF_OF(NAME(mask, bits, source, width, nogpu_line));                        \
    }                                                                                       \
    static inline H2 NAME(unsigned int mask, H2 value, SOURCE_TYPE source, int width = 32,  \
                          CUSIM_LINE) {                                                     \
        const unsigned int bits = value.x.bits | ((unsigned int)value.y.bits << 16);        \
        const unsigned int other = NAME(mask, bits, source, width, nogpu_line);             \
        return H2(HALF_OF(other), HALF_OF(other >> 16));                                    \
    }
CUSIM_HALF_SHUFFLE(__shfl_sync, int)
CUSIM_HALF_SHUFFLE(__shfl_up_sync, unsigned int)
CUSIM_HALF_SHUFFLE(__shfl_down_sync, unsigned int)
CUSIM_HALF_SHUFFLE(__shfl_xor_sync, int)
#undef CUSIM_HALF_SHUFFLE

// What each format calls its conversions: FORMAT is "half" or "bfloat16".
#define CUSIM_HALF_NAMES(FORMAT)                                                            \
    static inline H __float2##FORMAT(float x) { return H(x); }                              \
    static inline H __float2##FORMAT##_rn(float x) { return H(x); }                         \
    static inline H __double2##FORMAT(double x) { return H(x); }                            \
    static inline H __int2##FORMAT##_rn(int x) { return H(x); }                             \
    static inline H __uint2##FORMAT##_rn(unsigned int x) { return H(x); }                   \
    static inline float __##FORMAT##2float(H h) { return (float)h; }                        \
    static inline int __##FORMAT##2int_rn(H h) { return __float2int_rn((float)h); }         \
    static inline int __##FORMAT##2int_rz(H h) { return __float2int_rz((float)h); }         \
    static inline unsigned short __##FORMAT##_as_ushort(H h) { return h.bits; }             \
    static inline short __##FORMAT##_as_short(H h) { return (short)h.bits; }                \
    static inline H2 make_##FORMAT##2(H x, H y) { return H2(x, y); }                        \
    static inline H2 __halves2##FORMAT##2(H x, H y) { return H2(x, y); }                    \
    static inline H2 __##FORMAT##2##FORMAT##2(H x) { return H2(x, x); }                     \
    static inline H2 __float2##FORMAT##2_rn(float x) { return H2(H(x), H(x)); }             \
    static inline H2 __floats2##FORMAT##2_rn(float x, float y) { return H2(H(x), H(y)); }   \
    static inline H2 __float22##FORMAT##2_rn(float2 v) { return H2(H(v.x), H(v.y)); }       \
    static inline float2 __##FORMAT##22float2(H2 v) {                                       \
        return make_float2((float)v.x, (float)v.y);                                         \
    }                                                                                       \
    static inline H __low2##FORMAT(H2 v) { return v.x; }                                    \
    static inline H __high2##FORMAT(H2 v) { return v.y; }
