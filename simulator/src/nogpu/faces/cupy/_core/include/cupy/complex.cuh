// complex<float> and complex<double>, by their short names.
#pragma once
#pragma GCC system_header
#include <nogpu_complex.h>

using thrust::arg;
using thrust::complex;
using thrust::conj;
using thrust::imag;
using thrust::norm;
using thrust::polar;
using thrust::real;
