// What the corpus kernels need to run on the processor that compiles them.
//
// `corpus/src/gpu.h` stays as it is: this file, included before it, drops the GPU's attributes and defines the
// GPU's builtins as functions. The threads of a block are coroutines that take turns at barriers and at warp
// operations, so shared memory is plain static memory and no result depends on timing.

#ifndef NATIVE_HOST_H
#define NATIVE_HOST_H

#define address_space(number)
#define nvptx_kernel

struct position {
    unsigned x, y, z;
};

// Of the launch.
extern struct position grid_size, block_size;
// Of the thread that runs now.
extern struct position block_index, thread_index;
extern unsigned lane_index;

static inline unsigned __nvvm_read_ptx_sreg_tid_x(void) { return thread_index.x; }
static inline unsigned __nvvm_read_ptx_sreg_tid_y(void) { return thread_index.y; }
static inline unsigned __nvvm_read_ptx_sreg_tid_z(void) { return thread_index.z; }
static inline unsigned __nvvm_read_ptx_sreg_ctaid_x(void) { return block_index.x; }
static inline unsigned __nvvm_read_ptx_sreg_ctaid_y(void) { return block_index.y; }
static inline unsigned __nvvm_read_ptx_sreg_ctaid_z(void) { return block_index.z; }
static inline unsigned __nvvm_read_ptx_sreg_ntid_x(void) { return block_size.x; }
static inline unsigned __nvvm_read_ptx_sreg_ntid_y(void) { return block_size.y; }
static inline unsigned __nvvm_read_ptx_sreg_ntid_z(void) { return block_size.z; }
static inline unsigned __nvvm_read_ptx_sreg_nctaid_x(void) { return grid_size.x; }
static inline unsigned __nvvm_read_ptx_sreg_nctaid_y(void) { return grid_size.y; }
static inline unsigned __nvvm_read_ptx_sreg_laneid(void) { return lane_index; }
static inline unsigned __nvvm_read_ptx_sreg_lanemask_lt(void) { return (1u << lane_index) - 1; }

// Waits for the block; gives the number of its threads that came with `yes`.
unsigned meet_block(int yes);
// Waits for the lanes of `mask`; gives the value of each of them.
void meet_warp(unsigned mask, unsigned long long value, unsigned long long values[32]);

static inline void __syncthreads(void) { meet_block(0); }
static inline int __nvvm_bar0_popc(int yes) { return (int)meet_block(yes); }
static inline void __nvvm_membar_cta(void) {}
static inline void __nvvm_membar_gl(void) {}

static inline void __nvvm_bar_warp_sync(unsigned mask) {
    unsigned long long values[32];
    meet_warp(mask, 0, values);
}

static inline unsigned __nvvm_vote_ballot_sync(unsigned mask, int yes) {
    unsigned long long values[32];
    meet_warp(mask, yes != 0, values);
    unsigned ballot = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if (mask >> lane & 1) ballot |= (unsigned)values[lane] << lane;
    return ballot;
}

static inline int __nvvm_vote_any_sync(unsigned mask, int yes) { return __nvvm_vote_ballot_sync(mask, yes) != 0; }
static inline int __nvvm_vote_all_sync(unsigned mask, int yes) { return __nvvm_vote_ballot_sync(mask, yes) == mask; }

// The shuffles of the PTX ISA: `bounds` holds the clamp in bits 0 to 4 and the segment mask in bits 8 to 12.
enum shuffle_kind { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_FLIP, SHUFFLE_FROM };
static inline unsigned shuffle(enum shuffle_kind kind, unsigned mask, unsigned value, unsigned by, unsigned bounds) {
    unsigned long long values[32];
    meet_warp(mask, value, values);
    unsigned segment = bounds >> 8 & 31, clamp = bounds & 31, step = by & 31;
    unsigned last = (lane_index & segment) | (clamp & ~segment), first = lane_index & segment;
    int from, inside;
    switch (kind) {
    case SHUFFLE_UP: from = (int)lane_index - (int)step, inside = from >= (int)last; break;
    case SHUFFLE_DOWN: from = (int)(lane_index + step), inside = from <= (int)last; break;
    case SHUFFLE_FLIP: from = (int)(lane_index ^ step), inside = from <= (int)last; break;
    default: from = (int)(first | (step & ~segment)), inside = from <= (int)last;
    }
    return (unsigned)values[inside ? (unsigned)from : lane_index];
}

#define SHUFFLE(name, type, kind)                                                                                      \
    static inline type __nvvm_shfl_sync_##name(unsigned mask, type value, unsigned by, unsigned bounds) {              \
        return __builtin_bit_cast(type, shuffle(kind, mask, __builtin_bit_cast(unsigned, value), by, bounds));         \
    }
SHUFFLE(up_i32, int, SHUFFLE_UP)
SHUFFLE(up_f32, float, SHUFFLE_UP)
SHUFFLE(down_i32, int, SHUFFLE_DOWN)
SHUFFLE(down_f32, float, SHUFFLE_DOWN)
SHUFFLE(bfly_i32, int, SHUFFLE_FLIP)
SHUFFLE(bfly_f32, float, SHUFFLE_FLIP)
SHUFFLE(idx_i32, int, SHUFFLE_FROM)
SHUFFLE(idx_f32, float, SHUFFLE_FROM)

static inline unsigned __nvvm_match_any_sync_i32(unsigned mask, unsigned value) {
    unsigned long long values[32];
    meet_warp(mask, value, values);
    unsigned equal = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if ((mask >> lane & 1) && values[lane] == value) equal |= 1u << lane;
    return equal;
}

static inline unsigned __nvvm_match_all_sync_i32p(unsigned mask, unsigned value, int *uniform) {
    unsigned equal = __nvvm_match_any_sync_i32(mask, value);
    *uniform = equal == mask;
    return *uniform ? mask : 0;
}

#define REDUX(name, start, combine)                                                                                    \
    static inline unsigned __nvvm_redux_sync_##name(unsigned value, unsigned mask) {                                   \
        unsigned long long values[32];                                                                                 \
        meet_warp(mask, value, values);                                                                                \
        unsigned all = start;                                                                                          \
        for (unsigned lane = 0; lane < 32; lane++) {                                                                   \
            unsigned one = (unsigned)values[lane];                                                                     \
            if (mask >> lane & 1) all = combine;                                                                       \
        }                                                                                                              \
        return all;                                                                                                    \
    }
REDUX(add, 0, all + one)
REDUX(or, 0, all | one)
REDUX(umin, ~0u, all < one ? all : one)
REDUX(umax, 0, all > one ? all : one)

static inline float __nvvm_sqrt_rn_f(float x) { return __builtin_sqrtf(x); }
static inline double __nvvm_sqrt_rn_d(double x) { return __builtin_sqrt(x); }
static inline unsigned __nvvm_mulhi_ui(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }

static inline unsigned __nvvm_prmt(unsigned a, unsigned b, unsigned selector) {
    unsigned long long bytes = (unsigned long long)b << 32 | a;
    unsigned result = 0;
    for (unsigned at = 0; at < 4; at++) {
        unsigned choice = selector >> 4 * at & 15, byte = bytes >> 8 * (choice & 7) & 255;
        if (choice & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * at;
    }
    return result;
}

// These have no native twin that agrees bit for bit; a kernel that calls one ends the program with status 3.
float __nvvm_ex2_approx_f(float x);
float __nvvm_lg2_approx_f(float x);
float __nvvm_sin_approx_f(float x);
float __nvvm_cos_approx_f(float x);
float __nvvm_rsqrt_approx_f(float x);
unsigned __nvvm_activemask(void);

#endif
