# SPDX-License-Identifier: Apache-2.0
"""CUDA C++: programs written by hand for threads, as text and through the compiler."""

import pytest
from cuda_support import programs
from cuda_support.nvrtc import compile_program
from semantics_support.programs import programs as table_programs
from semantics_support.table import TABLE
from te_support.kernels import buffer, index, kernel

from axisfold.codegen.cuda import emit_program, launch_parameters, launches, symbol
from axisfold.codegen.cuda.helpers import Helpers
from axisfold.codegen.cuda.spelling import TYPEDEFS
from axisfold.codegen.text import Code
from axisfold.dtypes import INT32, INT64, SUPPORTED
from axisfold.ir import build
from axisfold.ir.expr import Broadcast, Call, Cast, Compare, Load, Ramp, Var
from axisfold.ir.stmt import Barrier, For, If, Kernel, Let, Seq, Shuffle, Store
from axisfold.ir.verify import verify
from axisfold.target import Target

ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
DTYPES = [d for d in SUPPORTED.values() if not d.is_complex]
WHOLE = {
    "row_sums": programs.row_sums,
    "row_sums_bool": lambda: programs.row_sums(64, "bool", 96),
    "last_block": programs.last_block,
    "cluster_sums": programs.cluster_sums,
    "argmax_of_rows": programs.argmax_of_rows,
}


def compiled(program, arch="sm_80"):
    """Return the source of a program that compiles without a warning and keeps to registers."""
    verify(program, level="threads")
    text = emit_program(program)
    frames = compile_program(text, arch)
    assert frames == dict.fromkeys((symbol(program, e) for e in launches(program)), 0)
    return text


def one_thread(params, outputs, *body, threads=32):
    launch = programs.launch("main", build.seq(*body), block_x=(Var("t", INT64), threads))
    return Kernel("main", tuple(params), tuple(outputs), launch)


@pytest.mark.parametrize("name", WHOLE)
def test_text(name, golden):
    golden(f"cuda/{name}.cu", emit_program(WHOLE[name]()))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", WHOLE)
