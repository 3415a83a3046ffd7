; SPDX-License-Identifier: Apache-2.0
;
; The thread pool.  Kernels call axisfold_parallel; its workers are threads that never see Python.
; runtime/threads.py fills in the names that begin with a dollar sign and compiles this once.
;
; One loop at a time owns the pool (@busy).  Whoever finds it owned (a loop started from another
; thread of the user, or from inside a loop) runs all its chunks alone, so nothing waits in a
; circle.  @mutex guards @job, @generation, @active and @started.  A worker takes part in a loop
; by counting itself in @active while @job is set; the owner takes @job away and then waits until
; @active is 0, so that the job, which lies on its stack, outlives every use.  A worker that wakes
; up too late finds no job and is not waited for.

; chunk function, context, rounds, rounds of a chunk, number of chunks, next chunk, status,
; time of the last look at signals
%Job = type { ptr, ptr, i64, i64, i64, i64, i32, i64 }
%Time = type { i64, i64 }

@mutex = internal global [128 x i8] zeroinitializer, align 64
@work = internal global [128 x i8] zeroinitializer, align 64
@done = internal global [128 x i8] zeroinitializer, align 64
@job = internal global ptr null
@generation = internal global i64 0
@active = internal global i64 0
@started = internal global i64 0
@wanted = internal global i64 0
@busy = internal global i64 0
@forks = internal global i64 0
@chunk_work = internal global i64 $chunk_work
@main = internal global i64 0
@error = internal global [3 x ptr] zeroinitializer

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_trylock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i64 @pthread_self()
declare i32 @sched_yield()
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @clock_gettime(i32, ptr)
declare i32 @axisfold_gil_ensure()
declare void @axisfold_gil_release(i32)
declare i32 @axisfold_check_signals()
declare void @axisfold_fetch_error(ptr, ptr, ptr)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
$declare_pause
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Share `rounds` rounds, each of about `effort` nanoseconds, among the threads.  Returns 0, or what
; a chunk returned (1: no memory), 2: a signal handler raised, 3: the process forked meanwhile.
define i32 @axisfold_parallel(ptr %function, ptr %context, i64 %rounds, i64 %effort) nounwind {
entry:
  %job = alloca %Job, align 64
  %none = icmp sle i64 %rounds, 0
  br i1 %none, label %nothing, label %some
nothing:
  ret i32 0
some:
  ; The chunks depend on the problem alone, never on the number of threads.
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %rounds, i64 %effort)
  %exact = extractvalue { i64, i1 } %product, 0
  %is.huge = extractvalue { i64, i1 } %product, 1
  %total = select i1 %is.huge, i64 -1, i64 %exact
  %least = load atomic i64, ptr @chunk_work monotonic, align 8
  %threshold = mul i64 %least, $chunks_worth_sharing
  %is.cheap = icmp ult i64 %total, %threshold
  %worth = udiv i64 %total, %least
  %capped = call i64 @llvm.umin.i64(i64 %worth, i64 $most_chunks)
  %parts = call i64 @llvm.umin.i64(i64 %capped, i64 %rounds)
  %is.single = icmp ult i64 %parts, 2
  %is.small = or i1 %is.cheap, %is.single
  br i1 %is.small, label %small, label %large
small:
  %status.small = tail call i32 %function(ptr %context, i64 0, i64 %rounds)
  ret i32 %status.small
