"""Numba kernels of the wild set. Plain functions; numba_family.py names their types and compiles them.

KERNELS at the end maps a name to (function, signature, keyword arguments of the compiler).
"""

import math

import numpy as np
from numba import cuda, types
from numba.cuda import libdevice
from numba.cuda.random import xoroshiro128p_normal_float32, xoroshiro128p_uniform_float64, xoroshiro128p_type

FIXED_WEIGHTS = np.array([1, 4, 6, 4, 1], dtype=np.float32) / 16
PARTICLE = np.dtype([("x", np.float32), ("y", np.float32), ("id", np.int32), ("mass", np.float64)], align=True)


def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = a * x[i] + y[i]


def grid_stride_2d(x, out):
    r0, c0 = cuda.grid(2)
    rs, cs = cuda.gridsize(2)
    for r in range(r0, x.shape[0], rs):
        for c in range(c0, x.shape[1], cs):
            out[r, c] = x[r, c] * x[r, c] + 1


def matmul_naive(a, b, c):
    r, k = cuda.grid(2)
    if r < c.shape[0] and k < c.shape[1]:
        acc = 0.0
        for i in range(a.shape[1]):
            acc += a[r, i] * b[i, k]
        c[r, k] = acc


def matmul_shared(a, b, c):
    sa = cuda.shared.array((16, 16), types.float32)
    sb = cuda.shared.array((16, 16), types.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    r, k = cuda.grid(2)
    acc = types.float32(0)
    for tile in range((a.shape[1] + 15) // 16):
        sa[ty, tx] = a[k, tile * 16 + tx] if k < a.shape[0] and tile * 16 + tx < a.shape[1] else 0
        sb[ty, tx] = b[tile * 16 + ty, r] if r < b.shape[1] and tile * 16 + ty < b.shape[0] else 0
        cuda.syncthreads()
        for i in range(16):
            acc += sa[ty, i] * sb[i, tx]
        cuda.syncthreads()
    if k < c.shape[0] and r < c.shape[1]:
        c[k, r] = acc


def reduce_shared(x, out):
    s = cuda.shared.array(256, types.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


def reduce_warp(x, out):
    i = cuda.grid(1)
    v = x[i] if i < x.size else types.float32(0)
    for offset in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, offset)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, v)


def warp_tricks(x, out):
    i = cuda.grid(1)
    v = x[i]
    mask = cuda.ballot_sync(0xFFFFFFFF, v > 0)
    same = cuda.match_any_sync(0xFFFFFFFF, v)
    both, flag = cuda.match_all_sync(0xFFFFFFFF, v)
    r = cuda.popc(mask) + cuda.ffs(same) + cuda.clz(v) + cuda.brev(v)
    if cuda.all_sync(0xFFFFFFFF, v > 3) or cuda.any_sync(0xFFFFFFFF, v < -3) or cuda.eq_sync(0xFFFFFFFF, flag):
        r += cuda.shfl_xor_sync(0xFFFFFFFF, v, 5) + cuda.shfl_up_sync(0xFFFFFFFF, v, 1) + cuda.shfl_sync(0xFFFFFFFF, v, 3)
    cuda.syncwarp()
    out[i] = cuda.selp(r > 0, r, types.int64(both)) + cuda.lanemask_lt() + cuda.activemask()


def block_votes(x, out):
    i = cuda.grid(1)
    n = cuda.syncthreads_count(types.int32(x[i] > 0))
    a = cuda.syncthreads_and(types.int32(x[i] > 1))
    o = cuda.syncthreads_or(types.int32(x[i] > 2))
    cuda.threadfence_block()
    cuda.threadfence()
    cuda.threadfence_system()
    cuda.nanosleep(100)
    out[i] = n + a * 2 + o * 4


def scan_dynamic_shared(x, out):
    s = cuda.shared.array(0, types.int32)
    t = cuda.threadIdx.x
    n = cuda.blockDim.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < n:
        v = s[t - step] if t >= step else 0
        cuda.syncthreads()
        s[t] += v
        cuda.syncthreads()
        step *= 2
    out[cuda.grid(1)] = s[t]


def histogram(x, bins, low, high):
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    while i < x.size:
        place = int((x[i] - low) / (high - low) * bins.size)
        if 0 <= place < bins.size:
            cuda.atomic.add(bins, place, 1)
        i += step


def atomics_integer(x, out):
    i = cuda.grid(1)
    v = x[i]
    cuda.atomic.sub(out, 0, v)
    cuda.atomic.max(out, 1, v)
    cuda.atomic.min(out, 2, v)
    cuda.atomic.and_(out, 3, v)
    cuda.atomic.or_(out, 4, v)
    cuda.atomic.xor(out, 5, v)
    old = cuda.atomic.exch(out, 6, v)
    cuda.atomic.cas(out, 7, old, v)
    cuda.atomic.inc(out, 8, v)
    cuda.atomic.dec(out, 9, v)


def atomics_float(x, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, 0, x[i])
    cuda.atomic.max(out, 1, x[i])
    cuda.atomic.nanmin(out, 2, x[i])
    cuda.atomic.sub(out, 3, x[i])


def stencil_3d(x, out, alpha):
    i, j, k = cuda.grid(3)
    if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1 and 0 < k < x.shape[2] - 1:
        around = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k] + x[i, j, k - 1] + x[i, j, k + 1]
        out[i, j, k] = x[i, j, k] + alpha * (around - 6 * x[i, j, k])


