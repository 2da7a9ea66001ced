// Half precision as elementwise kernels have it: stored in 16 bits, computed in float.
#pragma once
#pragma GCC system_header
#include <cuda_fp16.h>
#line 6 "nogpu_float16.cuh"

class float16 {
    unsigned short bits_;

public:
    float16() = default;
    template <typename N> float16(N value) : bits_(nogpu::double_to_half((double)value)) {}
    float16(__half value) : bits_(value.bits) {}
    operator float() const { return nogpu::half_to_float(bits_); }
    explicit operator __half() const { return __ushort_as_half(bits_); }
    float16& operator+=(float x) { return *this = (float)*this + x; }
    float16& operator-=(float x) { return *this = (float)*this - x; }
    float16& operator*=(float x) { return *this = (float)*this * x; }
    float16& operator/=(float x) { return *this = (float)*this / x; }
    static const unsigned short nan = 0x7e00u;
};
static inline int isnan(float16 x) { return isnan((float)x); }
static inline int isinf(float16 x) { return isinf((float)x); }
static inline int isfinite(float16 x) { return isfinite((float)x); }
static inline int signbit(float16 x) { return signbit((float)x); }
static inline float16 min(float16 x, float16 y) { return min((float)x, (float)y); }
static inline float16 max(float16 x, float16 y) { return max((float)x, (float)y); }
