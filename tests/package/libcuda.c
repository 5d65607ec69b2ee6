/* Stands in for NVIDIA's driver under Triton's launcher and under cuda-bindings: runs nothing, remembers what it is told.
 *
 * A program that is no test's own is heard in the file that STANDIN_HEARD names. A test says with `expect` how large the parameters of a kernel are. An encoded TMA descriptor holds its arguments.
 */
#define _GNU_SOURCE
#define cuTensorMapEncodeIm2col declared_otherwise
#include <cuda.h>
#undef cuTensorMapEncodeIm2col
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 16

typedef struct {
  unsigned grid[3], block[3], shared, attributes;
  unsigned long long stream, image;
  char name[128];
  struct {
    unsigned id;
    unsigned char value[64];
  } attribute[4];
  unsigned bytes;
  unsigned char parameters[4096];
} Launch;

Launch launches[MOST];
unsigned long long launched, encoded, loaded;
int driver_version = 13000, context = 1, refused = 0, capturing = 0, capability = 90;
unsigned long long filled; /* elements by cuMemset...Async */
static __thread CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
unsigned shared_optin = 232448;

static char names[256][128]; /* by handle of a function */
static unsigned long long images[256], modules[256];
static unsigned module_count, function_count;
static struct {
  char name[128];
  unsigned count, sizes[128];
} expected[64];
static unsigned expected_count;

void expect(const char *name, unsigned count, const unsigned *sizes) {
  unsigned k = 0;
  while (k < expected_count && strcmp(expected[k].name, name))
    k++;
  expected_count += k == expected_count;
  strcpy(expected[k].name, name);
  expected[k].count = count;
  memcpy(expected[k].sizes, sizes, count * sizeof *sizes);
}

CUresult cuInit(unsigned flags) { return 0; }

/* How cuda-bindings 13.5 and later find every other function. A name here may carry the version of its interface. */
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status) {
  char versioned[160];
  Dl_info own;
  if (!dladdr(&driver_version, &own))
    return CUDA_ERROR_UNKNOWN;
  void *library = dlopen(own.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  snprintf(versioned, sizeof versioned, "%s_v2", name);
  *function = dlsym(library, name);
  if (!*function)
    *function = dlsym(library, versioned);
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuCtxGetCurrent(CUcontext *c) { *c = (CUcontext)(uintptr_t)context; return 0; }
CUresult cuCtxSetCurrent(CUcontext c) { context = 1; return 0; }
CUresult cuCtxGetDevice(CUdevice *d) { *d = 0; return 0; }
CUresult cuCtxGetLimit(size_t *v, CUlimit l) { *v = 0; return 0; }
CUresult cuCtxSetLimit(CUlimit l, size_t v) { return 0; }
CUresult cuDeviceGet(CUdevice *d, int i) { *d = i; return 0; }
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
  *v = a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? capability / 10
       : a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? capability % 10
       : a == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 132
                                                           : shared_optin;
  return 0;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { *c = (CUcontext)1; return 0; }
CUresult cuDriverGetVersion(int *v) { *v = driver_version; return 0; }
CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) {
  *v = a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return 0;
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) { return 0; }
CUresult cuFuncSetCacheConfig(CUfunction f, CUfunc_cache c) { return 0; }
CUresult cuGetErrorString(CUresult r, const char **s) { *s = "a reason"; return 0; }
CUresult cuModuleUnload(CUmodule m) { return 0; }
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  CUstreamCaptureMode before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return 0;
}
CUresult cuOccupancyMaxActiveClusters(int *n, CUfunction f, const CUlaunchConfig *c) { *n = 1; return 0; }
CUresult cuPointerGetAttribute(void *v, CUpointer_attribute a, CUdeviceptr p) { *(CUdeviceptr *)v = p; return 0; }
CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *a, void **v, CUdeviceptr p) { return 0; }
CUresult cuTensorMapEncodeIm2col(void) { return 1; }

