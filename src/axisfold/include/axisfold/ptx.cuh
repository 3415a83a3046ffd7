// SPDX-License-Identifier: Apache-2.0
// Everything that C++ cannot say: inline PTX, and nothing else. A port of this one file moves the
// library to another machine.
#pragma once

#include <axisfold/integers.cuh>

namespace axisfold {
namespace ptx {

/// Binary16 from float, to nearest with ties to even.
AXISFOLD_DEVICE uint16 float_to_half(float value) {
  uint16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

AXISFOLD_DEVICE float half_to_float(uint16 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

/// Smaller of two floats: a NaN wins and -0 is below +0, in one instruction.
/// Source: PTX ISA, `min.NaN.f32` (sm_80 and newer).
AXISFOLD_DEVICE float min_nan(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
AXISFOLD_DEVICE float max_nan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

/// True when `bytes` bytes at `pointer` lie within the shared memory of this block.
AXISFOLD_DEVICE bool is_in_shared(const void* pointer, uint32 bytes) {
  if (pointer == nullptr || !__isShared(pointer)) return false;
  const uint64 offset = __cvta_generic_to_shared(pointer);
  uint32 end;
#if __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%aggr_smem_size;" : "=r"(end));
#else
  asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(end));
#endif
#if __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 900
  // From sm_80 on the window begins with memory of the driver, which this size leaves out.
  uint32 reserved;
  asm volatile("mov.u32 %0, %%reserved_smem_offset_cap;" : "=r"(reserved));
  end += reserved;
#endif
  return offset + bytes <= end;
}

/// Load past the first-level cache, which is not coherent between multiprocessors.
AXISFOLD_DEVICE uint32 load_coherent(const uint32* address) { return __ldcg(address); }
AXISFOLD_DEVICE uint8 load_coherent(const uint8* address) { return __ldcg(address); }

// --- thread block clusters, sm_90 and newer ------------------------------------------------------

AXISFOLD_DEVICE uint32 cluster_rank() {
  uint32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

AXISFOLD_DEVICE uint32 cluster_blocks() {
  uint32 count;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  return count;
}

/// Barrier over all threads of the cluster; shared memory written before it is visible after it.
AXISFOLD_DEVICE void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

/// The address of the same shared variable in block `rank` of the cluster.
template <class T>
AXISFOLD_DEVICE const T* cluster_peer(const T* shared, uint32 rank) {
  uint64 address;
  asm volatile("mapa.u64 %0, %1, %2;"
               : "=l"(address)
               : "l"(reinterpret_cast<uint64>(shared)), "r"(rank));
  return reinterpret_cast<const T*>(address);
}

}  // namespace ptx
}  // namespace axisfold
