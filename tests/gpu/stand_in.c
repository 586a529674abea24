// Stands in for the driver library where there is no GPU: checks that the host calls it as it must, and answers each
// launch as a script says. The environment variable STAND_IN names the script; without one there is no device.
//
// A line of the script is a launch: hash of the image, kernel, grid, block, shared bytes, file with the arguments'
// bytes, file with the bytes to leave behind, items, action, number. Items are `b1200` (a buffer), `v4` (a value) and
// `gNAME:64` (a variable of the module), joined by commas. Actions:
//
//     right            leaves the bytes
//     wrong N          leaves them with byte N changed
//     stray N          also writes N bytes behind the first buffer
//     error N          the launch ends with error N
//     crash, hang      the process ends, or the launch does not
//     refuse N         the image is not loaded: error N
//     choke            the process ends when the assembler optimizes the image
//
// Whatever the host does wrong ends the process.

#include "driver.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NO_DEVICE = 100, INVALID_IMAGE = 200, ALLOCATIONS_MAX = 256, ITEMS_MAX = 64, GUARD_BYTES = 256 };

// One line of the script.
struct answer {
    uint64_t image;
    char kernel[64], inputs[512], outputs[512], items[2048], action[16];
    unsigned grid[3], block[3], shared_bytes;
    long number;
};

struct module {
    uint64_t image;
    int is_loaded;
    CUdeviceptr variables[ITEMS_MAX];
};

struct function {
    struct module *module;
    char name[64];
};

struct context {
    int users;
};

static struct context context;
static struct module module;
static struct function function;
static int is_initialised, is_current;
static struct {
    char *bytes;
    size_t size;
} allocations[ALLOCATIONS_MAX];
// What synchronisation gives.
static CUresult pending;
static int dynamic_allowed = 48 << 10;

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "stand-in: %s does not hold in %s\n", #condition, __func__);                               \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static char *read_bytes(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    REQUIRE(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = calloc(1, *size + 1);
    REQUIRE(fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

// Finds the line of the script for a kernel; any kernel of the image where `kernel` is null.
static int find_answer(uint64_t image, const char *kernel, struct answer *answer) {
    FILE *script = fopen(getenv("STAND_IN"), "r");
    REQUIRE(script);
    char line[8192];
    int is_found = 0;
    while (!is_found && fgets(line, sizeof line, script)) {
        unsigned long long hash;
        unsigned *grid = answer->grid, *block = answer->block;
        int count = sscanf(line, "%llx %63s %u %u %u %u %u %u %u %511s %511s %2047s %15s %ld", &hash, answer->kernel,
                           &grid[0], &grid[1], &grid[2], &block[0], &block[1], &block[2], &answer->shared_bytes,
                           answer->inputs, answer->outputs, answer->items, answer->action, &answer->number);
        REQUIRE(count == 14);
        answer->image = hash;
        is_found = answer->image == image && (!kernel || !strcmp(answer->kernel, kernel));
    }
    fclose(script);
    return is_found;
}

// The size of an image: of a text up to its zero, of an ELF file up to the last of its tables.
static size_t size_of_image(const unsigned char *image) {
    if (memcmp(image, "\177ELF", 4)) return strlen((const char *)image);
    uint64_t programs, sections;
    uint16_t sizes[4];
    memcpy(&programs, image + 32, 8);
    memcpy(&sections, image + 40, 8);
    memcpy(sizes, image + 54, 8);
    uint64_t end = programs + (uint64_t)sizes[0] * sizes[1], other = sections + (uint64_t)sizes[2] * sizes[3];
    return end > other ? end : other;
}

static uint64_t hash_of(const void *image) {
    const unsigned char *bytes = image;
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t at = 0, size = size_of_image(bytes); at < size; at++) hash = (hash ^ bytes[at]) * 0x100000001b3;
    return hash;
}