large:
  %rest = urem i64 %rounds, %parts
  %is.uneven = icmp ne i64 %rest, 0
  %even = udiv i64 %rounds, %parts
  %one.more = zext i1 %is.uneven to i64
  %size = add i64 %even, %one.more
  %full = udiv i64 %rounds, %size
  %used = mul i64 %full, %size
  %has.tail = icmp ne i64 %used, %rounds
  %tail = zext i1 %has.tail to i64
  %chunks = add i64 %full, %tail
  %job.context = getelementptr %Job, ptr %job, i32 0, i32 1
  %job.rounds = getelementptr %Job, ptr %job, i32 0, i32 2
  %job.size = getelementptr %Job, ptr %job, i32 0, i32 3
  %job.chunks = getelementptr %Job, ptr %job, i32 0, i32 4
  %job.next = getelementptr %Job, ptr %job, i32 0, i32 5
  %job.status = getelementptr %Job, ptr %job, i32 0, i32 6
  %job.looked = getelementptr %Job, ptr %job, i32 0, i32 7
  store ptr %function, ptr %job
  store ptr %context, ptr %job.context
  store i64 %rounds, ptr %job.rounds
  store i64 %size, ptr %job.size
  store i64 %chunks, ptr %job.chunks
  store i64 0, ptr %job.next
  store i32 0, ptr %job.status
  ; Signal handlers run in Python's main thread, so only that looks for them.
  %self = call i64 @pthread_self()
  %main = load atomic i64, ptr @main monotonic, align 8
  %is.main = icmp eq i64 %self, %main
  %start = call i64 @now()
  store i64 %start, ptr %job.looked
  %wanted = load atomic i64, ptr @wanted monotonic, align 8
  %is.alone = icmp eq i64 %wanted, 0
  br i1 %is.alone, label %alone, label %claim
claim:
  %claimed = cmpxchg ptr @busy, i64 0, i64 1 acquire monotonic
  %is.mine = extractvalue { i64, i1 } %claimed, 1
  br i1 %is.mine, label %share, label %alone
alone:
  call void @take(ptr %job, i1 %is.main)
  br label %finish
share:
  %forks.before = load atomic i64, ptr @forks monotonic, align 8
  call void @open(ptr %job)
  call void @take(ptr %job, i1 %is.main)
  call void @close(ptr %job, i1 %is.main)
  store atomic i64 0, ptr @busy release, align 8
  ; In the child of a fork the workers, and with them the chunks that they had taken, are gone.
  %forks.after = load atomic i64, ptr @forks monotonic, align 8
  %has.forked = icmp ne i64 %forks.before, %forks.after
  br i1 %has.forked, label %lost, label %finish
lost:
  ret i32 3
finish:
  %status = load atomic i32, ptr %job.status acquire, align 4
  ret i32 %status
}

; Run chunks until none is left.  `polls`: look for signals between chunks.
define internal void @take(ptr %job, i1 %polls) nounwind {
entry:
  %job.context = getelementptr %Job, ptr %job, i32 0, i32 1
  %job.rounds = getelementptr %Job, ptr %job, i32 0, i32 2
  %job.size = getelementptr %Job, ptr %job, i32 0, i32 3
  %job.chunks = getelementptr %Job, ptr %job, i32 0, i32 4
  %job.next = getelementptr %Job, ptr %job, i32 0, i32 5
  %function = load ptr, ptr %job
  %context = load ptr, ptr %job.context
  %rounds = load i64, ptr %job.rounds
  %size = load i64, ptr %job.size
  %chunks = load i64, ptr %job.chunks
  br label %next
next:
  %number = atomicrmw add ptr %job.next, i64 1 monotonic
  %is.left = icmp ult i64 %number, %chunks
  br i1 %is.left, label %run, label %leave
run:
  %begin = mul i64 %number, %size
  %full = add i64 %begin, %size
  %end = call i64 @llvm.umin.i64(i64 %full, i64 %rounds)
  %status = call i32 %function(ptr %context, i64 %begin, i64 %end)
  %is.fine = icmp eq i32 %status, 0
  br i1 %is.fine, label %after, label %failed
failed:
  call void @stop(ptr %job, i32 %status)
  br label %leave
after:
  br i1 %polls, label %look, label %next
look:
  call void @poll(ptr %job)
  br label %next
leave:
  ret void
}

; Remember the first error, and leave no chunk to take.
define internal void @stop(ptr %job, i32 %status) nounwind {
  %job.chunks = getelementptr %Job, ptr %job, i32 0, i32 4
  %job.next = getelementptr %Job, ptr %job, i32 0, i32 5
  %job.status = getelementptr %Job, ptr %job, i32 0, i32 6
  %previous = cmpxchg ptr %job.status, i32 0, i32 %status acq_rel monotonic
  %chunks = load i64, ptr %job.chunks
  store atomic i64 %chunks, ptr %job.next monotonic, align 8
  ret void
}

