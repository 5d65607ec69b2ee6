/* How the C++ form of a package checks arguments and launches cubins: by NVIDIA's driver, which it opens when it first
 * launches. It needs the headers of CUDA and of tvm-ffi, and links with tvm-ffi alone.
 *
 * Written by tlxgen, the same for every package. It does what _host.py and _launcher.py do for the Python form.
 */
#ifndef TLXGEN_LAUNCHER_H_
#define TLXGEN_LAUNCHER_H_

#include <cuda.h>
#include <dlfcn.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/tvm_ffi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tlxgen {
namespace {  // of one file: packages of several versions may meet in a process

constexpr int MOST_DIMENSIONS = 8;
constexpr int MOST_TMA_DIMENSIONS = 5;
constexpr int MOST_DEVICES = 64;

// --- tensors -------------------------------------------------------------------------------------------------------

/* Extents or strides. */
struct Extents {
  int64_t values[MOST_DIMENSIONS] = {};
  int count;

  Extents(const int64_t* begin, int count) : count(count) { std::copy_n(begin, count, values); }
  Extents(std::initializer_list<int64_t> list) : Extents(list.begin(), static_cast<int>(list.size())) {}

  int64_t numel() const {
    int64_t product = 1;
    for (int i = 0; i < count; i++) product *= values[i];
    return product;
  }
  bool operator==(const Extents& other) const {
    return count == other.count && std::equal(values, values + count, other.values);
  }
  bool operator!=(const Extents& other) const { return !(*this == other); }
};

inline std::ostream& operator<<(std::ostream& out, const Extents& extents) {
  out << "(";
  for (int i = 0; i < extents.count; i++) out << (i ? ", " : "") << extents.values[i];
  return out << (extents.count == 1 ? ",)" : ")");
}

struct Dtype {
  DLDataType type;

  bool operator==(const Dtype& other) const {
    return type.code == other.type.code && type.bits == other.type.bits && type.lanes == other.type.lanes;
  }
};

inline std::ostream& operator<<(std::ostream& out, const Dtype& dtype) {
  return out << std::string(tvm::ffi::DLDataTypeToString(dtype.type));
}

constexpr Dtype bfloat16{{kDLBfloat, 16, 1}}, float16{{kDLFloat, 16, 1}}, float32{{kDLFloat, 32, 1}};
constexpr Dtype float64{{kDLFloat, 64, 1}}, float8_e4m3fn{{kDLFloat8_e4m3fn, 8, 1}}, float8_e5m2{{kDLFloat8_e5m2, 8, 1}};
constexpr Dtype int8{{kDLInt, 8, 1}}, uint8{{kDLUInt, 8, 1}}, int16{{kDLInt, 16, 1}}, int32{{kDLInt, 32, 1}};
constexpr Dtype int64{{kDLInt, 64, 1}}, bool_{{kDLBool, 8, 1}};

/* A view of a tensor: extents and strides count elements, its address bytes. */
struct Tensor {
  uint64_t address = 0;
  int rank = 0;
  int64_t extents[MOST_DIMENSIONS] = {}, strides[MOST_DIMENSIONS] = {};
  Dtype type{};
  DLDevice where{};

  Tensor() = default;
  Tensor(const tvm::ffi::TensorView& view)  // NOLINT: a tensor is a view of one
      : address(reinterpret_cast<uint64_t>(view.data_ptr()) + view.byte_offset()),
        rank(view.dim()),
        type{view.dtype()},
        where(view.device()) {
    if (rank > MOST_DIMENSIONS) TVM_FFI_THROW(ValueError) << "a tensor of " << rank << " dimensions";
    std::copy_n(view.shape().data(), rank, extents);
    std::copy_n(view.strides().data(), rank, strides);
  }

  int64_t data_ptr() const { return static_cast<int64_t>(address); }
  int64_t dim() const { return rank; }
  int64_t size(int i) const { return extents[at(i)]; }
  int64_t stride(int i) const { return strides[at(i)]; }
  Extents shape() const { return Extents(extents, rank); }
  Extents leading() const { return Extents(extents, rank - 1); }  // all but the last dimension
  int64_t numel() const { return shape().numel(); }
  int64_t element_size() const { return type.type.bits * type.type.lanes / 8; }