static char *memory(CUdeviceptr address, size_t size) {
    for (int at = 0; at < ALLOCATIONS_MAX; at++) {
        uintptr_t first = (uintptr_t)allocations[at].bytes;
        if (first && address >= first && address + size <= first + allocations[at].size) return (char *)address;
    }
    REQUIRE(!"the address is in an allocation");
    return NULL;
}

CUresult cuInit(unsigned flags) {
    REQUIRE(flags == 0);
    if (!getenv("STAND_IN")) return NO_DEVICE;
    is_initialised = 1;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
    *version = 13000;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    static char text[32];
    snprintf(text, sizeof text, "CUDA_ERROR_%d", error);
    *name = text;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    REQUIRE(is_initialised && ordinal == 0);
    *device = 7;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    REQUIRE(device == 7);
    snprintf(name, (size_t)length, "Stand-in GPU");
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    REQUIRE(device == 7 && (attribute == COMPUTE_CAPABILITY_MAJOR || attribute == COMPUTE_CAPABILITY_MINOR));
    *value = attribute == COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *to, CUdevice device) {
    REQUIRE(is_initialised && device == 7);
    context.users++;
    *to = &context;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext from) {
    REQUIRE(from == &context && context.users == 1);
    is_current = 1;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(int limit, size_t value) {
    REQUIRE(is_current && limit == LIMIT_STACK_SIZE && value >= 1024);
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *to, const void *image, unsigned count, int *options, void **values) {
    REQUIRE(is_current && !module.is_loaded);
    uint64_t hash = hash_of(image);
    int level = 4;
    for (unsigned at = 0; at < count; at++)
        if (options[at] == JIT_OPTIMIZATION_LEVEL) level = (int)(size_t)values[at];
    struct answer answer;
    if (!find_answer(hash, NULL, &answer)) return INVALID_IMAGE;
    if (!strcmp(answer.action, "refuse")) return (CUresult)answer.number;
    if (!strcmp(answer.action, "choke") && level > 0) abort();
    module = (struct module){.image = hash, .is_loaded = 1};
    *to = &module;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule from) {
    REQUIRE(from == &module && module.is_loaded);
    for (int at = 0; at < ITEMS_MAX; at++) {
        if (!module.variables[at]) continue;
        for (int other = 0; other < ALLOCATIONS_MAX; other++)
            if ((uintptr_t)allocations[other].bytes == module.variables[at]) allocations[other].bytes = NULL;
        free((void *)(uintptr_t)module.variables[at]);
    }
    module = (struct module){0};
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *to, CUmodule from, const char *name) {
    REQUIRE(from == &module && module.is_loaded);
    struct answer answer;
    if (!find_answer(module.image, name, &answer)) return CUDA_ERROR_NOT_FOUND;
    function.module = from;
    snprintf(function.name, sizeof function.name, "%s", name);
    *to = &function;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction of) {
    REQUIRE(of == &function && attribute == SHARED_SIZE_BYTES);
    *value = 0;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction of, int attribute, int value) {
    REQUIRE(of == &function && attribute == MAX_DYNAMIC_SHARED_SIZE_BYTES);
    dynamic_allowed = value;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    REQUIRE(is_current && size > 0);
    for (int at = 0; at < ALLOCATIONS_MAX; at++) {
        if (allocations[at].bytes) continue;
        allocations[at].bytes = malloc(size);
        allocations[at].size = size;
        REQUIRE(allocations[at].bytes);
        // Nothing may depend on what memory holds at first.
        memset(allocations[at].bytes, 0x5c, size);
        *address = (uintptr_t)allocations[at].bytes;
        return CUDA_SUCCESS;
    }
    REQUIRE(!"there are few allocations: the host gives them back");
    return 2;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    for (int at = 0; at < ALLOCATIONS_MAX; at++) {
        if ((uintptr_t)allocations[at].bytes != address) continue;
        free(allocations[at].bytes);
        allocations[at].bytes = NULL;
        return CUDA_SUCCESS;
    }
    REQUIRE(!"the address was allocated");
    return 1;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
    memcpy(memory(to, size), from, size);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
    memcpy(to, memory(from, size), size);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule from, const char *name) {
    REQUIRE(from == &module && module.is_loaded);
    struct answer answer;
    REQUIRE(find_answer(module.image, function.name, &answer));
    int number = 0;
    for (char *item = strtok(answer.items, ","); item; item = strtok(NULL, ","), number++) {
        char *colon = strchr(item, ':');
        if (item[0] != 'g' || (size_t)(colon - item - 1) != strlen(name)) continue;
        if (strncmp(item + 1, name, strlen(name)) || !module.variables[number]) continue;
        *address = module.variables[number];
        *size = (size_t)atol(colon + 1);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

// Checks the arguments of a launch against the script, and leaves its bytes.
static void answer_launch(const struct answer *answer, void **parameters) {
    size_t input_size, output_size;
    char *inputs = read_bytes(answer->inputs, &input_size), *outputs = read_bytes(answer->outputs, &output_size);
    char items[2048], *in = inputs, *out = outputs;
    int leaves = !strcmp(answer->action, "right") || !strcmp(answer->action, "wrong") ||
                 !strcmp(answer->action, "stray") || !strcmp(answer->action, "choke");
    if (!strcmp(answer->action, "wrong")) {
        REQUIRE((size_t)answer->number < output_size);
        outputs[answer->number] ^= 1;
    }
    strcpy(items, answer->items);
    int number = 0;
    char *first_behind = NULL;
    for (char *item = strtok(items, ","); item; item = strtok(NULL, ","), number++) {
        const char *colon = strchr(item, ':');
        size_t size = (size_t)atol(item[0] == 'g' ? colon + 1 : item + 1);
        char *place = NULL;
        REQUIRE(number < ITEMS_MAX);
        if (item[0] == 'v') {
            REQUIRE(!memcmp(parameters[number], in, size));
        } else if (item[0] == 'b') {
            place = memory(*(CUdeviceptr *)parameters[number], size + GUARD_BYTES);
            REQUIRE(!memcmp(place, in, size));
            if (!first_behind) first_behind = place + size;
        } else if (leaves) {
            REQUIRE(cuMemAlloc_v2(&module.variables[number], size) == CUDA_SUCCESS);
            place = memory(module.variables[number], size);
        }
        if (item[0] != 'g') in += size;
        if (item[0] != 'v' && leaves) {
            memcpy(place, out, size);
            out += size;
        }
    }
    REQUIRE(in == inputs + input_size && (!leaves || out == outputs + output_size));
    if (!strcmp(answer->action, "stray")) memset(first_behind, 0, (size_t)answer->number);
    free(inputs), free(outputs);
}

CUresult cuLaunchKernel(CUfunction of, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters,
                        void **extra) {
    struct answer answer;
    REQUIRE(is_current && of == &function && function.module->is_loaded && !stream && !extra);
    REQUIRE(find_answer(module.image, function.name, &answer));
    const unsigned *grid = answer.grid, *block = answer.block;
    REQUIRE(grid_x == grid[0] && grid_y == grid[1] && grid_z == grid[2]);
    REQUIRE(block_x == block[0] && block_y == block[1] && block_z == block[2]);
    REQUIRE(shared_bytes == answer.shared_bytes && (int)shared_bytes <= dynamic_allowed);
    answer_launch(&answer, parameters);
    pending = strcmp(answer.action, "error") ? CUDA_SUCCESS : (CUresult)answer.number;
    if (!strcmp(answer.action, "crash")) pending = -1;
    if (!strcmp(answer.action, "hang")) pending = -2;
    dynamic_allowed = 48 << 10;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
    REQUIRE(is_current);
    if (pending == -1) abort();
    while (pending == -2) pause();
    return pending;
}
