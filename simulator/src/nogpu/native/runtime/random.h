// Jumping ahead in the generators of curand_kernel.h. Both are linear, so that a jump of n * 2^p
// steps is made of jumps by powers of two, which are worked out once, when the runtime is loaded.
#pragma once
#include "common.h"

// Marsaglia's xorshift of 160 bits ("Xorshift RNGs", 2003): one step is a linear map M over GF(2).
// M to the power n is the polynomial x^n, reduced modulo M's characteristic polynomial, of M.
struct XorshiftJumps {
    static const int kWords = 5, kBits = 160, kPowers = 131;  // n has 64 bits, p is 67 at most
    uint32_t powers[kPowers][kWords];                         // x^(2^k), reduced

    static void step(uint32_t* v) {
        const uint32_t t = v[0] ^ (v[0] >> 2);
        for (int i = 0; i < 4; i++) v[i] = v[i + 1];
        v[4] = v[4] ^ (v[4] << 4) ^ t ^ (t << 1);
    }
    XorshiftJumps() {
        // The characteristic polynomial less x^160; by Berlekamp and Massey from 400 steps.
        static const uint32_t low[kWords] = {0x60001, 0x8610030, 0x62121, 0xf3c0035, 0xf0e};
        uint32_t p[kWords] = {2};
        for (int k = 0; k < kPowers; k++) {
            memcpy(powers[k], p, sizeof p);
            uint32_t square[kWords] = {};
            for (int bit = kBits - 1; bit >= 0; bit--) {  // square = square * x + p * (bit of p)
                const bool carry = square[4] >> 31;
                for (int i = 4; i > 0; i--) square[i] = square[i] << 1 | square[i - 1] >> 31;
                square[0] <<= 1;
                const bool add = p[bit / 32] >> bit % 32 & 1;
                for (int i = 0; i < kWords; i++) square[i] ^= (carry ? low[i] : 0) ^ (add ? p[i] : 0);
            }
            memcpy(p, square, sizeof p);
        }
    }
    void jump(uint32_t* v, int power) const {
        uint32_t sum[kWords] = {}, at[kWords];
        memcpy(at, v, sizeof at);
        for (int bit = 0; bit < kBits; bit++, step(at))
            if (powers[power][bit / 32] >> bit % 32 & 1)
                for (int i = 0; i < kWords; i++) sum[i] ^= at[i];
        memcpy(v, sum, sizeof sum);
    }
};

// MRG32k3a (L'Ecuyer, "Good parameters and implementations for combined multiple recursive random
// number generators", 1999): two recurrences of three terms, each modulo a prime.
struct RecursiveJumps {
    static const int kPowers = 191;  // n has 64 bits, p is 127 at most
    static constexpr uint64_t kModulus[2] = {4294967087u, 4294944443u};
    uint64_t powers[2][kPowers][3][3];  // the step's matrix to the power 2^k

    RecursiveJumps() {
        const uint64_t last[2][3] = {{kModulus[0] - 810728, 1403580, 0},
                                     {kModulus[1] - 1370589, 0, 527612}};
        for (int part = 0; part < 2; part++) {
            uint64_t matrix[3][3] = {{0, 1, 0}, {0, 0, 1}};
            memcpy(matrix[2], last[part], sizeof matrix[2]);
            for (int k = 0; k < kPowers; k++) {
                memcpy(powers[part][k], matrix, sizeof matrix);
                for (int i = 0; i < 3; i++)
                    for (int j = 0; j < 3; j++) {
                        uint64_t sum = 0;
                        for (int m = 0; m < 3; m++)
                            sum += powers[part][k][i][m] * powers[part][k][m][j] % kModulus[part];
                        matrix[i][j] = sum % kModulus[part];
                    }
            }
        }
    }
    void jump(uint32_t* s, int part, int power) const {
        uint64_t sums[3];
        for (int i = 0; i < 3; i++) {
            sums[i] = 0;
            for (int j = 0; j < 3; j++) sums[i] += powers[part][power][i][j] * s[j] % kModulus[part];
        }
        for (int i = 0; i < 3; i++) s[i] = (uint32_t)(sums[i] % kModulus[part]);
    }
};
constexpr uint64_t RecursiveJumps::kModulus[2];

static const XorshiftJumps xorshift_jumps;
static const RecursiveJumps recursive_jumps;

CUSIM_API void nogpu_skip_xorwow(unsigned* v, unsigned long long n, int power) {
    for (; n; n >>= 1, power++)
        if (n & 1) xorshift_jumps.jump(v, power);
}
CUSIM_API void nogpu_skip_mrg32k3a(unsigned* s, unsigned long long n, int power) {
    for (; n; n >>= 1, power++)
        if (n & 1)
            for (int part = 0; part < 2; part++) recursive_jumps.jump(s + 3 * part, part, power);
}
