// SPDX-License-Identifier: Apache-2.0
// A SIMT machine on the host. Every CUDA thread is a fibre; a block runs on one host thread, so
// thread-local variables are its shared memory. Fibres switch only at barriers and shuffles, in an
// order that the caller picks: a result that depends on the order betrays a missing barrier.

#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <condition_variable>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace simt {

struct uint3 {
  unsigned x, y, z;
};
struct Thread {
  uint3 thread, block, block_dim, grid_dim;
};
enum class Exchange : int { index, down, up, xor_, ballot, sync };
using Thunk = void (*)(void** arguments);

namespace {

enum class State { ready, at_barrier, at_exchange, at_cluster_barrier, returned };

struct Site {
  const char* file = nullptr;
  int line = 0;
  bool operator==(const Site& other) const {
    return line == other.line && std::strcmp(file, other.file) == 0;
  }
  std::string text() const {
    const char* base = std::strrchr(file, '/');
    return std::string(base != nullptr ? base + 1 : file) + ":" + std::to_string(line);
  }
};

struct Fibre {
  Thread self{};
  ucontext_t context{};
  State state = State::ready;
  Site site;
  Exchange kind = Exchange::sync;
  unsigned mask = 0;
  int argument = 0;
  int width = 32;
  std::uint64_t value = 0;
};

struct TlsBlock {
  char* first = nullptr;
  std::size_t size = 0;
};

struct FindTls {
  std::uintptr_t code;
  TlsBlock found;
};

// The thread-local block of the kernel's library, which holds its __shared__ variables.
int find_tls(dl_phdr_info* info, std::size_t, void* data) {
  auto* query = static_cast<FindTls*>(data);
  bool is_mine = false;
  std::size_t size = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const std::uintptr_t first = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && query->code - first < header.p_memsz) is_mine = true;
    if (header.p_type == PT_TLS) size = header.p_memsz;
  }
  if (!is_mine) return 0;
  query->found = {static_cast<char*>(info->dlpi_tls_data), size};
  return 1;
}

// What all blocks of a launch share.
struct Launch {
  Thunk thunk;
  void** arguments;
  char* (*anchor)();
  uint3 grid, block;
  unsigned cluster;
  unsigned order;
  std::mutex mutex;
  std::condition_variable changed;
  std::string fault;
  std::vector<TlsBlock> peers;  // of the running cluster, by rank
  unsigned arrived = 0;
  unsigned finished = 0;
  unsigned generation = 0;

  void fail(const std::string& message) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (fault.empty()) fault = message;
    changed.notify_all();
  }
};

constexpr std::size_t stack_bytes = 64 * 1024;

class Stacks {
 public:
  char* get(std::size_t index) {
    while (stacks_.size() <= index) {
      void* memory = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      stacks_.push_back(static_cast<char*>(memory));
    }
    return stacks_[index];
  }
  ~Stacks() {
    for (char* stack : stacks_) munmap(stack, stack_bytes);
  }

 private:
  std::vector<char*> stacks_;
};

class Block;
thread_local Block* running = nullptr;
thread_local Stacks stacks;
thread_local std::string last_report;

class Block {
 public:
  Block(Launch& launch, uint3 index, unsigned rank) : launch_(launch), rank_(rank) {
    const uint3 dim = launch.block;
    fibres_.resize(std::size_t(dim.x) * dim.y * dim.z);
    std::size_t i = 0;
    for (unsigned z = 0; z < dim.z; ++z)
      for (unsigned y = 0; y < dim.y; ++y)
        for (unsigned x = 0; x < dim.x; ++x)
          fibres_[i++].self = {{x, y, z}, index, launch.block, launch.grid};
    random_ = launch.order * 2654435761u + 12345u + index.x * 97u + index.y * 31u + index.z;
  }

  void run() {
    running = this;
    launch_.anchor();
    FindTls query{reinterpret_cast<std::uintptr_t>(launch_.thunk), {}};
    dl_iterate_phdr(find_tls, &query);
    shared_ = query.found;
    // Shared memory starts undefined; all bits set is a NaN for floats and -1 for integers.
    std::memset(shared_.first, 0xff, shared_.size);
    if (launch_.cluster > 1) {
      {
        const std::lock_guard<std::mutex> lock(launch_.mutex);
        launch_.peers[rank_] = shared_;
      }
      wait_for_cluster();  // every peer's shared memory exists from here on
    }
    for (std::size_t i = 0; i < fibres_.size(); ++i) start(i);
    schedule();
    running = nullptr;
  }

  Fibre& current() { return fibres_[current_]; }
  TlsBlock shared() const { return shared_; }
  Launch& launch() { return launch_; }
  unsigned rank() const { return rank_; }