  Tensor transposed() const {
    Tensor turned = *this;
    std::reverse(turned.extents, turned.extents + rank);
    std::reverse(turned.strides, turned.strides + rank);
    return turned;
  }
  bool is_contiguous() const {
    int64_t expected = 1;
    for (int i = rank - 1; i >= 0; i--) {
      if (extents[i] != 1 && strides[i] != expected) return numel() == 0;
      expected *= extents[i];
    }
    return true;
  }

 private:
  int at(int i) const {
    const int index = i < 0 ? i + rank : i;
    if (index < 0 || index >= rank) TVM_FFI_THROW(ValueError) << "a tensor of " << rank << " dimensions has none at " << i;
    return index;
  }
};

// --- checks: those of _host.py, with its words -----------------------------------------------------------------------

inline int64_t cdiv(int64_t dividend, int64_t divisor) { return (dividend + divisor - 1) / divisor; }

/* How many heads are worked on at a time so that CTAs have equal shares: what equal_shares of _host.py says. */
inline int64_t equal_shares(int64_t most, int64_t heads, int64_t shared, int64_t n_q, int64_t n_k, int64_t beside,
                            int64_t block_m, int64_t block_n, int64_t programs) {
  std::vector<int64_t> steps;
  for (int64_t end = block_m; end < n_q + block_m; end += block_m)
    steps.push_back(cdiv(std::max<int64_t>(std::min(n_k, end + beside), 1), block_n) + 1);
  auto longest = [&](int64_t together) {
    std::vector<int64_t> changes(2 * programs + 1);
    int64_t rounds = 0, at = 0;
    for (int64_t first = 0; first < heads; first += together) {
      int64_t width = std::min(together, heads - first);
      for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        rounds += width / programs * *step;
        changes[at] += *step;
        at += width % programs;
        changes[at] -= *step;
        at %= programs;
      }
    }
    for (int64_t i = 1; i < 2 * programs; i++) changes[i] += changes[i - 1];
    int64_t load = std::numeric_limits<int64_t>::min();
    for (int64_t i = 0; i < programs; i++) load = std::max(load, changes[i] + changes[i + programs]);
    return rounds + load;
  };
  most = std::min(most, heads);
  if (static_cast<int64_t>(steps.size()) * heads > 40 * programs) return most;
  int64_t best = most, least = -1;
  for (int64_t x = shared; x < most; x += shared) {
    if (programs % x || 4 * x < most) continue;
    if (least < 0) least = longest(most);
    int64_t takes = longest(x);
    if (takes < least) best = x, least = takes;
  }
  return best;
}

inline std::string name_of(DLDevice device) {
  const char* kind = device.device_type == kDLCUDA ? "cuda" : device.device_type == kDLCPU ? "cpu" : "another device";
  return device.device_type == kDLCUDA ? kind + (":" + std::to_string(device.device_id)) : kind;
}

/* The device of a tensor. Throws ValueError unless it is a CUDA device. */
inline DLDevice on_cuda(const Tensor& tensor, const char* name) {
  if (tensor.where.device_type != kDLCUDA || tensor.where.device_id >= MOST_DEVICES)
    TVM_FFI_THROW(ValueError) << name << ": on " << name_of(tensor.where) << ", expected a CUDA device";
  return tensor.where;
}

/* Throws ValueError or TypeError unless a tensor is what the kernel was generated for. `wants`: "contiguous", or "rows"
 * for a contiguous last dimension. Where one number is expected, a tensor of any rank that holds one will do. */
