; SPDX-License-Identifier: Apache-2.0
;
; The host's part of a run: what CPython calls (METH_FASTCALL), and what calls the driver.  Arguments
; are put together on the stack, so that threads need no lock, and the GIL is not held: a launch
; waits where the driver's queue is full.  runtime/cuda/launcher.py writes the records.

; cuCtxGetCurrent, cuCtxPushCurrent, cuCtxPopCurrent, cuLaunchKernel, cuStreamIsCapturing,
; cuStreamGetId; context; launches, the most parameters that one has
%Record = type { ptr, ptr, ptr, ptr, ptr, ptr, i64, i64, i64, ptr }
; function; blocks, threads, bytes of shared memory; parameters: for each the index of an address
; or -1, and a value
%Launch = type { ptr, [7 x i32], i64, ptr }

declare i64 @axisfold_as_mask(ptr)
declare ptr @axisfold_from_long(i64)
declare ptr @axisfold_save_thread()
declare void @axisfold_restore_thread(ptr)

; launch(record, stream, *addresses) -> 0, or a status of the driver and, 2^32 times, the number of
; the launch that it is of; that of no launch is of the context
define ptr @axisfold_launch(ptr %self, ptr %args, i64 %given) nounwind {
entry:
  %context = alloca i64
  %record.object = load ptr, ptr %args
  %record.number = call i64 @axisfold_as_mask(ptr %record.object)
  %record = inttoptr i64 %record.number to ptr
  %stream.place = getelementptr ptr, ptr %args, i64 1
  %stream.object = load ptr, ptr %stream.place
  %stream = call i64 @axisfold_as_mask(ptr %stream.object)
  %count = sub i64 %given, 2
  %addresses = alloca i64, i64 %count
  br label %reading
reading:
  %r = phi i64 [ 0, %entry ], [ %r.next, %read ]
  %r.more = icmp slt i64 %r, %count
  br i1 %r.more, label %read, label %ready
read:
  %r.at = add i64 %r, 2
  %r.place = getelementptr ptr, ptr %args, i64 %r.at
  %r.object = load ptr, ptr %r.place
  %r.value = call i64 @axisfold_as_mask(ptr %r.object)
  %r.target = getelementptr i64, ptr %addresses, i64 %r
  store i64 %r.value, ptr %r.target
  %r.next = add i64 %r, 1
  br label %reading
ready:
  %launches.place = getelementptr %Record, ptr %record, i32 0, i32 7
  %launches = load i64, ptr %launches.place
  %thread = call ptr @axisfold_save_thread()
  %get.current = load ptr, ptr %record
  %got = call i32 %get.current(ptr %context)
  %current = load i64, ptr %context
  %own.place = getelementptr %Record, ptr %record, i32 0, i32 6
  %own = load i64, ptr %own.place
  %is.got = icmp eq i32 %got, 0
  br i1 %is.got, label %compare, label %no.context
compare:
  %is.current = icmp eq i64 %current, %own
  br i1 %is.current, label %run, label %push
push:
  %push.place = getelementptr %Record, ptr %record, i32 0, i32 1
  %push.function = load ptr, ptr %push.place
  %pushed = call i32 %push.function(i64 %own)
  %is.pushed = icmp eq i32 %pushed, 0
  br i1 %is.pushed, label %run, label %no.context
no.context:
  %context.status = phi i32 [ %got, %ready ], [ %pushed, %push ]
  br label %done
run:
  %status.run = call i32 @run(ptr %record, ptr %addresses, i64 %stream, ptr %context)
  %step = load i64, ptr %context
  br i1 %is.current, label %done, label %pop
pop:
  %pop.place = getelementptr %Record, ptr %record, i32 0, i32 2
  %pop.function = load ptr, ptr %pop.place
  %popped = call i32 %pop.function(ptr %context)
  br label %done
done:
  %status = phi i32 [ %context.status, %no.context ], [ %status.run, %run ], [ %status.run, %pop ]
  %at = phi i64 [ %launches, %no.context ], [ %step, %run ], [ %step, %pop ]
  call void @axisfold_restore_thread(ptr %thread)
  %is.good = icmp eq i32 %status, 0
  %at.high = shl i64 %at, 32
  %wide = zext i32 %status to i64
  %both = or i64 %at.high, %wide
  %code = select i1 %is.good, i64 0, i64 %both
  %result = call ptr @axisfold_from_long(i64 %code)
  ret ptr %result
}

