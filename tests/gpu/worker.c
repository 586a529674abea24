// Loads the driver library, and runs launches one after the other.

#include "worker.h"
#include "driver.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// Bytes behind each buffer that no kernel may write, and what they hold.
enum { GUARD_BYTES = 256, GUARD = 0xa5 };

// Stack of a thread: recursion is deeper than what the driver gives. Every resident thread takes as much.
enum { STACK_BYTES = 8 << 10 };

// Shared memory that a block gets without being asked for.
enum { SHARED_FREE_BYTES = 48 << 10 };

#define DECLARE(name, symbol, parameters) CUresult(*name) parameters;
static struct {
    DRIVER_FUNCTIONS(DECLARE)
} driver;

static FILE *parent;

static void tell(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(parent, format, arguments);
    va_end(arguments);
    fputc('\n', parent);
    fflush(parent);
}

static const char *error_name(CUresult error) {
    const char *name = NULL;
    if (driver.error_name(error, &name) != CUDA_SUCCESS || !name) return "unknown";
    return name;
}

static int load_library(char *reason, size_t reason_size) {
    const char *path = getenv("PTXOPT_CUDA_DRIVER");
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(reason, reason_size, "no driver library: %s", dlerror());
        return 1;
    }
#define FIND(name, symbol, parameters)                                                                                 \
    *(void **)&driver.name = dlsym(library, #symbol);                                                                  \
    if (!driver.name) return snprintf(reason, reason_size, "the driver library has no %s", #symbol), 1;
    DRIVER_FUNCTIONS(FIND)
    return 0;
}

int find_device(struct device *device, char *reason, size_t reason_size) {
    if (load_library(reason, reason_size)) return 1;
    CUdevice number;
    int major, minor;
    CUresult error = driver.initialise(0);
    if (!error) error = driver.device_at(&number, 0);
    if (!error) error = driver.driver_version(&device->driver);
    if (!error) error = driver.device_attribute(&major, COMPUTE_CAPABILITY_MAJOR, number);
    if (!error) error = driver.device_attribute(&minor, COMPUTE_CAPABILITY_MINOR, number);
    if (!error) error = driver.device_name(device->name, sizeof device->name, number);
    if (error) {
        snprintf(reason, reason_size, "the driver finds no GPU: %s", error_name(error));
        return 1;
    }
    device->arch = major * 10 + minor;
    return 0;
}

static CUresult make_context(void) {
    CUdevice number;
    CUcontext context;
    CUresult error = driver.initialise(0);
    if (!error) error = driver.device_at(&number, 0);
    if (!error) error = driver.retain_context(&context, number);
    if (!error) error = driver.set_context(context);
    if (!error) error = driver.set_limit(LIMIT_STACK_SIZE, STACK_BYTES);
    return error;
}

// Whether a device has what code for `arch` wants: features of an `a` target are on that device only, those of an `f`
// target on its family.
static int suits(const struct code *code, int arch) {
    if (code->flavour == 'a') return arch == code->arch;
    if (code->flavour == 'f') return arch / 10 == code->arch / 10 && arch >= code->arch;
    return arch >= code->arch;
}

static const struct cubin *cubin_for(const struct code *code, int arch) {
    for (int at = 0; at < code->cubin_count; at++) {
        const struct cubin *cubin = &code->cubins[at];
        int runs_later = !cubin->is_exact && cubin->arch / 10 == arch / 10 && arch > cubin->arch;
        if (cubin->arch == arch || runs_later) return cubin;
    }
    return NULL;
}

// What a run holds on the device and here.
struct attempt {
    const struct launch *launch;
    const char *loaded; // how the code was loaded
    CUmodule module;
    CUfunction function;
    CUdeviceptr *places; // of buffers and variables, item by item
    char *inputs, *expected, *actual;
    size_t actual_size;
    const char *call; // the last call of the driver, for its error
};

// Makes a module of an image. The level says nothing to machine code.
static CUresult load_image(struct attempt *attempt, const char *image, int level) {
    char log[1024] = "";
    int options[] = {JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES, JIT_OPTIMIZATION_LEVEL};
    void *values[] = {log, (void *)sizeof log, (void *)(size_t)level};
    attempt->call = "cuModuleLoadDataEx";
    CUresult error = driver.load_module(&attempt->module, image, 3, options, values);
    if (error && log[0]) fprintf(stderr, "%s: %s\n", attempt->launch->kernel, log);
    return error;
}

// The code of the last run, where its module can be used again: the launch names no variable that could have changed. It
// does not name one whose name two scopes share either; what such a one holds then comes from the run before.
static struct {
    const struct code *code;
    CUmodule module;
    const char *loaded;
} kept;

static void drop_kept(void) {
    if (kept.code) driver.unload_module(kept.module);
    kept.code = NULL;
}

static int has_variables(const struct launch *launch) {
    for (int at = 0; at < launch->item_count; at++)
        if (launch->items[at].name) return 1;
    return 0;
}

static CUresult load_code(struct attempt *attempt, const struct code *code, int arch, int level) {
    if (kept.code == code) {
        attempt->module = kept.module, attempt->loaded = kept.loaded;
        attempt->call = "cuModuleGetFunction";
        return driver.find_function(&attempt->function, attempt->module, attempt->launch->kernel);
    }
    drop_kept();
    const struct cubin *cubin = cubin_for(code, arch);
    size_t size;
    char *image = read_file(cubin ? cubin->file : code->file, &size);
    if (!image) {
        fprintf(stderr, "cannot read %s\n", cubin ? cubin->file : code->file);
        exit(2);
    }
    attempt->loaded = cubin ? "cubin" : level ? "ptx" : "ptx-O0";
    tell("stage %s", cubin ? "load" : "assemble");
    CUresult error = load_image(attempt, image, level);
    if (error && !cubin && level) {
        attempt->loaded = "ptx-O0";
        error = load_image(attempt, image, 0);
    }
    free(image);
    attempt->call = error ? attempt->call : "cuModuleGetFunction";
    return error ? error : driver.find_function(&attempt->function, attempt->module, attempt->launch->kernel);
}

// Reads what goes in and what must come out; ends the program where the folder is incomplete.
static void read_bytes(struct attempt *attempt) {
    const struct launch *launch = attempt->launch;
    size_t inputs = 0, outputs = 0, size = 0;
    for (int at = 0; at < launch->item_count; at++) {
        const struct item *item = &launch->items[at];
        if (!item->name) inputs += item->size;
        if (item->name || item->is_buffer) outputs += item->size;
    }
    attempt->inputs = read_file(launch->inputs, &size);
    int is_whole = attempt->inputs && size == inputs;
    if (launch->expected) {
        attempt->expected = read_file(launch->expected, &size);
        is_whole = is_whole && attempt->expected && size == outputs;
    }
    if (!is_whole) {
        fprintf(stderr, "%s: the files of the launch are not what the manifest says\n", launch->kernel);
        exit(2);
    }
    attempt->actual = must(malloc(outputs + 1));
    attempt->actual_size = outputs;
}

static CUresult make_buffer(struct attempt *attempt, int at, const char *bytes) {
    size_t size = attempt->launch->items[at].size;
    char guard[GUARD_BYTES];
    memset(guard, GUARD, sizeof guard);
    attempt->call = "cuMemAlloc";
    CUresult error = driver.allocate(&attempt->places[at], size + GUARD_BYTES);
    if (!error) attempt->call = "cuMemcpyHtoD";
    if (!error && size) error = driver.copy_in(attempt->places[at], bytes, size);
    if (!error) error = driver.copy_in(attempt->places[at] + size, guard, sizeof guard);
    return error;
}

static CUresult allow_shared(struct attempt *attempt) {
    int fixed, dynamic = (int)attempt->launch->shared_bytes;
    attempt->call = "cuFuncGetAttribute";
    CUresult error = driver.function_attribute(&fixed, SHARED_SIZE_BYTES, attempt->function);
    if (error || dynamic == 0 || fixed + dynamic <= SHARED_FREE_BYTES) return error;
    attempt->call = "cuFuncSetAttribute";
    return driver.set_function_attribute(attempt->function, MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic);
}

static CUresult start_kernel(struct attempt *attempt) {
    const struct launch *launch = attempt->launch;
    void **parameters = must(calloc((size_t)launch->item_count + 1, sizeof *parameters));
    char *bytes = attempt->inputs, *value = NULL;
    int count = 0;
    CUresult error = allow_shared(attempt);
    for (int at = 0; at < launch->item_count && !error && !launch->items[at].name; at++) {
        const struct item *item = &launch->items[at];
        if (item->is_buffer) error = make_buffer(attempt, at, bytes);
        else value = bytes;
        if (item->held_at >= 0) memcpy(value + item->held_at, &attempt->places[at], sizeof attempt->places[at]);
        else parameters[count++] = item->is_buffer ? (void *)&attempt->places[at] : value;
        bytes += item->size;
    }
    if (!error) {
        attempt->call = "cuLaunchKernel";
        const unsigned *grid = launch->grid, *block = launch->block;
        error = driver.launch(attempt->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                              launch->shared_bytes, NULL, parameters, NULL);
    }
    free(parameters);
    return error;
}

// Copies one buffer or variable back. Sets `stray` where the bytes behind a buffer have changed.
static CUresult fetch(struct attempt *attempt, int at, char *to, int *stray) {
    const struct item *item = &attempt->launch->items[at];
    attempt->call = "cuMemcpyDtoH";
    if (item->is_buffer) {
        unsigned char guard[GUARD_BYTES];
        CUresult error = driver.copy_out(guard, attempt->places[at] + item->size, sizeof guard);
        for (int byte = 0; byte < GUARD_BYTES && !error; byte++) *stray |= guard[byte] != GUARD;
        return error || !item->size ? error : driver.copy_out(to, attempt->places[at], item->size);
    }
    CUdeviceptr place;
    size_t size;
    CUresult error = driver.find_variable(&place, &size, attempt->module, item->name);
    // One that the assembler dropped or does not show, or no memory (a texture): there is nothing to compare.
    int is_missing = error == CUDA_ERROR_NOT_FOUND || error == CUDA_ERROR_INVALID_VALUE;
    if (is_missing || (!error && size < item->size)) {
        tell("missing %s", item->name);
        size_t offset = (size_t)(to - attempt->actual);
        if (attempt->expected) memcpy(to, attempt->expected + offset, item->size);
        else memset(to, 0, item->size);
        return CUDA_SUCCESS;
    }
    attempt->call = error ? "cuModuleGetGlobal" : attempt->call;
    return error || !item->size ? error : driver.copy_out(to, place, item->size);
}

static void save(const struct attempt *attempt, int number) {
    char path[64];
    snprintf(path, sizeof path, "actual/%d", number);
    FILE *file = fopen(path, "wb");
    int is_written = file && fwrite(attempt->actual, 1, attempt->actual_size, file) == attempt->actual_size;
    if (!file || fclose(file) || !is_written) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(2);
    }
}

