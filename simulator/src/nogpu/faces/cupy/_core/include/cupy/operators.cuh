// Python's operators where C++'s differ.
#pragma once
#pragma GCC system_header
#line 5 "nogpu_operators.cuh"

template <typename T> static inline T py_floor_divide(T a, T b) {
    if (b == T(0)) return T(0);
    const T quotient = (T)(a / b);
    return quotient * b != a && (a < T(0)) != (b < T(0)) ? (T)(quotient - T(1)) : quotient;
}
static inline float py_floor_divide(float a, float b) { return floorf(a / b); }
static inline double py_floor_divide(double a, double b) { return floor(a / b); }

template <typename T> static inline T py_remainder(T a, T b) {
    if (b == T(0)) return T(0);
    const T rest = (T)(a % b);
    return rest != T(0) && (rest < T(0)) != (b < T(0)) ? (T)(rest + b) : rest;
}
static inline double py_remainder(double a, double b) {
    const double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static inline float py_remainder(float a, float b) {
    const float rest = fmodf(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <typename T> static inline T py_power(T base, T exponent) {
    if (exponent < T(0)) return base == T(1) ? T(1) : base == T(-1) ? (exponent % 2 ? base : T(1)) : T(0);
    T result = T(1);
    for (; exponent > T(0); exponent /= 2, base *= base)
        if (exponent % 2) result *= base;
    return result;
}
static inline float py_power(float a, float b) { return powf(a, b); }
static inline double py_power(double a, double b) { return pow(a, b); }

template <typename T> static inline T py_maximum(T a, T b) {
    return a != a ? a : b != b ? b : a > b ? a : b;
}
template <typename T> static inline T py_minimum(T a, T b) {
    return a != a ? a : b != b ? b : a < b ? a : b;
}
template <typename T> static inline T py_sign(T a) {
    return a > T(0) ? T(1) : a < T(0) ? T(-1) : a;
}
