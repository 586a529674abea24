// CuPy's own headers: complex functions, halves, strided arrays of several dimensions, atomics.
#include <cupy/atomics.cuh>
#include <cupy/carray.cuh>
#include <cupy/complex.cuh>
#include <cupy/float16.cuh>

template <typename T>
__global__ void functions(const T* x, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T z = x[i];
    out[i] = exp(z) * sin(z) + sqrt(z) / log(z) + pow(z, T(2, 1)) - tanh(z) + acosh(z) + atan(z) * conj(z) + T(abs(z), arg(z));
}
template __global__ void functions<thrust::complex<float>>(const thrust::complex<float>*, thrust::complex<float>*, int);
template __global__ void functions<thrust::complex<double>>(const thrust::complex<double>*, thrust::complex<double>*, int);

template <typename T, int D>
__global__ void strided(CArray<T, D, false, false> x, CArray<T, D> out, CIndexer<D> at) {
    for (ptrdiff_t i = blockIdx.x * blockDim.x + threadIdx.x; i < at.size(); i += gridDim.x * blockDim.x) {
        at.set(i);
        T& o = out[at.get()];
        o = x[at.get()] * x[at.get()] + o;
    }
}
template __global__ void strided<float, 1>(CArray<float, 1, false, false>, CArray<float, 1>, CIndexer<1>);
template __global__ void strided<double, 4>(CArray<double, 4, false, false>, CArray<double, 4>, CIndexer<4>);
template __global__ void strided<float16, 3>(CArray<float16, 3, false, false>, CArray<float16, 3>, CIndexer<3>);
template __global__ void strided<short, 2>(CArray<short, 2, false, false>, CArray<short, 2>, CIndexer<2>);

extern "C" __global__ void half_atomics(float16* h, const float* x, double* d) {
    atomicAdd(h + threadIdx.x % 3, float16(x[threadIdx.x]));
    atomicMax(d, (double)x[threadIdx.x]);
    atomicMin((float*)(d + 1), x[threadIdx.x]);
}
