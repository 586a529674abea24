// A prepared folder as the host reads it: the manifest, and the files that it names.

#ifndef GPU_FOLDER_H
#define GPU_FOLDER_H

#include <stddef.h>

enum { CUBINS_MAX = 4 };

// Machine code of a module.
struct cubin {
    int arch;
    // Whether it runs on `arch` alone, not on later devices of the same major number.
    int is_exact;
    char *file;
};

// A module at one level.
struct code {
    int arch;
    // What stands behind the number in `.target`: 'a', 'f', or '-' for nothing.
    char flavour;
    char *file;
    struct cubin cubins[CUBINS_MAX];
    int cubin_count;
};

// Something of the launch that has bytes: an argument, or a variable of the module. `name` is null for an argument.
struct item {
    int is_buffer;
    size_t size;
    char *name;
    // Of a buffer that is no argument of its own: where its address goes in the value before it; else negative.
    long held_at;
};

// A launch and what it must leave.
struct launch {
    char *kernel;
    unsigned grid[3], block[3], shared_bytes;
    // Whether the kernel ends in a trap, so that there is no memory to compare.
    int is_trap;
    // The arguments' bytes, one after the other.
    char *inputs;
    // The buffers' bytes and then the variables'; null where nobody knows them.
    char *expected;
    struct item *items;
    int item_count;
};

// A launch of a module: what is run.
struct run {
    int launch, code;
};

struct folder {
    struct code *codes;
    struct launch *launches;
    struct run *runs;
    int code_count, launch_count, run_count;
};

// Reads the manifest of the current folder; ends the program where there is none or it is not understood.
struct folder read_folder(void);

// The bytes of a file, with a zero behind them; null where it cannot be read.
char *read_file(const char *path, size_t *size);

// Memory, or the end of the program.
void *must(void *memory);

#endif
