"""Triton kernels of the wild set. Ordinary ones, as people write them; triton_family.py picks types and sizes.

Nothing here is ever run. What counts is the PTX that comes out: the loops, the layouts, the tensor-core
and copy instructions, the inline assembly that Triton puts in.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait, globaltimer, smid


# ---- elementwise ----------------------------------------------------------------------------------


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def axpby_grid_stride(x, y, out, a, b, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, n, step):
        at = start + tl.arange(0, BLOCK)
        inside = at < n
        tl.store(out + at, a * tl.load(x + at, mask=inside) + b * tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def cast_copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside).to(out.dtype.element_ty), mask=inside)


@triton.jit
def integer_mix(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside, other=1)
    b = tl.load(y + at, mask=inside, other=1)
    b = tl.where(b == 0, 3, b)
    mixed = (a // b) ^ (a % b) + (a << 3) - (b >> 2)
    mixed = mixed | (a & ~b)
    tl.store(out + at, tl.maximum(mixed, tl.minimum(a, b)), mask=inside)


@triton.jit
def high_multiply(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.umulhi(tl.load(x + at, mask=inside), tl.load(y + at, mask=inside)), mask=inside)


@triton.jit
def activations(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside).to(tl.float32)
    gelu = 0.5 * v * (1 + tl.erf(v * 0.70710678))
    silu = v * tl.sigmoid(v)
    mish = v * libdevice.tanh(tl.log(1 + tl.exp(v)))
    relu = tl.maximum(v, 0.0)
    tl.store(out + at, (gelu + silu * mish + relu).to(out.dtype.element_ty), mask=inside)


@triton.jit
def gated_gelu_backward(grad, gate, up, grad_gate, grad_up, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    g = tl.load(gate + at, mask=inside).to(tl.float32)
    u = tl.load(up + at, mask=inside).to(tl.float32)
    d = tl.load(grad + at, mask=inside).to(tl.float32)
    inner = 0.79788456 * (g + 0.044715 * g * g * g)
    t = libdevice.tanh(inner)
    left = 0.5 * (1 + t)
    right = 0.5 * g * (1 - t * t) * 0.79788456 * (1 + 3 * 0.044715 * g * g)
    tl.store(grad_up + at, d * g * left, mask=inside)
    tl.store(grad_gate + at, d * u * (left + right), mask=inside)


@triton.jit
def elementary_functions(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside, other=1.0)
    r = tl.sin(v) + tl.cos(v) * tl.exp2(v) - tl.log2(tl.abs(v)) + tl.sqrt(tl.abs(v)) * tl.rsqrt(1 + v * v)
    r += tl.floor(v) - tl.ceil(v) + tl.fma(v, v, r)
    tl.store(out + at, r, mask=inside)


@triton.jit
def exact_division(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside)
    b = tl.load(y + at, mask=inside, other=1.0)
    tl.store(out + at, tl.div_rn(a, b) + tl.sqrt_rn(tl.abs(a)), mask=inside)


@triton.jit
def library_functions(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside)
    r = libdevice.pow(v, v * 1.7) + libdevice.lgamma(v) * libdevice.erfcinv(v) - libdevice.atan2(v, v + 1)
    r += libdevice.fmod(v, v * 0.3) + libdevice.expm1(v) + libdevice.log1p(v) + libdevice.cbrt(v)
    r += libdevice.j0(v) + libdevice.y1(v) + libdevice.sinh(v) + libdevice.asin(v) + libdevice.nearbyint(v)
    tl.store(out + at, r, mask=inside)


@triton.jit
def bit_functions(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside)
    tl.store(out + at, libdevice.popc(v) + libdevice.clz(v) * libdevice.ffs(v) + libdevice.brev(v), mask=inside)


@triton.jit
def inline_assembly(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside, other=0)
    packed = tl.inline_asm_elementwise(
        """
        {
            .reg .b32 low, high;
            and.b32 low, $1, 0x0f0f0f0f;   // the low nibbles
            shr.u32 high, $1, 4;
            and.b32 high, high, 0x0f0f0f0f;
            prmt.b32 $0, low, high, 0x5140;
        }
        """, "=r,r", [v], dtype=tl.int8, is_pure=True, pack=4)
    tl.store(out + at, packed, mask=inside)


@triton.jit
def clamp_nan(x, out, low, high, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside)
    v = tl.clamp(v, low, high, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out + at, tl.where(v != v, 0.0, v), mask=inside)


@triton.jit
def cache_hints(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside, cache_modifier=".ca")
    b = tl.load(y + at, mask=inside, eviction_policy="evict_last")
    c = tl.load(x + n - 1 - at, mask=inside, volatile=True)
    tl.store(out + at, a + b, mask=inside, cache_modifier=".wt")
    tl.store(out + n + at, a - c, mask=inside, cache_modifier=".cs")
    tl.store(out - at, c, mask=inside, eviction_policy="evict_first")


# ---- shape changes --------------------------------------------------------------------------------


@triton.jit
def transpose(x, out, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    v = tl.load(x + r[:, None] * cols + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < cols))
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(v), mask=(c[:, None] < cols) & (r[None, :] < rows))


@triton.jit
def permute_3d(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    at = a[:, None, None] * (B * C) + b[None, :, None] * C + c[None, None, :]
    v = tl.permute(tl.load(x + at), (2, 0, 1))
    back = c[:, None, None] * (A * B) + a[None, :, None] * B + b[None, None, :]
    tl.store(out + back, v)


@triton.jit
def join_split_flip(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    pair = tl.join(tl.load(x + at), tl.load(y + at))
    left, right = tl.split(pair + 1)
    both = tl.interleave(tl.flip(left), right)
    tl.store(out + tl.arange(0, 2 * N), both)


@triton.jit
def gather_columns(x, index, out, ROWS: tl.constexpr, COLS: tl.constexpr, PICKED: tl.constexpr):
    r = tl.arange(0, ROWS)[:, None]
    v = tl.load(x + r * COLS + tl.arange(0, COLS)[None, :])
    p = r * PICKED + tl.arange(0, PICKED)[None, :]
    tl.store(out + p, tl.gather(v, tl.load(index + p), 1))


@triton.jit
def embedding(tokens, table, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = tl.load(tokens + row).to(tl.int64)
    for start in range(0, width, BLOCK):
        c = start + tl.arange(0, BLOCK)
        tl.store(out + row * width + c, tl.load(table + token * width + c, mask=c < width), mask=c < width)


@triton.jit
def scatter_add(tokens, grad, table, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = tl.load(tokens + row).to(tl.int64)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(table + token * width + c, tl.load(grad + row * width + c, mask=c < width), mask=c < width)


# ---- rows: softmax, norms, losses -----------------------------------------------------------------


@triton.jit
def softmax_rows(x, out, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + c, mask=c < cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + c, (e / tl.sum(e, axis=0)).to(out.dtype.element_ty), mask=c < cols)


@triton.jit
def softmax_online(x, out, rows, cols, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=3):
        top = tl.full((BLOCK,), -float("inf"), tl.float32)
        total = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, cols, BLOCK):
            c = start + tl.arange(0, BLOCK)
            v = tl.load(x + row * cols + c, mask=c < cols, other=-float("inf")).to(tl.float32)
            new = tl.maximum(top, v)
            total = total * tl.exp(top - new) + tl.exp(v - new)
            top = new
        peak = tl.max(top, axis=0)
        norm = tl.sum(total * tl.exp(top - peak), axis=0)
        for start in range(0, cols, BLOCK):
            c = start + tl.arange(0, BLOCK)
            v = tl.load(x + row * cols + c, mask=c < cols).to(tl.float32)
            tl.store(out + row * cols + c, tl.exp(v - peak) / norm, mask=c < cols)


@triton.jit
def layer_norm(x, out, weight, bias, mean, rstd, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    out += row * stride
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        acc += tl.load(x + c, mask=c < cols, other=0.0).to(tl.float32)
    m = tl.sum(acc, axis=0) / cols
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        d = tl.where(c < cols, tl.load(x + c, mask=c < cols, other=0.0).to(tl.float32) - m, 0.0)
        acc += d * d
    s = 1 / tl.sqrt(tl.sum(acc, axis=0) / cols + eps)
    tl.store(mean + row, m)
    tl.store(rstd + row, s)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(x + c, mask=c < cols, other=0.0).to(tl.float32)
        w = tl.load(weight + c, mask=c < cols)
        b = tl.load(bias + c, mask=c < cols)
        tl.store(out + c, ((v - m) * s * w + b).to(out.dtype.element_ty), mask=c < cols)


@triton.jit
def layer_norm_backward(grad, x, weight, mean, rstd, grad_x, grad_w, locks, counts, stride, cols,
                        GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < cols
    v = tl.load(x + row * stride + c, mask=inside, other=0).to(tl.float32)
    d = tl.load(grad + row * stride + c, mask=inside, other=0).to(tl.float32)
    w = tl.load(weight + c, mask=inside).to(tl.float32)
    s = tl.load(rstd + row)
    hat = tl.where(inside, (v - tl.load(mean + row)) * s, 0.0)
    wd = tl.where(inside, w * d, 0.0)
    c1 = tl.sum(hat * wd, axis=0) / cols
    c2 = tl.sum(wd, axis=0) / cols
    tl.store(grad_x + row * stride + c, (wd - (hat * c1 + c2)) * s, mask=inside)
    # Many rows add into one of GROUP buffers, each under a spin lock.
    lock = locks + row % GROUP
    count = counts + row % GROUP
    part = (d * hat).to(tl.float32)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part += tl.load(grad_w + (row % GROUP) * cols + c, mask=inside)
    tl.store(grad_w + (row % GROUP) * cols + c, part, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def rms_norm(x, weight, out, stride, cols, eps, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    v = tl.load(x + r * stride + c, mask=c < cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=1) / cols + eps)
    w = tl.load(weight + c, mask=c < cols).to(tl.float32)
    tl.store(out + r * stride + c, (v * scale[:, None] * w).to(out.dtype.element_ty), mask=c < cols)


@triton.jit
def cross_entropy(logits, labels, loss, grad, stride, cols, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    if label == ignored:
        tl.store(loss + row, 0.0)
        return
    top = -float("inf")
    total = 0.0
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(logits + row * stride + c, mask=c < cols, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, tl.max(v))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(v - new))
        top = new
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(logits + row * stride + c, mask=c < cols, other=-float("inf")).to(tl.float32)
        p = tl.exp(v - top) / total - tl.where(c == label, 1.0, 0.0)
        tl.store(grad + row * stride + c, p.to(grad.dtype.element_ty), mask=c < cols)
    picked = tl.load(logits + row * stride + label).to(tl.float32)
    tl.store(loss + row, top + tl.log(total) - picked)


@triton.jit
def rotary(q, out, cos, sin, stride, HALF: tl.constexpr, HEADS: tl.constexpr):
    position = tl.program_id(0)
    h = tl.arange(0, HEADS)[:, None]
    d = tl.arange(0, HALF)[None, :]
    c = tl.load(cos + position * HALF + d)
    s = tl.load(sin + position * HALF + d)
    base = position * stride + h * (2 * HALF) + d
    left, right = tl.load(q + base).to(tl.float32), tl.load(q + base + HALF).to(tl.float32)
    tl.store(out + base, left * c - right * s)
    tl.store(out + base + HALF, right * c + left * s)


# ---- reductions, scans, sorts ---------------------------------------------------------------------


@triton.jit
def reduce_sum(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0), axis=0))


@triton.jit
def reduce_2d(x, sums, tops, places, ROWS: tl.constexpr, COLS: tl.constexpr, AXIS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLS)
    v = tl.load(x + r[:, None] * COLS + c[None, :])
    at = c if AXIS == 0 else r
    tl.store(sums + at, tl.sum(v, axis=AXIS))
    tl.store(tops + at, tl.max(v, axis=AXIS))
    tl.store(places + at, tl.argmin(v, axis=AXIS))


@triton.jit
def argmax_rows(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=-float("inf"))
    top, place = tl.max(v, axis=0, return_indices=True)
    tl.store(out + row, place)


@triton.jit
def welford_combine(mean_a, m2_a, weight_a, mean_b, m2_b, weight_b):
    delta = mean_b - mean_a
    weight = weight_a + weight_b
    share = tl.where(weight == 0.0, 0.0, weight_b / weight)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * weight_a * share, weight


@triton.jit
def welford(x, mean, variance, ROWS: tl.constexpr, COLS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLS)
    v = tl.load(x + r[:, None] * COLS + c[None, :])
    zero = tl.zeros((ROWS, COLS), tl.float32)
    m, m2, w = tl.reduce((v, zero, zero + 1), 1, welford_combine)
    tl.store(mean + r, m)
    tl.store(variance + r, m2 / w)


@triton.jit
def prefix_sum(x, out, BLOCK: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0, reverse=REVERSE))


@triton.jit
def linear_step(decay_a, value_a, decay_b, value_b):
    return decay_a * decay_b, value_a * decay_b + value_b


@triton.jit
def linear_recurrence(decay, value, out, ROWS: tl.constexpr, COLS: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    _, state = tl.associative_scan((tl.load(decay + at), tl.load(value + at)), AXIS, linear_step)
    tl.store(out + at, state)


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(out + tl.arange(0, BINS), counts, sem="relaxed")


@triton.jit
def sort_rows(x, out, ROWS: tl.constexpr, COLS: tl.constexpr, DESCENDING: tl.constexpr):
    at = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out + at, tl.sort(tl.load(x + at), descending=DESCENDING))


@triton.jit
def top_k(x, out, COLS: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    best = tl.topk(tl.load(x + row * COLS + tl.arange(0, COLS)), K)
    tl.store(out + row * K + tl.arange(0, K), best)


@triton.jit
def compact(x, keep, out, counter, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    wanted = tl.load(keep + at, mask=inside, other=0) != 0
    place = tl.cumsum(wanted.to(tl.int32), axis=0)
    base = tl.atomic_add(counter, tl.max(place, axis=0))
    tl.store(out + base + place - 1, tl.load(x + at, mask=inside), mask=wanted)


@triton.jit
def binary_search(keys, queries, out, n, queries_count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wanted = tl.load(queries + at, mask=at < queries_count)
    low = tl.zeros([BLOCK], tl.int32)
    high = tl.full([BLOCK], 0, tl.int32) + n
    while tl.max(high - low, axis=0) > 0:
        middle = (low + high) // 2
        right = tl.load(keys + middle, mask=middle < n, other=0) < wanted
        open_ = low < high
        low = tl.where(open_ & right, middle + 1, low)
        high = tl.where(open_ & (right == 0), middle, high)
    tl.store(out + at, low, mask=at < queries_count)


# ---- atomics, random numbers, whole-GPU tricks ----------------------------------------------------


@triton.jit
def atomics(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside)
    tl.atomic_max(out + at % 7, v, mask=inside)
    tl.atomic_min(out + 8 + at % 7, v, mask=inside, sem="relaxed", scope="cta")
    tl.atomic_and(out + 16 + at % 7, v, mask=inside, sem="acquire", scope="gpu")
    tl.atomic_or(out + 24 + at % 7, v, mask=inside, sem="release", scope="sys")
    old = tl.atomic_xor(out + 32 + at % 7, v, mask=inside)
    tl.atomic_xchg(out + 40 + at, old, mask=inside)
    tl.atomic_cas(out + 48 + at, old, v)


@triton.jit
def atomics_float(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside)
    old = tl.atomic_add(out + at % 5, v, mask=inside, sem="relaxed")
    tl.store(out + 8 + at, old, mask=inside)
    tl.atomic_add(out, tl.sum(v, axis=0))


@triton.jit
def atomics_extreme(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.atomic_max(out + at % 5, v, mask=at < n)
    tl.atomic_min(out + 8 + at % 5, v, mask=at < n)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, tl.load(x + at, mask=inside) / (1 - p), 0.0), mask=inside)


@triton.jit
def random_fill(out, normals, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, at)
    tl.store(out + at, a ^ b ^ c ^ d, mask=at < n)
    tl.store(normals + at, tl.randn(seed, at, n_rounds=7), mask=at < n)


@triton.jit
def grid_barrier(x, out, arrived, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="release")
    while tl.atomic_add(arrived, 0, sem="acquire") < tl.num_programs(0):
        pass
    tl.store(out + at, tl.load(out + n - 1 - at, mask=at < n), mask=at < n)


@triton.jit
def dependent_launch(x, out, n, BLOCK: tl.constexpr):
    gdc_wait()
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    gdc_launch_dependents()
    tl.store(out + at, v * 2, mask=at < n)


@triton.jit
def clocks(out, BLOCK: tl.constexpr):
    start = globaltimer()
    where = smid()
    pid = tl.program_id(0)
    tl.store(out + pid * 2, globaltimer() - start)
    tl.store(out + pid * 2 + 1, where.to(tl.int64))


@triton.jit
def print_and_assert(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.device_assert(v >= 0, "negative input")
    tl.device_print("value ", v)
    tl.store(out + at, v, mask=at < n)


@triton.jit(noinline=True)
def polynomial(v, a, b, c):
    return (a * v + b) * v + c


@triton.jit(noinline=True)
def one_row(x, out, row, n, a, BLOCK: tl.constexpr):
    at = row * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    total = tl.sum(v, axis=0)
    tl.store(out + at, v / polynomial(total, a, 2.0, 3.0), mask=at < n)
    return total


@triton.jit
def calls(x, out, n, a, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = one_row(x, out, row, n, a, BLOCK)
    if total > a:
        one_row(out, x, row + 1, n, a * 2, BLOCK)


@triton.jit
def _wind(v):
    r = v
    if v > 4:
        r = v * 3 + 1
    elif v > 0:
        r = v // 2
    return r


@triton.jit
def branch_per_element(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.store(out + at, tl.map_elementwise(_wind, v), mask=at < n)


@triton.jit
def collatz(x, out, n):
    pid = tl.program_id(0)
    v = tl.load(x + pid)
    steps = 0
    while v != 1:
        if v % 2 == 0:
            v = v // 2
        else:
            v = 3 * v + 1
        steps += 1
    tl.store(out + pid, steps)


# ---- quantisation ---------------------------------------------------------------------------------


@triton.jit
def quantise_rows(x, out, scales, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(v), axis=0), 1e-8) / 127.0
    q = libdevice.rint(v / scale).to(tl.int8)
    tl.store(out + row * cols + c, q, mask=c < cols)
    tl.store(scales + row, scale)


@triton.jit
def unpack_int4(packed, scales, zeros, out, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(packed + at // 8, mask=at < n)
    nibble = (word >> ((at % 8) * 4)) & 15
    scale = tl.load(scales + at // GROUP, mask=at < n)
    zero = tl.load(zeros + at // GROUP, mask=at < n)
    tl.store(out + at, ((nibble - zero) * scale).to(out.dtype.element_ty), mask=at < n)


@triton.jit
def block_scale_fp8(x, out, scales, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(v), axis=0) / 448.0
    tl.store(out + at, (v / scale).to(out.dtype.element_ty), mask=at < n)
    tl.store(scales + tl.program_id(0), scale)


# ---- matrix products ------------------------------------------------------------------------------


@triton.jit
def matmul(a, b, out, M, N, K, stride_am, stride_bk, stride_cm,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
           ACC: tl.constexpr, PRECISION: tl.constexpr, GELU: tl.constexpr):
    pid = tl.program_id(0)
    blocks_m, blocks_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * blocks_n
    first = (pid // in_group) * GROUP
    size = min(blocks_m - first, GROUP)
    pm = first + (pid % in_group) % size
    pn = (pid % in_group) // size
    m = (pm * BM + tl.arange(0, BM)) % M
    n = (pn * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a_at = a + m[:, None] * stride_am + k[None, :]
    b_at = b + k[:, None] * stride_bk + n[None, :]
    acc = tl.zeros((BM, BN), ACC)
    for i in range(0, tl.cdiv(K, BK)):
        av = tl.load(a_at, mask=k[None, :] < K - i * BK, other=0.0)
        bv = tl.load(b_at, mask=k[:, None] < K - i * BK, other=0.0)
        acc = tl.dot(av, bv, acc, input_precision=PRECISION, out_dtype=ACC)
        a_at += BK
        b_at += BK * stride_bk
    if GELU:
        acc = acc * tl.sigmoid(1.702 * acc)
    m = pm * BM + tl.arange(0, BM)
    n = pn * BN + tl.arange(0, BN)
    tl.store(out + m[:, None] * stride_cm + n[None, :], acc.to(out.dtype.element_ty),
             mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def matmul_transposed(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        av = tl.load(a + (i + k)[:, None] * M + m[None, :])
        bv = tl.load(b + n[:, None] * K + (i + k)[None, :])
        acc += tl.dot(av.T, bv.T)
    tl.store(out + m[:, None] * N + n[None, :], acc.to(out.dtype.element_ty))


@triton.jit
def matmul_split_k(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.program_id(2) * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, tl.cdiv(K, BK * SPLIT)):
        left = K - i * BK * SPLIT
        av = tl.load(a + m[:, None] * K + k[None, :], mask=k[None, :] < left, other=0.0)
        bv = tl.load(b + k[:, None] * N + n[None, :], mask=k[:, None] < left, other=0.0)
        acc = tl.dot(av, bv, acc)
        k += BK * SPLIT
    tl.atomic_add(out + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N), sem="relaxed")


@triton.jit
def matmul_int4_weight(a, b, scales, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        av = tl.load(a + m[:, None] * K + (i + k)[None, :])
        word = tl.load(b + ((i + k) // 2)[:, None] * N + n[None, :])
        nibble = (word >> ((k % 2) * 4)[:, None].to(tl.int8)) & 15
        scale = tl.load(scales + (i // BK) * N + n)
        acc += tl.dot(av, (nibble - 8).to(av.dtype)) * scale[None, :]
    tl.store(out + m[:, None] * N + n[None, :], acc.to(out.dtype.element_ty))


@triton.jit
def matmul_batched(a, b, out, M, N, K, stride_a, stride_b, stride_c,
                   BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = a + batch * stride_a + m[:, None] * K + k[None, :]
    b_at = b + batch * stride_b + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        acc = tl.dot(tl.load(a_at), tl.load(b_at), acc)
        a_at += BK
        b_at += BK * N
    tl.store(out + batch * stride_c + m[:, None] * N + n[None, :], acc.to(out.dtype.element_ty))


@triton.jit
def dot_3d(a, b, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    bt = tl.arange(0, B)[:, None, None]
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    av = tl.load(a + bt * (M * K) + m[None, :, None] * K + k[None, None, :])
    bv = tl.load(b + bt * (K * N) + k[None, :, None] * N + n[None, None, :])
    tl.store(out + bt * (M * N) + m[None, :, None] * N + n[None, None, :], tl.dot(av, bv))


@triton.jit
def matmul_grouped(a_list, b_list, c_list, sizes, groups, programs,
                   BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    done = 0
    for g in range(groups):
        M, N, K = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        blocks_n = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * blocks_n
        while tile >= done and tile < done + tiles:
            a = tl.load(a_list + g).to(tl.pointer_type(tl.float16))
            b = tl.load(b_list + g).to(tl.pointer_type(tl.float16))
            c = tl.load(c_list + g).to(tl.pointer_type(tl.float16))
            m = ((tile - done) // blocks_n) * BM + tl.arange(0, BM)
            n = ((tile - done) % blocks_n) * BN + tl.arange(0, BN)
            k = tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for i in range(0, K, BK):
                tl.multiple_of(k, [16])
                acc += tl.dot(tl.load(a + m[:, None] * K + (i + k)[None, :]), tl.load(b + (i + k)[:, None] * N + n[None, :]))
            tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))
            tile += programs
        done += tiles


@triton.jit
def matmul_persistent(a, b, out, M, N, K, programs, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    blocks_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * blocks_n, programs, flatten=True):
        m = (tile // blocks_n) * BM + tl.arange(0, BM)
        n = (tile % blocks_n) * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), tl.float32)
        for i in range(0, K, BK):
            acc = tl.dot(tl.load(a + m[:, None] * K + (i + k)[None, :]), tl.load(b + (i + k)[:, None] * N + n[None, :]), acc)
        tl.store(out + m[:, None] * N + n[None, :], acc.to(out.dtype.element_ty))


@triton.jit
def matmul_descriptors(a, b, out, M, N, K, programs, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                       SPECIALISE: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    c_desc = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    blocks_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * blocks_n, programs, warp_specialize=SPECIALISE):
        m = (tile // blocks_n) * BM
        n = (tile % blocks_n) * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for i in range(0, K, BK):
            acc = tl.dot(a_desc.load([m, i]), b_desc.load([n, i]).T, acc)
        c_desc.store([m, n], acc.to(out.dtype.element_ty))


@triton.jit
def matmul_host_descriptors(a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        acc = tl.dot(a_desc.load([m, i]), b_desc.load([n, i]).T, acc)
    c_desc.store([m, n], acc.to(tl.float16))


@triton.jit
def descriptor_gather(x, index, out, rows, cols, COUNT: tl.constexpr, WIDTH: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [1, WIDTH])
    picked = tl.load(index + tl.arange(0, COUNT))
    v = desc.gather(picked, tl.program_id(0) * WIDTH)
    tl.store(out + tl.arange(0, COUNT)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :], v)


@triton.jit
def descriptor_reduce(x, out, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [ROWS, COLS])
    target = tl.make_tensor_descriptor(out, [rows, cols], [cols, 1], [ROWS, COLS])
    r, c = tl.program_id(0) * ROWS, tl.program_id(1) * COLS
    v = source.load([r, c])
    target.atomic_add([r, c], v)
    target.atomic_max([c, r], v)


@triton.jit
def matmul_scaled(a, a_scale, b, b_scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  A_FORMAT: tl.constexpr, B_FORMAT: tl.constexpr, A_PACK: tl.constexpr, B_PACK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    ka, kb, ks = tl.arange(0, BK // A_PACK), tl.arange(0, BK // B_PACK), tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        av = tl.load(a + m[:, None] * (K // A_PACK) + (i // A_PACK + ka)[None, :])
        bv = tl.load(b + (i // B_PACK + kb)[:, None] * N + n[None, :])
        asc = tl.load(a_scale + m[:, None] * (K // 32) + (i // 32 + ks)[None, :])
        bsc = tl.load(b_scale + n[:, None] * (K // 32) + (i // 32 + ks)[None, :])
        acc = tl.dot_scaled(av, asc, A_FORMAT, bv, bsc, B_FORMAT, acc)
    tl.store(out + m[:, None] * N + n[None, :], acc.to(out.dtype.element_ty))


@triton.jit
def convolution_2d(x, weight, out, H, W, C, OC, KS: tl.constexpr,
                   BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    oh, ow = (m // W) % H, m % W
    image = m // (H * W)
    acc = tl.zeros((BM, BN), tl.float32)
    for tap in range(KS * KS):
        ih, iw = oh + tap // KS - KS // 2, ow + tap % KS - KS // 2
        inside = (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
        for ci in range(0, C, BK):
            c = ci + tl.arange(0, BK)
            xv = tl.load(x + ((image * H + ih) * W + iw)[:, None] * C + c[None, :],
                         mask=inside[:, None] & (c[None, :] < C), other=0.0)
            wv = tl.load(weight + (tap * C + c)[:, None] * OC + n[None, :],
                         mask=(c[:, None] < C) & (n[None, :] < OC), other=0.0)
            acc = tl.dot(xv, wv, acc)
    tl.store(out + m[:, None] * OC + n[None, :], acc.to(out.dtype.element_ty), mask=n[None, :] < OC)


@triton.jit
def stencil_2d(x, out, H, W, BH: tl.constexpr, BW: tl.constexpr):
    r = tl.program_id(0) * BH + tl.arange(0, BH)[:, None]
    c = tl.program_id(1) * BW + tl.arange(0, BW)[None, :]
    acc = tl.zeros((BH, BW), tl.float32)
    for dr in tl.static_range(-1, 2):
        for dc in tl.static_range(-1, 2):
            rr, cc = r + dr, c + dc
            acc += tl.load(x + rr * W + cc, mask=(rr >= 0) & (rr < H) & (cc >= 0) & (cc < W), other=0.0)
    tl.store(out + r * W + c, acc / 9, mask=(r < H) & (c < W))


@triton.jit
def sparse_rows(row_start, columns, values, x, out, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first, last = tl.load(row_start + row), tl.load(row_start + row + 1)
    acc = tl.zeros([BLOCK], values.dtype.element_ty)
    for start in range(first, last, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(values + at, mask=at < last, other=0.0)
        acc += v * tl.load(x + tl.load(columns + at, mask=at < last, other=0), mask=at < last, other=0.0)
    tl.store(out + row, tl.sum(acc, axis=0))


@triton.jit
def n_body(px, py, pz, mass, ax, ay, az, n, BLOCK: tl.constexpr, TILE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y, z = tl.load(px + i), tl.load(py + i), tl.load(pz + i)
    sx = tl.zeros_like(x)
    sy = tl.zeros_like(x)
    sz = tl.zeros_like(x)
    for start in range(0, n, TILE):
        j = start + tl.arange(0, TILE)
        dx = tl.load(px + j)[None, :] - x[:, None]
        dy = tl.load(py + j)[None, :] - y[:, None]
        dz = tl.load(pz + j)[None, :] - z[:, None]
        r2 = dx * dx + dy * dy + dz * dz + 1e-4
        f = tl.load(mass + j)[None, :] / (r2 * tl.sqrt(r2))
        sx += tl.sum(f * dx, axis=1)
        sy += tl.sum(f * dy, axis=1)
        sz += tl.sum(f * dz, axis=1)
    tl.store(ax + i, sx)
    tl.store(ay + i, sy)
    tl.store(az + i, sz)


@triton.jit
def adam_step(param, grad, m, v, rate, beta1, beta2, eps, decay, step, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    p = tl.load(param + at, mask=inside).to(tl.float32)
    g = tl.load(grad + at, mask=inside).to(tl.float32)
    mv = beta1 * tl.load(m + at, mask=inside) + (1 - beta1) * g
    vv = beta2 * tl.load(v + at, mask=inside) + (1 - beta2) * g * g
    fix1 = 1 - libdevice.pow(beta1, step.to(tl.float32))
    fix2 = 1 - libdevice.pow(beta2, step.to(tl.float32))
    p = p * (1 - rate * decay) - rate * (mv / fix1) / (tl.sqrt(vv / fix2) + eps)
    tl.store(param + at, p.to(param.dtype.element_ty), mask=inside)
    tl.store(m + at, mv, mask=inside)
    tl.store(v + at, vv, mask=inside)


@triton.jit
def selective_scan(u, delta, A, B, C, out, length, CHANNELS: tl.constexpr, STATES: tl.constexpr):
    ch = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    s = tl.arange(0, STATES)
    a = tl.load(A + ch[:, None] * STATES + s[None, :])
    state = tl.zeros((CHANNELS, STATES), tl.float32)
    for t in range(length):
        d = tl.load(delta + t * CHANNELS + ch)
        d = tl.where(d > 20, d, tl.log(1 + tl.exp(d)))
        state = state * tl.exp(d[:, None] * a) + (d * tl.load(u + t * CHANNELS + ch))[:, None] * tl.load(B + t * STATES + s)[None, :]
        tl.store(out + t * CHANNELS + ch, tl.sum(state * tl.load(C + t * STATES + s)[None, :], axis=1))


# ---- attention ------------------------------------------------------------------------------------


@triton.jit
def attention(q, k, v, out, lse, heads, length, scale,
              BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    block, head = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * length * D
    m = block * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    qv = tl.load(q + base + m[:, None] * D + d[None, :])
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    end = (block + 1) * BM if CAUSAL else length
    for start in range(0, end, BN):
        n = start + tl.arange(0, BN)
        kv = tl.load(k + base + n[None, :] * D + d[:, None])
        s = tl.dot(qv, kv) * scale
        if CAUSAL:
            s = tl.where(m[:, None] >= n[None, :], s, -1.0e6)
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, axis=1)
        acc = acc * shrink[:, None]
        vv = tl.load(v + base + n[:, None] * D + d[None, :])
        acc = tl.dot(p.to(vv.dtype), vv, acc)
        top = new
    tl.store(lse + head * length + m, top + tl.log2(total))
    tl.store(out + base + m[:, None] * D + d[None, :], (acc / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def attention_descriptors(q, k, v, out, heads, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
                          SPECIALISE: tl.constexpr):
    rows = heads * length
    q_desc = tl.make_tensor_descriptor(q, [rows, D], [D, 1], [BM, D])
    k_desc = tl.make_tensor_descriptor(k, [rows, D], [D, 1], [BN, D])
    v_desc = tl.make_tensor_descriptor(v, [rows, D], [D, 1], [BN, D])
    o_desc = tl.make_tensor_descriptor(out, [rows, D], [D, 1], [BM, D])
    base = tl.program_id(1) * length
    first = base + tl.program_id(0) * BM
    qv = q_desc.load([first, 0])
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in tl.range(0, length, BN, warp_specialize=SPECIALISE):
        s = tl.dot(qv, k_desc.load([base + start, 0]).T) * scale
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, axis=1)
        vv = v_desc.load([base + start, 0])
        acc = tl.dot(p.to(vv.dtype), vv, acc * shrink[:, None])
        top = new
    o_desc.store([first, 0], (acc / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def attention_backward_kv(q, k, v, grad, lse, delta, grad_k, grad_v, length, scale,
                          BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    base = tl.program_id(1).to(tl.int64) * length
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    kv = tl.load(k + (base + n)[:, None] * D + d[None, :])
    vv = tl.load(v + (base + n)[:, None] * D + d[None, :])
    dk = tl.zeros([BN, D], tl.float32)
    dv = tl.zeros([BN, D], tl.float32)
    for start in range(tl.program_id(0) * BN, length, BM):
        m = start + tl.arange(0, BM)
        qt = tl.load(q + (base + m)[None, :] * D + d[:, None])
        pt = tl.exp2(tl.dot(kv, qt) - tl.load(lse + base + m)[None, :])
        pt = tl.where(m[None, :] >= n[:, None], pt, 0.0)
        do = tl.load(grad + (base + m)[:, None] * D + d[None, :])
        dv += tl.dot(pt.to(do.dtype), do)
        dp = tl.dot(vv, tl.trans(do))
        ds = pt * (dp - tl.load(delta + base + m)[None, :])
        dk += tl.dot(ds.to(qt.dtype), tl.trans(qt))
    tl.store(grad_k + (base + n)[:, None] * D + d[None, :], (dk * scale).to(grad_k.dtype.element_ty))
    tl.store(grad_v + (base + n)[:, None] * D + d[None, :], dv.to(grad_v.dtype.element_ty))


@triton.jit
def attention_paged(q, k_pages, v_pages, table, lengths, out, scale, pages_max,
                    PAGE: tl.constexpr, D: tl.constexpr, GROUP: tl.constexpr):
    sequence = tl.program_id(0)
    length = tl.load(lengths + sequence)
    g, d, t = tl.arange(0, GROUP), tl.arange(0, D), tl.arange(0, PAGE)
    qv = tl.load(q + sequence * GROUP * D + g[:, None] * D + d[None, :]) * scale
    top = tl.full([GROUP], -float("inf"), tl.float32)
    total = tl.zeros([GROUP], tl.float32)
    acc = tl.zeros([GROUP, D], tl.float32)
    for p in range(tl.cdiv(length, PAGE)):
        page = tl.load(table + sequence * pages_max + p).to(tl.int64)
        kv = tl.load(k_pages + (page * PAGE + t)[None, :] * D + d[:, None])
        s = tl.dot(qv.to(kv.dtype), kv)
        s = tl.where((p * PAGE + t)[None, :] < length, s, -float("inf"))
        new = tl.maximum(top, tl.max(s, axis=1))
        e = tl.exp(s - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(e, axis=1)
        vv = tl.load(v_pages + (page * PAGE + t)[:, None] * D + d[None, :])
        acc = acc * shrink[:, None] + tl.dot(e.to(vv.dtype), vv)
        top = new
    tl.store(out + sequence * GROUP * D + g[:, None] * D + d[None, :], (acc / total[:, None]).to(out.dtype.element_ty))
