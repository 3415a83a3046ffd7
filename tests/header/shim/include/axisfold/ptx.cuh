// SPDX-License-Identifier: Apache-2.0
// The host's version of the library's one file of inline PTX; it precedes the library on the
// include path.
#pragma once

#include <axisfold/integers.cuh>

namespace axisfold {
namespace ptx {

inline float min_nan(float a, float b) { return a != a ? a : (b != b || b < a ? b : a); }
inline float max_nan(float a, float b) { return a != a ? a : (b != b || b > a ? b : a); }
inline uint16 float_to_half(float) = delete;  // the integer version serves the host
inline float half_to_float(uint16) = delete;

inline bool is_in_shared(const void* pointer, uint32 bytes) {
  return simt::is_in_shared(pointer, bytes);
}
inline uint32 load_coherent(const uint32* address) { return *address; }
inline uint8 load_coherent(const uint8* address) { return *address; }
inline uint32 cluster_rank() { return simt::cluster_rank(); }
inline uint32 cluster_blocks() { return simt::cluster_blocks(); }
inline void cluster_barrier() { simt::cluster_barrier(__FILE__, __LINE__); }
template <class T>
const T* cluster_peer(const T* shared, uint32 rank) {
  return static_cast<const T*>(simt::cluster_peer(shared, rank));
}

}  // namespace ptx
}  // namespace axisfold