; Every 50 ms, let Python run signal handlers; what one raises waits in @error.
define internal void @poll(ptr %job) nounwind {
entry:
  %job.looked = getelementptr %Job, ptr %job, i32 0, i32 7
  %now = call i64 @now()
  %before = load i64, ptr %job.looked
  %passed = sub i64 %now, %before
  %is.due = icmp uge i64 %passed, $poll_ns
  br i1 %is.due, label %look, label %leave
look:
  store i64 %now, ptr %job.looked
  %state = call i32 @axisfold_gil_ensure()
  %raised = call i32 @axisfold_check_signals()
  %is.fine = icmp eq i32 %raised, 0
  br i1 %is.fine, label %release, label %interrupted
interrupted:
  %value = getelementptr [3 x ptr], ptr @error, i32 0, i32 1
  %trace = getelementptr [3 x ptr], ptr @error, i32 0, i32 2
  call void @axisfold_fetch_error(ptr @error, ptr %value, ptr %trace)
  call void @stop(ptr %job, i32 2)
  br label %release
release:
  call void @axisfold_gil_release(i32 %state)
  br label %leave
leave:
  ret void
}

; Give the workers a job: those that are missing are started, as many as have a chunk are woken.
define internal void @open(ptr %job) nounwind {
entry:
  %job.chunks = getelementptr %Job, ptr %job, i32 0, i32 4
  %chunks = load i64, ptr %job.chunks
  %helpers = sub i64 %chunks, 1
  call void @acquire()
  %wanted = load atomic i64, ptr @wanted monotonic, align 8
  %needed = call i64 @llvm.umin.i64(i64 %helpers, i64 %wanted)
  store ptr %job, ptr @job
  %generation = load atomic i64, ptr @generation monotonic, align 8
  %following = add i64 %generation, 1
  store atomic i64 %following, ptr @generation monotonic, align 8
  br label %more
more:
  %started = load i64, ptr @started
  %is.missing = icmp ult i64 %started, %needed
  br i1 %is.missing, label %start, label %wake
start:
  ; A machine that has no thread to give is no error: the others do the work.
  %is.started = call i1 @start()
  br i1 %is.started, label %more, label %wake
wake:
  %are.all = icmp uge i64 %needed, %wanted
  br i1 %are.all, label %all, label %some
all:
  %broadcast = call i32 @pthread_cond_broadcast(ptr @work)
  br label %leave
some:
  %count = phi i64 [ 0, %wake ], [ %count.next, %some ]
  %signalled = call i32 @pthread_cond_signal(ptr @work)
  %count.next = add i64 %count, 1
  %go.on = icmp ult i64 %count.next, %needed
  br i1 %go.on, label %some, label %leave
leave:
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

; Take the job away and wait for the workers that are still at it: awake for a moment, since they
; are about to end and a wake-up costs more than their last chunk, then asleep.
define internal void @close(ptr %job, i1 %polls) nounwind {
entry:
  %deadline = alloca %Time, align 8
  call void @acquire()
  store ptr null, ptr @job
  %still = load atomic i64, ptr @active monotonic, align 8
  %is.done = icmp eq i64 %still, 0
  br i1 %is.done, label %leave, label %linger
linger:
  %let.go = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @spin(ptr @active, i64 0, i1 true)
  call void @acquire()
  br label %check
check:
  %active = load atomic i64, ptr @active monotonic, align 8
  %is.over = icmp eq i64 %active, 0
  br i1 %is.over, label %leave, label %wait
wait:
  br i1 %polls, label %timed, label %untimed
untimed:
  %waited = call i32 @pthread_cond_wait(ptr @done, ptr @mutex)
  br label %check
timed:
  %clock = call i32 @clock_gettime(i32 0, ptr %deadline)
  %nano = getelementptr %Time, ptr %deadline, i32 0, i32 1
  %nanoseconds = load i64, ptr %nano
  %later = add i64 %nanoseconds, $poll_ns
  %carry = udiv i64 %later, 1000000000
  %below = urem i64 %later, 1000000000
  %seconds = load i64, ptr %deadline
  %carried = add i64 %seconds, %carry
  store i64 %carried, ptr %deadline
  store i64 %below, ptr %nano
  %until = call i32 @pthread_cond_timedwait(ptr @done, ptr @mutex, ptr %deadline)
  %in.time = icmp eq i32 %until, 0
  br i1 %in.time, label %check, label %look
look:
  ; Not under the mutex: a signal handler may call a kernel of its own.
  %opened = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @poll(ptr %job)
  call void @acquire()
  br label %check
leave:
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

; Start one worker, with all signals blocked so that Python's threads get them.  Under @mutex.
define internal i1 @start() nounwind {
entry:
  %attributes = alloca [128 x i8], align 64
  %signals = alloca [128 x i8], align 64
  %previous = alloca [128 x i8], align 64
  %thread = alloca i64, align 8
  %made = call i32 @pthread_attr_init(ptr %attributes)
  %sized = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 $stack_bytes)
  %filled = call i32 @sigfillset(ptr %signals)
  %blocked = call i32 @pthread_sigmask(i32 $sig_setmask, ptr %signals, ptr %previous)
  %created = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @worker, ptr null)
  %restored = call i32 @pthread_sigmask(i32 $sig_setmask, ptr %previous, ptr null)
  %gone = call i32 @pthread_attr_destroy(ptr %attributes)
  %is.created = icmp eq i32 %created, 0
  br i1 %is.created, label %count, label %leave
count:
  %handle = load i64, ptr %thread
  %detached = call i32 @pthread_detach(i64 %handle)
  %started = load i64, ptr @started
  %more = add i64 %started, 1
  store i64 %more, ptr @started
  br label %leave
leave:
  ret i1 %is.created
}

