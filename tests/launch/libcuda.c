/* Stands in for NVIDIA's driver under Triton's own launcher: runs nothing, remembers what it was told.
 *
 * An encoded TMA descriptor holds, as 64-bit words: address, rank, extents (2..), byte strides (5..), box (8..). A test
 * reads the first three kernel parameters of the last launch, 128 bytes each.
 */
#define cuTensorMapEncodeIm2col declared_otherwise
#include <cuda.h>
#undef cuTensorMapEncodeIm2col
#include <stdint.h>
#include <string.h>

unsigned long long launches, encodes, stream;
unsigned grid[3];
unsigned char parameters[3][128];

CUresult cuCtxGetCurrent(CUcontext *c) { *c = (CUcontext)1; return 0; }
CUresult cuCtxSetCurrent(CUcontext c) { return 0; }
CUresult cuCtxGetDevice(CUdevice *d) { *d = 0; return 0; }
CUresult cuCtxGetLimit(size_t *v, CUlimit l) { *v = 0; return 0; }
CUresult cuCtxSetLimit(CUlimit l, size_t v) { return 0; }
CUresult cuDeviceGet(CUdevice *d, int i) { *d = i; return 0; }
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) { *v = 232448; return 0; }
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { *c = (CUcontext)1; return 0; }
CUresult cuDriverGetVersion(int *v) { *v = 13000; return 0; }
CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) { *v = 1024; return 0; }
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) { return 0; }
CUresult cuFuncSetCacheConfig(CUfunction f, CUfunc_cache c) { return 0; }
CUresult cuGetErrorString(CUresult r, const char **s) { *s = "none"; return 0; }
CUresult cuModuleLoadData(CUmodule *m, const void *d) { *m = (CUmodule)1; return 0; }
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *n) { *f = (CUfunction)1; return 0; }
CUresult cuModuleUnload(CUmodule m) { return 0; }
CUresult cuOccupancyMaxActiveClusters(int *n, CUfunction f, const CUlaunchConfig *c) { *n = 1; return 0; }
CUresult cuPointerGetAttribute(void *v, CUpointer_attribute a, CUdeviceptr p) { *(CUdeviceptr *)v = p; return 0; }
CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *a, void **v, CUdeviceptr p) { return 0; }
CUresult cuTensorMapEncodeIm2col(void) { return 1; }

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave i, CUtensorMapSwizzle s,
                                CUtensorMapL2promotion l, CUtensorMapFloatOOBfill f) {
  uint64_t *words = (uint64_t *)map;
  memset(map, 0, sizeof *map);
  words[0] = (uint64_t)address;
  words[1] = rank;
  for (unsigned k = 0; k < rank; k++) {
    words[2 + k] = extents[k];
    words[8 + k] = box[k];
    if (k + 1 < rank)
      words[5 + k] = strides[k];
  }
  encodes++;
  return 0;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **p, void **extra) {
  launches++;
  grid[0] = c->gridDimX;
  grid[1] = c->gridDimY;
  grid[2] = c->gridDimZ;
  stream = (unsigned long long)c->hStream;
  /* a TMA descriptor is followed by two extents and two strides, parameters of their own */
  for (int i = 0; i < 3; i++)
    memcpy(parameters[i], p[5 * i], 128);
  return 0;
}
