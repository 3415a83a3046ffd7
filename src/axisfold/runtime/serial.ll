; SPDX-License-Identifier: Apache-2.0
;
; The functions of threads.ll for systems without POSIX threads: loops run on the calling thread.

@error = internal global [3 x ptr] zeroinitializer

define i32 @axisfold_parallel(ptr %function, ptr %context, i64 %rounds, i64 %effort) nounwind {
  %none = icmp sle i64 %rounds, 0
  br i1 %none, label %nothing, label %some
nothing:
  ret i32 0
some:
  %status = call i32 %function(ptr %context, i64 0, i64 %rounds)
  ret i32 %status
}

define i32 @axisfold_resize(i64 %workers) nounwind {
  ret i32 0
}

define i32 @axisfold_set_chunk_work(i64 %work) nounwind {
  ret i32 0
}

define i32 @axisfold_reset(i64 %main) nounwind {
  ret i32 0
}

define i64 @axisfold_workers() nounwind {
  ret i64 0
}

define ptr @axisfold_error() nounwind {
  ret ptr @error
}
