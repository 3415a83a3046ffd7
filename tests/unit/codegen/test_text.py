# SPDX-License-Identifier: Apache-2.0
"""Names, parentheses and long lines of C-like source."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axisfold.codegen.text import (
    Binding,
    Code,
    Lines,
    Names,
    call,
    cast,
    choice,
    infix,
    legal_name,
    prefix,
    subscript,
    total,
)

# Operators that Python has too; where it ranks them otherwise, there are parentheses.
MEANING = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<": operator.lt, ">=": operator.ge, "==": operator.eq,
}  # fmt: skip


def trees():
    leaf = st.integers(0, 9).map(lambda v: (Code(str(v)), v))

    def grown(child):
        def joined(parts):
            name, (a, x), (b, y) = parts
            return infix(name, a, b), MEANING[name](x, y)

        def negated(part):
            return prefix("-", part[0]), -part[1]

        def summed(parts):
            (a, x), (b, y) = parts
            return total(a, b), x + y

        return st.one_of(
            st.tuples(st.sampled_from(sorted(MEANING)), child, child).map(joined),
            child.map(negated),
            st.tuples(child, child).map(summed),
        )

    return st.recursive(leaf, grown, max_leaves=12)


@given(trees())
def test_the_source_means_what_was_written(tree):
    code, value = tree
    assert eval(code.text, {"__builtins__": {}}) == value  # noqa: S307  (our own text)


A, B, C = Code("a"), Code("b"), Code("c")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (infix("+", infix("*", A, B), C), "a * b + c"),
        (infix("*", infix("+", A, B), C), "(a + b) * c"),
        (infix("-", A, infix("-", B, C)), "a - (b - c)"),
        (infix("+", A, infix("+", B, C)), "a + (b + c)"),
        (total(A, total(B, C)), "a + b + c"),
        (total(A, infix("<", B, C)), "a + (b < c)"),
        (infix("/", infix("*", A, B), C), "(a * b) / c"),
        (infix("&&", A, infix("&&", B, C)), "a && b && c"),
        (infix("||", A, infix("&&", B, C)), "a || (b && c)"),
        (infix("&&", A, infix("||", B, C)), "a && (b || c)"),
        (infix("&", A, infix("+", B, C)), "a & (b + c)"),
        (infix("==", infix("<", A, B), C), "(a < b) == c"),
        (prefix("!", infix("<", A, B)), "!(a < b)"),
        (prefix("-", prefix("-", A)), "-(-a)"),
        (cast("float", infix("*", A, B)), "(float)(a * b)"),
        (cast("float", prefix("-", A)), "(float)-a"),
        (infix("*", cast("float", A), B), "(float)a * b"),
        (choice(infix("<", A, B), A, choice(C, A, B)), "a < b ? a : (c ? a : b)"),
        (choice(infix("||", A, B), A, C), "(a || b) ? a : c"),
        (subscript("x", infix("+", A, B)), "x[a + b]"),
        (call("f", infix("+", A, B), choice(A, B, C)), "f(a + b, a ? b : c)"),
    ],
)
def test_parentheses(code, text):
    assert str(code) == text


def test_names_are_legal_and_unique_where_they_are_seen():
    names = Names({"for"})
    assert [names.fresh(n) for n in ("k.outer", "k_outer", "for", "_T", "2d", "é")] == [
        "k_outer", "k_outer_1", "for_1", "v_T", "v2d", "v_",
    ]  # fmt: skip
    with names.block():
        assert names.fresh("i") == "i"
        with names.block():
            assert names.fresh("i") == "i_1"
    with names.block():
        assert names.fresh("i") == "i"
    assert legal_name("i.inner:0") == "i_inner_0"


def test_long_lines_are_cut_between_the_outermost_operands():
    lines = Lines(width=40)
    with lines.block("if (condition_of_some_length && another_condition)"):
        lines.assign("total[i]", Code("total[i] + first[i * 8 + lane] * other[lane]", Binding.SUM))
        lines.comment("ends not here */ but here, and a comment is never cut")
    assert lines.text() == (
        "if (condition_of_some_length\n"
        "        && another_condition) {\n"
        "    total[i] = total[i]\n"
        "        + first[i * 8 + lane]\n"
        "        * other[lane];\n"
        "    /* ends not here * / but here, and a comment is never cut */\n"
        "}\n"
    )