define internal ptr @worker(ptr %unused) nounwind {
entry:
  call void @acquire()
  br label %check
check:
  %seen = phi i64 [ -1, %entry ], [ %seen, %wait ], [ %generation, %ran ]
  %started = load i64, ptr @started
  %wanted = load atomic i64, ptr @wanted monotonic, align 8
  %are.many = icmp ugt i64 %started, %wanted
  br i1 %are.many, label %leave, label %choose
choose:
  %generation = load atomic i64, ptr @generation monotonic, align 8
  %job = load ptr, ptr @job
  %is.new = icmp ne i64 %generation, %seen
  %is.job = icmp ne ptr %job, null
  %is.mine = and i1 %is.new, %is.job
  br i1 %is.mine, label %run, label %missed
missed:
  ; Who wakes up too late for a loop is awake for the next one.
  br i1 %is.new, label %ran, label %wait
wait:
  %waited = call i32 @pthread_cond_wait(ptr @work, ptr @mutex)
  br label %check
run:
  %active = load atomic i64, ptr @active monotonic, align 8
  %with.me = add i64 %active, 1
  store atomic i64 %with.me, ptr @active monotonic, align 8
  %opened = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @take(ptr %job, i1 false)
  call void @acquire()
  %others = load atomic i64, ptr @active monotonic, align 8
  %without.me = sub i64 %others, 1
  store atomic i64 %without.me, ptr @active monotonic, align 8
  %is.last = icmp eq i64 %without.me, 0
  br i1 %is.last, label %tell, label %ran
tell:
  %told = call i32 @pthread_cond_signal(ptr @done)
  br label %ran
ran:
  ; One loop is often followed by the next, and waking up takes longer than many a loop.
  %let.go = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @spin(ptr @generation, i64 %generation, i1 false)
  call void @acquire()
  br label %check
leave:
  %fewer = sub i64 %started, 1
  store i64 %fewer, ptr @started
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret ptr null
}

