// The vocabulary the corpus kernels are written in: one name for each thing the GPU adds to C.
// Everything that is special to the GPU goes through this header, except the tensor-core kernels,
// which speak inline assembly because C has no word for what they do.

#ifndef CORPUS_GPU_H
#define CORPUS_GPU_H

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
typedef f16 f16x2 __attribute__((vector_size(4)));
typedef f32 f32x2 __attribute__((vector_size(8)));
typedef f32 f32x4 __attribute__((vector_size(16)));
typedef u32 u32x4 __attribute__((vector_size(16)));

// Functions. A kernel is what the host launches. A helper is kept as a real call, so that calls,
// parameters and return values appear in the PTX; an inline function never is.
#define KERNEL __attribute__((nvptx_kernel)) void
#define HELPER static __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

// Storage. Shared variables start with unknown contents, as on the machine.
#define IN_SHARED __attribute__((address_space(3)))
#define SHARED static __attribute__((address_space(3), loader_uninitialized))
#define CONSTANT static const __attribute__((address_space(4)))

#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("nounroll")

// Where am I?
INLINE u32 thread_x(void) { return __nvvm_read_ptx_sreg_tid_x(); }
INLINE u32 thread_y(void) { return __nvvm_read_ptx_sreg_tid_y(); }
INLINE u32 thread_z(void) { return __nvvm_read_ptx_sreg_tid_z(); }
INLINE u32 block_x(void) { return __nvvm_read_ptx_sreg_ctaid_x(); }
INLINE u32 block_y(void) { return __nvvm_read_ptx_sreg_ctaid_y(); }
INLINE u32 block_z(void) { return __nvvm_read_ptx_sreg_ctaid_z(); }
INLINE u32 block_width(void) { return __nvvm_read_ptx_sreg_ntid_x(); }
INLINE u32 block_height(void) { return __nvvm_read_ptx_sreg_ntid_y(); }
INLINE u32 block_depth(void) { return __nvvm_read_ptx_sreg_ntid_z(); }
INLINE u32 grid_width(void) { return __nvvm_read_ptx_sreg_nctaid_x(); }
INLINE u32 grid_height(void) { return __nvvm_read_ptx_sreg_nctaid_y(); }
INLINE u32 lane(void) { return __nvvm_read_ptx_sreg_laneid(); }
INLINE u32 lanes_below(void) { return __nvvm_read_ptx_sreg_lanemask_lt(); }
INLINE u32 global_x(void) { return block_x() * block_width() + thread_x(); }
INLINE u32 global_y(void) { return block_y() * block_height() + thread_y(); }
INLINE u32 global_z(void) { return block_z() * block_depth() + thread_z(); }
INLINE u32 grid_stride(void) { return grid_width() * block_width(); }

// Waiting and ordering.
INLINE void barrier(void) { __syncthreads(); }
INLINE void warp_barrier(u32 mask) { __nvvm_bar_warp_sync(mask); }
INLINE void fence_block(void) { __nvvm_membar_cta(); }
INLINE void fence_device(void) { __nvvm_membar_gl(); }
INLINE void trap_unless(int condition) {
    if (!condition) __builtin_trap();
}

// Talking inside a warp. Every lane named by `mask` must arrive.
#define WHOLE_WARP 0xffffffffu
#define SEGMENT(width) (((32 - (width)) << 8) | 31)
INLINE u32 shuffle_xor(u32 mask, u32 value, u32 flip) { return __nvvm_shfl_sync_bfly_i32(mask, value, flip, 31); }
INLINE u32 shuffle_up(u32 mask, u32 value, u32 by) { return __nvvm_shfl_sync_up_i32(mask, value, by, 0); }
INLINE u32 shuffle_down(u32 mask, u32 value, u32 by) { return __nvvm_shfl_sync_down_i32(mask, value, by, 31); }
INLINE u32 shuffle_from(u32 mask, u32 value, u32 source) { return __nvvm_shfl_sync_idx_i32(mask, value, source, 31); }
INLINE f32 shuffle_xor_f32(u32 mask, f32 value, u32 flip) { return __nvvm_shfl_sync_bfly_f32(mask, value, flip, 31); }
INLINE f32 shuffle_down_f32(u32 mask, f32 value, u32 by) { return __nvvm_shfl_sync_down_f32(mask, value, by, 31); }
INLINE f32 shuffle_from_f32(u32 mask, f32 value, u32 source) { return __nvvm_shfl_sync_idx_f32(mask, value, source, 31); }
INLINE u32 vote_ballot(u32 mask, int yes) { return __nvvm_vote_ballot_sync(mask, yes); }
INLINE int vote_any(u32 mask, int yes) { return __nvvm_vote_any_sync(mask, yes); }
INLINE int vote_all(u32 mask, int yes) { return __nvvm_vote_all_sync(mask, yes); }
INLINE u32 match_any(u32 mask, u32 value) { return __nvvm_match_any_sync_i32(mask, value); }
INLINE u32 redux_add(u32 mask, u32 value) { return __nvvm_redux_sync_add(value, mask); }
INLINE u32 redux_max(u32 mask, u32 value) { return __nvvm_redux_sync_umax(value, mask); }
INLINE u32 redux_min(u32 mask, u32 value) { return __nvvm_redux_sync_umin(value, mask); }
INLINE u32 redux_or(u32 mask, u32 value) { return __nvvm_redux_sync_or(value, mask); }
INLINE u32 active_mask(void) { return __nvvm_activemask(); }
INLINE u32 barrier_count(int yes) { return __nvvm_bar0_popc(yes); }

