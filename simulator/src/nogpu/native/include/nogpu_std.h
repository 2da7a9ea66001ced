// The few names of cuda::std that kernels use most: array, numeric_limits, the integers.
#pragma once

namespace cuda {
namespace std {
using size_t = decltype(sizeof 0);
using ptrdiff_t = decltype((char*)0 - (char*)0);
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;

template <class T, size_t N> struct array {
    T elements[N ? N : 1];
    constexpr T& operator[](size_t i) { return elements[i]; }
    constexpr const T& operator[](size_t i) const { return elements[i]; }
    constexpr size_t size() const { return N; }
    constexpr bool empty() const { return N == 0; }
    constexpr T* data() { return elements; }
    constexpr const T* data() const { return elements; }
    constexpr T* begin() { return elements; }
    constexpr const T* begin() const { return elements; }
    constexpr T* end() { return elements + N; }
    constexpr const T* end() const { return elements + N; }
    constexpr T& front() { return elements[0]; }
    constexpr T& back() { return elements[N ? N - 1 : 0]; }
    constexpr void fill(const T& value) {
        for (size_t i = 0; i < N; i++) elements[i] = value;
    }
};

template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };
#define CUSIM_LIMITS(T, LOW, MIN, MAX, INTEGER, SIGNED, ...)                    \
    template <> struct numeric_limits<T> {                                      \
        static constexpr bool is_specialized = true, is_integer = INTEGER;      \
        static constexpr bool is_signed = SIGNED, has_infinity = !INTEGER;      \
        static constexpr T lowest() { return LOW; }                             \
        static constexpr T min() { return MIN; }                                \
        static constexpr T max() { return MAX; }                                \
        __VA_ARGS__                                                             \
    };
#define CUSIM_SIGNED_LIMITS(T, MAX) CUSIM_LIMITS(T, -MAX - 1, -MAX - 1, MAX, true, true, )
#define CUSIM_UNSIGNED_LIMITS(T) CUSIM_LIMITS(T, 0, 0, (T)~(T)0, true, false, )
CUSIM_SIGNED_LIMITS(signed char, __SCHAR_MAX__)
CUSIM_SIGNED_LIMITS(short, __SHRT_MAX__)
CUSIM_SIGNED_LIMITS(int, __INT_MAX__)
CUSIM_SIGNED_LIMITS(long, __LONG_MAX__)
CUSIM_SIGNED_LIMITS(long long, __LONG_LONG_MAX__)
CUSIM_UNSIGNED_LIMITS(unsigned char)
CUSIM_UNSIGNED_LIMITS(unsigned short)
CUSIM_UNSIGNED_LIMITS(unsigned int)
CUSIM_UNSIGNED_LIMITS(unsigned long)
CUSIM_UNSIGNED_LIMITS(unsigned long long)
#define CUSIM_FLOAT_LIMITS(T, MIN, MAX, EPSILON, INF, NOT)                      \
    CUSIM_LIMITS(T, -MAX, MIN, MAX, false, true,                                \
                 static constexpr T epsilon() { return EPSILON; }               \
                 static constexpr T infinity() { return INF; }                  \
                 static constexpr T quiet_NaN() { return NOT; })
CUSIM_FLOAT_LIMITS(float, __FLT_MIN__, __FLT_MAX__, __FLT_EPSILON__, __builtin_inff(),
                   __builtin_nanf(""))
CUSIM_FLOAT_LIMITS(double, __DBL_MIN__, __DBL_MAX__, __DBL_EPSILON__, __builtin_inf(),
                   __builtin_nan(""))

template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <class A, class B> struct is_same { static constexpr bool value = false; };
template <class A> struct is_same<A, A> { static constexpr bool value = true; };
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <bool B, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
}  // namespace std
}  // namespace cuda