; All launches of a record in order; says at %step which one failed.
define internal i32 @run(ptr %record, ptr %addresses, i64 %stream, ptr %step) nounwind {
entry:
  %launch.place = getelementptr %Record, ptr %record, i32 0, i32 3
  %driver = load ptr, ptr %launch.place
  %launches.place = getelementptr %Record, ptr %record, i32 0, i32 7
  %launches = load i64, ptr %launches.place
  %most.place = getelementptr %Record, ptr %record, i32 0, i32 8
  %most = load i64, ptr %most.place
  %first.place = getelementptr %Record, ptr %record, i32 0, i32 9
  %first = load ptr, ptr %first.place
  %values = alloca i64, i64 %most
  %places = alloca ptr, i64 %most
  br label %next
next:
  %n = phi i64 [ 0, %entry ], [ %n.next, %went ]
  %n.next = add i64 %n, 1
  %more = icmp slt i64 %n, %launches
  br i1 %more, label %one, label %end
end:
  ret i32 0
one:
  %launch = getelementptr %Launch, ptr %first, i64 %n
  %count.place = getelementptr %Launch, ptr %launch, i32 0, i32 2
  %count = load i64, ptr %count.place
  %parameters.place = getelementptr %Launch, ptr %launch, i32 0, i32 3
  %parameters = load ptr, ptr %parameters.place
  br label %filling
filling:
  %f = phi i64 [ 0, %one ], [ %f.next, %filled ]
  %f.more = icmp slt i64 %f, %count
  br i1 %f.more, label %fill, label %go
fill:
  %parameter = getelementptr [2 x i64], ptr %parameters, i64 %f
  %which = load i64, ptr %parameter
  %value.place = getelementptr i64, ptr %parameter, i64 1
  %value = load i64, ptr %value.place
  %value.target = getelementptr i64, ptr %values, i64 %f
  %place.target = getelementptr ptr, ptr %places, i64 %f
  store ptr %value.target, ptr %place.target
  %is.value = icmp slt i64 %which, 0
  br i1 %is.value, label %filled, label %address
address:
  %address.place = getelementptr i64, ptr %addresses, i64 %which
  %address.value = load i64, ptr %address.place
  br label %filled
filled:
  %argument = phi i64 [ %value, %fill ], [ %address.value, %address ]
  store i64 %argument, ptr %value.target
  %f.next = add i64 %f, 1
  br label %filling
go:
  %function = load ptr, ptr %launch
$sizes
  %status = call i32 %driver(ptr %function, $arguments, i64 %stream, ptr %places, ptr null)
  %is.good = icmp eq i32 %status, 0
  br i1 %is.good, label %went, label %failed
went:
  br label %next
failed:
  store i64 %n, ptr %step
  ret i32 %status
}

; unique(record, stream) -> the identifier of a stream that no other of the process has, if the
; record's context is current and the stream is not captured; -1 if a closer look is needed
define ptr @axisfold_unique(ptr %self, ptr %args, i64 %given) nounwind {
entry:
  %context = alloca i64
  %captured = alloca i32
  %identifier = alloca i64
  %record.object = load ptr, ptr %args
  %record.number = call i64 @axisfold_as_mask(ptr %record.object)
  %record = inttoptr i64 %record.number to ptr
  %stream.place = getelementptr ptr, ptr %args, i64 1
  %stream.object = load ptr, ptr %stream.place
  %stream = call i64 @axisfold_as_mask(ptr %stream.object)
  %get.current = load ptr, ptr %record
  %got = call i32 %get.current(ptr %context)
  %current = load i64, ptr %context
  %own.place = getelementptr %Record, ptr %record, i32 0, i32 6
  %own = load i64, ptr %own.place
  %is.got = icmp eq i32 %got, 0
  %is.own = icmp eq i64 %current, %own
  %is.current = and i1 %is.got, %is.own
  br i1 %is.current, label %ask, label %unknown
ask:
  %capturing.place = getelementptr %Record, ptr %record, i32 0, i32 4
  %capturing = load ptr, ptr %capturing.place
  %asked = call i32 %capturing(i64 %stream, ptr %captured)
  %state = load i32, ptr %captured
  %both = or i32 %asked, %state
  %is.free = icmp eq i32 %both, 0
  br i1 %is.free, label %name, label %unknown
name:
  %identify.place = getelementptr %Record, ptr %record, i32 0, i32 5
  %identify = load ptr, ptr %identify.place
  %named = call i32 %identify(i64 %stream, ptr %identifier)
  %is.named = icmp eq i32 %named, 0
  br i1 %is.named, label %known, label %unknown
known:
  %found = load i64, ptr %identifier
  br label %answer
unknown:
  br label %answer
answer:
  %result = phi i64 [ %found, %known ], [ -1, %unknown ]
  %object = call ptr @axisfold_from_long(i64 %result)
  ret ptr %object
}

; What CUDA calls when a graph is gone: says so at %flag.
define void @axisfold_gone(ptr %flag) nounwind {
  store atomic i64 1, ptr %flag seq_cst, align 8
  ret void
}