inline void check(const Tensor& tensor, const char* name, Extents shape, std::initializer_list<Dtype> dtypes,
                  DLDevice device, const std::string& wants = "") {
  if (tensor.shape() != shape && !(shape.count == 0 && tensor.numel() == 1))
    TVM_FFI_THROW(ValueError) << name << ": shape " << tensor.shape() << ", expected " << shape;
  if (std::find(dtypes.begin(), dtypes.end(), tensor.type) == dtypes.end()) {
    std::ostringstream expected;
    for (const Dtype& dtype : dtypes) expected << (&dtype == dtypes.begin() ? "" : " or ") << dtype;
    TVM_FFI_THROW(TypeError) << name << ": " << tensor.type << ", expected " << expected.str();
  }
  if (tensor.where.device_type != device.device_type || tensor.where.device_id != device.device_id)
    TVM_FFI_THROW(ValueError) << name << ": on " << name_of(tensor.where) << ", expected " << name_of(device);
  const Extents strides(tensor.strides, tensor.rank);
  if (wants == "contiguous" && !tensor.is_contiguous())
    TVM_FFI_THROW(ValueError) << name << ": strides " << strides << "; the kernel needs a contiguous tensor";
  if (wants == "rows" && tensor.size(-1) > 1 && tensor.stride(-1) != 1)
    TVM_FFI_THROW(ValueError) << name << ": stride " << tensor.stride(-1)
                              << " along the last dimension; the kernel needs 1";
}

/* Throws ValueError where elements of a result share memory, as those of an expanded tensor do. */
inline void writable(const Tensor& tensor, const char* name) {
  std::array<std::pair<int64_t, int64_t>, MOST_DIMENSIONS> axes;
  for (int i = 0; i < tensor.rank; i++) axes[i] = {tensor.strides[i], tensor.extents[i]};
  std::sort(axes.begin(), axes.begin() + tensor.rank);
  int64_t end = 0;
  for (int i = 0; i < tensor.rank; i++) {
    const auto [step, extent] = axes[i];
    if (extent <= 1) continue;
    if (step <= end)
      TVM_FFI_THROW(ValueError) << name << ": strides " << Extents(tensor.strides, tensor.rank)
                                << "; elements of a result may not share memory";
    end += (extent - 1) * step;
  }
}

inline double number(double value, const char* name) {
  if (!std::isfinite(value)) TVM_FFI_THROW(ValueError) << name << ": " << value << ", expected a finite number";
  return value;
}

inline double positive(double value, const char* name) {
  if (!(value > 0 && std::isfinite(value)))
    TVM_FFI_THROW(ValueError) << name << ": " << value << ", expected a positive number";
  return value;
}

inline int64_t whole(int64_t value, const char* name, int64_t most = std::numeric_limits<int32_t>::max()) {
  if (value < 0 || value > most)
    TVM_FFI_THROW(ValueError) << name << ": " << value << ", expected 0 to "
                              << (most == std::numeric_limits<int32_t>::max() ? "2**31 - 1" : std::to_string(most));
  return value;
}

/* How many CTAs of a config the registers of an SM are enough for, where it says how many a thread has. */
template <typename Config>
int64_t resident(const Config& config) {
  return 65536 / (32 * config.num_warps * config.maxnreg);
}

/* How many rows, and columns, a tensor of any leading dimensions has. */
inline std::pair<int64_t, int64_t> rows_of(const Tensor& tensor, const char* name) {
  on_cuda(tensor, name);
  if (!tensor.rank) TVM_FFI_THROW(ValueError) << name << ": expected a row, or rows";
  return {tensor.leading().numel(), tensor.size(-1)};
}

/* From one row of a tensor to the next. Throws ValueError where rows do not lie at one distance. */
inline int64_t row_stride(const Tensor& tensor, const char* name) {
  int64_t first = 0, expected = 0;
  bool any = false;
  for (int i = tensor.rank - 2; i >= 0; i--) {
    if (tensor.extents[i] == 1) continue;
    if (any && tensor.strides[i] != expected)
      TVM_FFI_THROW(ValueError) << name << ": rows at strides " << Extents(tensor.strides, tensor.rank - 1)
                                << "; the kernel needs one distance";
    if (!any) first = tensor.strides[i];
    any = true;
    expected = tensor.strides[i] * tensor.extents[i];
  }
  return any ? first : tensor.size(-1);
}

/* First and last address of what of a tensor lies within one period of its memory. */
inline std::pair<uint64_t, uint64_t> span(const Tensor& tensor, int64_t period) {
  if (!tensor.numel()) return {0, 0};
  int64_t reach = 0;
  for (int i = 0; i < tensor.rank; i++) {
    const int64_t step = tensor.strides[i] * tensor.element_size();
    if (step % period) reach += (tensor.extents[i] - 1) * step;
  }
  return {tensor.address, tensor.address + reach + tensor.element_size()};
}

