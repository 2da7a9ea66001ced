// Arrays as a kernel gets them: an address, a size, a shape and strides in bytes.
#pragma once
#pragma GCC system_header
// The engine takes an access in a file of this name for one of the line that calls it.
#line 6 "nogpu_carray.cuh"

#define CUPY_FOR(i, n)                                                                \
    for (ptrdiff_t i = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n);     \
         i += (ptrdiff_t)blockDim.x * gridDim.x)

// The element of a loop: its number, and its index along each axis. FLAT leaves the latter out,
// where every array is contiguous.
template <int NDIM, bool FLAT = false> class CIndexer {
    static const int kept = NDIM > 0 ? NDIM : 1;
    ptrdiff_t size_, shape_[kept], index_[kept], number_;

public:
    static const int ndim = NDIM;
    ptrdiff_t size() const { return size_; }
    const ptrdiff_t* shape() const { return shape_; }
    void set(ptrdiff_t i) {
        number_ = i;
        if (FLAT) return;
#pragma GCC unroll 32
        for (int axis = NDIM - 1; axis > 0; axis--) {
            const ptrdiff_t rest = i / shape_[axis];
            index_[axis] = i - rest * shape_[axis];
            i = rest;
        }
        index_[0] = i;
    }
    const CIndexer& get() const { return *this; }
    ptrdiff_t number() const { return number_; }
    ptrdiff_t operator[](int axis) const { return index_[axis]; }
};

template <typename T, int NDIM, bool CONTIGUOUS = false, bool SMALL = true> class CArray {
    static const int kept = NDIM > 0 ? NDIM : 1;
    T* data_;
    ptrdiff_t size_, shape_[kept], strides_[kept];

public:
    static const int ndim = NDIM;
    static const bool _c_contiguous = CONTIGUOUS;
    ptrdiff_t size() const { return size_; }
    const ptrdiff_t* shape() const { return shape_; }
    const ptrdiff_t* strides() const { return strides_; }

    // By an index for each axis.
    template <typename Int> T& operator[](const Int (&index)[NDIM > 0 ? NDIM : 1]) const {
        char* place = (char*)data_;
#pragma GCC unroll 32
        for (int axis = 0; axis < NDIM; axis++) place += strides_[axis] * (ptrdiff_t)index[axis];
        return *(T*)place;
    }
    template <bool FLAT> T& operator[](const CIndexer<NDIM, FLAT>& index) const {
        if (CONTIGUOUS || NDIM == 0) return data_[index.number()];
        char* place = (char*)data_;
#pragma GCC unroll 32
        for (int axis = 0; axis < NDIM; axis++) place += strides_[axis] * index[axis];
        return *(T*)place;
    }
    // By the number of the element in C order, whatever the strides.
    T& operator[](ptrdiff_t i) const {
        if (CONTIGUOUS || NDIM == 0) return data_[i];
        char* place = (char*)data_;
#pragma GCC unroll 32
        for (int axis = NDIM - 1; axis > 0; axis--) {
            const ptrdiff_t rest = i / shape_[axis];
            place += strides_[axis] * (i - rest * shape_[axis]);
            i = rest;
        }
        return *(T*)(place + strides_[0] * i);
    }
};
