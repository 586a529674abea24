// The part of NVIDIA's driver API that the host calls, declared here so that no toolkit is needed: names, types and
// numbers are those of the API's reference manual. A stand-in driver in the tests defines the same functions.

#ifndef GPU_DRIVER_H
#define GPU_DRIVER_H

#include <stddef.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct context *CUcontext;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
typedef struct stream *CUstream;

// CUresult
enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_NOT_FOUND = 500 };

// CUdevice_attribute
enum { COMPUTE_CAPABILITY_MAJOR = 75, COMPUTE_CAPABILITY_MINOR = 76 };

// CUfunction_attribute
enum { SHARED_SIZE_BYTES = 1, MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };

// CUlimit
enum { LIMIT_STACK_SIZE = 0 };

// CUjit_option. CU_JIT_FMA (24) is not here: it is for link-time optimization only, and does nothing to PTX.
enum { JIT_ERROR_LOG_BUFFER = 5, JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6, JIT_OPTIMIZATION_LEVEL = 7 };

// Every function: a name of this project's, the library's, and the parameters. Expanded once to declare pointers and
// once to find them in the library.
#define DRIVER_FUNCTIONS(FUNCTION)                                                                                     \
    FUNCTION(initialise, cuInit, (unsigned flags))                                                                     \
    FUNCTION(driver_version, cuDriverGetVersion, (int *version))                                                       \
    FUNCTION(error_name, cuGetErrorName, (CUresult error, const char **name))                                          \
    FUNCTION(device_at, cuDeviceGet, (CUdevice * device, int ordinal))                                                 \
    FUNCTION(device_name, cuDeviceGetName, (char *name, int length, CUdevice device))                                  \
    FUNCTION(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                     \
    FUNCTION(retain_context, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                         \
    FUNCTION(set_context, cuCtxSetCurrent, (CUcontext context))                                                        \
    FUNCTION(set_limit, cuCtxSetLimit, (int limit, size_t value))                                                      \
    FUNCTION(synchronise, cuCtxSynchronize, (void))                                                                    \
    FUNCTION(load_module, cuModuleLoadDataEx,                                                                          \
             (CUmodule * module, const void *image, unsigned count, int *options, void **values))                      \
    FUNCTION(unload_module, cuModuleUnload, (CUmodule module))                                                         \
    FUNCTION(find_function, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))           \
    FUNCTION(find_variable, cuModuleGetGlobal_v2,                                                                      \
             (CUdeviceptr * address, size_t *bytes, CUmodule module, const char *name))                                \
    FUNCTION(function_attribute, cuFuncGetAttribute, (int *value, int attribute, CUfunction function))                 \
    FUNCTION(set_function_attribute, cuFuncSetAttribute, (CUfunction function, int attribute, int value))              \
    FUNCTION(allocate, cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                                           \
    FUNCTION(release, cuMemFree_v2, (CUdeviceptr address))                                                             \
    FUNCTION(copy_in, cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes))                               \
    FUNCTION(copy_out, cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes))                                    \
    FUNCTION(launch, cuLaunchKernel,                                                                                   \
             (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,                \
              unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters,           \
              void **extra))

#endif