// Atomics, on any address space and any type the machine has. Each gives the old value.
#define atomic_add(place, value) __scoped_atomic_fetch_add((place), (value), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_min(place, value) __scoped_atomic_fetch_min((place), (value), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_max(place, value) __scoped_atomic_fetch_max((place), (value), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_or(place, value) __scoped_atomic_fetch_or((place), (value), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_and(place, value) __scoped_atomic_fetch_and((place), (value), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_xor(place, value) __scoped_atomic_fetch_xor((place), (value), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_swap(place, value) __scoped_atomic_exchange_n((place), (value), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_load(place) __scoped_atomic_load_n((place), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_cas(place, expected, desired)                                                                       \
    ({                                                                                                             \
        __typeof__(desired) atomic_cas_old = (expected);                                                           \
        __scoped_atomic_compare_exchange_n((place), &atomic_cas_old, (desired), 0, __ATOMIC_RELAXED,               \
                                           __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                               \
        atomic_cas_old;                                                                                            \
    })

// Arithmetic the machine does in one instruction.
INLINE f32 exp2_fast(f32 x) { return __nvvm_ex2_approx_f(x); }
INLINE f32 log2_fast(f32 x) { return __nvvm_lg2_approx_f(x); }
INLINE f32 sin_fast(f32 x) { return __nvvm_sin_approx_f(x); }
INLINE f32 cos_fast(f32 x) { return __nvvm_cos_approx_f(x); }
INLINE f32 sqrt_f32(f32 x) { return __nvvm_sqrt_rn_f(x); }
INLINE f64 sqrt_f64(f64 x) { return __nvvm_sqrt_rn_d(x); }
INLINE f32 rsqrt_fast(f32 x) { return __nvvm_rsqrt_approx_f(x); }
INLINE f32 fma_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
INLINE f64 fma_f64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
INLINE f32 max_f32(f32 a, f32 b) { return __builtin_fmaxf(a, b); }
INLINE f32 min_f32(f32 a, f32 b) { return __builtin_fminf(a, b); }
INLINE f64 max_f64(f64 a, f64 b) { return __builtin_fmax(a, b); }
INLINE f32 abs_f32(f32 a) { return __builtin_fabsf(a); }
INLINE f64 abs_f64(f64 a) { return __builtin_fabs(a); }
INLINE f32 floor_f32(f32 a) { return __builtin_floorf(a); }
INLINE f32 exp_fast(f32 x) { return exp2_fast(x * 1.4426950408889634f); }
INLINE f32 log_fast(f32 x) { return log2_fast(x) * 0.6931471805599453f; }
INLINE u32 multiply_high(u32 a, u32 b) { return __nvvm_mulhi_ui(a, b); }
INLINE u32 bytes_permute(u32 a, u32 b, u32 selector) { return __nvvm_prmt(a, b, selector); }
INLINE u32 rotate_left(u32 x, u32 by) { return __builtin_rotateleft32(x, by); }
INLINE u32 rotate_right(u32 x, u32 by) { return __builtin_rotateright32(x, by); }
INLINE u32 bits_reverse(u32 x) { return __builtin_bitreverse32(x); }
INLINE u32 bits_set(u32 x) { return __builtin_popcount(x); }
INLINE u32 bits_leading_zero(u32 x) { return x ? __builtin_clz(x) : 32; }
INLINE u32 min_u32(u32 a, u32 b) { return a < b ? a : b; }
INLINE u32 max_u32(u32 a, u32 b) { return a > b ? a : b; }
INLINE i32 min_i32(i32 a, i32 b) { return a < b ? a : b; }
INLINE i32 max_i32(i32 a, i32 b) { return a > b ? a : b; }
INLINE u32 bits_of_f32(f32 x) { return __builtin_bit_cast(u32, x); }
INLINE f32 f32_of_bits(u32 x) { return __builtin_bit_cast(f32, x); }

// Four signed bytes times four signed bytes, summed onto an accumulator.
INLINE i32 dot4_i8(u32 a, u32 b, i32 sum) {
    i32 result;
    __asm__("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}

#endif
