// Reads a prepared folder.
//
// The manifest is text, one thing a line, words with one space between. Lines that the host has no use for start with
// `about`; numbers count from 0 and stand in order.
//
//     ptxopt-gpu 1
//     code 0 90 - code/0.ptx                      number, architecture, flavour, PTX
//     cubin 0 90 any code/0.sm_90.cubin           of code 0; `any` later device or `exact`
//     launch 0 saxpy 2 1 1 32 1 1 0 end data/I data/E    kernel, grid, block, shared bytes, `end` or `trap`, files
//     buffer 0 1200                               an argument of launch 0, bytes
//     value 0 4
//     held 0 640 8                                a buffer whose address goes into the value before it, at byte 8
//     variable 0 table 64                         a variable to look at afterwards
//     run 0 0                                     launch, code

#include "folder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *must(void *memory) {
    if (memory) return memory;
    fprintf(stderr, "out of memory\n");
    exit(2);
}

char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *bytes = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long end = ftell(file);
        rewind(file);
        if (end >= 0) {
            bytes = must(malloc((size_t)end + 1));
            *size = fread(bytes, 1, (size_t)end, file);
            bytes[*size] = 0;
            if (*size != (size_t)end) free(bytes), bytes = NULL;
        }
    }
    fclose(file);
    return bytes;
}

static void bad_line(int line, const char *what) {
    fprintf(stderr, "manifest, line %d: %s\n", line, what);
    exit(2);
}

// Makes room for one more element behind `count` of `size` bytes, and clears it.
static void *grown(void *elements, int count, size_t size) {
    char *bytes = must(realloc(elements, ((size_t)count + 1) * size));
    memset(bytes + (size_t)count * size, 0, size);
    return bytes;
}

enum { WORDS_MAX = 16 };

static int split(char *line, char *words[WORDS_MAX]) {
    int count = 0;
    for (char *word = strtok(line, " \r\n"); word && count < WORDS_MAX; word = strtok(NULL, " \r\n"))
        words[count++] = word;
    return count;
}

static void add_code(struct folder *folder, char **words) {
    folder->codes = grown(folder->codes, folder->code_count, sizeof *folder->codes);
    struct code *code = &folder->codes[folder->code_count++];
    code->arch = atoi(words[2]);
    code->flavour = words[3][0];
    code->file = words[4];
}

static void add_cubin(struct code *code, char **words) {
    if (code->cubin_count == CUBINS_MAX) return;
    code->cubins[code->cubin_count++] = (struct cubin){atoi(words[2]), !strcmp(words[3], "exact"), words[4]};
}

static void add_launch(struct folder *folder, char **words) {
    folder->launches = grown(folder->launches, folder->launch_count, sizeof *folder->launches);
    struct launch *launch = &folder->launches[folder->launch_count++];
    launch->kernel = words[2];
    for (int at = 0; at < 3; at++) {
        launch->grid[at] = (unsigned)strtoul(words[3 + at], NULL, 10);
        launch->block[at] = (unsigned)strtoul(words[6 + at], NULL, 10);
    }
    launch->shared_bytes = (unsigned)strtoul(words[9], NULL, 10);
    launch->is_trap = !strcmp(words[10], "trap");
    launch->inputs = words[11];
    launch->expected = strcmp(words[12], "-") ? words[12] : NULL;
}

static void add_item(struct launch *launch, int is_buffer, char *name, const char *size, const char *offset) {
    launch->items = grown(launch->items, launch->item_count, sizeof *launch->items);
    launch->items[launch->item_count++] = (struct item){is_buffer, strtoull(size, NULL, 10), name, offset ? strtol(offset, NULL, 10) : -1};
}

// Whether the last value of a launch has room for an address at a byte.
static int has_room(const struct launch *launch, long at) {
    int item = launch->item_count;
    while (item-- > 0 && launch->items[item].is_buffer) {}
    return item >= 0 && !launch->items[item].name && at >= 0 && (size_t)at + 8 <= launch->items[item].size;
}

// One line of the manifest; what is wrong with it, or null.
static const char *take_line(struct folder *folder, char **words, int count) {
    if (!strcmp(words[0], "about")) return NULL;
    int number = count > 1 ? atoi(words[1]) : -1;
    if (!strcmp(words[0], "code") && count == 5 && number == folder->code_count) return add_code(folder, words), NULL;
    if (!strcmp(words[0], "launch") && count == 13 && number == folder->launch_count)
        return add_launch(folder, words), NULL;
    if (!strcmp(words[0], "cubin") && count == 5 && number >= 0 && number < folder->code_count)
        return add_cubin(&folder->codes[number], words), NULL;
    int knows_launch = number >= 0 && number < folder->launch_count;
    if (!strcmp(words[0], "buffer") && count == 3 && knows_launch)
        return add_item(&folder->launches[number], 1, NULL, words[2], NULL), NULL;
    if (!strcmp(words[0], "value") && count == 3 && knows_launch)
        return add_item(&folder->launches[number], 0, NULL, words[2], NULL), NULL;
    if (!strcmp(words[0], "held") && count == 4 && knows_launch) {
        if (!has_room(&folder->launches[number], strtol(words[3], NULL, 10))) return "no value with room for an address";
        return add_item(&folder->launches[number], 1, NULL, words[2], words[3]), NULL;
    }
    if (!strcmp(words[0], "variable") && count == 4 && knows_launch)
        return add_item(&folder->launches[number], 0, words[2], words[3], NULL), NULL;
    if (!strcmp(words[0], "run") && count == 3 && knows_launch) {
        struct run run = {number, atoi(words[2])};
        if (run.code < 0 || run.code >= folder->code_count) return "no such code";
        folder->runs = grown(folder->runs, folder->run_count, sizeof run);
        folder->runs[folder->run_count++] = run;
        return NULL;
    }
    return "not understood";
}

struct folder read_folder(void) {
    struct folder folder = {0};
    size_t size;
    // Names point into the text, which stays.
    char *text = read_file("manifest", &size);
    if (!text) {
        fprintf(stderr, "no manifest here: `prepare` writes one\n");
        exit(2);
    }
    int number = 0;
    char *next;
    for (char *line = text; *line; line = next) {
        char *end = strchr(line, '\n');
        next = end ? end + 1 : line + strlen(line);
        if (end) *end = 0;
        char *words[WORDS_MAX];
        int count = split(line, words);
        if (++number == 1) {
            if (count != 2 || strcmp(words[0], "ptxopt-gpu") || strcmp(words[1], "1"))
                bad_line(number, "not a manifest of this version");
            continue;
        }
        const char *wrong = count ? take_line(&folder, words, count) : NULL;
        if (wrong) bad_line(number, wrong);
    }
    return folder;
}