/* Whether two tensors may have memory in common. Two that lie between one another are apart if they are so within each
 * period of some stride. */
inline bool overlap(const Tensor& one, const Tensor& other) {
  constexpr int64_t whole_memory = int64_t{1} << 62;
  const auto [begin, end] = span(one, whole_memory);
  const auto [other_begin, other_end] = span(other, whole_memory);
  if (begin == end || other_begin == other_end || end <= other_begin || other_end <= begin) return false;
  for (const Tensor* tensor : {&one, &other})
    for (int i = 0; i < tensor->rank; i++) {
      const int64_t period = tensor->strides[i] * tensor->element_size();
      if (period <= 0) continue;
      const auto [x, x_end] = span(one, period);
      const auto [y, y_end] = span(other, period);
      const auto behind = [period](uint64_t from, uint64_t to) {
        const int64_t distance = static_cast<int64_t>(to - from) % period;
        return static_cast<uint64_t>(distance < 0 ? distance + period : distance);
      };
      if (behind(x, y) >= x_end - x && behind(y, x) >= y_end - y) return false;
    }
  return true;
}

struct Named {
  const char* name;
  const Tensor& tensor;
  bool written = false;
};

/* Throws ValueError where a result shares memory with another tensor. */
inline void refuse_overlap(std::initializer_list<Named> tensors) {
  for (const Named& one : tensors)
    for (const Named& other : tensors)
      if (one.written && &one != &other && overlap(one.tensor, other.tensor))
        TVM_FFI_THROW(ValueError) << one.name << ": shares memory with " << other.name
                                  << "; a kernel writes the one as it uses the other";
}

/* A tensor as TMA addresses it: strides in elements, that of an extent of 1 made one that TMA takes. */
struct Descriptor {
  Tensor tensor;
};

/* The tensor as TMA addresses it; its last dimension is contiguous. Throws ValueError for one that TMA cannot address;
 * `remedy` names a call that makes one of a tensor in another order. */
inline Descriptor describe(const Tensor& tensor, const char* name, const std::string& remedy = "") {
  Descriptor described{tensor};
  const int64_t size = tensor.element_size(), last = tensor.size(-1);
  if (last > 1 && tensor.stride(-1) != 1)
    TVM_FFI_THROW(ValueError) << name << ": stride " << tensor.stride(-1) << " where TMA needs 1" << remedy;
  for (int i = 0; i < tensor.rank - 1; i++) {
    const int64_t stride = tensor.strides[i];
    if (tensor.extents[i] > 1 && (stride <= 0 || stride * size % 16))
      TVM_FFI_THROW(ValueError) << name << ": stride of " << stride << " elements along dimension " << i << " is "
                                << stride * size << " bytes; TMA needs a positive multiple of 16";
    if (tensor.extents[i] <= 1) described.tensor.strides[i] = cdiv(last * size, 16) * 16 / size;
  }
  described.tensor.strides[tensor.rank - 1] = 1;
  if (tensor.address % 16)
    TVM_FFI_THROW(ValueError) << name << ": data_ptr() is " << tensor.address % 16
                              << " bytes past a multiple of 16; TMA needs one";
  return described;
}

// --- the driver ----------------------------------------------------------------------------------------------------

#define TLXGEN_TEXT_OF(name) #name
#define TLXGEN_FUNCTION(name) decltype(&::name) name = load<decltype(&::name)>(TLXGEN_TEXT_OF(name))

/* NVIDIA's driver, opened once in a process. */
class Driver {
 public:
  static const Driver& get() {
    static const Driver driver;
    return driver;
  }

  /* Throws RuntimeError for what the driver refused. */
  void done(CUresult result, const std::string& what) const {
    if (result == CUDA_SUCCESS) return;
    const char* text = nullptr;
    cuGetErrorString(result, &text);
    TVM_FFI_THROW(RuntimeError) << what << ": error " << static_cast<int>(result) << " of the driver, "
                                << (text ? text : "unknown error");
  }

