// Memory that must be touched exactly as written: volatile in every space, and values that cross between
// threads through flags, fences and acquire and release.

#include "gpu.h"

static volatile u32 device_counter = 5;

// launch volatile_spaces grid 1 block 32 args u32[32]=bits u32[32]=zero
KERNEL volatile_spaces(volatile u32 *in, volatile u32 *out) {
    SHARED volatile u32 slot[32];
    volatile u32 own = in[thread_x()];
    own = own + in[thread_x()];
    slot[thread_x()] = own;
    (void)slot[thread_x()];
    barrier();
    out[thread_x()] = slot[31 - thread_x()];
    out[thread_x()] = own ^ slot[31 - thread_x()] ^ device_counter;
}

// launch message_passing grid 2 block 32 args u32[32]=zero u32[1]=zero u32[32]=zero u32[1]=zero
KERNEL message_passing(u32 *data, u32 *flag, u32 *out, u32 *ticket) {
    SHARED u32 role;
    if (thread_x() == 0) role = atomic_add(ticket, 1u);
    barrier();
    // The block that came first sends, so that the receiver never waits for a block that cannot start.
    if (role == 0) {
        data[thread_x()] = thread_x() * thread_x() + 1;
        fence_device();
        barrier();
        if (thread_x() == 0) __scoped_atomic_store_n(flag, 1u, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    } else {
        if (thread_x() == 0) {
            while (__scoped_atomic_load_n(flag, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) == 0) {
            }
        }
        barrier();
        fence_device();
        out[thread_x()] = ((volatile u32 *)data)[31 - thread_x()];
    }
}

// launch spin_lock grid 4 block 32 args u32[1]=zero u64[2]=zero
KERNEL spin_lock(u32 *lock, volatile u64 *account) {
    // One thread a block takes the lock, so that no lane waits for another lane of its own warp.
    if (thread_x() != 0) return;
    while (__scoped_atomic_exchange_n(lock, 1u, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) != 0) {
    }
    account[0] = account[0] + block_x() + 1;
    account[1] = account[1] + 1;
    __scoped_atomic_store_n(lock, 0u, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}
