"""Kronecker factors of a convolution (Grosse and Martens, 2016), by the KFC convention.

A SAME convolution with a kernel (k, k, c_in, c_out) and stride 1 is a linear map that is applied at
T = H W positions, to rows a_t of k k c_in numbers: the patch around position t. With g_t the
gradient at the pre-activation of position t,

  A = E[sum_t a_t a_t^T]        a sum over positions, a mean over examples,
  S = E[1/T sum_t g_t g_t^T]    a mean over positions,

and F ~ A (x) S: derivatives at different positions are taken to be uncorrelated, so that F =
E[sum_t (a_t a_t^T) (x) (g_t g_t^T)] = T mean(a a^T) (x) mean(g g^T).

Rows of A are in the order of `kernel.reshape(k * k * c_in, c_out)`: the channel varies fastest. One
input channel is therefore one row in every c_in, k * k rows in all.

Three ways to A, with their multiplications for k = 3 in those of a convolution with as many outputs
as inputs: from the patches themselves (`input_factor_direct`, 9); exactly too from the 13
correlations of the image with itself shifted (`input_factor`, 13 / 9, and no patch is ever stored);
and from a random subset of the positions, one in stride^2 (`input_factor_sampled`, 9 / stride^2),
which is unbiased and so enough for a moving average.
"""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp

from senn_cli.curvature import kronecker


def _padding(kernel: int) -> tuple[int, int]:
    """The zeros that SAME puts before and after a dimension, at stride 1."""
    return (kernel - 1) // 2, kernel // 2


def patches(x: jax.Array, kernel: int = 3) -> jax.Array:
    """What a SAME convolution of stride 1 reads: `(N, H, W, kernel * kernel * c)` of (N, H, W, c).

    So that `patches(x) @ weights.reshape(-1, c_out)` is the convolution.
    """
    height, width = x.shape[1:3]
    around = _padding(kernel)
    x = jnp.pad(x, ((0, 0), around, around, (0, 0)))
    # Shifted copies rather than `conv_general_dilated_patches`, which puts the channel first.
    return jnp.concatenate(
        [x[:, i : i + height, j : j + width] for i in range(kernel) for j in range(kernel)],
        axis=-1,
    )


