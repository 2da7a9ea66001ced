// Complex numbers for the kernels that PyCUDA generates: pycuda::complex<float> and <double>.
#pragma once

namespace pycuda {

template <typename T> struct complex {
    T real_part, imag_part;
    __host__ __device__ complex(T re = 0, T im = 0) : real_part(re), imag_part(im) {}
    template <typename U>
    __host__ __device__ complex(const complex<U>& z) : real_part(z.real()), imag_part(z.imag()) {}
    __host__ __device__ T real() const { return real_part; }
    __host__ __device__ T imag() const { return imag_part; }
    __host__ __device__ complex& operator+=(const complex& z) { return *this = *this + z; }
    __host__ __device__ complex& operator-=(const complex& z) { return *this = *this - z; }
    __host__ __device__ complex& operator*=(const complex& z) { return *this = *this * z; }
    __host__ __device__ complex& operator/=(const complex& z) { return *this = *this / z; }
    friend __host__ __device__ complex operator-(const complex& a) {
        return complex(-a.real_part, -a.imag_part);
    }
    friend __host__ __device__ complex operator+(const complex& a, const complex& b) {
        return complex(a.real_part + b.real_part, a.imag_part + b.imag_part);
    }
    friend __host__ __device__ complex operator-(const complex& a, const complex& b) {
        return complex(a.real_part - b.real_part, a.imag_part - b.imag_part);
    }
    friend __host__ __device__ complex operator*(const complex& a, const complex& b) {
        return complex(a.real_part * b.real_part - a.imag_part * b.imag_part,
                       a.real_part * b.imag_part + a.imag_part * b.real_part);
    }
    friend __host__ __device__ complex operator/(const complex& a, const complex& b) {
        T n = b.real_part * b.real_part + b.imag_part * b.imag_part;
        return complex((a.real_part * b.real_part + a.imag_part * b.imag_part) / n,
                       (a.imag_part * b.real_part - a.real_part * b.imag_part) / n);
    }
    friend __host__ __device__ bool operator==(const complex& a, const complex& b) {
        return a.real_part == b.real_part && a.imag_part == b.imag_part;
    }
    friend __host__ __device__ bool operator!=(const complex& a, const complex& b) {
        return !(a == b);
    }
};

template <typename T> __host__ __device__ T real(const complex<T>& z) { return z.real(); }
template <typename T> __host__ __device__ T imag(const complex<T>& z) { return z.imag(); }
template <typename T> __host__ __device__ T norm(const complex<T>& z) {
    return z.real() * z.real() + z.imag() * z.imag();
}
template <typename T> __host__ __device__ T abs(const complex<T>& z) { return ::sqrt(norm(z)); }
template <typename T> __host__ __device__ complex<T> conj(const complex<T>& z) {
    return complex<T>(z.real(), -z.imag());
}
template <typename T> __host__ __device__ T arg(const complex<T>& z) {
    return atan2(z.imag(), z.real());
}
template <typename T> __host__ __device__ complex<T> polar(const T& length, const T& angle) {
    return complex<T>(length * ::cos(angle), length * ::sin(angle));
}
template <typename T> __host__ __device__ complex<T> exp(const complex<T>& z) {
    T r = ::exp(z.real());
    return complex<T>(r * ::cos(z.imag()), r * ::sin(z.imag()));
}
template <typename T> __host__ __device__ complex<T> log(const complex<T>& z) {
    return complex<T>(::log(abs(z)), arg(z));
}
template <typename T> __host__ __device__ complex<T> sqrt(const complex<T>& z) {
    return polar(T(::sqrt(abs(z))), arg(z) / 2);
}
template <typename T> __host__ __device__ complex<T> sin(const complex<T>& z) {
    return complex<T>(::sin(z.real()) * cosh(z.imag()), ::cos(z.real()) * sinh(z.imag()));
}
template <typename T> __host__ __device__ complex<T> cos(const complex<T>& z) {
    return complex<T>(::cos(z.real()) * cosh(z.imag()), -::sin(z.real()) * sinh(z.imag()));
}
template <typename T> __host__ __device__ complex<T> pow(const complex<T>& z, const complex<T>& w) {
    return z.real() == 0 && z.imag() == 0 ? complex<T>(0) : exp(w * log(z));
}
template <typename T> __host__ __device__ complex<T> pow(const complex<T>& z, const T& exponent) {
    return pow(z, complex<T>(exponent));
}
// A whole exponent multiplies.
template <typename T> __host__ __device__ complex<T> pow(const complex<T>& z, int exponent) {
    complex<T> result(1), factor = exponent < 0 ? complex<T>(1) / z : z;
    for (unsigned left = exponent < 0 ? 0u - exponent : exponent; left; left /= 2) {
        if (left % 2) result = result * factor;
        factor = factor * factor;
    }
    return result;
}

}  // namespace pycuda
