/* A program in C++ that multiplies matrices by a packaged kernel, without Python: `tlxgen package --cpp` makes the rest.
 *
 *   gemm [M N K]
 *
 * Returns 0 where C is right, 1 where it is not. README.md beside this file says how it is built.
 */
#include <cuda.h>
#include <hopper_gemm.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d of the driver\n", what, static_cast<int>(result));
  std::exit(2);
}

uint16_t to_bf16(float value) {  // of a number that bf16 holds
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

float from_bf16(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  float found;
  std::memcpy(&found, &bits, sizeof found);
  return found;
}

/* A matrix on the GPU, row-major, and a view of it for tvm-ffi. */
class Matrix {
 public:
  Matrix(int64_t rows, int64_t columns) : shape_{rows, columns}, strides_{columns, 1} {
    check(cuMemAlloc(&data_, rows * columns * sizeof(uint16_t)), "cuMemAlloc");
  }
  ~Matrix() { cuMemFree(data_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  DLTensor view() {
    return {reinterpret_cast<void*>(data_), {kDLCUDA, 0}, 2, {kDLBfloat, 16, 1}, shape_, strides_, 0};
  }
  void set(const std::vector<uint16_t>& values) {
    check(cuMemcpyHtoD(data_, values.data(), values.size() * sizeof values[0]), "cuMemcpyHtoD");
  }
  std::vector<uint16_t> get() const {
    std::vector<uint16_t> values(shape_[0] * shape_[1]);
    check(cuMemcpyDtoH(values.data(), data_, values.size() * sizeof values[0]), "cuMemcpyDtoH");
    return values;
  }

 private:
  CUdeviceptr data_ = 0;
  int64_t shape_[2], strides_[2];
};

/* Small whole numbers, whose sums of products fp32 holds to the bit. */
std::vector<uint16_t> numbers(int64_t count, uint32_t seed) {
  std::vector<uint16_t> made(count);
  for (uint16_t& one : made) {
    seed = seed * 1664525u + 1013904223u;
    one = to_bf16(static_cast<float>(static_cast<int>(seed >> 29) - 4));
  }
  return made;
}

}  // namespace

int main(int count, char** words) {
  const int64_t m = count > 3 ? std::atoll(words[1]) : 1024, n = count > 3 ? std::atoll(words[2]) : 512;
  const int64_t k = count > 3 ? std::atoll(words[3]) : 256;

  CUdevice device;
  CUcontext context;
  CUstream stream;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");

  Matrix a(m, k), b(k, n), c(m, n);
  const std::vector<uint16_t> a_values = numbers(m * k, 1), b_values = numbers(k * n, 2);
  a.set(a_values);
  b.set(b_values);
  c.set(std::vector<uint16_t>(m * n, 0x7fc0));  // NaN

  DLTensor a_view = a.view(), b_view = b.view(), c_view = c.view();
  TVMFFIEnvSetStream(kDLCUDA, 0, stream, nullptr);  // of this thread: what follows is launched there
  try {
    hopper_gemm::hopper_gemm_cooperative_0(&a_view, &b_view, &c_view);
  } catch (const tvm::ffi::Error& error) {
    std::fprintf(stderr, "%s: %s\n", error.kind().c_str(), error.message().c_str());
    return 2;
  }
  check(cuStreamSynchronize(stream), "cuStreamSynchronize");

  const std::vector<uint16_t> values = c.get();
  int64_t wrong = 0;
  for (int64_t i = 0; i < m; i += 37)  // some of the rows
    for (int64_t j = 0; j < n; j++) {
      float expected = 0;
      for (int64_t x = 0; x < k; x++) expected += from_bf16(a_values[i * k + x]) * from_bf16(b_values[x * n + j]);
      wrong += !(std::fabs(from_bf16(values[i * n + j]) - expected) <= std::fabs(expected) / 256);
    }
  std::printf("C of %lld x %lld x %lld: %lld elements are wrong\n", static_cast<long long>(m), static_cast<long long>(n),
              static_cast<long long>(k), static_cast<long long>(wrong));
  return wrong ? 1 : 0;
}