def convolve_constant(x, out):
    w = cuda.const.array_like(FIXED_WEIGHTS)
    i = cuda.grid(1)
    if 2 <= i < x.size - 2:
        acc = types.float32(0)
        for k in range(5):
            acc += w[k] * x[i + k - 2]
        out[i] = acc


def local_sort(x, out):
    mine = cuda.local.array(32, types.int32)
    row = cuda.grid(1)
    for k in range(32):
        mine[k] = x[row, k]
    for k in range(1, 32):
        v = mine[k]
        j = k - 1
        while j >= 0 and mine[j] > v:
            mine[j + 1] = mine[j]
            j -= 1
        mine[j + 1] = v
    for k in range(32):
        out[row, k] = mine[k]


def bitonic_sort(x):
    s = cuda.shared.array(512, types.int64)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    k = 2
    while k <= 512:
        j = k >> 1
        while j > 0:
            other = t ^ j
            if other > t:
                up = (t & k) == 0
                if (s[t] > s[other]) == up:
                    s[t], s[other] = s[other], s[t]
            cuda.syncthreads()
            j >>= 1
        k <<= 1
    x[cuda.grid(1)] = s[t]


def mandelbrot(out, left, top, step, limit):
    c, r = cuda.grid(2)
    if r >= out.shape[0] or c >= out.shape[1]:
        return
    z = 0j
    start = complex(left + c * step, top + r * step)
    n = 0
    while n < limit and z.real * z.real + z.imag * z.imag < 4:
        z = z * z + start
        n += 1
    out[r, c] = n


def normal_distribution(d):
    k = 1 / (1 + 0.2316419 * math.fabs(d))
    p = 0.39894228 * math.exp(-0.5 * d * d) * (k * (0.31938153 + k * (-0.356563782 + k * 1.781477937)))
    return 1 - p if d > 0 else p


inlined_distribution = cuda.jit(device=True)(normal_distribution)
called_distribution = cuda.jit(device=True, inline=False)(normal_distribution)


def black_scholes(price, strike, years, call, put, rate, sigma):
    i = cuda.grid(1)
    if i >= price.size:
        return
    root = math.sqrt(years[i])
    d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * sigma * sigma) * years[i]) / (sigma * root)
    d2 = d1 - sigma * root
    e = math.exp(-rate * years[i])
    call[i] = price[i] * inlined_distribution(d1) - strike[i] * e * called_distribution(d2)
    put[i] = strike[i] * e * inlined_distribution(-d2) - price[i] * called_distribution(-d1)


def mathematics(x, out):
    i = cuda.grid(1)
    v = x[i]
    r = math.sin(v) + math.cos(v) * math.tan(v) - math.asin(v) + math.acos(v) * math.atan(v)
    r += math.sinh(v) + math.cosh(v) + math.tanh(v) + math.asinh(v) + math.acosh(v) + math.atanh(v)
    r += math.log1p(v) + math.expm1(v) + math.log10(v) + math.log2(v) + math.erf(v) + math.erfc(v) + math.gamma(v)
    r += math.lgamma(v) + math.pow(v, 2.5) + math.hypot(v, r) + math.fmod(v, 0.7) + math.copysign(v, r) + math.floor(v)
    m, e = math.frexp(v)
    f, w = math.modf(v)
    out[i] = r + m + e + f + w + math.ldexp(v, 3) + (1.0 if math.isnan(v) or math.isinf(v) else 0.0)