def test_whole_programs_compile(name, arch):
    if name == "cluster_sums" and arch == "sm_80":
        arch = "sm_100"  # the first with clusters is sm_90
    compiled(WHOLE[name](), arch)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sixteen_bytes_of_each_dtype(dtype):
    text = compiled(programs.doubled(str(dtype), 16 // dtype.itemsize))
    assert "= *reinterpret_cast<const uint4 *>(&A[" in text
    assert "*reinterpret_cast<uint4 *>(&B[" in text


@pytest.mark.parametrize(
    ("dtype", "lanes", "align", "piece", "count"),
    [
        ("float32", 8, 16, "uint4", 2),
        ("float32", 4, 8, "uint2", 2),
        ("float32", 2, 16, "uint2", 1),
        ("float16", 4, 4, "u32", 2),
        ("float16", 6, 16, "u32", 3),
        ("int8", 2, 64, "u16", 1),
        ("float64", 2, 48, "uint4", 1),
        ("float32", 3, 16, None, 0),
        ("float32", 4, 0, None, 0),
    ],
)
def test_no_access_is_wider_than_its_alignment(dtype, lanes, align, piece, count):
    text = compiled(programs.doubled(dtype, lanes, align))
    assert text.count(f"*reinterpret_cast<const {piece} *>(&A[") == count
    assert text.count("reinterpret_cast<const") == count


def test_masks_guard_each_lane():
    text = compiled(programs.doubled("float32", 4, mask=programs.below(100)))
    assert "reinterpret_cast" not in text
    assert "if (t * 4 + lane < 100) {" in text


def test_a_mask_that_is_the_same_for_all_lanes_is_one_branch():
    def mask(base, count):
        return Broadcast(base < index(100), count)

    text = compiled(programs.doubled("float32", 4, mask=mask))
    assert text.count("if (t * 4 < 100) {") >= 1
    assert "= *reinterpret_cast<const uint4 *>(&A[" in text


@pytest.mark.parametrize("lanes", [1, 4])
def test_streams(lanes):
    A, B = programs.array("A", "float32", 1024), programs.array("B", "float32", 1024)
    t = Var("t", INT64)
    at = t if lanes == 1 else programs.lanes(t * lanes, lanes)
    value = Load(A, at, None, 16 if lanes > 1 else 0, "stream")
    body = Store(B, at, value, None, 16 if lanes > 1 else 0, "stream")
    text = compiled(Kernel("k", (A, B), (B,), programs.launch("k", body, block_x=(t, 32))))
    assert text.count("__ldcs(") == text.count("__stcs(") == 1


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_shuffles_of_each_dtype(dtype):
    A, B = buffer("A", dtype, 32), buffer("B", dtype, 96)
    t, found = Var("t", INT64), buffer("found", dtype, 1, scope="local")
    steps = []
    for place, mode in enumerate(("down", "xor", "index")):
        steps += [
            Shuffle(found, Load(A, t), mode, build.const(1, INT32), 16),
            Store(B, t + 32 * place, Load(found, index(0))),
        ]
    launch = programs.launch("k", programs.within([found], *steps), block_x=(t, 32))
    text = compiled(Kernel("k", (A, B), (B,), launch))
    for name in ("__shfl_down_sync", "__shfl_xor_sync", "__shfl_sync"):
        assert text.count(f"{name}(0xffffffffu, ") == 1


@pytest.mark.parametrize(
    ("threads", "mask"),
    [
        (1, "0x1u"),
        (20, "0xfffffu"),
        (32, "0xffffffffu"),
        (64, "0xffffffffu"),
        (70, "(threadIdx.x) / 32 == 2 ? 0x3fu : ~0u"),
    ],
)
def test_only_lanes_that_exist_are_named(threads, mask):
    B, t = buffer("B", "int32", 128), Var("t", INT64)
    found = buffer("found", "int32", 1, scope="local")
    body = programs.within(
        [found],
        Shuffle(found, Cast(t, INT32), "down", build.const(1, INT32)),
        Barrier("warp"),
        Store(B, t, Load(found, index(0))),
    )
    text = compiled(Kernel("k", (B,), (B,), programs.launch("k", body, block_x=(t, threads))))
    used = "lanes" if threads == 70 else mask
    assert mask in text
    assert f"__shfl_down_sync({used}, " in text
    assert f"__syncwarp({used});" in text


def test_a_barrier_of_a_warp_names_lanes_that_exist():
    lanes, t = buffer("lanes", "int32", 40), Var("t", INT64)
    body = Seq((Store(lanes, t, Cast(t, INT32)), Barrier("warp"), Store(lanes, t, Cast(t, INT32))))
    text = compiled(Kernel("k", (lanes,), (lanes,), programs.launch("k", body, block_x=(t, 40))))
    assert "const u32 lanes_1 = (threadIdx.x) / 32 == 1 ? 0xffu : ~0u;" in text
    assert "__syncwarp(lanes_1);" in text


def test_the_number_of_a_thread_counts_x_fastest():
    B, x, y, z = buffer("B", "int32", 105), *(Var(n, INT64) for n in "xyz")
    found = buffer("found", "int32", 1, scope="local")
    body = programs.within(
        [found],
        Shuffle(found, Cast(x, INT32), "xor", build.const(1, INT32)),
        Store(B, (z * 3 + y) * 5 + x, Load(found, index(0))),
    )
    launch = programs.launch("k", body, block_x=(x, 5), block_y=(y, 3), block_z=(z, 7))
    text = compiled(Kernel("k", (B,), (B,), launch))
    assert "(threadIdx.x + 5 * threadIdx.y + 15 * threadIdx.z) / 32 == 3 ? 0x1ffu : ~0u" in text


def test_only_inputs_are_read_through_the_texture_cache():
    text = compiled(programs.last_block())
    assert "(const float *__restrict__ A, float *B, float *B_rf, u32 *tickets, i64 n)" in text


def test_an_output_that_is_read_is_no_input():
    A, B = programs.array("A", "int32", 32), programs.array("B", "int32", 32)
    text = compiled(one_thread([B, A], [B], programs.put(B, programs.get(B) + programs.get(A))))
    assert "main(" not in text  # a word that C++ knows
    assert "(int *B, const int *__restrict__ A)" in text


def test_parameters_of_a_launch():
    n, unused, h = programs.size("n"), programs.size("m"), Var("h", INT64)
    A, B, C = (programs.array(name, "float32", n, unused) for name in "ABC")
    W = programs.array("W", "float32", n)
    t, i, j = Var("t", INT64), Var("i", INT64), Var("j", INT64)
    first = programs.launch(
        "k", programs.serial(i, h, programs.put(W, programs.get(C, i + n), i)), block_x=(t, 32)
    )
    second = programs.launch(
        "k",
        If(t < n, Let(j, t + 1, programs.put(B, programs.get(W, j), j))),
        grid_x=(Var("b", INT64), unused),
        block_x=(t, 32),
    )
    body = programs.within([W], Let(h, n // 2, Seq((first, second))))
    program = Kernel("k", (A, B, C), (B,), body)
    verify(program, level="threads")
    assert launches(program) == (first, second)
    assert launch_parameters(program, first) == ((C, W), (h, n))
    assert launch_parameters(program, second) == ((B, W), (n,))
    assert [symbol(program, e) for e in launches(program)] == ["k", "k_1"]
    text = emit_program(program)
    assert "k(const float *__restrict__ C, float *W, i64 h, i64 n)" in text
    assert "k_1(float *B, float *W, i64 n)" in text
    assert compile_program(text) == {"k": 0, "k_1": 0}


def test_indices_of_blocks_in_clusters():
    B, b, c, t = buffer("B", "int32", 64), *(Var(n, INT64) for n in "bct")
    body = Store(B, b * 8 + c, Cast(t, INT32))
    launch = programs.launch("k", body, grid_y=(b, 8), cluster_y=(c, 8), block_x=(t, 32))
    text = compiled(Kernel("k", (B,), (B,), launch), "sm_90")
    assert "__cluster_dims__(1, 8, 1)" in text
    assert "b = blockIdx.y / 8;" in text
    assert "c = blockIdx.y % 8;" in text


def test_truth_values_are_bytes_in_memory_and_bools_in_registers():
    A, B = buffer("A", "bool", 32), buffer("B", "bool", 32)
    T = buffer("T", "bool", 2, scope="local")
    slots = buffer("slots", "bool", 32, scope="shared")
    body = programs.within(
        [T, (slots, 16)],
        programs.put(T, programs.get(A), 1),
        programs.put(slots, programs.get(T, 1), 3),
        programs.put(B, programs.get(slots, 3)),
    )
    t = Var("t", INT64)
    text = compiled(Kernel("k", (A, B), (B,), programs.launch("k", body, 48, block_x=(t, 32))))
    assert "bool T[2];" in text
    assert "T[1] = A[0] != 0;" in text
    assert "u8 *const slots = reinterpret_cast<u8 *>(shared + 16);" in text
    assert "B[0] = slots[3] != 0;" in text


@pytest.mark.parametrize(
    ("align", "read"),
    [
        (0, "*reinterpret_cast<const float *>(&A[t * 9])"),
        (1, "load_f32(&A[t * 9])"),
        (2, "load_f32(&A[t * 9])"),
        (4, "*reinterpret_cast<const float *>(&A[t * 9])"),
    ],
)
def test_elements_at_offsets_in_bytes(align, read):
    t = Var("t", INT64)
    A, B = buffer("A", "float32", 64, unit="byte"), buffer("B", "float32", 64)
    body = Store(B, t, Load(A, t * 9, None, align))
    text = compiled(Kernel("k", (A, B), (B,), programs.launch("k", body, block_x=(t, 32))))
    assert "const u8 *__restrict__ A" in text
    assert f"B[t] = {read};" in text


def test_strides_in_bytes_of_aligned_elements():
    t = Var("t", INT64)
    A, B = (buffer(name, "float32", 64, unit="byte") for name in "AB")
    one = Store(B, t * 12, Load(A, t * 8, None, 4), None, 4)
    step = Ramp(t * 16, index(4), 4)
    many = Store(B, step, Load(A, step, None, 16), None, 16)
    launch = programs.launch("k", Seq((one, many)), block_x=(t, 32))
    text = compiled(Kernel("k", (A, B), (B,), launch))
    assert "*reinterpret_cast<float *>(&B[t * 12]) =" in text
    assert "= *reinterpret_cast<const float *>(&A[t * 8]);" in text
    assert "= *reinterpret_cast<const uint4 *>(&A[t * 16]);" in text


def test_elements_that_are_misaligned():
    t = Var("t", INT64)
    A, B = (programs.array(name, "float64", 64) for name in "AB")
    body = Store(B, t, Load(A, t, None, 4), None, 4)
    text = compiled(Kernel("k", (A, B), (B,), programs.launch("k", body, block_x=(t, 32))))
    assert "store_f64(&B[t * 8], load_f64(&A[t * 8]));" in text


def test_promised_extents_keep_indices_in_32_bits():
    narrow, wide = emit_program(programs.row_sums()), emit_program(programs.row_sums(bits=64))
    body = narrow[narrow.index("extern") :]
    assert "i64 m" in body  # the parameter
    assert "for (int k_outer = 0;" in body
    assert "A_index = i * (int)m + (k_outer * 128 + k_inner) * 4;" in body
    assert "for (i64 k_outer = 0;" in wide


def test_a_program_that_launches_nothing_compiles():
    A = buffer("A", "int32", 0)
    assert compiled(kernel([A], [A], Seq(()))).startswith("/* main, written by axisfold")


def test_shared_memory_without_elements():
    B, t, nothing = (
        buffer("B", "int32", 32),
        Var("t", INT64),
        buffer("S", "int32", 0, scope="shared"),
    )
    body = programs.within([(nothing, 0)], If(t < 0, programs.put(nothing, programs.get(B))))
    compiled(Kernel("k", (B,), (B,), programs.launch("k", body, 0, block_x=(t, 32))))


@pytest.mark.parametrize(("scope", "dtype", "operator"), [
    ("local", "float32", "&"), ("local", "int32", "&"), ("global", "float32", "&&"),
    ("local", "bool", "&&"),
])  # fmt: skip
def test_truth_values_of_registers_are_computed_without_a_branch(scope, dtype, operator):
    A, B = buffer("A", dtype, 32), buffer("B", "bool", 32)
    T, t = programs.local("T", dtype, 2), Var("t", INT64)
    x, y = (programs.get(T if scope == "local" else A, n) for n in range(2))
    sides = (x, y) if dtype == "bool" else (x < 5, y < 5)
    fill = [programs.put(T, programs.get(A, n), n) for n in range(2)]
    inner = [programs.put(B, build.all_of(list(sides)))]
    body = programs.within([T], *fill, *inner) if scope == "local" else inner[0]
    text = compiled(Kernel("k", (A, B), (B,), programs.launch("k", body, 32, block_x=(t, 32))))
    assert f" {operator} " in text
    assert text.count("&&") == operator.count("&&")


def test_guards_of_indices_are_branches():
    B, t = buffer("B", "int32", 32), Var("t", INT64)
    guard = build.all_of([t < 20, t * t < 30])
    body = If(guard, programs.put(B, build.const(1, INT32), t), None)
    text = compiled(Kernel("k", (B,), (B,), programs.launch("k", body, 32, block_x=(t, 32))))
    assert "t < 20 && " in text


@pytest.mark.parametrize("most", [100, Var("n", INT64)])
def test_the_compiler_is_told_of_indices_in_guards_of_constants(most):
    B, t, k = programs.array("B", "int32", most), Var("t", INT64), Var("k", INT64)
    place = k * 32 + t
    store = If(build.likely(place < most), programs.put(B, build.const(1, INT32), place), None)
    loop = For(k, build.const(0, INT64), build.const(4, INT64), "unrolled", store)
    text = compiled(Kernel("k", (B,), (B,), programs.launch("k", loop, 32, block_x=(t, 32))))
    assert ("__builtin_assume(t >= 0 && t < 32);" in text) == isinstance(most, int)


def test_comparisons_of_lanes_and_gathers():
    A, P = programs.array("A", "float32", 4096), programs.array("P", "int32", 128)
    B, t = programs.array("B", "bool", 128), Var("t", INT64)
    at = programs.lanes(t * 4, 4)
    gathered = Load(A, Cast(Load(P, at, None, 16), INT64.with_lanes(4)))
    body = Store(B, at, Compare("gt", gathered, Broadcast(build.const(1.5, "float32"), 4)), None, 4)
    text = compiled(Kernel("k", (A, P, B), (B,), programs.launch("k", body, block_x=(t, 32))))
    assert "= A[P_value[lane]] > 1.5f;" in text
    assert "*reinterpret_cast<u32 *>(&B[t * 4]) =" in text


def test_every_operation_of_every_dtype_compiles_for_the_oldest_gpu():
    for program in table_programs(TABLE, "threads"):
        compile_program(emit_program(program.kernel), "sm_75")


@pytest.mark.parametrize("name", ["bf16", "f16"])
def test_functions_of_16_bit_floats(name):
    helpers, value = Helpers(), Code("x[0]")
    calls = [helpers.named(f"{name}_{what}", value) for what in ("bits", "round", "round_wide")]
    calls += [helpers.named(f"odd_{what}64", value) for what in "iu"]
    body = "".join(f"y[{n}] = {found};\n" for n, found in enumerate(calls))
    kernel = f'extern "C" __global__ void k(const double *x, double *y) {{\n{body}}}\n'
    source = "\n".join([*TYPEDEFS, *helpers.sources(kernel), kernel])
    assert compile_program(source, "sm_75") == {"k": 0}


def test_what_newer_gpus_have_instructions_for():
    rows = [row for row in TABLE if row.name.startswith(("min float", "max float", "mulhi"))]
    for program in table_programs(rows, "threads", lanes=4):
        text = emit_program(program.kernel)
        assert "max.NaN.f32" in text
        compile_program(text, "sm_120")


def test_a_target_whose_gpu_is_found_later_has_what_that_gpu_has():
    found = Target("cuda").with_arch("sm_90")
    assert found == Target("cuda", arch="sm_90")
    assert (found.max_cluster, found.vector_bytes) == (8, 16)


@pytest.mark.parametrize(("other", "loops"), [(0, 1), (1, 2)])
def test_lanes_that_read_their_own_places_share_a_loop(other, loops):
    """A state of two components, of which the second depends on the first's old value."""
    A, B, t = buffer("A", "float32", 8), buffer("B", "float32", 8), Var("t", INT64)
    S, T = programs.local("S", "float32", 4), programs.local("T", "float32", 5)
    own = Ramp(build.const(0, INT64), build.const(1, INT64), 4)
    shifted = Ramp(build.const(other, INT64), build.const(1, INT64), 4)
    first, second = Load(S, own) + Load(A, own), Load(T, own) * Load(S, own)
    names = [Var("first", first.dtype), Var("second", second.dtype)]
    stores = build.seq(Store(S, own, names[0]), Store(T, shifted, names[1]))
    update = Let(names[0], first, Let(names[1], second, stores))
    fill = [programs.put(place, programs.get(A, n), n) for place in (S, T) for n in range(4)]
    out = [programs.put(B, programs.get(S, n), n) for n in range(4)]
    body = programs.within([S, T], *fill, programs.put(T, programs.get(A, 0), 4), update, *out)
    text = compiled(Kernel("k", (A, B), (B,), programs.launch("k", body, 32, block_x=(t, 32))))
    assert (text.count("for (") == 1) == (loops == 1)


@pytest.mark.parametrize(
    ("dtype", "name", "lift"),
    [
        ("float16", "exp2f", "0x1.715476p+0f, 64.0f)"),
        ("float32", "exp2f", "0x1.715476p+0f, 64.0f)"),
        ("float64", "exp_nonpositive_f64", " * 0x1p+64"),
    ],
)
def test_exponentials_of_short_elements_take_few_steps(dtype, name, lift):
    x, y = programs.array("x", dtype, 32), programs.array("y", dtype, 32)
    power = Call("exp_short", (programs.get(x),), SUPPORTED[dtype])
    text = compiled(one_thread([x, y], [y], programs.put(y, power)))
    assert f"{name}(" in text
    assert "expf(" not in text
    assert lift in text
