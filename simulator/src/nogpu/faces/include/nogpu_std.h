// The names of cuda::std that kernels use most: type traits, pairs and tuples, arrays, limits,
// function objects, small algorithms, mathematics and complex numbers.
#pragma once
#pragma GCC system_header
#include "nogpu_complex.h"
#include "nogpu_integers.h"

#if CUSIM_LIBC
#include <tuple>
#elif !CUSIM_TUPLES
#define CUSIM_TUPLES 1
// What structured bindings look for.
namespace std {
template <class T> struct tuple_size;
template <decltype(sizeof 0) I, class T> struct tuple_element;
}  // namespace std
#endif

namespace cuda {
namespace std {
using size_t = decltype(sizeof 0);
using ptrdiff_t = decltype((char*)0 - (char*)0);
using nullptr_t = decltype(nullptr);
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
using intptr_t = long;
using uintptr_t = unsigned long;

// ---- type traits

template <class T, T Value> struct integral_constant {
    static constexpr T value = Value;
    using value_type = T;
    using type = integral_constant;
    constexpr operator T() const { return Value; }
    constexpr T operator()() const { return Value; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class...> using void_t = void;

template <class T> struct remove_const { using type = T; };
template <class T> struct remove_const<const T> { using type = T; };
template <class T> struct remove_volatile { using type = T; };
template <class T> struct remove_volatile<volatile T> { using type = T; };
template <class T> struct remove_reference { using type = T; };
template <class T> struct remove_reference<T&> { using type = T; };
template <class T> struct remove_reference<T&&> { using type = T; };
template <class T> struct remove_pointer { using type = T; };
template <class T> struct remove_pointer<T*> { using type = T; };
template <class T> struct remove_extent { using type = T; };
template <class T> struct remove_extent<T[]> { using type = T; };
template <class T, size_t N> struct remove_extent<T[N]> { using type = T; };
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_volatile_t = typename remove_volatile<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using remove_extent_t = typename remove_extent<T>::type;
template <class T> struct remove_cv { using type = remove_const_t<remove_volatile_t<T>>; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_cvref_t = remove_cv_t<remove_reference_t<T>>;
template <class T> struct remove_cvref { using type = remove_cvref_t<T>; };
template <class T> struct type_identity { using type = T; };
template <class T> struct decay { using type = remove_cvref_t<T>; };
template <class T, size_t N> struct decay<T (&)[N]> { using type = T*; };
template <class T> using decay_t = typename decay<T>::type;

#define CUSIM_TRAIT(NAME, ...)                                                  \
    template <class T> struct NAME : bool_constant<(__VA_ARGS__)> {};           \
    template <class T> inline constexpr bool NAME##_v = NAME<T>::value;
template <class A, class B> struct is_same : bool_constant<__is_same(A, B)> {};
template <class A, class B> inline constexpr bool is_same_v = __is_same(A, B);
template <class A, class B> struct is_base_of : bool_constant<__is_base_of(A, B)> {};
template <class A, class B> inline constexpr bool is_base_of_v = __is_base_of(A, B);
template <class T> struct IsPointer : false_type {};
template <class T> struct IsPointer<T*> : true_type {};
template <class T, class... Types>
inline constexpr bool is_one_of = (__is_same(remove_cv_t<T>, Types) || ...);
CUSIM_TRAIT(is_void, __is_same(remove_cv_t<T>, void))
CUSIM_TRAIT(is_integral, is_one_of<T, bool, char, signed char, unsigned char, short, unsigned short,
                                   int, unsigned int, long, unsigned long, long long,
                                   unsigned long long, wchar_t, char16_t, char32_t>)
CUSIM_TRAIT(is_floating_point, is_one_of<T, float, double, long double>)
CUSIM_TRAIT(is_arithmetic, is_integral_v<T> || is_floating_point_v<T>)
CUSIM_TRAIT(is_signed, is_floating_point_v<T> ||
                           (is_integral_v<T> && !__is_same(remove_cv_t<T>, bool) && T(-1) < T(0)))
CUSIM_TRAIT(is_unsigned, is_integral_v<T> && !is_signed_v<T>)
CUSIM_TRAIT(is_pointer, IsPointer<remove_cv_t<T>>::value)
CUSIM_TRAIT(is_const, __is_same(T, const T))
CUSIM_TRAIT(is_reference, !__is_same(T, remove_reference_t<T>))
CUSIM_TRAIT(is_enum, __is_enum(T))
CUSIM_TRAIT(is_class, __is_class(T))
CUSIM_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
#undef CUSIM_TRAIT
template <class T> struct make_unsigned { using type = T; };
template <class T> struct make_signed { using type = T; };
#define CUSIM_SIGNS(T)                                                          \
    template <> struct make_unsigned<T> { using type = unsigned T; };           \
    template <> struct make_signed<unsigned T> { using type = T; };
CUSIM_SIGNS(short)
CUSIM_SIGNS(int)
CUSIM_SIGNS(long)
CUSIM_SIGNS(long long)
#undef CUSIM_SIGNS
template <> struct make_unsigned<signed char> { using type = unsigned char; };
template <> struct make_unsigned<char> { using type = unsigned char; };
template <> struct make_signed<unsigned char> { using type = signed char; };
template <> struct make_signed<char> { using type = signed char; };
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> using make_signed_t = typename make_signed<T>::type;

// ---- utility

template <class T> T&& declval() noexcept;
template <class T> constexpr remove_reference_t<T>&& move(T&& x) noexcept {
    return static_cast<remove_reference_t<T>&&>(x);
}
template <class T> constexpr T&& forward(remove_reference_t<T>& x) noexcept {
    return static_cast<T&&>(x);
}
template <class T> constexpr void swap(T& a, T& b) {
    T kept = move(a);
    a = move(b);
    b = move(kept);
}
template <class To, class From> constexpr To bit_cast(const From& from) {
    return __builtin_bit_cast(To, from);
}

template <class A, class B> struct pair {
    using first_type = A;
    using second_type = B;
    A first;
    B second;
    constexpr pair() : first(), second() {}
    constexpr pair(const A& a, const B& b) : first(a), second(b) {}
    template <class C, class D>
    constexpr pair(const pair<C, D>& other) : first(other.first), second(other.second) {}
};
template <class A, class B> pair(A, B) -> pair<A, B>;
template <class A, class B> constexpr pair<decay_t<A>, decay_t<B>> make_pair(A&& a, B&& b) {
    return {a, b};
}
template <class A, class B> constexpr bool operator==(const pair<A, B>& x, const pair<A, B>& y) {
    return x.first == y.first && x.second == y.second;
}
template <class A, class B> constexpr bool operator!=(const pair<A, B>& x, const pair<A, B>& y) {
    return !(x == y);
}
template <class A, class B> constexpr bool operator<(const pair<A, B>& x, const pair<A, B>& y) {
    return x.first < y.first || (!(y.first < x.first) && x.second < y.second);
}

template <class... T> struct tuple {};
template <class Head, class... Tail> struct tuple<Head, Tail...> {
    Head head;
    tuple<Tail...> tail;
    constexpr tuple() : head(), tail() {}
    constexpr tuple(const Head& first, const Tail&... rest) : head(first), tail(rest...) {}
    template <class... Other> constexpr tuple& operator=(const tuple<Other...>& other) {
        head = other.head;
        tail = other.tail;
        return *this;
    }
    template <class A, class B> constexpr tuple& operator=(const pair<A, B>& other) {
        head = other.first;
        tail.head = other.second;
        return *this;
    }
};
template <class... T> tuple(T...) -> tuple<T...>;
template <class... T> constexpr tuple<decay_t<T>...> make_tuple(T&&... items) {
    return tuple<decay_t<T>...>(items...);
}
template <class... T> constexpr tuple<T&...> tie(T&... items) { return tuple<T&...>(items...); }

template <class T> struct tuple_size;
template <class... T> struct tuple_size<tuple<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <class A, class B> struct tuple_size<pair<A, B>> : integral_constant<size_t, 2> {};
template <class T> inline constexpr size_t tuple_size_v = tuple_size<T>::value;
template <size_t I, class T> struct tuple_element;
template <size_t I, class Head, class... Tail>
struct tuple_element<I, tuple<Head, Tail...>> : tuple_element<I - 1, tuple<Tail...>> {};
template <class Head, class... Tail> struct tuple_element<0, tuple<Head, Tail...>> {
    using type = Head;
};
template <class A, class B> struct tuple_element<0, pair<A, B>> { using type = A; };
template <class A, class B> struct tuple_element<1, pair<A, B>> { using type = B; };
template <size_t I, class T> using tuple_element_t = typename tuple_element<I, T>::type;

// const or not, as the tuple is.
#define CUSIM_GET(CONST)                                                        \
    template <size_t I, class... T> constexpr auto& get(CONST tuple<T...>& t) { \
        if constexpr (I == 0) return t.head;                                    \
        else return get<I - 1>(t.tail);                                         \
    }                                                                           \
    template <size_t I, class A, class B> constexpr auto& get(CONST pair<A, B>& p) { \
        if constexpr (I == 0) return p.first;                                   \
        else return p.second;                                                   \
    }
CUSIM_GET()
CUSIM_GET(const)
#undef CUSIM_GET
template <size_t I, class... T> constexpr tuple_element_t<I, tuple<T...>>&& get(tuple<T...>&& t) {
    return static_cast<tuple_element_t<I, tuple<T...>>&&>(get<I>(t));
}
template <size_t I, class A, class B>
constexpr tuple_element_t<I, pair<A, B>>&& get(pair<A, B>&& p) {
    return static_cast<tuple_element_t<I, pair<A, B>>&&>(get<I>(p));
}

// ---- arrays and limits

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
        static constexpr bool is_exact = INTEGER, is_iec559 = !INTEGER;         \
        static constexpr int radix = 2;                                         \
        static constexpr int digits =                                           \
            INTEGER ? 8 * (int)sizeof(T) - SIGNED : sizeof(T) == 4 ? 24 : 53;   \
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
                 static constexpr bool has_quiet_NaN = true;                    \
                 static constexpr T infinity() { return INF; }                  \
                 static constexpr T round_error() { return (T)0.5; }            \
                 static constexpr T quiet_NaN() { return NOT; })
CUSIM_FLOAT_LIMITS(float, __FLT_MIN__, __FLT_MAX__, __FLT_EPSILON__, __builtin_inff(),
                   __builtin_nanf(""))
CUSIM_FLOAT_LIMITS(double, __DBL_MIN__, __DBL_MAX__, __DBL_EPSILON__, __builtin_inf(),
                   __builtin_nan(""))


// ---- function objects and algorithms

#define CUSIM_OPERATION(NAME, RESULT, ...)                                      \
    template <class T = void> struct NAME {                                     \
        constexpr RESULT operator()(const T& a, const T& b) const { return __VA_ARGS__; } \
    };                                                                          \
    template <> struct NAME<void> {                                             \
        template <class A, class B>                                             \
        constexpr auto operator()(const A& a, const B& b) const { return __VA_ARGS__; } \
    };
CUSIM_OPERATION(plus, T, a + b)
CUSIM_OPERATION(minus, T, a - b)
CUSIM_OPERATION(multiplies, T, a * b)
CUSIM_OPERATION(divides, T, a / b)
CUSIM_OPERATION(modulus, T, a % b)
CUSIM_OPERATION(bit_and, T, a & b)
CUSIM_OPERATION(bit_or, T, a | b)
CUSIM_OPERATION(bit_xor, T, a ^ b)
CUSIM_OPERATION(less, bool, a < b)
CUSIM_OPERATION(less_equal, bool, a <= b)
CUSIM_OPERATION(greater, bool, a > b)
CUSIM_OPERATION(greater_equal, bool, a >= b)
CUSIM_OPERATION(equal_to, bool, a == b)
CUSIM_OPERATION(not_equal_to, bool, a != b)
CUSIM_OPERATION(logical_and, bool, a && b)
CUSIM_OPERATION(logical_or, bool, a || b)

template <class T> constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T, class C> constexpr const T& min(const T& a, const T& b, C less) {
    return less(b, a) ? b : a;
}
template <class T, class C> constexpr const T& max(const T& a, const T& b, C less) {
    return less(a, b) ? b : a;
}
template <class T> constexpr const T& clamp(const T& x, const T& low, const T& high) {
    return x < low ? low : high < x ? high : x;
}
template <class I, class T> constexpr I lower_bound(I first, I last, const T& value) {
    while (first != last) {
        const I middle = first + (last - first) / 2;
        if (*middle < value) first = middle + 1;
        else last = middle;
    }
    return first;
}
template <class I, class T> constexpr I upper_bound(I first, I last, const T& value) {
    while (first != last) {
        const I middle = first + (last - first) / 2;
        if (value < *middle) last = middle;
        else first = middle + 1;
    }
    return first;
}

// ---- mathematics

using ::ceil, ::copysign, ::erf, ::erfc, ::exp2, ::expm1, ::fabs, ::floor, ::fma, ::fmax, ::fmin;
using ::fmod, ::hypot, ::lgamma, ::log1p, ::log2, ::nextafter, ::rint, ::round, ::tgamma, ::trunc;
using ::abs, ::acos, ::acosh, ::asin, ::asinh, ::atan, ::atan2, ::atanh, ::cbrt, ::cos, ::cosh;
using ::exp, ::isfinite, ::isinf, ::isnan, ::ldexp, ::log, ::log10, ::pow, ::sin, ::sinh, ::sqrt;
using ::tan, ::tanh;
using thrust::abs, thrust::acos, thrust::acosh, thrust::arg, thrust::asin, thrust::asinh;
using thrust::atan, thrust::atanh, thrust::complex, thrust::conj, thrust::cos, thrust::cosh;
using thrust::exp, thrust::imag, thrust::isfinite, thrust::isinf, thrust::isnan, thrust::log;
using thrust::log10, thrust::norm, thrust::polar, thrust::pow, thrust::proj, thrust::real;
using thrust::sin, thrust::sinh, thrust::sqrt, thrust::tan, thrust::tanh;
}  // namespace std

template <class T = void> struct maximum {
    constexpr T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <class T = void> struct minimum {
    constexpr T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <> struct maximum<void> {
    template <class T> constexpr T operator()(const T& a, const T& b) const {
        return a < b ? b : a;
    }
};
template <> struct minimum<void> {
    template <class T> constexpr T operator()(const T& a, const T& b) const {
        return b < a ? b : a;
    }
};
}  // namespace cuda

namespace std {
template <class... T>
struct tuple_size<cuda::std::tuple<T...>> : cuda::std::tuple_size<cuda::std::tuple<T...>> {};
template <class A, class B>
struct tuple_size<cuda::std::pair<A, B>> : cuda::std::tuple_size<cuda::std::pair<A, B>> {};
template <decltype(sizeof 0) I, class... T>
struct tuple_element<I, cuda::std::tuple<T...>>
    : cuda::std::tuple_element<I, cuda::std::tuple<T...>> {};
template <decltype(sizeof 0) I, class A, class B>
struct tuple_element<I, cuda::std::pair<A, B>>
    : cuda::std::tuple_element<I, cuda::std::pair<A, B>> {};
}  // namespace std

namespace thrust {
using cuda::std::equal_to, cuda::std::get, cuda::std::greater, cuda::std::less;
using cuda::std::make_pair, cuda::std::make_tuple, cuda::std::minus, cuda::std::multiplies;
using cuda::std::pair, cuda::std::plus, cuda::std::swap, cuda::std::tie, cuda::std::tuple;
using cuda::maximum, cuda::minimum;
}  // namespace thrust