// Tells where the memory first differs.
static void compare(const struct attempt *attempt, int number) {
    const struct launch *launch = attempt->launch;
    if (!attempt->expected) {
        save(attempt, number);
        tell("done unknown %s", attempt->loaded);
        return;
    }
    size_t first = 0, count = 0;
    for (size_t at = attempt->actual_size; at-- > 0;)
        if (attempt->actual[at] != attempt->expected[at]) first = at, count++;
    if (!count) {
        tell("done equal %s", attempt->loaded);
        return;
    }
    save(attempt, number);
    size_t offset = first;
    int output = 0;
    for (int at = 0; at < launch->item_count; at++) {
        const struct item *item = &launch->items[at];
        if (!item->is_buffer && !item->name) continue;
        if (offset < item->size) break;
        offset -= item->size, output++;
    }
    tell("done differs %s %d %zu %02x %02x %zu", attempt->loaded, output, offset,
         (unsigned char)attempt->expected[first], (unsigned char)attempt->actual[first], count);
}

static CUresult collect(struct attempt *attempt, int number) {
    char *to = attempt->actual;
    int stray_output = -1, output = 0;
    for (int at = 0; at < attempt->launch->item_count; at++) {
        const struct item *item = &attempt->launch->items[at];
        if (!item->is_buffer && !item->name) continue;
        int stray = 0;
        CUresult error = fetch(attempt, at, to, &stray);
        if (error) return error;
        if (stray && stray_output < 0) stray_output = output;
        to += item->size, output++;
    }
    if (stray_output >= 0) tell("done stray %s %d", attempt->loaded, stray_output);
    else compare(attempt, number);
    return CUDA_SUCCESS;
}

