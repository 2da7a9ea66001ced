// Vector types. In instrumented builds the types of 2, 4, 8 and 16 bytes copy themselves through
// one call of the runtime, as one access, because compilers split or merge plain copies at will.
// A union that is copied has members with plain copies: for such a source CUSIM_UNIONS is 1, where
// one is assigned 2. What is plain is seen as the compiler makes it, which g++ does not show where
// a function's result goes into memory.
#pragma once

namespace nogpu {
template <int N> struct Raw;
template <> struct Raw<1> {
    typedef unsigned char type;
    static type read(const void* p) { return *(const type*)p; }
    static void write(void* p, type v) { *(type*)p = v; }
};
#define CUSIM_RAW(SIZE, T)                                                       \
    template <> struct Raw<SIZE> {                                               \
        typedef T type;                                                          \
        static type read(const void* p) { return nogpu_read##SIZE(p); }          \
        static void write(void* p, type v) { nogpu_write##SIZE(p, v); }          \
    };
CUSIM_RAW(2, unsigned short)
CUSIM_RAW(4, unsigned int)
CUSIM_RAW(8, unsigned long long)
CUSIM_RAW(16, Bytes16)
// A number as the only one between braces: `float4 v = {1}`, but not `float4 v = 1`.
template <class T> struct Single {
    T value;
    constexpr Single(T value_) : value(value_) {}
};
}  // namespace nogpu

#if CUSIM_UNIONS
#define CUSIM_CONSTRUCTOR(V, SIZE) V(const V&) = default;
#else
#define CUSIM_CONSTRUCTOR(V, SIZE)                                               \
    __attribute__((always_inline)) V(const V& other) {                           \
        nogpu::Raw<SIZE>::type raw = nogpu::Raw<SIZE>::read(&other);             \
        __builtin_memcpy((void*)this, &raw, SIZE);                               \
    }
#endif
#if CUSIM_CHECKED && CUSIM_UNIONS < 2
#define CUSIM_COPIES(V, SIZE)                                                    \
    V() = default;                                                               \
    CUSIM_CONSTRUCTOR(V, SIZE)                                                   \
    __attribute__((always_inline)) V& operator=(const V& other) {                \
        nogpu::Raw<SIZE>::write(this, nogpu::Raw<SIZE>::read(&other));           \
        return *this;                                                            \
    }
#else
#define CUSIM_COPIES(V, SIZE) V() = default;
#endif

#define CUSIM_VECTOR2(V, T, SIZE)                                                \
    struct __attribute__((aligned(SIZE))) V {                                    \
        T x, y;                                                                  \
        constexpr V(nogpu::Single<T> x_) : x(x_.value), y(0) {}                  \
        constexpr V(T x_, T y_) : x(x_), y(y_) {}                                \
        CUSIM_COPIES(V, SIZE)                                                    \
    };                                                                           \
    static inline V make_##V(T x, T y) { return V(x, y); }
#define CUSIM_VECTOR4(V, T, SIZE)                                                \
    struct __attribute__((aligned(SIZE))) V {                                    \
        T x, y, z, w;                                                            \
        constexpr V(nogpu::Single<T> x_) : x(x_.value), y(0), z(0), w(0) {}      \
        constexpr V(T x_, T y_, T z_ = 0, T w_ = 0)                              \
            : x(x_), y(y_), z(z_), w(w_) {}                                      \
        CUSIM_COPIES(V, SIZE)                                                    \
    };                                                                           \
    static inline V make_##V(T x, T y, T z, T w) { return V(x, y, z, w); }
// A build for counting sees the other types in the pieces that a GPU moves: three members one by
// one, 32 bytes in two halves.
#if CUSIM_COUNTED && !CUSIM_UNIONS
#define CUSIM_COPIES_IN(V, PIECES, SIZE)                                         \
    V() = default;                                                               \
    __attribute__((always_inline)) V(const V& other) {                           \
        for (int i = 0; i < PIECES; i++) {                                       \
            nogpu::Raw<SIZE>::type raw =                                         \
                nogpu::Raw<SIZE>::read((const char*)&other + i * SIZE);          \
            __builtin_memcpy((char*)this + i * SIZE, &raw, SIZE);                \
        }                                                                        \
    }                                                                            \
    __attribute__((always_inline)) V& operator=(const V& other) {                \
        for (int i = 0; i < PIECES; i++)                                         \
            nogpu::Raw<SIZE>::write((char*)this + i * SIZE,                      \
                                    nogpu::Raw<SIZE>::read((const char*)&other + i * SIZE)); \
        return *this;                                                            \
    }
#define CUSIM_COPIES3(V, T)                                                      \
    constexpr V(T x_, T y_ = 0, T z_ = 0) : x(x_), y(y_), z(z_) {}               \
    CUSIM_COPIES_IN(V, 3, sizeof(T))
#define CUSIM_COPIES_WIDE(V, T)                                                  \
    constexpr V(T x_, T y_ = 0, T z_ = 0, T w_ = 0)                              \
        : x(x_), y(y_), z(z_), w(w_) {}                                          \
    CUSIM_COPIES_IN(V, 2, 16)
#else
#define CUSIM_COPIES3(V, T)
#define CUSIM_COPIES_WIDE(V, T)
#endif

#define CUSIM_VECTOR1(V, T)                                                      \
    struct V {                                                                   \
        T x;                                                                     \
    };                                                                           \
    static inline V make_##V(T x) { return V{x}; }
#define CUSIM_VECTOR3(V, T)                                                      \
    struct V {                                                                   \
        T x, y, z;                                                               \
        CUSIM_COPIES3(V, T)                                                      \
    };                                                                           \
    static inline V make_##V(T x, T y, T z) { return V{x, y, z}; }
#define CUSIM_VECTOR4_WIDE(V, T)                                                 \
    struct __attribute__((aligned(16))) V {                                      \
        T x, y, z, w;                                                            \
        CUSIM_COPIES_WIDE(V, T)                                                  \
    };                                                                           \
    static inline V make_##V(T x, T y, T z, T w) { return V{x, y, z, w}; }

#define CUSIM_VECTORS(NAME, T, SIZE)                                             \
    CUSIM_VECTOR1(NAME##1, T)                                                    \
    CUSIM_VECTOR2(NAME##2, T, SIZE * 2)                                          \
    CUSIM_VECTOR3(NAME##3, T)                                                    \
    CUSIM_VECTOR4(NAME##4, T, SIZE * 4)
#define CUSIM_VECTORS_WIDE(NAME, T)                                              \
    CUSIM_VECTOR1(NAME##1, T)                                                    \
    CUSIM_VECTOR2(NAME##2, T, 16)                                                \
    CUSIM_VECTOR3(NAME##3, T)                                                    \
    CUSIM_VECTOR4_WIDE(NAME##4, T)

CUSIM_VECTOR2(char2, signed char, 2)
CUSIM_VECTOR1(char1, signed char)
CUSIM_VECTOR3(char3, signed char)
CUSIM_VECTOR4(char4, signed char, 4)
CUSIM_VECTORS(uchar, unsigned char, 1)
CUSIM_VECTORS(short, short, 2)
CUSIM_VECTORS(ushort, unsigned short, 2)
CUSIM_VECTORS(int, int, 4)
CUSIM_VECTORS(float, float, 4)
CUSIM_VECTOR1(uint1, unsigned int)
CUSIM_VECTOR2(uint2, unsigned int, 8)
CUSIM_VECTOR4(uint4, unsigned int, 16)
static inline uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) {
    return uint3{x, y, z};
}
CUSIM_VECTORS_WIDE(long, long)
CUSIM_VECTORS_WIDE(ulong, unsigned long)
CUSIM_VECTORS_WIDE(longlong, long long)
CUSIM_VECTORS_WIDE(ulonglong, unsigned long long)
CUSIM_VECTORS_WIDE(double, double)

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
        : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};
