// Runs one kernel of a corpus file: blocks one after another, the threads of a block as coroutines.
//
//     PROGRAM KERNEL GRIDX GRIDY GRIDZ BLOCKX BLOCKY BLOCKZ < ARGUMENTS > BUFFERS
//
// Standard input holds one record an argument: 'b' or 'v' (buffer, value), its size as 8 little-endian bytes, its
// bytes. Standard output receives the buffers' bytes, in order.

#include "host.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

// Written by the test beside the kernels: calls the kernel `name` with `arguments`, each the address of a value.
int call_kernel(const char *name, void **arguments);

// What the program ends with when a kernel wants something that has no native twin.
enum { NO_TWIN = 3 };
float __nvvm_ex2_approx_f(float x) { exit(NO_TWIN); }
float __nvvm_lg2_approx_f(float x) { exit(NO_TWIN); }
float __nvvm_sin_approx_f(float x) { exit(NO_TWIN); }
float __nvvm_cos_approx_f(float x) { exit(NO_TWIN); }
float __nvvm_rsqrt_approx_f(float x) { exit(NO_TWIN); }
unsigned __nvvm_activemask(void) { exit(NO_TWIN); }

struct position grid_size, block_size, block_index, thread_index;
unsigned lane_index;
// The array behind `extern __shared__` of every file.
unsigned char dynamic[1 << 16] __attribute__((aligned(256)));

enum { STACK_BYTES = 1 << 18, ARGUMENTS_MAX = 64, THREADS_MAX = 1024 };

struct thread {
    ucontext_t context;
    char *stack;
    int is_done;
    // A warp operation under way: what it waits for, and what it has got.
    unsigned mask;
    int is_waiting;
    unsigned long long value, values[32];
    // A barrier under way.
    int is_at_barrier, yes;
    unsigned count;
};

static struct thread threads[THREADS_MAX];
static unsigned thread_count, current;
static ucontext_t scheduler;
static const char *kernel;
static void *arguments[ARGUMENTS_MAX];

static void yield(void) { swapcontext(&threads[current].context, &scheduler); }

static void start(void) {
    if (!call_kernel(kernel, arguments)) {
        fprintf(stderr, "no kernel %s\n", kernel);
        exit(2);
    }
    threads[current].is_done = 1;
    yield();
}

// Lets the barrier go when every thread of the block that still runs has come.
static void try_barrier(void) {
    unsigned count = 0;
    for (unsigned at = 0; at < thread_count; at++) {
        if (threads[at].is_done) continue;
        if (!threads[at].is_at_barrier) return;
        count += threads[at].yes;
    }
    for (unsigned at = 0; at < thread_count; at++) {
        threads[at].is_at_barrier = 0;
        threads[at].count = count;
    }
}

unsigned meet_block(int yes) {
    struct thread *self = &threads[current];
    self->yes = yes != 0;
    self->is_at_barrier = 1;
    for (try_barrier(); self->is_at_barrier; try_barrier()) yield();
    return self->count;
}

// Lets a warp operation go when every lane of its mask that still runs waits with the same mask.
static void try_warp(unsigned mask, unsigned first) {
    for (unsigned lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1) || first + lane >= thread_count) continue;
        struct thread *other = &threads[first + lane];
        if (!other->is_done && !(other->is_waiting && other->mask == mask)) return;
    }
    for (unsigned lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1) || first + lane >= thread_count) continue;
        struct thread *other = &threads[first + lane];
        for (unsigned from = 0; from < 32 && first + from < thread_count; from++)
            other->values[from] = threads[first + from].value;
        other->is_waiting = 0;
    }
}

void meet_warp(unsigned mask, unsigned long long value, unsigned long long values[32]) {
    struct thread *self = &threads[current];
    unsigned first = current / 32 * 32;
    self->value = value;
    self->mask = mask;
    self->is_waiting = 1;
    for (try_warp(mask, first); self->is_waiting; try_warp(mask, first)) yield();
    memcpy(values, self->values, sizeof self->values);
}

static void run_block(void) {
    for (unsigned at = 0; at < thread_count; at++) {
        struct thread *thread = &threads[at];
        char *stack = thread->stack ? thread->stack : malloc(STACK_BYTES);
        memset(thread, 0, sizeof *thread);
        thread->stack = stack;
        getcontext(&thread->context);
        thread->context.uc_stack.ss_sp = stack;
        thread->context.uc_stack.ss_size = STACK_BYTES;
        makecontext(&thread->context, start, 0);
    }
    for (int is_running = 1; is_running;) {
        is_running = 0;
        for (current = 0; current < thread_count; current++) {
            if (threads[current].is_done) continue;
            is_running = 1;
            thread_index.x = current % block_size.x;
            thread_index.y = current / block_size.x % block_size.y;
            thread_index.z = current / block_size.x / block_size.y;
            lane_index = current % 32;
            swapcontext(&scheduler, &threads[current].context);
        }
    }
}

int main(int count, char **words) {
    if (count != 8) return 2;
    kernel = words[1];
    grid_size = (struct position){atoi(words[2]), atoi(words[3]), atoi(words[4])};
    block_size = (struct position){atoi(words[5]), atoi(words[6]), atoi(words[7])};
    thread_count = block_size.x * block_size.y * block_size.z;
    if (thread_count > THREADS_MAX) return 2;
    static void *buffers[ARGUMENTS_MAX];
    static unsigned long long sizes[ARGUMENTS_MAX];
    unsigned argument_count = 0;
    for (int kind; (kind = getchar()) != EOF; argument_count++) {
        unsigned long long size;
        if (argument_count == ARGUMENTS_MAX || fread(&size, 8, 1, stdin) != 1) return 2;
        void *bytes = aligned_alloc(256, (size + 511) / 256 * 256);
        if (fread(bytes, 1, size, stdin) != size) return 2;
        sizes[argument_count] = kind == 'b' ? size : 0;
        buffers[argument_count] = bytes;
        arguments[argument_count] = kind == 'b' ? (void *)&buffers[argument_count] : bytes;
    }
    for (block_index.z = 0; block_index.z < grid_size.z; block_index.z++)
        for (block_index.y = 0; block_index.y < grid_size.y; block_index.y++)
            for (block_index.x = 0; block_index.x < grid_size.x; block_index.x++) run_block();
    for (unsigned at = 0; at < argument_count; at++) fwrite(buffers[at], 1, sizes[at], stdout);
    return 0;
}