 private:
  void* library = open();
  static void* open() {
    void* found = dlopen("libcuda.so.1", RTLD_LAZY);
    if (!found) TVM_FFI_THROW(RuntimeError) << "no NVIDIA driver: " << dlerror();
    return found;
  }
  template <typename Function>
  Function load(const char* name) const {
    void* found = dlsym(library, name);
    if (!found) TVM_FFI_THROW(RuntimeError) << "the NVIDIA driver here has no " << name;
    return reinterpret_cast<Function>(found);
  }

 public:
  TLXGEN_FUNCTION(cuCtxGetCurrent);
  TLXGEN_FUNCTION(cuCtxGetDevice);
  TLXGEN_FUNCTION(cuCtxSetCurrent);
  TLXGEN_FUNCTION(cuDeviceGet);
  TLXGEN_FUNCTION(cuDeviceGetAttribute);
  TLXGEN_FUNCTION(cuDevicePrimaryCtxRetain);
  TLXGEN_FUNCTION(cuDriverGetVersion);
  TLXGEN_FUNCTION(cuFuncGetAttribute);
  TLXGEN_FUNCTION(cuFuncSetAttribute);
  TLXGEN_FUNCTION(cuFuncSetCacheConfig);
  TLXGEN_FUNCTION(cuGetErrorString);
  TLXGEN_FUNCTION(cuLaunchKernelEx);
  TLXGEN_FUNCTION(cuMemsetD8Async);
  TLXGEN_FUNCTION(cuMemsetD16Async);
  TLXGEN_FUNCTION(cuMemsetD32Async);
  TLXGEN_FUNCTION(cuModuleGetFunction);
  TLXGEN_FUNCTION(cuModuleLoadData);
  TLXGEN_FUNCTION(cuTensorMapEncodeTiled);
  TLXGEN_FUNCTION(cuThreadExchangeStreamCaptureMode);
};

#undef TLXGEN_FUNCTION
#undef TLXGEN_TEXT_OF

inline int driver_version() {
  static const int version = [] {
    int found = 0;
    Driver::get().done(Driver::get().cuDriverGetVersion(&found), "cuDriverGetVersion");
    return found;
  }();
  return version;
}