def library_calls(x, out):
    i = cuda.grid(1)
    v = x[i]
    s, c = libdevice.sincosf(v)
    r = libdevice.fast_sinf(v) + libdevice.rsqrtf(v) + s * c
    r += libdevice.rcbrtf(v) + libdevice.normcdff(v) + libdevice.j0f(v) + libdevice.fast_exp10f(v)
    q, n = libdevice.remquof(v, types.float32(0.3))
    out[i] = r + q + n + libdevice.float2int_rn(v) + libdevice.saturatef(v) + libdevice.powif(v, 3)


def integer_arithmetic(x, y, out):
    i = cuda.grid(1)
    a, b = x[i], y[i]
    if b == 0:
        b = 7
    out[i] = a // b + a % b + (a << 3) + (a >> 2) + (a & b) + (a | b) + (a ^ b) + ~a + abs(a) + a**3 + min(a, b) * max(a, b)


def division_python_rules(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] // y[i] + x[i] % y[i] + round(x[i] / y[i])


def complex_arithmetic(x, y, out):
    i = cuda.grid(1)
    a, b = x[i], y[i]
    out[i] = a * b + a / b - a.conjugate() ** 2 + abs(a) + complex(b.imag, a.real)


def half_precision(x, y, out):
    i = cuda.grid(1)
    a, b = x[i], y[i]
    r = cuda.fp16.hfma(a, b, a)
    r = cuda.fp16.hmax(r, cuda.fp16.habs(b))
    if cuda.fp16.hgt(a, b):
        r = cuda.fp16.hsqrt(a) + cuda.fp16.hsin(b) * cuda.fp16.hexp(a)
    out[i] = r / b - a


def particles(p, dt):
    i = cuda.grid(1)
    if i < p.size:
        p[i].x += dt * p[i].y
        p[i]["y"] -= types.float32(9.81) * dt
        p[i].id = p[i].id + 1 if p[i].mass > 1.5 else 0


def vector_types(x, out):
    i = cuda.grid(1)
    a = cuda.float32x4(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3])
    b = cuda.int32x2(i, i + 1)
    out[i] = a.x * a.w + a.y * a.z + b.x - b.y


def random_walk(states, out, steps):
    i = cuda.grid(1)
    place = 0.0
    for _ in range(steps):
        place += xoroshiro128p_normal_float32(states, i)
        if xoroshiro128p_uniform_float64(states, i) < 0.01:
            place = 0.0
    out[i] = place


def tuples(x, out, offsets):
    i = cuda.grid(1)
    acc = 0
    for o in offsets:
        acc += x[(i + o) % x.size]
    first = offsets[0]
    rest = offsets[1:]
    out[i] = acc + len(rest) + first


@cuda.jit(device=True)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def recursion(x, out):
    i = cuda.grid(1)
    out[i] = fibonacci(x[i])


def printing(x):
    i = cuda.grid(1)
    if x[i] < 0:
        print("negative at", i, "value", x[i])


def raising(x, out):
    i = cuda.grid(1)
    if i >= x.size:
        raise IndexError
    if x[i] == 0:
        raise ValueError("zero")
    assert x[i] > -100
    out[i] = 10 // x[i]


def grid_sync(x, rounds):
    g = cuda.cg.this_grid()
    i = cuda.grid(1)
    for r in range(rounds):
        x[i] = x[(i + 1) % x.size] + r
        g.sync()


def spin_lock(lock, total, x):
    i = cuda.grid(1)
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    total[0] += x[i]
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


def collatz(x, out):
    i = cuda.grid(1)
    n, steps = x[i], 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 1000:
            break
    out[i] = steps


def edit_distance(a, b, out):
    pair = cuda.grid(1)
    row = cuda.local.array(65, types.int16)
    for j in range(65):
        row[j] = j
    for i in range(1, 65):
        corner = row[0]
        row[0] = i
        for j in range(1, 65):
            cost = 0 if a[pair, i - 1] == b[pair, j - 1] else 1
            best = min(row[j] + 1, row[j - 1] + 1, corner + cost)
            corner = row[j]
            row[j] = best
    out[pair] = row[64]


