; SPDX-License-Identifier: Apache-2.0
;
; The entry of a function of one NumPy array: what CPython calls (METH_FASTCALL | METH_KEYWORDS).
; A call that looks like one seen before, f(x), f(x, axis) or with axis= and keepdims=, where axis
; is None, an integer or a tuple of integers, is looked up, its result allocated and the kernel run without any Python code; everything else, also
; whatever is wrong, goes to the Python function.  runtime/entry.py fills in the names that begin
; with a dollar sign, writes the records, and checks that the objects lie in memory as is read here.
;
; The GIL is held but while a kernel runs that is not short: it guards the records.

; Python function, how many arguments may be given by position, the last records of the buckets, by
; hash, and what raises the error of a signal handler
%State = type { ptr, i64, [$buckets x ptr], ptr }
; next record; descr, nd, axis, keepdims; kernel, arguments, inputs, index of the first output,
; outputs; nd of the result or -1 for a scalar, its descr; shape, strides, shape of the result;
; arguments: offsets from the input or the output, or values; what keeps the code of a kernel that is
; not short
%Record = type { ptr, ptr, i64, i64, i64, ptr, i64, i64, i64, i64, i64, ptr,
                 [$most_axes x i64], [$most_axes x i64], [$most_axes x i64],
                 [$most_arguments x i64], ptr }

declare ptr @axisfold_vectorcall(ptr, ptr, i64, ptr)
declare i64 @axisfold_as_long(ptr)
declare ptr @axisfold_error_occurred()
declare void @axisfold_error_clear()
declare void @axisfold_release(ptr)
declare void @axisfold_retain(ptr)
declare ptr @axisfold_save_thread()
declare void @axisfold_restore_thread(ptr)
declare ptr @axisfold_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @axisfold_new_scalar(ptr, ptr, ptr)

; $constants: addresses of objects that live as long as the process
@array.type = internal global ptr null
@long.type = internal global ptr null
@none = internal global ptr null
@true = internal global ptr null
@false = internal global ptr null
@tuple.type = internal global ptr null
@axis.name = internal global ptr null
@keepdims.name = internal global ptr null

define void @axisfold_entry_objects(ptr %objects) nounwind {
$store_objects
  ret void
}

define internal i64 @mixed(i64 %hash, i64 %value) alwaysinline nounwind {
  %joined = xor i64 %hash, %value
  %spread = mul i64 %joined, -7046029254386353131
  %high = lshr i64 %spread, 29
  %result = xor i64 %spread, %high
  ret i64 %result
}