  [[noreturn]] void fail(const std::string& message) {
    const uint3 t = current().self.thread;
    const uint3 b = current().self.block;
    char where[160];
    std::snprintf(where, sizeof where, " [block (%u, %u, %u), thread (%u, %u, %u)]", b.x, b.y, b.z,
                  t.x, t.y, t.z);
    launch_.fail(message + where);
    stopped_ = true;
    swapcontext(&current().context, &scheduler_);
    __builtin_unreachable();
  }

  int barrier(int predicate, Site site) {
    Fibre& me = current();
    for (const Fibre& other : fibres_) {
      if (other.state == State::returned) {
        fail("divergent barrier: thread " + name(other) + " returned before the barrier at " +
             site.text());
      }
      if (other.state == State::at_barrier && !(other.site == site)) {
        fail("divergent barrier: thread " + name(other) + " waits at " + other.site.text() +
             ", this thread at " + site.text());
      }
    }
    votes_[phase_ & 1] |= predicate;
    const unsigned phase = phase_;
    if (++waiting_ == fibres_.size()) {
      waiting_ = 0;
      ++phase_;
      votes_[phase_ & 1] = 0;
      for (Fibre& other : fibres_) {
        if (other.state == State::at_barrier) other.state = State::ready;
      }
    } else {
      block(State::at_barrier, me, site);
    }
    return votes_[phase & 1];
  }

  void cluster_barrier(Site site) { block(State::at_cluster_barrier, current(), site); }

  std::uint64_t exchange(Exchange kind, unsigned mask, std::uint64_t value, int argument, int width,
                         Site site) {
    Fibre& me = current();
    const std::size_t warp_first = current_ - current_ % 32;
    const unsigned lane = static_cast<unsigned>(current_ - warp_first);
    if ((mask >> lane & 1u) == 0) {
      fail("shuffle at " + site.text() + ": the mask does not name the calling lane " +
           std::to_string(lane));
    }
    me.kind = kind;
    me.mask = mask;
    me.value = value;
    me.argument = argument;
    me.width = width;
    bool complete = true;
    for (unsigned other_lane = 0; other_lane < 32; ++other_lane) {
      if ((mask >> other_lane & 1u) == 0 || other_lane == lane) continue;
      if (warp_first + other_lane >= fibres_.size()) {
        fail("shuffle at " + site.text() + ": the mask names lane " + std::to_string(other_lane) +
             ", which the block does not have");
      }
      const Fibre& other = fibres_[warp_first + other_lane];
      if (other.state == State::returned) {
        fail("shuffle at " + site.text() + ": the mask names lane " + std::to_string(other_lane) +
             ", which has returned");
      }
      if (other.state != State::at_exchange) {
        complete = false;
      } else if (other.mask != mask || other.kind != kind || !(other.site == site)) {
        fail("divergent shuffle: lane " + std::to_string(other_lane) + " waits at " +
             other.site.text() + " with another mask or operation than this lane at " +
             site.text());
      }
    }
    if (!complete) {
      block(State::at_exchange, me, site);
      return me.value;
    }
    deliver(warp_first, mask, site);
    return me.value;
  }

 private:
  static void enter(unsigned low, unsigned high) {
    auto* block = reinterpret_cast<Block*>((std::uint64_t(high) << 32) | low);
    block->launch_.thunk(block->launch_.arguments);
    block->leave();
  }