def n_body(pos, vel, dt):
    i = cuda.grid(1)
    s = cuda.shared.array((128, 3), types.float32)
    ax = ay = az = types.float32(0)
    for tile in range(pos.shape[0] // 128):
        for d in range(3):
            s[cuda.threadIdx.x, d] = pos[tile * 128 + cuda.threadIdx.x, d]
        cuda.syncthreads()
        for j in range(128):
            dx, dy, dz = s[j, 0] - pos[i, 0], s[j, 1] - pos[i, 1], s[j, 2] - pos[i, 2]
            r = types.float32(1) / math.sqrt(dx * dx + dy * dy + dz * dz + types.float32(1e-3))
            f = r * r * r
            ax += f * dx
            ay += f * dy
            az += f * dz
        cuda.syncthreads()
    vel[i, 0] += ax * dt
    vel[i, 1] += ay * dt
    vel[i, 2] += az * dt


def breadth_first(starts, edges, level, frontier, again, depth):
    v = cuda.grid(1)
    if v < frontier.size and frontier[v]:
        frontier[v] = False
        for e in range(starts[v], starts[v + 1]):
            w = edges[e]
            if level[w] < 0:
                level[w] = depth
                again[w] = True


def switch_chain(op, x, y, out):
    i = cuda.grid(1)
    o = op[i]
    if o == 0:
        r = x[i] + y[i]
    elif o == 1:
        r = x[i] - y[i]
    elif o == 2:
        r = x[i] * y[i]
    elif o == 3:
        r = math.sqrt(x[i])
    elif o == 4:
        r = x[i] if x[i] > y[i] else y[i]
    else:
        r = -x[i]
    out[i] = r


def transpose(x, out):
    s = cuda.shared.array((32, 33), types.uint8)
    c, r = cuda.grid(2)
    if r < x.shape[0] and c < x.shape[1]:
        s[cuda.threadIdx.y, cuda.threadIdx.x] = x[r, c]
    cuda.syncthreads()
    r2 = cuda.blockIdx.x * 32 + cuda.threadIdx.y
    c2 = cuda.blockIdx.y * 32 + cuda.threadIdx.x
    if r2 < out.shape[0] and c2 < out.shape[1]:
        out[r2, c2] = s[cuda.threadIdx.x, cuda.threadIdx.y]


def slices(x, out):
    i = cuda.grid(1)
    row = x[i]
    part = row[2:-2:2]
    acc = 0.0
    for k in range(part.shape[0]):
        acc += part[k]
    out[i, ...] = acc if i < 3 else row[0]


def dates(x, out):
    i = cuda.grid(1)
    out[i] = x[i] - x[0]


def device_power(base, exponent):
    r = 1.0
    while exponent:
        if exponent & 1:
            r *= base
        base *= base
        exponent >>= 1
    return r


def device_norm(v):
    acc = 0.0
    for k in range(v.size):
        acc += v[k] * v[k]
    return math.sqrt(acc)


def device_divmod(a, b):
    return a // b, a % b


f4, f8, i4, i8, u4, c8 = types.float32, types.float64, types.int32, types.int64, types.uint32, types.complex128
b1, u1, f2 = types.boolean, types.uint8, types.float16


def array(kind, dims=1, layout="C"):
    return types.Array(kind, dims, layout)


def _record():
    from numba.np.numpy_support import from_dtype

    return from_dtype(PARTICLE)


KERNELS = {
    "saxpy-f4": (saxpy, (f4, array(f4), array(f4), array(f4)), {}),
    "saxpy-strided": (saxpy, (f8, array(f8, 1, "A"), array(f8, 1, "A"), array(f8, 1, "A")), {}),
    "saxpy-fast": (saxpy, (f4, array(f4), array(f4), array(f4)), {"fastmath": True}),
    "saxpy-bounds": (saxpy, (f4, array(f4), array(f4), array(f4)), {"launch_bounds": (256, 4)}),
    "grid_stride_2d": (grid_stride_2d, (array(f8, 2), array(f8, 2)), {}),
    "matmul_naive": (matmul_naive, (array(f8, 2), array(f8, 2, "F"), array(f8, 2)), {}),
    "matmul_shared": (matmul_shared, (array(f4, 2), array(f4, 2), array(f4, 2)), {}),
    "reduce_shared": (reduce_shared, (array(f8), array(f8)), {}),
    "reduce_warp": (reduce_warp, (array(f4), array(f4)), {}),
    "warp_tricks": (warp_tricks, (array(i4), array(i8)), {}),
    "block_votes": (block_votes, (array(i4), array(i4)), {}),
    "scan_dynamic_shared": (scan_dynamic_shared, (array(i4), array(i4)), {}),
    "histogram": (histogram, (array(f4), array(i4), f4, f4), {}),
    "atomics_integer": (atomics_integer, (array(u4), array(u4)), {}),
    "atomics_float-f4": (atomics_float, (array(f4), array(f4)), {}),
    "atomics_float-f8": (atomics_float, (array(f8), array(f8)), {}),
    "stencil_3d": (stencil_3d, (array(f4, 3), array(f4, 3), f4), {}),
    "convolve_constant": (convolve_constant, (array(f4), array(f4)), {}),
    "local_sort": (local_sort, (array(i4, 2), array(i4, 2)), {}),
    "bitonic_sort": (bitonic_sort, (array(i8),), {}),
    "mandelbrot": (mandelbrot, (array(i4, 2), f8, f8, f8, i4), {}),
    "black_scholes": (black_scholes, (array(f8),) * 5 + (f8, f8), {}),
    "mathematics-f4": (mathematics, (array(f4), array(f4)), {}),
    "mathematics-f8": (mathematics, (array(f8), array(f8)), {}),
    "mathematics-fast": (mathematics, (array(f4), array(f4)), {"fastmath": True}),
    "library_calls": (library_calls, (array(f4), array(f4)), {}),
    "integer_arithmetic-i4": (integer_arithmetic, (array(i4), array(i4), array(i8)), {}),
    "integer_arithmetic-i8": (integer_arithmetic, (array(i8), array(i8), array(i8)), {}),
    "division_python_rules": (division_python_rules, (array(f8), array(f8), array(f8)), {}),
    "complex_arithmetic": (complex_arithmetic, (array(c8), array(c8), array(c8)), {}),
    "half_precision": (half_precision, (array(f2), array(f2), array(f2)), {}),
    "particles": (particles, lambda: (array(_record()), f4), {}),
    "vector_types": (vector_types, (array(f4), array(f4)), {}),
    "random_walk": (random_walk, lambda: (array(xoroshiro128p_type), array(f8), i4), {}),
    "tuples": (tuples, (array(i8), array(i8), types.UniTuple(i4, 5)), {}),
    "recursion": (recursion, (array(i8), array(i8)), {}),
    "printing": (printing, (array(f8),), {}),
    "raising": (raising, (array(i4), array(i4)), {}),
    "grid_sync": (grid_sync, (array(f4), i4), {}),
    "spin_lock": (spin_lock, (array(i4), array(f8), array(f8)), {}),
    "collatz": (collatz, (array(i8), array(i4)), {}),
    "edit_distance": (edit_distance, (array(u1, 2), array(u1, 2), array(i4)), {}),
    "n_body": (n_body, (array(f4, 2), array(f4, 2), f4), {}),
    "breadth_first": (breadth_first, (array(i4), array(i4), array(i4), array(b1), array(b1), i4), {}),
    "switch_chain": (switch_chain, (array(i4), array(f8), array(f8), array(f8)), {}),
    "transpose": (transpose, (array(u1, 2), array(u1, 2)), {}),
    "slices": (slices, (array(f8, 2), array(f8, 2)), {}),
    "dates": (dates, (array(types.NPDatetime("s")), array(types.NPTimedelta("s"))), {}),
    "device_power-c": (device_power, types.float64(f8, i4), {"device": True, "abi": "c"}),
    "device_power-numba": (device_power, types.float64(f8, i4), {"device": True, "abi": "numba"}),
    "device_norm-numba": (device_norm, (array(f8),), {"device": True, "abi": "numba"}),
    "device_divmod-numba": (device_divmod, (i8, i8), {"device": True, "abi": "numba"}),
}