; Wait awake until a number is `value`, or (`until` is false) is not, but not for long.  Now and then
; another thread may run: a worker often wakes up on the processor of its caller.
define internal void @spin(ptr %number, i64 %value, i1 %until) nounwind {
entry:
  %start = call i64 @now()
  br label %look
look:
  %turn = phi i64 [ 0, %entry ], [ %turn.next, %again ], [ 0, %give ]
  %turn.next = add i64 %turn, 1
  %seen = load atomic i64, ptr %number monotonic, align 8
  %is.equal = icmp eq i64 %seen, %value
  %is.there = icmp eq i1 %is.equal, %until
  br i1 %is.there, label %leave, label %more
more:
  $pause
  %now = call i64 @now()
  %passed = sub i64 %now, %start
  %is.long = icmp uge i64 %passed, $spin_ns
  br i1 %is.long, label %leave, label %again
again:
  %is.turn = icmp uge i64 %turn, $yield_turns
  br i1 %is.turn, label %give, label %look
give:
  %given = call i32 @sched_yield()
  br label %look
leave:
  ret void
}

; Take the mutex.  Whoever has it gives it back in less time than falling asleep takes.
define internal void @acquire() nounwind {
entry:
  br label %try
try:
  %count = phi i64 [ 0, %entry ], [ %more, %again ]
  %refused = call i32 @pthread_mutex_trylock(ptr @mutex)
  %is.mine = icmp eq i32 %refused, 0
  br i1 %is.mine, label %leave, label %again
again:
  $pause
  %more = add i64 %count, 1
  %is.long = icmp uge i64 %more, $lock_tries
  br i1 %is.long, label %block, label %try
block:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %leave
leave:
  ret void
}

define internal i64 @now() nounwind {
  %time = alloca %Time, align 8
  %read = call i32 @clock_gettime(i32 $clock_monotonic, ptr %time)
  %seconds = load i64, ptr %time
  %nano = getelementptr %Time, ptr %time, i32 0, i32 1
  %below = load i64, ptr %nano
  %above = mul i64 %seconds, 1000000000
  %sum = add i64 %above, %below
  ret i64 %sum
}

; How many workers there may be from now on; they are started when a loop needs them.
define i32 @axisfold_resize(i64 %workers) nounwind {
  call void @acquire()
  store atomic i64 %workers, ptr @wanted monotonic, align 8
  %woken = call i32 @pthread_cond_broadcast(ptr @work)
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret i32 0
}

; From how much work on a loop is worth a chunk of its own.
define i32 @axisfold_set_chunk_work(i64 %work) nounwind {
  store atomic i64 %work, ptr @chunk_work monotonic, align 8
  ret i32 0
}

; Begin anew, at first and in the child of a fork, where no worker is left and the mutex may be
; held by one that is gone.
define i32 @axisfold_reset(i64 %main) nounwind {
  call void @llvm.memset.p0.i64(ptr align 64 @mutex, i8 0, i64 128, i1 false)
  call void @llvm.memset.p0.i64(ptr align 64 @work, i8 0, i64 128, i1 false)
  call void @llvm.memset.p0.i64(ptr align 64 @done, i8 0, i64 128, i1 false)
  %mutex = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %work = call i32 @pthread_cond_init(ptr @work, ptr null)
  %done = call i32 @pthread_cond_init(ptr @done, ptr null)
  store ptr null, ptr @job
  store atomic i64 0, ptr @active monotonic, align 8
  store i64 0, ptr @started
  store atomic i64 %main, ptr @main monotonic, align 8
  %forks = load atomic i64, ptr @forks monotonic, align 8
  %more = add i64 %forks, 1
  store atomic i64 %more, ptr @forks monotonic, align 8
  store atomic i64 0, ptr @busy release, align 8
  ret i32 0
}

; How many workers live now.
define i64 @axisfold_workers() nounwind {
  call void @acquire()
  %started = load i64, ptr @started
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret i64 %started
}

; What a signal handler raised, as three references that the caller owns.
define ptr @axisfold_error() nounwind {
  ret ptr @error
}