define internal ptr @call(ptr %state, ptr %args, i64 %given, ptr %names) nounwind {
entry:
  %number = alloca [4 x i64], align 32
  %arguments = alloca [$most_arguments x i64], align 16
  %none = load ptr, ptr @none
  %false = load ptr, ptr @false
  %most.place = getelementptr %State, ptr %state, i32 0, i32 1
  %most = load i64, ptr %most.place
  %is.few = icmp sle i64 %given, %most
  br i1 %is.few, label %positions, label %slow
positions:
  switch i64 %given, label %slow [ i64 1, label %one i64 2, label %two ]
two:
  %axis.place = getelementptr ptr, ptr %args, i64 1
  %axis.second = load ptr, ptr %axis.place
  br label %one
one:
  %axis.first = phi ptr [ %none, %positions ], [ %axis.second, %two ]
  %x = load ptr, ptr %args
  %type.place = getelementptr i8, ptr %x, i64 8
  %type = load ptr, ptr %type.place
  %array.type = load ptr, ptr @array.type
  %is.array = icmp eq ptr %type, %array.type
  br i1 %is.array, label %keywords, label %slow
keywords:
  %has.names = icmp ne ptr %names, null
  br i1 %has.names, label %some, label %parsed
some:
  %names.size = getelementptr i8, ptr %names, i64 16
  %named = load i64, ptr %names.size
  %names.items = getelementptr i8, ptr %names, i64 24
  %axis.name = load ptr, ptr @axis.name
  %keepdims.name = load ptr, ptr @keepdims.name
  br label %each
each:
  %n = phi i64 [ 0, %some ], [ %n.next, %taken ]
  %axis.n = phi ptr [ %axis.first, %some ], [ %axis.taken, %taken ]
  %keep.n = phi ptr [ %false, %some ], [ %keep.taken, %taken ]
  %more = icmp slt i64 %n, %named
  br i1 %more, label %keyword, label %parsed
keyword:
  %name.place = getelementptr ptr, ptr %names.items, i64 %n
  %name = load ptr, ptr %name.place
  %at = add i64 %given, %n
  %value.place = getelementptr ptr, ptr %args, i64 %at
  %value = load ptr, ptr %value.place
  %is.axis = icmp eq ptr %name, %axis.name
  %is.keepdims = icmp eq ptr %name, %keepdims.name
  %is.twice = icmp eq i64 %given, 2
  br i1 %is.axis, label %named.axis, label %other
named.axis:
  br i1 %is.twice, label %slow, label %taken
other:
  br i1 %is.keepdims, label %taken, label %slow
taken:
  %axis.taken = phi ptr [ %value, %named.axis ], [ %axis.n, %other ]
  %keep.taken = phi ptr [ %keep.n, %named.axis ], [ %value, %other ]
  %n.next = add i64 %n, 1
  br label %each
parsed:
  %axis = phi ptr [ %axis.first, %keywords ], [ %axis.n, %each ]
  %keep = phi ptr [ %false, %keywords ], [ %keep.n, %each ]
  %true = load ptr, ptr @true
  %is.true = icmp eq ptr %keep, %true
  %is.false = icmp eq ptr %keep, %false
  %is.truth = or i1 %is.true, %is.false
  br i1 %is.truth, label %which, label %slow
which:
  %keeps = zext i1 %is.true to i64
  %is.all = icmp eq ptr %axis, %none
  br i1 %is.all, label %known, label %integer
integer:
  %axis.type.place = getelementptr i8, ptr %axis, i64 8
  %axis.type = load ptr, ptr %axis.type.place
  %long.type = load ptr, ptr @long.type
  %is.long = icmp eq ptr %axis.type, %long.type
  br i1 %is.long, label %convert, label %several
several:
  %tuple.type = load ptr, ptr @tuple.type
  %is.tuple = icmp eq ptr %axis.type, %tuple.type
  br i1 %is.tuple, label %tuple, label %slow
tuple:
  %tuple.place = getelementptr i8, ptr %axis, i64 16
  %tuple.size = load i64, ptr %tuple.place
  %tuple.items = getelementptr i8, ptr %axis, i64 24
  %is.possible = icmp ule i64 %tuple.size, $most_axes
  br i1 %is.possible, label %packing, label %slow
packing:
  %t = phi i64 [ 0, %tuple ], [ %t.next, %pack ]
  %packed = phi i64 [ $no_axes, %tuple ], [ %packed.next, %pack ]
  %t.more = icmp slt i64 %t, %tuple.size
  br i1 %t.more, label %item, label %known
item:
  %item.place = getelementptr ptr, ptr %tuple.items, i64 %t
  %item.object = load ptr, ptr %item.place
  %item.type.place = getelementptr i8, ptr %item.object, i64 8
  %item.type = load ptr, ptr %item.type.place
  %item.is.long = icmp eq ptr %item.type, %long.type
  br i1 %item.is.long, label %read, label %slow
read:
  %item.value = call i64 @axisfold_as_long(ptr %item.object)
  %item.digit = add i64 %item.value, $most_axes
  %item.fits = icmp ult i64 %item.digit, $axis_digits
  %item.error = call ptr @axisfold_error_occurred()
  %item.has.none = icmp eq ptr %item.error, null
  %item.known = and i1 %item.fits, %item.has.none
  br i1 %item.known, label %pack, label %unread
unread:
  call void @axisfold_error_clear() ; that of an integer of more than 64 bits
  br label %slow
pack:
  %packed.high = mul i64 %packed, $axis_digits
  %packed.next = add i64 %packed.high, %item.digit
  %t.next = add i64 %t, 1
  br label %packing
convert:
  %position = call i64 @axisfold_as_long(ptr %axis)
  %digit = add i64 %position, $most_axes
  %fits = icmp ult i64 %digit, $axis_digits
  %is.minus = icmp eq i64 %position, -1
  br i1 %is.minus, label %check, label %range
range:
  br i1 %fits, label %known, label %slow
check:
  %error = call ptr @axisfold_error_occurred()
  %has.error = icmp ne ptr %error, null
  br i1 %has.error, label %clear, label %known
clear:
  call void @axisfold_error_clear()
  br label %slow
known:
  %axis.code = phi i64 [ $all_axes, %which ], [ %position, %range ], [ %position, %check ],
                      [ %packed, %packing ]
  %nd.place = getelementptr i8, ptr %x, i64 24
  %nd.short = load i32, ptr %nd.place
  %nd = sext i32 %nd.short to i64
  %dims.place = getelementptr i8, ptr %x, i64 32
  %dims = load ptr, ptr %dims.place
  %strides.place = getelementptr i8, ptr %x, i64 40
  %strides = load ptr, ptr %strides.place
  %descr.place = getelementptr i8, ptr %x, i64 56
  %descr = load ptr, ptr %descr.place
  %descr.number = ptrtoint ptr %descr to i64
  %code.high = shl i64 %axis.code, 8
  %code = or i64 %code.high, %keeps
  %hash.0 = call i64 @mixed(i64 %descr.number, i64 %code)
  %is.short = icmp ule i64 %nd, $most_axes
  br i1 %is.short, label %hashing, label %slow
hashing:
  %h = phi i64 [ 0, %known ], [ %h.next, %hash.axis ]
  %hash = phi i64 [ %hash.0, %known ], [ %hash.2, %hash.axis ]
  %h.more = icmp slt i64 %h, %nd
  br i1 %h.more, label %hash.axis, label %look
hash.axis:
  %dim.place = getelementptr i64, ptr %dims, i64 %h
  %dim = load i64, ptr %dim.place
  %stride.place = getelementptr i64, ptr %strides, i64 %h
  %stride = load i64, ptr %stride.place
  %hash.1 = call i64 @mixed(i64 %hash, i64 %dim)
  %hash.2 = call i64 @mixed(i64 %hash.1, i64 %stride)
  %h.next = add i64 %h, 1
  br label %hashing
look:
  %bucket = and i64 %hash, $bucket_mask
  %head = getelementptr %State, ptr %state, i32 0, i32 2, i64 %bucket
  br label %chain
chain:
  %link = phi ptr [ %head, %look ], [ %record, %differs ]
  %record = load ptr, ptr %link
  %is.end = icmp eq ptr %record, null
  br i1 %is.end, label %slow, label %compare
compare:
  %r.descr.place = getelementptr %Record, ptr %record, i32 0, i32 1
  %r.descr = load ptr, ptr %r.descr.place
  %r.nd.place = getelementptr %Record, ptr %record, i32 0, i32 2
  %r.nd = load i64, ptr %r.nd.place
  %r.axis.place = getelementptr %Record, ptr %record, i32 0, i32 3
  %r.axis = load i64, ptr %r.axis.place
  %r.keep.place = getelementptr %Record, ptr %record, i32 0, i32 4
  %r.keep = load i64, ptr %r.keep.place
  %same.descr = icmp eq ptr %r.descr, %descr
  %same.nd = icmp eq i64 %r.nd, %nd
  %same.axis = icmp eq i64 %r.axis, %axis.code
  %same.keep = icmp eq i64 %r.keep, %keeps
  %same.1 = and i1 %same.descr, %same.nd
  %same.2 = and i1 %same.axis, %same.keep
  %same = and i1 %same.1, %same.2
  br i1 %same, label %comparing, label %differs
comparing:
  %c = phi i64 [ 0, %compare ], [ %c.next, %compare.axis ]
  %c.more = icmp slt i64 %c, %nd
  br i1 %c.more, label %compare.axis, label %found
compare.axis:
  %c.dim.place = getelementptr i64, ptr %dims, i64 %c
  %c.dim = load i64, ptr %c.dim.place
  %c.stride.place = getelementptr i64, ptr %strides, i64 %c
  %c.stride = load i64, ptr %c.stride.place
  %r.dim.place = getelementptr %Record, ptr %record, i32 0, i32 12, i64 %c
  %r.dim = load i64, ptr %r.dim.place
  %r.stride.place = getelementptr %Record, ptr %record, i32 0, i32 13, i64 %c
  %r.stride = load i64, ptr %r.stride.place
  %c.next = add i64 %c, 1
  %same.dim = icmp eq i64 %c.dim, %r.dim
  %same.stride = icmp eq i64 %c.stride, %r.stride
  %same.both = and i1 %same.dim, %same.stride
  br i1 %same.both, label %comparing, label %differs
differs:
  br label %chain
found:
  %out.nd.place = getelementptr %Record, ptr %record, i32 0, i32 10
  %out.nd = load i64, ptr %out.nd.place
  %out.descr.place = getelementptr %Record, ptr %record, i32 0, i32 11
  %out.descr = load ptr, ptr %out.descr.place
  %is.scalar = icmp slt i64 %out.nd, 0
  br i1 %is.scalar, label %place, label %allocate
allocate:
  %out.nd.short = trunc i64 %out.nd to i32
  %out.dims = getelementptr %Record, ptr %record, i32 0, i32 14
  call void @axisfold_retain(ptr %out.descr) ; the array takes one reference to its descr
  %array = call ptr @axisfold_new_array(ptr %array.type, ptr %out.descr, i32 %out.nd.short,
                                        ptr %out.dims, ptr null, ptr null, i32 0, ptr null)
  %no.memory = icmp eq ptr %array, null
  br i1 %no.memory, label %failed, label %allocated
failed:
  ret ptr null
allocated:
  %data.place = getelementptr i8, ptr %array, i64 16
  %data = load ptr, ptr %data.place
  br label %place
place:
  %result = phi ptr [ null, %found ], [ %array, %allocated ]
  %memory = phi ptr [ %number, %found ], [ %data, %allocated ]
  %total.place = getelementptr %Record, ptr %record, i32 0, i32 6
  %total = load i64, ptr %total.place
  %inputs.place = getelementptr %Record, ptr %record, i32 0, i32 7
  %inputs = load i64, ptr %inputs.place
  %first.place = getelementptr %Record, ptr %record, i32 0, i32 8
  %first = load i64, ptr %first.place
  %outputs.place = getelementptr %Record, ptr %record, i32 0, i32 9
  %outputs = load i64, ptr %outputs.place
  %last = add i64 %first, %outputs
  %x.data.place = getelementptr i8, ptr %x, i64 16
  %x.data = load i64, ptr %x.data.place
  %memory.number = ptrtoint ptr %memory to i64
  br label %filling
filling:
  %f = phi i64 [ 0, %place ], [ %f.next, %fill ]
  %f.more = icmp slt i64 %f, %total
  br i1 %f.more, label %fill, label %run
fill:
  %kept.place = getelementptr %Record, ptr %record, i32 0, i32 15, i64 %f
  %kept = load i64, ptr %kept.place
  %is.input = icmp slt i64 %f, %inputs
  %after.first = icmp sge i64 %f, %first
  %before.last = icmp slt i64 %f, %last
  %is.output = and i1 %after.first, %before.last
  %out.base = select i1 %is.output, i64 %memory.number, i64 0
  %base = select i1 %is.input, i64 %x.data, i64 %out.base
  %argument = add i64 %kept, %base
  %argument.place = getelementptr i64, ptr %arguments, i64 %f
  store i64 %argument, ptr %argument.place
  %f.next = add i64 %f, 1
  br label %filling
run:
  %kernel.place = getelementptr %Record, ptr %record, i32 0, i32 5
  %kernel = load ptr, ptr %kernel.place
  %keeper.place = getelementptr %Record, ptr %record, i32 0, i32 16
  %keeper = load ptr, ptr %keeper.place
  %is.brief = icmp eq ptr %keeper, null
  br i1 %is.brief, label %held, label %released
held:
  %status.held = call i32 @run(ptr %kernel, i64 %total, ptr %arguments)
  br label %ran
released: ; another thread may forget the record meanwhile
  call void @axisfold_retain(ptr %keeper)
  %thread = call ptr @axisfold_save_thread()
  %status.released = call i32 @run(ptr %kernel, i64 %total, ptr %arguments)
  call void @axisfold_restore_thread(ptr %thread)
  call void @axisfold_release(ptr %keeper)
  br label %ran
ran:
  %status = phi i32 [ %status.held, %held ], [ %status.released, %released ]
  %is.done = icmp eq i32 %status, 0
  br i1 %is.done, label %done, label %undone
done:
  br i1 %is.scalar, label %scalar, label %finished
finished:
  ret ptr %result
scalar:
  %made = call ptr @axisfold_new_scalar(ptr %number, ptr %out.descr, ptr null)
  ret ptr %made
undone:
  br i1 %is.scalar, label %which.error, label %release
release:
  call void @axisfold_release(ptr %result)
  br label %which.error
which.error: ; all but an interrupt again in Python, which says what is wrong
  %is.interrupt = icmp eq i32 %status, $interrupted
  br i1 %is.interrupt, label %interrupt, label %slow
interrupt:
  %raiser.place = getelementptr %State, ptr %state, i32 0, i32 3
  %raiser = load ptr, ptr %raiser.place
  %raised = call ptr @axisfold_vectorcall(ptr %raiser, ptr null, i64 0, ptr null)
  ret ptr %raised
slow:
  %function = load ptr, ptr %state
  %answer = tail call ptr @axisfold_vectorcall(ptr %function, ptr %args, i64 %given, ptr %names)
  ret ptr %answer
}

; Call a kernel: pointers and integers are passed alike, and since the caller of each system's
; convention puts arguments away again, more of them than a kernel has do no harm.
define internal i32 @run(ptr %kernel, i64 %count, ptr %arguments) nounwind {
entry:
  switch i64 %count, label %none [ $cases ]
none:
  ret i32 -1
$calls
}

$functions
