// complex<float> and complex<double>: of thrust, of cuda::std and of CuPy.
#pragma once
#pragma GCC system_header

namespace thrust {

template <typename T> struct __attribute__((aligned(2 * sizeof(T)))) complex {
    typedef T value_type;

    complex(T re = T(), T im = T()) : re_(re), im_(im) {}
#if CUSIM_CHECKED
    // One access, as the hardware makes it.
    complex(const complex& other) { copy(&other, this, false); }
    complex& operator=(const complex& other) {
        copy(&other, this, true);
        return *this;
    }
#endif
    template <typename U>
    complex(const complex<U>& other) : re_((T)other.real()), im_((T)other.imag()) {}

    T real() const { return re_; }
    T imag() const { return im_; }
    void real(T value) { re_ = value; }
    void imag(T value) { im_ = value; }

    complex& operator+=(const complex& o) { return *this = complex(re_ + o.re_, im_ + o.im_); }
    complex& operator-=(const complex& o) { return *this = complex(re_ - o.re_, im_ - o.im_); }
    complex& operator*=(const complex& o) { return *this = *this * o; }
    complex& operator/=(const complex& o) { return *this = *this / o; }

    friend complex operator+(const complex& a, const complex& b) {
        return complex(a.re_ + b.re_, a.im_ + b.im_);
    }
    friend complex operator-(const complex& a, const complex& b) {
        return complex(a.re_ - b.re_, a.im_ - b.im_);
    }
    friend complex operator*(const complex& a, const complex& b) {
        return complex(a.re_ * b.re_ - a.im_ * b.im_, a.re_ * b.im_ + a.im_ * b.re_);
    }
    // Smith's way: no overflow where the quotient has none.
    friend complex operator/(const complex& a, const complex& b) {
        if (::fabs(b.re_) >= ::fabs(b.im_)) {
            const T ratio = b.im_ / b.re_, scale = b.re_ + b.im_ * ratio;
            return complex((a.re_ + a.im_ * ratio) / scale, (a.im_ - a.re_ * ratio) / scale);
        }
        const T ratio = b.re_ / b.im_, scale = b.re_ * ratio + b.im_;
        return complex((a.re_ * ratio + a.im_) / scale, (a.im_ * ratio - a.re_) / scale);
    }
    friend complex operator-(const complex& a) { return complex(-a.re_, -a.im_); }
    friend complex operator+(const complex& a) { return a; }
    friend bool operator==(const complex& a, const complex& b) {
        return a.re_ == b.re_ && a.im_ == b.im_;
    }
    friend bool operator!=(const complex& a, const complex& b) { return !(a == b); }
    // By the real parts first, as NumPy orders them.
    friend bool operator<(const complex& a, const complex& b) {
        return a.re_ < b.re_ || (a.re_ == b.re_ && a.im_ < b.im_);
    }
    friend bool operator>(const complex& a, const complex& b) { return b < a; }
    friend bool operator<=(const complex& a, const complex& b) {
        return a.re_ < b.re_ || (a.re_ == b.re_ && a.im_ <= b.im_);
    }
    friend bool operator>=(const complex& a, const complex& b) { return b <= a; }

private:
    static void copy(const complex* from, complex* to, bool store) {
        typename nogpu::Raw<2 * sizeof(T)>::type raw = nogpu::Raw<2 * sizeof(T)>::read(from);
        if (store)
            nogpu::Raw<2 * sizeof(T)>::write(to, raw);
        else
            __builtin_memcpy((void*)to, &raw, 2 * sizeof(T));
    }
    T re_, im_;
};

template <typename T> static inline T real(const complex<T>& z) { return z.real(); }
template <typename T> static inline T imag(const complex<T>& z) { return z.imag(); }
template <typename T> static inline T abs(const complex<T>& z) { return ::hypot(z.real(), z.imag()); }
template <typename T> static inline T arg(const complex<T>& z) { return ::atan2(z.imag(), z.real()); }
template <typename T> static inline T norm(const complex<T>& z) {
    return z.real() * z.real() + z.imag() * z.imag();
}
template <typename T> static inline complex<T> conj(const complex<T>& z) {
    return complex<T>(z.real(), -z.imag());
}
template <typename T> static inline complex<T> polar(T size, T angle = T()) {
    return complex<T>(size * ::cos(angle), size * ::sin(angle));
}
template <typename T> static inline complex<T> exp(const complex<T>& z) {
    return polar(::exp(z.real()), z.imag());
}
template <typename T> static inline complex<T> log(const complex<T>& z) {
    return complex<T>(::log(abs(z)), arg(z));
}
template <typename T> static inline complex<T> log10(const complex<T>& z) {
    return log(z) / complex<T>((T)2.302585092994045684);
}
template <typename T> static inline complex<T> sqrt(const complex<T>& z) {
    const T size = abs(z);
    if (size == T()) return complex<T>(T(), z.imag());
    const T large = ::sqrt((size + ::fabs(z.real())) / 2), small = ::fabs(z.imag()) / (2 * large);
    if (z.real() >= T()) return complex<T>(large, ::copysign(small, z.imag()));
    return complex<T>(small, ::copysign(large, z.imag()));
}
template <typename T> static inline complex<T> pow(const complex<T>& z, const complex<T>& p) {
    if (z == complex<T>()) return complex<T>(p == complex<T>() ? (T)1 : T());
    return exp(p * log(z));
}
template <typename T> static inline complex<T> sin(const complex<T>& z) {
    return complex<T>(::sin(z.real()) * ::cosh(z.imag()), ::cos(z.real()) * ::sinh(z.imag()));
}
template <typename T> static inline complex<T> cos(const complex<T>& z) {
    return complex<T>(::cos(z.real()) * ::cosh(z.imag()), -::sin(z.real()) * ::sinh(z.imag()));
}
template <typename T> static inline complex<T> sinh(const complex<T>& z) {
    return complex<T>(::sinh(z.real()) * ::cos(z.imag()), ::cosh(z.real()) * ::sin(z.imag()));
}
template <typename T> static inline complex<T> cosh(const complex<T>& z) {
    return complex<T>(::cosh(z.real()) * ::cos(z.imag()), ::sinh(z.real()) * ::sin(z.imag()));
}
template <typename T> static inline complex<T> tan(const complex<T>& z) { return sin(z) / cos(z); }
template <typename T> static inline complex<T> tanh(const complex<T>& z) {
    return sinh(z) / cosh(z);
}
template <typename T> static inline bool isnan(const complex<T>& z) {
    return ::isnan(z.real()) || ::isnan(z.imag());
}
template <typename T> static inline bool isinf(const complex<T>& z) {
    return ::isinf(z.real()) || ::isinf(z.imag());
}
template <typename T> static inline bool isfinite(const complex<T>& z) {
    return ::isfinite(z.real()) && ::isfinite(z.imag());
}
template <typename T> static inline complex<T> proj(const complex<T>& z) {
    if (!isinf(z)) return z;
    return complex<T>((T)__builtin_inf(), ::copysign(T(), z.imag()));
}
template <typename T> static inline complex<T> pow(const complex<T>& z, const T& p) {
    return pow(z, complex<T>(p));
}
template <typename T> static inline complex<T> pow(const T& z, const complex<T>& p) {
    return pow(complex<T>(z), p);
}
template <typename T> static inline complex<T> asinh(const complex<T>& z) {
    return log(z + sqrt(z * z + complex<T>((T)1)));
}
template <typename T> static inline complex<T> acosh(const complex<T>& z) {
    return log(z + sqrt(z + complex<T>((T)1)) * sqrt(z - complex<T>((T)1)));
}
template <typename T> static inline complex<T> atanh(const complex<T>& z) {
    const complex<T> one((T)1);
    return (log(one + z) - log(one - z)) / complex<T>((T)2);
}
template <typename T> static inline complex<T> asin(const complex<T>& z) {
    const complex<T> turned = asinh(complex<T>(-z.imag(), z.real()));
    return complex<T>(turned.imag(), -turned.real());
}
template <typename T> static inline complex<T> acos(const complex<T>& z) {
    return complex<T>((T)1.57079632679489661923) - asin(z);
}
template <typename T> static inline complex<T> atan(const complex<T>& z) {
    const complex<T> turned = atanh(complex<T>(-z.imag(), z.real()));
    return complex<T>(turned.imag(), -turned.real());
}

}  // namespace thrust