static void give_back(struct attempt *attempt, const struct code *code) {
    for (int at = 0; at < attempt->launch->item_count; at++)
        if (attempt->launch->items[at].is_buffer && attempt->places[at]) driver.release(attempt->places[at]);
    kept.code = code, kept.module = attempt->module, kept.loaded = attempt->loaded;
    if (has_variables(attempt->launch)) drop_kept();
}

// One run. Returns whether the device can still be used.
static int perform(const struct code *code, struct attempt *attempt, int number, int arch, int level) {
    CUresult error = load_code(attempt, code, arch, level);
    int is_started = 0;
    if (!error) {
        tell("stage launch");
        error = start_kernel(attempt);
    }
    if (!error) {
        is_started = 1;
        tell("stage run");
        attempt->call = "cuCtxSynchronize";
        error = driver.synchronise();
    }
    if (is_started && attempt->launch->is_trap) {
        if (error) tell("done trapped %s %d %s", attempt->loaded, error, error_name(error));
        else tell("done untrapped %s", attempt->loaded), give_back(attempt, code);
        return !error;
    }
    if (!error) error = collect(attempt, number);
    if (error) tell("done error %s %s %d %s", attempt->loaded, attempt->call, error, error_name(error));
    else give_back(attempt, code);
    // After an error the context may hold anything: a new process is cheap.
    return !error;
}

int work(const struct folder *folder, const struct device *device, int first, int jit_level, FILE *to) {
    parent = to;
    char reason[512];
    tell("stage start");
    if (load_library(reason, sizeof reason)) {
        fprintf(stderr, "%s\n", reason);
        exit(2);
    }
    CUresult error = make_context();
    if (error) {
        fprintf(stderr, "cannot use the device: %s\n", error_name(error));
        exit(2);
    }
    for (int number = first; number < folder->run_count; number++) {
        const struct run *run = &folder->runs[number];
        const struct code *code = &folder->codes[run->code];
        const struct launch *launch = &folder->launches[run->launch];
        if (!suits(code, device->arch)) {
            tell("done newer none sm_%d%c", code->arch, code->flavour == '-' ? ' ' : code->flavour);
            continue;
        }
        struct attempt attempt = {.launch = launch, .loaded = "none"};
        attempt.places = must(calloc((size_t)launch->item_count + 1, sizeof *attempt.places));
        read_bytes(&attempt);
        int level = number == first ? jit_level : 4;
        int is_usable = perform(code, &attempt, number, device->arch, level);
        free(attempt.places), free(attempt.inputs), free(attempt.expected), free(attempt.actual);
        if (!is_usable) return number + 1;
    }
    return folder->run_count;
}