  void start(std::size_t index) {
    Fibre& fibre = fibres_[index];
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = stacks.get(index);
    fibre.context.uc_stack.ss_size = stack_bytes;
    fibre.context.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uint64_t>(this);
    makecontext(&fibre.context, reinterpret_cast<void (*)()>(&Block::enter), 2,
                static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
  }

  void leave() {
    Fibre& me = current();
    const std::size_t warp = current_ / 32;
    for (std::size_t i = 0; i < fibres_.size(); ++i) {
      const Fibre& other = fibres_[i];
      if (other.state == State::at_barrier) {
        fail("divergent barrier: this thread returned while thread " + name(other) + " waits at " +
             other.site.text());
      }
      if (other.state == State::at_exchange && i / 32 == warp && other.mask >> current_ % 32 & 1u) {
        fail("shuffle at " + other.site.text() + ": the mask names lane " +
             std::to_string(current_ % 32) + ", which has returned");
      }
    }
    me.state = State::returned;
    swapcontext(&me.context, &scheduler_);
  }

  void block(State state, Fibre& fibre, Site site) {
    fibre.state = state;
    fibre.site = site;
    swapcontext(&fibre.context, &scheduler_);
  }

  // Gives every lane of the mask its result. A lane that has not been resumed keeps it in `value`.
  void deliver(std::size_t warp_first, unsigned mask, Site site) {
    std::uint64_t values[32];
    unsigned ballot = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1u) == 0) continue;
      values[lane] = fibres_[warp_first + lane].value;
      ballot |= unsigned(values[lane] != 0) << lane;
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1u) == 0) continue;
      Fibre& fibre = fibres_[warp_first + lane];
      if (fibre.kind == Exchange::ballot) {
        fibre.value = ballot;
      } else if (fibre.kind != Exchange::sync) {
        const unsigned source = source_lane(fibre, lane);
        if ((mask >> source & 1u) == 0) {
          fail("shuffle at " + site.text() + ": lane " + std::to_string(lane) + " reads lane " +
               std::to_string(source) + ", which the mask does not name");
        }
        fibre.value = values[source];
      }
      if (fibre.state == State::at_exchange) fibre.state = State::ready;
    }
  }

  // Source: CUDA C++ Programming Guide, warp shuffle functions.
  static unsigned source_lane(const Fibre& fibre, unsigned lane) {
    const unsigned width = static_cast<unsigned>(fibre.width);
    const unsigned first = lane / width * width;
    const unsigned argument = static_cast<unsigned>(fibre.argument);
    unsigned source = lane;
    switch (fibre.kind) {
      case Exchange::index:
        source = first + argument % width;
        break;
      case Exchange::down:
        source = lane + argument;
        break;
      case Exchange::up:
        source = lane - argument;
        break;
      case Exchange::xor_:
        source = lane ^ argument;
        break;
      default:
        break;
    }
    return source >= first && source < first + width ? source : lane;
  }

  void resume(std::size_t index) {
    current_ = index;
    swapcontext(&scheduler_, &fibres_[index].context);
  }

  // Runs one warp for as long as it can, lanes in turn. Returns whether anything ran.
  bool run_warp(std::size_t warp) {
    bool ran = false;
    for (bool again = true; again && !stopped_;) {
      again = false;
      const std::size_t end = std::min(fibres_.size(), warp * 32 + 32);
      for (std::size_t i = warp * 32; i < end && !stopped_; ++i) {
        if (fibres_[i].state != State::ready) continue;
        resume(i);
        again = ran = true;
      }
    }
    return ran;
  }

  // One turn of all threads. An unfair order lets one warp run ahead up to the next barrier that
  // holds it, while others have not moved yet: that is where a missing barrier shows.
  bool run_turn() {
    const std::size_t warps = (fibres_.size() + 31) / 32;
    bool ran = false;
    switch (launch_.order) {
      case 0:  // the last warp runs ahead
        for (std::size_t left = warps; left > 0 && !stopped_;) {
          const unsigned phase = phase_;
          ran |= run_warp(--left);
          if (phase != phase_) left = warps;
        }
        break;
      case 1:  // the first warp runs ahead
        for (std::size_t warp = 0; warp < warps && !stopped_;) {
          const unsigned phase = phase_;
          ran |= run_warp(warp++);
          if (phase != phase_) warp = 0;
        }
        break;
      default:  // lanes at random
        sequence_.resize(fibres_.size());
        for (std::size_t i = 0; i < sequence_.size(); ++i) sequence_[i] = i;
        for (std::size_t i = sequence_.size(); i > 1; --i) {
          random_ = random_ * 1664525u + 1013904223u;
          std::swap(sequence_[i - 1], sequence_[(random_ >> 8) % i]);
        }
        for (const std::size_t i : sequence_) {
          if (stopped_) break;
          if (fibres_[i].state != State::ready) continue;
          resume(i);
          ran = true;
        }
    }
    return ran;
  }

  void schedule() {
    for (;;) {
      const bool ran = run_turn();
      if (stopped_) return;
      std::size_t returned = 0;
      std::size_t clustered = 0;
      for (const Fibre& fibre : fibres_) {
        returned += fibre.state == State::returned;
        clustered += fibre.state == State::at_cluster_barrier;
      }
      if (returned == fibres_.size()) break;
      if (clustered == fibres_.size()) {
        if (!wait_for_cluster()) return;
        for (Fibre& fibre : fibres_) fibre.state = State::ready;
      } else if (!ran) {
        launch_.fail(deadlock());
        return;
      }
    }
    const std::lock_guard<std::mutex> lock(launch_.mutex);
    ++launch_.finished;
    if (launch_.arrived > 0 && launch_.fault.empty()) {
      launch_.fault = "divergent cluster barrier: a block returned while another one waits";
    }
    launch_.changed.notify_all();
  }

  bool wait_for_cluster() {
    std::unique_lock<std::mutex> lock(launch_.mutex);
    if (launch_.finished > 0 && launch_.fault.empty()) {
      launch_.fault = "divergent cluster barrier: a block of the cluster has returned";
    }
    const unsigned generation = launch_.generation;
    if (++launch_.arrived == launch_.cluster) {
      launch_.arrived = 0;
      ++launch_.generation;
      launch_.changed.notify_all();
    }
    launch_.changed.wait(
        lock, [&] { return launch_.generation != generation || !launch_.fault.empty(); });
    return launch_.fault.empty();
  }

  std::string deadlock() const {
    for (std::size_t i = 0; i < fibres_.size(); ++i) {
      const Fibre& fibre = fibres_[i];
      if (fibre.state != State::at_exchange) continue;
      for (unsigned lane = 0; lane < 32; ++lane) {
        const std::size_t other = i - i % 32 + lane;
        if ((fibre.mask >> lane & 1u) == 0 || fibres_[other].state == State::at_exchange) continue;
        return "divergent shuffle: lane " + std::to_string(i % 32) + " waits at " +
               fibre.site.text() + " for lane " + std::to_string(lane) + ", which waits at " +
               fibres_[other].site.text();
      }
    }
    return "divergent barrier: the threads of the block wait for each other";
  }

  static std::string name(const Fibre& fibre) {
    const uint3 t = fibre.self.thread;
    return "(" + std::to_string(t.x) + ", " + std::to_string(t.y) + ", " + std::to_string(t.z) +
           ")";
  }

  Launch& launch_;
  unsigned rank_;
  std::vector<Fibre> fibres_;
  ucontext_t scheduler_{};
  TlsBlock shared_;
  std::size_t current_ = 0;
  std::size_t waiting_ = 0;
  unsigned phase_ = 0;
  int votes_[2] = {0, 0};
  unsigned random_ = 0;
  std::vector<std::size_t> sequence_;
  bool stopped_ = false;
};

}  // namespace

