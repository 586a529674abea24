// Variables of the module: zeroed and initialised, in global and constant memory, pointers to one
// another, and a lookup through several tables.

#include "gpu.h"

u32 visible_counter = 7;
static u32 hidden_counts[8];
static i16 offsets[6] = {-3, 9, 27, -81, 243, -729};
static const char words[3][12] = {"alpha", "beta", "gamma ray"};
static i16 *const middle = &offsets[2];
struct node {
    const struct node *next;
    u32 value;
};
static const struct node last = {nullptr, 30};
static const struct node inner = {&last, 20};
static const struct node first = {&inner, 10};
__attribute__((address_space(4))) u32 settings[4] = {1, 2, 3, 4};

// launch device_variables grid 2 block 32 args u32[64]=zero
KERNEL device_variables(u32 *out) {
    u32 sum = settings[thread_x() % 4];
    for (const struct node *n = &first; n; n = n->next) sum += n->value;
    const char *word = words[thread_x() % 3];
    while (*word) sum = sum * 31 + (u8)*word++;
    sum += (u32)middle[(i32)(thread_x() % 6) - 2];
    atomic_add(&hidden_counts[thread_x() % 8], 1u);
    atomic_max(&visible_counter, thread_x());
    out[global_x()] = sum;
}

// launch device_variables_read grid 1 block 9 args u32[9]=zero
KERNEL device_variables_read(u32 *out) { out[thread_x()] = thread_x() < 8 ? hidden_counts[thread_x()] : visible_counter; }