/* Memory of this process: kernels do not run, and programs may read what they wrote. */
CUresult cuMemAlloc(CUdeviceptr *p, size_t n) { *p = (CUdeviceptr)aligned_alloc(256, (n + 255) / 256 * 256); return 0; }
CUresult cuMemFree(CUdeviceptr p) { free((void *)p); return 0; }
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t n) { memcpy((void *)to, from, n); return 0; }
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t n) { memcpy(to, (void *)from, n); return 0; }
CUresult cuStreamCreate(CUstream *s, unsigned flags) { *s = (CUstream)77; return 0; }
CUresult cuStreamSynchronize(CUstream s) { return 0; }
CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream s) {
  for (size_t i = 0; i < n; i++)
    ((unsigned char *)p)[i] = v;
  filled += n;
  return 0;
}
CUresult cuMemsetD16Async(CUdeviceptr p, unsigned short v, size_t n, CUstream s) {
  for (size_t i = 0; i < n; i++)
    ((unsigned short *)p)[i] = v;
  filled += n;
  return 0;
}
CUresult cuMemsetD32Async(CUdeviceptr p, unsigned v, size_t n, CUstream s) {
  for (size_t i = 0; i < n; i++)
    ((unsigned *)p)[i] = v;
  filled += n;
  return 0;
}

/* Remembers a digest of the ELF file, whose table of sections ends it but for the table of segments. */
CUresult cuModuleLoadData(CUmodule *m, const void *data) {
  const unsigned char *bytes = data;
  uint64_t sections, segments, digest = 0xcbf29ce484222325ull;
  uint16_t section_bytes, section_count, segment_bytes, segment_count;
  if (refused)
    return refused;
  if (capturing && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  memcpy(&segments, bytes + 32, 8);
  memcpy(&sections, bytes + 40, 8);
  memcpy(&segment_bytes, bytes + 54, 2);
  memcpy(&segment_count, bytes + 56, 2);
  memcpy(&section_bytes, bytes + 58, 2);
  memcpy(&section_count, bytes + 60, 2);
  uint64_t end = sections + section_bytes * section_count, other = segments + segment_bytes * segment_count;
  for (uint64_t i = 0; i < (end > other ? end : other); i++)
    digest = (digest ^ bytes[i]) * 0x100000001b3ull;
  modules[++module_count] = digest;
  *m = (CUmodule)(uintptr_t)module_count;
  loaded++;
  return 0;
}

CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
  strcpy(names[++function_count], name);
  images[function_count] = modules[(uintptr_t)m];
  *f = (CUfunction)(uintptr_t)function_count;
  return 0;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave i, CUtensorMapSwizzle s,
                                CUtensorMapL2promotion l, CUtensorMapFloatOOBfill f) {
  uint64_t *words = (uint64_t *)map;
  memset(map, 0, sizeof *map);
  words[0] = (uint64_t)address;
  words[1] = ~0ull; /* of which drivers before 13.1 have a bit that is wrong */
  words[2] = type | rank << 8 | i << 16 | s << 20 | l << 24 | (uint64_t)f << 28;
  for (unsigned k = 0; k < rank; k++) {
    words[3 + k] = extents[k];
    if (k + 1 < rank)
      words[8 + k] = strides[k];
    words[12 + k / 2] |= (uint64_t)(box[k] | steps[k] << 16) << 32 * (k % 2);
  }
  encoded++;
  return 0;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **p, void **extra) {
  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  Launch *told = &launches[launched++ % MOST];
  memset(told, 0, sizeof *told);
  told->grid[0] = c->gridDimX, told->grid[1] = c->gridDimY, told->grid[2] = c->gridDimZ;
  told->block[0] = c->blockDimX, told->block[1] = c->blockDimY, told->block[2] = c->blockDimZ;
  told->shared = c->sharedMemBytes;
  told->stream = (unsigned long long)c->hStream;
  told->image = images[(uintptr_t)f];
  strcpy(told->name, names[(uintptr_t)f]);
  told->attributes = c->numAttrs;
  if (getenv("STANDIN_HEARD")) {
    FILE *heard = fopen(getenv("STANDIN_HEARD"), "a");
    fprintf(heard, "%s grid %u %u %u block %u %u %u stream %llu\n", told->name, c->gridDimX, c->gridDimY, c->gridDimZ,
            c->blockDimX, c->blockDimY, c->blockDimZ, told->stream);
    fclose(heard);
  }
  for (unsigned k = 0; k < c->numAttrs; k++) {
    told->attribute[k].id = c->attrs[k].id;
    told->attribute[k].value[0] = c->attrs[k].value.programmaticStreamSerializationAllowed;
  }
  for (unsigned k = 0; k < expected_count; k++)
    if (!strcmp(expected[k].name, told->name)) {
      for (unsigned n = 0; n < expected[k].count; n++) {
        memcpy(told->parameters + told->bytes, p[n], expected[k].sizes[n]);
        told->bytes += expected[k].sizes[n];
      }
      break;
    }
  return 0;
}