const Thread& here() { return running->current().self; }
void block_barrier(const char* file, int line) { running->barrier(0, {file, line}); }
int block_barrier_or(int predicate, const char* file, int line) {
  return running->barrier(predicate, {file, line});
}
std::uint64_t warp_exchange(Exchange kind, unsigned mask, std::uint64_t value, int argument,
                            int width, const char* file, int line) {
  return running->exchange(kind, mask, value, argument, width, {file, line});
}
void report(const char* format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  last_report = text;
}
[[noreturn]] void trap(const char* file, int line) {
  running->fail("trap at " + Site{file, line}.text() + ": " + last_report);
}
bool is_in_shared(const void* pointer, unsigned bytes) {
  const TlsBlock shared = running->shared();
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - shared.first);
  return pointer != nullptr && offset + bytes <= shared.size && offset < shared.size;
}
unsigned cluster_rank() { return running->rank(); }
unsigned cluster_blocks() { return running->launch().cluster; }
void cluster_barrier(const char* file, int line) { running->cluster_barrier({file, line}); }
const void* cluster_peer(const void* shared, unsigned rank) {
  if (running->launch().cluster == 1) return shared;
  const auto offset = static_cast<const char*>(shared) - running->shared().first;
  return running->launch().peers[rank].first + offset;
}

}  // namespace simt

// Runs a launch to its end. Returns 0, or 1 with the reason of the fault in `message`.
extern "C" int simt_launch(simt::Thunk thunk, char* (*anchor)(), void** arguments,
                           const unsigned* grid, const unsigned* block, unsigned cluster,
                           unsigned order, char* message, std::size_t message_bytes) {
  simt::Launch launch;
  launch.thunk = thunk;
  launch.anchor = anchor;
  launch.arguments = arguments;
  launch.grid = {grid[0], grid[1], grid[2]};
  launch.block = {block[0], block[1], block[2]};
  launch.cluster = cluster;
  launch.order = order;
  const unsigned blocks = grid[0] * grid[1] * grid[2];
  for (unsigned step = 0; step < blocks && launch.fault.empty(); step += cluster) {
    const unsigned first = order == 0 ? blocks - cluster - step : step;
    const auto run = [&](unsigned rank) {
      const unsigned linear = first + rank;
      const simt::uint3 index = {linear % grid[0], linear / grid[0] % grid[1],
                                 linear / grid[0] / grid[1]};
      simt::Block(launch, index, rank).run();
    };
    if (cluster == 1) {
      run(0);
      launch.finished = 0;
      continue;
    }
    launch.peers.assign(cluster, {});
    launch.arrived = launch.finished = 0;
    std::vector<std::thread> threads;
    for (unsigned rank = 0; rank < cluster; ++rank) threads.emplace_back(run, rank);
    for (std::thread& thread : threads) thread.join();
  }
  std::snprintf(message, message_bytes, "%s", launch.fault.c_str());
  return launch.fault.empty() ? 0 : 1;
}