inline int attribute(CUdevice_attribute which, int device) {
  int value = 0;
  Driver::get().done(Driver::get().cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

/* How many SMs a device has. */
inline int64_t sm_count(int device) {
  static std::array<std::atomic<int>, MOST_DEVICES> known{};
  int count = known[device].load(std::memory_order_relaxed);
  if (!count) known[device] = count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  return count;
}

/* Makes the context of a device current as long as it lives: that of its runtime, and of torch. */
class Current {
 public:
  explicit Current(int device) {
    const Driver& driver = Driver::get();
    driver.done(driver.cuCtxGetCurrent(&before_), "cuCtxGetCurrent");
    CUdevice now = -1;
    if (before_) driver.done(driver.cuCtxGetDevice(&now), "cuCtxGetDevice");
    if (before_ && now == device) return;
    CUdevice wanted;
    CUcontext context;
    driver.done(driver.cuDeviceGet(&wanted, device), "cuDeviceGet");
    driver.done(driver.cuDevicePrimaryCtxRetain(&context, wanted), "cuDevicePrimaryCtxRetain");
    driver.done(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    restore_ = before_ != nullptr;  // a thread that had none keeps the device's
  }
  ~Current() {
    if (restore_) Driver::get().cuCtxSetCurrent(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  CUcontext before_ = nullptr;
  bool restore_ = false;
};

inline CUstream stream_of(DLDevice device) {
  return static_cast<CUstream>(TVMFFIEnvGetStream(device.device_type, device.device_id));
}

/* Sets every element of a tensor to the bits of `value`, which is of its size. */
inline void fill_bits(const Tensor& tensor, uint32_t value, CUstream stream, int axis = 0, uint64_t offset = 0) {
  const Driver& driver = Driver::get();
  if (!tensor.numel()) return;
  int64_t run = 1;  // of elements from `axis` on, if they lie side by side
  bool dense = true;
  for (int i = tensor.rank - 1; i >= axis; i--) {
    dense = dense && (tensor.extents[i] == 1 || tensor.strides[i] == run);
    run *= tensor.extents[i];
  }
  if (!dense) {
    for (int64_t i = 0; i < tensor.extents[axis]; i++)
      fill_bits(tensor, value, stream, axis + 1, offset + i * tensor.strides[axis] * tensor.element_size());
    return;
  }
  const CUdeviceptr at = tensor.address + offset;
  const CUresult result = tensor.element_size() == 4   ? driver.cuMemsetD32Async(at, value, run, stream)
                          : tensor.element_size() == 2 ? driver.cuMemsetD16Async(at, value, run, stream)
                                                       : driver.cuMemsetD8Async(at, value, run, stream);
  driver.done(result, "filling a result");
}

inline void zero(const Tensor& tensor) {
  const Current current(tensor.where.device_id);
  fill_bits(tensor, 0, stream_of(tensor.where));
}

inline void fill(const Tensor& tensor, float value) {  // of a tensor of float32
  const Current current(tensor.where.device_id);
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  fill_bits(tensor, bits, stream_of(tensor.where));
}

// --- cubins --------------------------------------------------------------------------------------------------------

/* What cubins of a package need. */
struct Package {
  const char *name, *arch;
  int major, minor, driver;
};

/* What the compiler made of a descriptor: the box of its copies, and how they lie in shared memory. */
struct Box {
  uint32_t extents[MOST_TMA_DIMENSIONS];
  int swizzle, element;
  int64_t element_bytes;
  bool fp4_padded;
};

/* A kernel compiled for one row of constants. `divisible`: one bit for each parameter that is a multiple of 16; `ones`:
 * the same for those that are 1, which it does not take. */
struct Cubin {
  uint64_t divisible, ones;
  const unsigned char* data;
  const char* entry;
  unsigned threads, shared;
  std::vector<Box> boxes;
};

struct Parameter {
  const char* name;
  enum Kind { DESCRIPTOR, ADDRESS, BOOL, I32, U32, I64, U64, FP32, FP64 } kind;
  bool specialized;
  Dtype element{};  // of descriptors and addresses
};

/* The size and value of a launch's parameter that is a number. */
struct Scalar {
  double real = 0;
  int64_t integer = 0;

  Scalar(double value) : real(value) {}  // NOLINT: what a caller passes
  template <typename Integer, typename = std::enable_if_t<std::is_integral_v<Integer>>>
  Scalar(Integer value) : real(static_cast<double>(value)), integer(value) {}  // NOLINT
};

/* A kernel with its parameters and, for each row of constants, its cubins: those that ask for the most first. */
class Kernel {
 public:
  using Grid = std::array<int64_t, 3>;

  Kernel(const Package& package, const char* name, std::vector<Parameter> parameters,
         std::vector<std::vector<Cubin>> rows)
      : package_(package), name_(name), parameters_(std::move(parameters)), rows_(std::move(rows)) {
    for (size_t row = 0; row < rows_.size(); row++) {
      first_.push_back(static_cast<int>(count_));
      count_ += rows_[row].size();
    }
    functions_.resize(count_ * MOST_DEVICES);
  }

  /* Launches the kernel of a row of constants on the environment's stream of a device. Throws TypeError or ValueError
   * for what no cubin takes, RuntimeError for what the driver refuses. */
  void operator()(int64_t row, DLDevice device, Grid grid, std::initializer_list<Descriptor> descriptors,
                  std::initializer_list<Tensor> addresses, std::initializer_list<Scalar> scalars, bool pdl = false) const {
    const Driver& driver = Driver::get();
    const Current current(device.device_id);
    const size_t chosen = choose(row, descriptors, addresses, scalars);
    const Cubin& cubin = rows_[row][chosen];
    const CUfunction function = loaded(first_[row] + chosen, cubin, device.device_id);

    CUtensorMap maps[MOST_TMA_DIMENSIONS * 4];
    uint64_t slots[128];
    void* pointers[128];
    unsigned count = 0, map = 0;
    const auto add = [&](uint64_t value) {
      slots[count] = value;
      pointers[count] = &slots[count];
      count++;
    };
    for (const Descriptor& descriptor : descriptors) {
      const Tensor& tensor = descriptor.tensor;
      encode(&maps[map], tensor, cubin.boxes[map]);
      pointers[count++] = &maps[map++];
      for (int i = 0; i < tensor.rank; i++) add(tensor.extents[i]);
      for (int i = 0; i < tensor.rank; i++) add(tensor.strides[i]);
    }
    for (const Tensor& tensor : addresses) add(tensor.address);
    size_t at = descriptors.size() + addresses.size();
    for (const Scalar& scalar : scalars) {
      if (!(cubin.ones >> at & 1)) add(bits_of(parameters_[at], scalar));
      at++;
    }
    add(0);  // two addresses of scratch memory, which these kernels do without
    add(0);

    CUlaunchConfig config{};
    config.gridDimX = grid[0], config.gridDimY = grid[1], config.gridDimZ = grid[2];
    config.blockDimX = cubin.threads, config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = cubin.shared;
    config.hStream = stream_of(device);
    CUlaunchAttribute attribute{};
    if (pdl) {
      attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attribute.value.programmaticStreamSerializationAllowed = 1;
      config.attrs = &attribute;
      config.numAttrs = 1;
    }
    driver.done(driver.cuLaunchKernelEx(&config, function, pointers, nullptr), text());
  }

 private:
  std::string text() const { return std::string(package_.name) + ": " + name_; }

  size_t choose(int64_t row, std::initializer_list<Descriptor> descriptors, std::initializer_list<Tensor> addresses,
                std::initializer_list<Scalar> scalars) const {
    uint64_t aligned = 0, ones = 0;
    size_t at = 0;
    for (const Descriptor& descriptor : descriptors) refuse(parameters_[at++], descriptor.tensor);
    for (const Tensor& tensor : addresses) {
      refuse(parameters_[at], tensor);
      aligned |= static_cast<uint64_t>(tensor.address % 16 == 0) << at;
      at++;
    }
    for (const Scalar& scalar : scalars) {
      const Parameter& parameter = parameters_[at];
      constexpr int64_t most = std::numeric_limits<int32_t>::max();
      if (parameter.kind == Parameter::I32 && (scalar.integer > most || scalar.integer < -most - 1))
        TVM_FFI_THROW(ValueError) << name_ << ": " << parameter.name << " is " << scalar.integer << "; the cubins of "
                                  << package_.name << " take 32 bits";
      aligned |= static_cast<uint64_t>(scalar.integer % 16 == 0 && parameter.specialized) << at;
      ones |= static_cast<uint64_t>(scalar.integer == 1 && parameter.specialized) << at;
      at++;
    }
    const std::vector<Cubin>& cubins = rows_[row];
    for (size_t i = 0; i < cubins.size(); i++)
      if ((cubins[i].divisible & ~aligned) == 0 && (cubins[i].ones & ~ones) == 0) return i;
    std::string least;
    for (size_t i = 0; i < parameters_.size(); i++)
      if (cubins.back().divisible >> i & 1) least += (least.empty() ? "" : ", ") + std::string(parameters_[i].name);
    TVM_FFI_THROW(ValueError) << name_ << ": the cubins of " << package_.name << " need multiples of 16 for " << least;
    return 0;
  }

  void refuse(const Parameter& parameter, const Tensor& tensor) const {
    if (!(tensor.type == parameter.element))
      TVM_FFI_THROW(TypeError) << name_ << ": " << parameter.name << " is of " << tensor.type << "; the cubins of "
                               << package_.name << " take " << parameter.element;
  }

  static uint64_t bits_of(const Parameter& parameter, const Scalar& scalar) {
    uint64_t bits = static_cast<uint64_t>(scalar.integer);
    if (parameter.kind == Parameter::FP32) {
      const float value = static_cast<float>(scalar.real);
      std::memcpy(&bits, &value, sizeof value);
    } else if (parameter.kind == Parameter::FP64) {
      std::memcpy(&bits, &scalar.real, sizeof bits);
    }
    return bits;
  }

  void encode(CUtensorMap* map, const Tensor& tensor, const Box& box) const {
    const Driver& driver = Driver::get();
    const int rank = tensor.rank;
    cuuint64_t extents[MOST_TMA_DIMENSIONS], steps[MOST_TMA_DIMENSIONS];
    cuuint32_t boxes[MOST_TMA_DIMENSIONS], ones[MOST_TMA_DIMENSIONS];
    int64_t last = 0;
    for (int i = 0; i < rank; i++) {  // the driver has the contiguous dimension first
      extents[i] = tensor.extents[rank - 1 - i];
      boxes[i] = box.extents[rank - 1 - i];
      ones[i] = 1;
    }
    if (box.fp4_padded) extents[0] *= 2;
    for (int i = 0; i + 1 < rank; i++) steps[i] = box.element_bytes * tensor.strides[rank - 2 - i];
    steps[rank - 1] = extents[rank - 1] * (rank == 1 ? box.element_bytes : steps[rank - 2]);
    for (int i = 0; i < rank; i++) last += (extents[i] - 1) * (i == 0 ? box.element_bytes : steps[i - 1]);
    const CUresult result = driver.cuTensorMapEncodeTiled(
        map, static_cast<CUtensorMapDataType>(box.element), rank, reinterpret_cast<void*>(tensor.address), extents,
        steps, boxes, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(box.swizzle),
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    driver.done(result, text() + ": a TMA descriptor");
    if (driver_version() <= 13010 && last + 1 < 128 << 10)  // these drivers set a bit that is wrong for small tensors
      reinterpret_cast<uint64_t*>(map)[1] &= ~(uint64_t{1} << 21);
  }

  CUfunction loaded(size_t index, const Cubin& cubin, int device) const {
    std::atomic<CUfunction>& known = functions_[index * MOST_DEVICES + device].function;
    CUfunction function = known.load(std::memory_order_acquire);
    if (function) return function;
    static std::mutex loading;
    const std::lock_guard<std::mutex> alone(loading);
    if (!(function = known.load(std::memory_order_acquire)))
      known.store(function = load(cubin, device), std::memory_order_release);
    return function;
  }

  CUfunction load(const Cubin& cubin, int device) const {
    const Driver& driver = Driver::get();
    const int major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    const int minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (major != package_.major || minor != package_.minor)
      TVM_FFI_THROW(RuntimeError) << package_.name << " holds cubins for " << package_.arch << ", compute capability "
                                  << package_.major << "." << package_.minor << "; device " << device << " has " << major
                                  << "." << minor;
    const auto release = [](int version) {
      return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    };
    if (driver_version() < package_.driver)
      TVM_FFI_THROW(RuntimeError) << package_.name << " needs an NVIDIA driver for CUDA " << release(package_.driver)
                                  << " or newer; the one here is for " << release(driver_version());
    // A stream that is being captured for a graph has no part in loading.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver.done(driver.cuThreadExchangeStreamCaptureMode(&mode), text());
    CUmodule module;
    CUfunction function = nullptr;
    CUresult result = driver.cuModuleLoadData(&module, cubin.data);
    if (result == CUDA_SUCCESS) result = driver.cuModuleGetFunction(&function, module, cubin.entry);
    driver.cuThreadExchangeStreamCaptureMode(&mode);
    driver.done(result, text());
    if (cubin.shared > 48 << 10) {
      const unsigned available = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
      if (cubin.shared > available)
        TVM_FFI_THROW(RuntimeError) << text() << " takes " << cubin.shared << " bytes of shared memory; a block here has "
                                    << available;
      int fixed = 0;
      driver.done(driver.cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_SHARED), text());
      driver.done(driver.cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function), text());
      driver.done(driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, available - fixed),
                  text());
    }
    return function;
  }

  struct Function {
    std::atomic<CUfunction> function{nullptr};
    Function() = default;
    Function(Function&&) noexcept {}
  };

  const Package& package_;
  const char* name_;
  std::vector<Parameter> parameters_;
  std::vector<std::vector<Cubin>> rows_;
  std::vector<int> first_;
  size_t count_ = 0;
  mutable std::vector<Function> functions_;
};

}  // namespace
}  // namespace tlxgen

#endif  // TLXGEN_LAUNCHER_H_
