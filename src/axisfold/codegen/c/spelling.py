# SPDX-License-Identifier: Apache-2.0
"""How dtypes, constants and reserved words are spelled in C11."""

from __future__ import annotations

import math
from typing import Final

from axisfold.codegen.text import Binding, Code, digits
from axisfold.dtypes import DType, Scalar, highest, lowest


def value_type(dtype: DType) -> str:
    """Return the type of a value: float also of shorter floats, a byte of a truth value."""
    if dtype.is_float:
        return "double" if dtype.bits == 64 else "float"
    return memory_type(dtype)


def memory_type(dtype: DType) -> str:
    """Return the type of an element in memory; floats of 16 bits are held as their bits."""
    if dtype.is_float and not dtype.is_half:
        return value_type(dtype)
    return f"{'int' if dtype.kind == 'int' else 'uint'}{dtype.bits}_t"


def suffix(dtype: DType) -> str:
    """Return the short name of a dtype, ``f32``."""
    if dtype.kind == "bfloat":
        return f"bf{dtype.bits}"
    return f"{'u' if dtype.is_bool else dtype.kind[0]}{dtype.bits}"


def constant(value: Scalar, dtype: DType) -> Code:
    """Return a constant: integers as they are, floats without losing a digit."""
    if dtype.is_bool:
        return Code("1" if value else "0")
    if dtype.is_float:
        return _float(float(value), dtype)
    return _integer(int(value), dtype)


def _integer(value: int, dtype: DType) -> Code:
    if dtype.kind == "int" and dtype.bits >= 32 and value == lowest(dtype):
        return Code(f"INT{dtype.bits}_MIN")  # the literal -2147483648 is no int
    text = str(abs(value))
    if dtype.kind == "uint" and dtype.bits >= 32:
        text = f"{text}u" if value < 1 << 32 else f"UINT64_C({text})"
    elif abs(value) >= 1 << 31:
        text = f"INT64_C({text})"
    return Code(f"-{text}", Binding.PREFIX) if value < 0 else Code(text)


def _float(value: float, dtype: DType) -> Code:
    if math.isnan(value):
        return Code("NAN")
    if math.isinf(value):
        text = "INFINITY"
    else:
        text = digits(abs(value)) + ("" if dtype.bits == 64 else "f")
    is_negative = math.copysign(1.0, value) < 0
    return Code(f"-{text}", Binding.PREFIX) if is_negative else Code(text)


def is_limit(value: Scalar, dtype: DType) -> bool:
    """Return whether a constant is an end of its dtype's range.

    Compilers warn of a comparison with one, because it may be the same for every value.
    """
    return not dtype.is_float and value in (lowest(dtype), highest(dtype))


_KEYWORDS: Final = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while asm typeof bool true false alignas alignof noreturn main
    NULL NAN INFINITY HUGE_VAL INT8_MIN INT16_MIN INT32_MIN INT64_MIN INT8_MAX INT16_MAX INT32_MAX
    INT64_MAX UINT8_MAX UINT16_MAX UINT32_MAX UINT64_MAX SIZE_MAX INT64_C UINT64_C
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ptrdiff_t wchar_t
    intptr_t uintptr_t intmax_t uintmax_t max_align_t float_t double_t div_t ldiv_t lldiv_t
    errno stdin stdout stderr EOF I linux unix i386
"""
# <math.h>: each also with an f and an l at its end.
_MATHS: Final = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs
    fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2
    logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round
    scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
    cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj
    creal csin csinh csqrt ctan ctanh
"""
_LIBRARY: Final = """
    fpclassify isfinite isinf isnan isnormal signbit isgreater isless isunordered
    abort abs aligned_alloc atexit atof atoi atol atoll at_quick_exit bsearch calloc div exit free
    getenv labs llabs ldiv lldiv malloc mblen mbstowcs mbtowc qsort quick_exit rand realloc srand
    strtod strtof strtol strtold strtoll strtoul strtoull system wcstombs wctomb
    memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen
    strncat strncmp strncpy strpbrk strrchr strspn strstr strtok strxfrm
    isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper
    isxdigit tolower toupper
    clearerr fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc fputs fread freopen
    fscanf fseek fsetpos ftell fwrite getc getchar gets perror printf putc putchar puts remove
    rename rewind scanf setbuf setvbuf snprintf sprintf sscanf tmpfile tmpnam ungetc vfprintf
    vfscanf vprintf vscanf vsnprintf vsprintf vsscanf
    iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace
    iswupper iswxdigit towlower towupper
    asctime clock ctime difftime gmtime localtime mktime strftime time raise signal longjmp setjmp
    assert imaxabs imaxdiv strtoimax strtoumax
"""
# Names that mean something else to a compiler or to the headers that the program includes.
RESERVED: Final = frozenset(
    [*_KEYWORDS.split(), *_LIBRARY.split()]
    + [f"{name}{end}" for name in _MATHS.split() for end in ("", "f", "l")]
)