def patch_subset(x: jax.Array, offset: jax.Array, *, stride: int = 2, kernel: int = 3) -> jax.Array:
    """The patches at positions `offset + stride * (i, j)`.

    Args:
      x: `(N, H, W, c)`.
      offset: the first row and column, int `(2,)`, from 0 to stride - 1; may be traced.
      stride: distance of the positions.
      kernel: the convolution's size.

    Returns:
      `(N, ceil(H / stride), ceil(W / stride), kernel * kernel * c)`; zero at positions beyond the
      image, which occur where its size is no multiple of the stride.
    """
    n, height, width, channels = x.shape
    rows, columns = -(-height // stride), -(-width // stride)
    before, after = _padding(kernel)
    # Beyond the image as far as the last position of the largest offset reads.
    extra = [(before, after + stride * m - size) for m, size in ((rows, height), (columns, width))]
    x = jnp.pad(x, ((0, 0), *extra, (0, 0)))
    window = (stride * (rows - 1) + kernel, stride * (columns - 1) + kernel)
    x = jax.lax.dynamic_slice(x, (0, offset[0], offset[1], 0), (n, *window, channels))
    parts = [
        x[:, i : i + stride * (rows - 1) + 1 : stride, j : j + stride * (columns - 1) + 1 : stride]
        for i in range(kernel)
        for j in range(kernel)
    ]
    inside_rows = offset[0] + stride * jnp.arange(rows) < height
    inside_columns = offset[1] + stride * jnp.arange(columns) < width
    inside = inside_rows[:, None] & inside_columns
    return jnp.where(inside[..., None], jnp.concatenate(parts, axis=-1), 0)


def _product(u: jax.Array, v: jax.Array) -> jax.Array:
    """The sum of outer products of `u` and `v` (..., n), in at least single precision: (n, n)."""
    left, right = u.reshape(-1, u.shape[-1]), v.reshape(-1, v.shape[-1])
    wide = jnp.promote_types(u.dtype, jnp.float32)
    return jnp.matmul(left.T, right, preferred_element_type=wide)


def input_factor_direct(x: jax.Array, kernel: int = 3) -> jax.Array:
    """A of a convolution that reads `x` (N, H, W, c), from its patches: `(k k c, k k c)`."""
    rows = patches(x, kernel)
    return _product(rows, rows) / x.shape[0]


def _span(i: int, j: int, size: int, before: int) -> tuple[int, int, int, int]:
    """Where the pixels u lie that offset `i` of a patch meets while offset `j` meets u + j - i.

    Over all positions for which both are in the image, of `size`. Returns the range of u for which
    u and u + j - i are in the image, and how many of it to leave out at its start and its end.
    """
    shift = j - i
    start, stop = max(0, -shift), size - max(0, shift)
    first = max(0, before - i, before - j) + i - before
    last = min(size, size + before - i, size + before - j) + i - before
    return start, stop, first - start, stop - last


def input_factor(x: jax.Array, kernel: int = 3) -> jax.Array:
    """A of a convolution that reads `x` (N, H, W, c), exactly: `(k k c, k k c)`.

    The block of A for offsets o and o' of a patch is the sum of x_u x_{u + o' - o}^T over the
    pixels u that offset o meets. But for the pixels near an edge, that depends on o' - o alone:
    these correlations are computed once, and strips at the edges subtracted. With few channels, or
    an image smaller than the kernel, `input_factor_direct` does it.
    """
    n, height, width, channels = x.shape
    if channels < 16 or min(height, width) < kernel:
        return input_factor_direct(x, kernel)
    before, _ = _padding(kernel)

    @cache
    def correlation(
        shift: tuple[int, int], rows: tuple[int, int], columns: tuple[int, int]
    ) -> jax.Array:
        """The sum of x_u x_{u + shift}^T over the pixels u of `rows` x `columns`."""
        (top, bottom), (left, right) = rows, columns
        there = x[:, top + shift[0] : bottom + shift[0], left + shift[1] : right + shift[1]]
        return _product(x[:, top:bottom, left:right], there)

    def block(p: int, q: int) -> jax.Array:
        (i, k), (j, m) = divmod(p, kernel), divmod(q, kernel)
        shift = (j - i, m - k)
        top, bottom, *row_cut = _span(i, j, height, before)
        left, right, *column_cut = _span(k, m, width, before)
        rows, columns = (top, bottom), (left, right)
        # Whole minus edges plus corners; a cut of zero takes nothing away.
        row_strips = [(top, top + row_cut[0]), (bottom - row_cut[1], bottom)]
        column_strips = [(left, left + column_cut[0]), (right - column_cut[1], right)]
        total = correlation(shift, rows, columns)
        for strip in (r for r in row_strips if r[0] < r[1]):
            total -= correlation(shift, strip, columns)
            for other in (c for c in column_strips if c[0] < c[1]):
                total += correlation(shift, strip, other)
        for strip in (c for c in column_strips if c[0] < c[1]):
            total -= correlation(shift, rows, strip)
        return total

    offsets = range(kernel * kernel)
    upper = {(p, q): block(p, q) for p in offsets for q in offsets if p <= q}
    whole = [[upper[p, q] if p <= q else upper[q, p].T for q in offsets] for p in offsets]
    return jnp.block(whole) / n


def input_factor_sampled(
    key: jax.Array, x: jax.Array, *, stride: int = 2, kernel: int = 3
) -> jax.Array:
    """An unbiased estimate of A from one position in stride^2, on a grid at a random offset."""
    offset = jax.random.randint(key, (2,), 0, stride)
    # Every position has the probability 1 / stride^2, whether or not the stride divides the size.
    rows = patch_subset(x, offset, stride=stride, kernel=kernel)
    return _product(rows, rows) * (stride**2 / x.shape[0])


def gradient_factor(g: jax.Array) -> jax.Array:
    """S, `(c_out, c_out)`, from every example's gradients `(N, H, W, c_out)`, or `(N, c_out)`."""
    wide = jnp.promote_types(g.dtype, jnp.float32)
    return kronecker.second_moment(g.astype(wide).reshape(-1, g.shape[-1]))
