/* The cases of kernel_lower.c: bodies, and what they become. */
#ifndef KERNEL_LOWER_CASES_H
#define KERNEL_LOWER_CASES_H

typedef struct lower_case {
    const char *body;
    const char *expected; /* the module's body; or the findings, lines counted in the body */
} lower_case;

static const lower_case accepted[] = {
    {"y[row, :] = x[row, :] * 2 + s\n", "  %row = program row : index\n"
                                        "  %15 = load %x[%row, : N] : f32<N>\n"
                                        "  %16 = constant 2.0 : f32\n"
                                        "  %17 = mul %15, %16 : f32<N>\n"
                                        "  %s = parameter s : f32\n"
                                        "  %19 = add %17, %s : f32<N>\n"
                                        "  store %y[%row, : N], %19\n"
                                        "}\n"},
    {"y[row, :] = h[row, :] + 1\n"
     "yh[row, :] = maximum(-h[row, :], 0)\n"
     "yh[row, :] = x[row, :]\n",
     "  %row = program row : index\n"
     "  %15 = load %h[%row, : N] : f16<N>\n"
     "  %16 = cast %15 rounding=zero : f32<N>\n"
     "  %17 = constant 1.0 : f32\n"
     "  %18 = add %16, %17 : f32<N>\n"
     "  store %y[%row, : N], %18\n"
     "  %19 = load %h[%row, : N] : f16<N>\n"
     "  %20 = neg %19 : f16<N>\n"
     "  %21 = constant 0.0 : f16\n"
     "  %22 = maximum %20, %21 : f16<N>\n"
     "  store %yh[%row, : N], %22\n"
     "  %23 = load %x[%row, : N] : f32<N>\n"
     "  %24 = cast %23 rounding=even : f16<N>\n"
     "  store %yh[%row, : N], %24\n"
     "}\n"},
    {"z[row] = sum(x[row, :]) / N\n", "  %row = program row : index\n"
                                      "  %15 = load %x[%row, : N] : f32<N>\n"
                                      "  %16 = reduce sum %15 nan=propagate axis=0 : f32\n"
                                      "  %17 = size N : index\n"
                                      "  %18 = cast %17 rounding=zero : f32\n"
                                      "  %19 = div %16, %18 : f32\n"
                                      "  store %z[%row], %19\n"
                                      "}\n"},
    {"z[row] = sum(h[row, :])\n", "  %row = program row : index\n"
                                  "  %15 = load %h[%row, : N] : f16<N>\n"
                                  "  %16 = reduce sum %15 nan=propagate axis=0 : f32\n"
                                  "  store %z[%row], %16\n"
                                  "}\n"},
    {"t = b[:] + c[:] * m[:]\n"
     "yb[unique, :] = t\n",
     "  %row = program row : index\n"
     "  %15 = load %b[: N] : i8<N>\n"
     "  %16 = load %c[: N] : u8<N>\n"
     "  %17 = load %m[: N] : bool<N>\n"
     "  %18 = cast %16 rounding=zero : i32<N>\n"
     "  %19 = cast %17 rounding=zero : i32<N>\n"
     "  %20 = mul %18, %19 : i32<N>\n"
     "  %21 = cast %15 rounding=zero : i32<N>\n"
     "  %t = add %21, %20 : i32<N>\n"
     "  %23 = cast %t rounding=even : i8<N>\n"
     "  store %yb[: N], %23 unique\n"
     "}\n"},
    {"y[row, :] = where(arange(N) <= row, x[row, :], -inf)\n",
     "  %row = program row : index\n"
     "  %15 = size N : index\n"
     "  %16 = arange N : index<N>\n"
     "  %17 = le %16, %row : bool<N>\n"
     "  %18 = load %x[%row, : N] : f32<N>\n"
     "  %19 = constant -inf : f32\n"
     "  %20 = select %17, %18, %19 : f32<N>\n"
     "  store %y[%row, : N], %20\n"
     "}\n"},
    {"t = x[row, maximum(n, 0) : +B]\n"
     "y[row, maximum(n, 0) : +B] = t * 2.0\n"
     "z[row] = sum(pad(t, 0.0))\n",
     "  %row = program row : index\n"
     "  %n = parameter n : i32\n"
     "  %16 = constant 0 : i32\n"
     "  %17 = maximum %n, %16 : i32\n"
     "  %18 = cast %17 rounding=zero : index\n"
     "  %19 = size N : index\n"
     "  %20 = sub %19, %18 : index\n"
     "  %21 = constant 0 : index\n"
     "  %22 = maximum %20, %21 : index\n"
     "  %23 = constant 64 : index\n"
     "  %24 = minimum %22, %23 : index\n"
     "  %t = load %x[%row, %18 : +64] : f32<64 below %24>\n"
     "  %26 = constant 2.0 : f32\n"
     "  %27 = mul %t, %26 : f32<64 below %24>\n"
     "  store %y[%row, %18 : +64], %27\n"
     "  %28 = constant 0.0 : f32\n"
     "  %29 = pad %t, %28 : f32<64>\n"
     "  %30 = reduce sum %29 nan=propagate axis=0 : f32\n"
     "  store %z[%row], %30\n"
     "}\n"},
    {"y[row, :] = lut[c[:]]\n"
     "z[row] = lut[n] + lut[n % 256]\n",
     "  %row = program row : index\n"
     "  %15 = load %c[: N] : u8<N>\n"
     "  %16 = cast %15 rounding=zero : index<N>\n"
     "  %17 = load %lut[gather %16] : f32<N>\n"
     "  store %y[%row, : N], %17\n"
     "  %n = parameter n : i32\n"
     "  %19 = cast %n rounding=zero : index\n"
     "  %20 = load %lut[%19] : f32\n"
     "  %21 = constant 256 : i32\n"
     "  %22 = floormod %n, %21 : i32\n"
     "  %23 = cast %22 rounding=zero : index\n"
     "  %24 = load %lut[%23] : f32\n"
     "  %25 = add %20, %24 : f32\n"
     "  store %z[%row], %25\n"
     "}\n"},
    {"z[row] = x[row, i[row, 0], fill=1]\n", "  %row = program row : index\n"
                                             "  %15 = constant 0 : index\n"
                                             "  %16 = load %i[%row, %15] : i32\n"
                                             "  %17 = cast %16 rounding=zero : index\n"
                                             "  %18 = constant 1.0 : f32\n"
                                             "  %19 = load %x[%row, %17] fill=%18 declared : f32\n"
                                             "  store %z[%row], %19\n"
                                             "}\n"},
    {"t = x[row, : N // 2]\n"
     "v = x[row, N // 2 :]\n"
     "z[row] = sum(t) + sum(v)\n",
     "  %row = program row : index\n"
     "  %15 = size N : index\n"
     "  %16 = constant 2 : index\n"
     "  %17 = size N // 2 : index\n"
     "  %t = load %x[%row, : N // 2] : f32<N // 2>\n"
     "  %v = load %x[%row, %17 : +N - N // 2] : f32<N - N // 2>\n"
     "  %20 = reduce sum %t nan=propagate axis=0 : f32\n"
     "  %21 = reduce sum %v nan=propagate axis=0 : f32\n"
     "  %22 = add %20, %21 : f32\n"
     "  store %z[%row], %22\n"
     "}\n"},
    {"a = row * 8 + 3\n"
     "k = a\n"
     "z[row] = f32(k) + f32(a)\n",
     "  %row = program row : index\n"
     "  %15 = constant 8 : index\n"
     "  %16 = mul %row, %15 : index\n"
     "  %17 = constant 3 : index\n"
     "  %a = add %16, %17 : index\n"
     "  %19 = cast %a rounding=zero : f32\n"
     "  %20 = cast %a rounding=zero : f32\n"
     "  %21 = add %19, %20 : f32\n"
     "  store %z[%row], %21\n"
     "}\n"},
    {"acc = 0.0\n"
     "best = -inf\n"
     "for k in 0..N step B {\n"
     "    t = x[row, k : +B]\n"
     "    acc = acc + pad(t, 0.0)\n"
     "    best = maximum(best, max(t))\n"
     "}\n"
     "z[row] = best + sum(acc)\n",
     "  %row = program row : index\n"
     "  %15 = constant 0 : index\n"
     "  %16 = size N : index\n"
     "  %17 = constant 64 : index\n"
     "  %18 = constant 0.0 : f32\n"
     "  %19 = broadcast %18 : f32<64>\n"
     "  %20 = constant -inf : f32\n"
     "  %acc.21, %best.22 = for %15, %16, %17, %19, %20 : f32<64>, f32 (%k: index, %acc.24: "
     "f32<64>, %best.25: f32) {\n"
     "    %26 = sub %16, %k : index\n"
     "    %27 = maximum %26, %15 : index\n"
     "    %28 = minimum %27, %17 : index\n"
     "    %t = load %x[%row, %k : +64] : f32<64 below %28>\n"
     "    %30 = constant 0.0 : f32\n"
     "    %31 = pad %t, %30 : f32<64>\n"
     "    %acc.32 = add %acc.24, %31 : f32<64>\n"
     "    %33 = reduce max %t nan=propagate axis=0 : f32\n"
     "    %best.34 = maximum %best.25, %33 : f32\n"
     "    yield %acc.32, %best.34\n"
     "  }\n"
     "  %35 = reduce sum %acc.21 nan=propagate axis=0 : f32\n"
     "  %36 = add %best.22, %35 : f32\n"
     "  store %z[%row], %36\n"
     "}\n"},
    {"a = 1\n"
     "if n > 2 { a = s } else { a = 2 }\n"
     "z[row] = a\n",
     "  %row = program row : index\n"
     "  %n = parameter n : i32\n"
     "  %16 = constant 2 : i32\n"
     "  %17 = lt %16, %n : bool\n"
     "  %s = parameter s : f32\n"
     "  %a = if %17 : f32 {\n"
     "    yield %s\n"
     "  } else {\n"
     "    %20 = constant 2.0 : f32\n"
     "    yield %20\n"
     "  }\n"
     "  store %z[%row], %a\n"
     "}\n"},
    {"if n > 2 { t = x[row, :] } else { t = 0.0 }\n"
     "y[row, :] = t\n",
     "  %row = program row : index\n"
     "  %n = parameter n : i32\n"
     "  %16 = constant 2 : i32\n"
     "  %17 = lt %16, %n : bool\n"
     "  %t.18 = if %17 : f32<N> {\n"
     "    %t.19 = load %x[%row, : N] : f32<N>\n"
     "    yield %t.19\n"
     "  } else {\n"
     "    %20 = constant 0.0 : f32\n"
     "    %21 = broadcast %20 : f32<N>\n"
     "    yield %21\n"
     "  }\n"
     "  store %y[%row, : N], %t.18\n"
     "}\n"},
    {"p = l[:] > i[row, :]\n"
     "q = l[:] == 3 \n"
     "r = (u[:] & 3) != 0\n"
     "y[row, :] = where(p & q | ~r, 1.0, 0.0)\n",
     "  %row = program row : index\n"
     "  %15 = load %l[: N] : i64<N>\n"
     "  %16 = load %i[%row, : N] : i32<N>\n"
     "  %17 = cast %16 rounding=zero : i64<N>\n"
     "  %p = lt %17, %15 : bool<N>\n"
     "  %19 = load %l[: N] : i64<N>\n"
     "  %20 = constant 3 : i64\n"
     "  %q = eq %19, %20 : bool<N>\n"
     "  %22 = load %u[: N] : u32<N>\n"
     "  %23 = constant 3 : u32\n"
     "  %24 = and %22, %23 : u32<N>\n"
     "  %25 = constant 0 : u32\n"
     "  %r = ne %24, %25 : bool<N>\n"
     "  %27 = and %p, %q : bool<N>\n"
     "  %28 = not %r : bool<N>\n"
     "  %29 = or %27, %28 : bool<N>\n"
     "  %30 = constant 1.0 : f32\n"
     "  %31 = constant 0.0 : f32\n"
     "  %32 = select %29, %30, %31 : f32<N>\n"
     "  store %y[%row, : N], %32\n"
     "}\n"},
    {"t = x[row, :][:, None]\n"
     "v = w[:][None, :]\n"
     "e = t * v\n"
     "z[row] = sum(sum(e, axis=0)[0, :])\n",
     "  %row = program row : index\n"
     "  %15 = load %x[%row, : N] : f32<N>\n"
     "  %t = expand %15 axis=1 : f32<N, 1>\n"
     "  %17 = load %w[: N] : f32<N>\n"
     "  %v = expand %17 axis=0 : f32<1, N>\n"
     "  %e = mul %t, %v : f32<N, N>\n"
     "  %20 = reduce sum %e nan=propagate axis=0 : f32<1, N>\n"
     "  %21 = drop %20 axis=0 : f32<N>\n"
     "  %22 = reduce sum %21 nan=propagate axis=0 : f32\n"
     "  store %z[%row], %22\n"
     "}\n"},
    {"z[row] = f32(all(m[:])) + f32(any(x[row, :] > 0, order=tree, zero=relaxed)) + prod(w[:])\n",
     "  %row = program row : index\n"
     "  %15 = load %m[: N] : bool<N>\n"
     "  %16 = reduce all %15 nan=propagate axis=0 : bool\n"
     "  %17 = cast %16 rounding=zero : f32\n"
     "  %18 = load %x[%row, : N] : f32<N>\n"
     "  %19 = constant 0.0 : f32\n"
     "  %20 = lt %19, %18 : bool<N>\n"
     "  %21 = reduce any %20 nan=propagate axis=0 : bool\n"
     "  %22 = cast %21 rounding=zero : f32\n"
     "  %23 = add %17, %22 : f32\n"
     "  %24 = load %w[: N] : f32<N>\n"
     "  %25 = reduce prod %24 nan=propagate axis=0 : f32\n"
     "  %26 = add %23, %25 : f32\n"
     "  store %z[%row], %26\n"
     "}\n"},
    {"z[row] = exp(1) + abs(-2) + abs(s) - -3\n", "  %row = program row : index\n"
                                                  "  %15 = constant 1.0 : f32\n"
                                                  "  %16 = exp %15 : f32\n"
                                                  "  %17 = constant 2.0 : f32\n"
                                                  "  %18 = add %16, %17 : f32\n"
                                                  "  %s = parameter s : f32\n"
                                                  "  %20 = abs %s : f32\n"
                                                  "  %21 = add %18, %20 : f32\n"
                                                  "  %22 = constant -3.0 : f32\n"
                                                  "  %23 = sub %21, %22 : f32\n"
                                                  "  store %z[%row], %23\n"
                                                  "}\n"},
    {"z[row] = f32(n) * s + f32(i32(s)) + f32(u8(3)) + f32(h[row, 0])\n",
     "  %row = program row : index\n"
     "  %n = parameter n : i32\n"
     "  %16 = cast %n rounding=zero : f32\n"
     "  %s = parameter s : f32\n"
     "  %18 = mul %16, %s : f32\n"
     "  %19 = cast %s rounding=zero : i32\n"
     "  %20 = cast %19 rounding=zero : f32\n"
     "  %21 = add %18, %20 : f32\n"
     "  %22 = constant 3 : u8\n"
     "  %23 = cast %22 rounding=zero : f32\n"
     "  %24 = add %21, %23 : f32\n"
     "  %25 = constant 0 : index\n"
     "  %26 = load %h[%row, %25] : f16\n"
     "  %27 = cast %26 rounding=zero : f32\n"
     "  %28 = add %24, %27 : f32\n"
     "  store %z[%row], %28\n"
     "}\n"},
    {"y[row, arange(8) ^ 5] = 1.0\n", "  %row = program row : index\n"
                                      "  %15 = arange 8 : index<8>\n"
                                      "  %16 = constant 5 : index\n"
                                      "  %17 = xor %15, %16 : index<8>\n"
                                      "  %18 = constant 1.0 : f32\n"
                                      "  %19 = broadcast %18 : f32<8>\n"
                                      "  store %y[%row, gather %17], %19\n"
                                      "}\n"},
    {"y[row, arange(8)[:, None] * 8 + arange(8)[None, :]] = 1.0\n",
     "  %row = program row : index\n"
     "  %15 = arange 8 : index<8>\n"
     "  %16 = expand %15 axis=1 : index<8, 1>\n"
     "  %17 = constant 8 : index\n"
     "  %18 = mul %16, %17 : index<8, 1>\n"
     "  %19 = arange 8 : index<8>\n"
     "  %20 = expand %19 axis=0 : index<1, 8>\n"
     "  %21 = add %18, %20 : index<8, 8>\n"
     "  %22 = constant 1.0 : f32\n"
     "  %23 = broadcast %22 : f32<8, 8>\n"
     "  store %y[%row, gather %21], %23\n"
     "}\n"},
    {"y[row, n % 8 + arange(64)] = 1.0\n", "  %row = program row : index\n"
                                           "  %n = parameter n : i32\n"
                                           "  %16 = constant 8 : i32\n"
                                           "  %17 = floormod %n, %16 : i32\n"
                                           "  %18 = arange 64 : index<64>\n"
                                           "  %19 = cast %17 rounding=zero : index\n"
                                           "  %20 = add %19, %18 : index<64>\n"
                                           "  %21 = constant 1.0 : f32\n"
                                           "  %22 = broadcast %21 : f32<64>\n"
                                           "  store %y[%row, gather %20], %22\n"
                                           "}\n"},
    {"o = arange(512)\n"
     "y[row, (o % 8) * 64 + o // 8 % 8 * 8 + o // 64] = 1.0\n",
     "  %row = program row : index\n"
     "  %o = arange 512 : index<512>\n"
     "  %16 = constant 8 : index\n"
     "  %17 = floormod %o, %16 : index<512>\n"
     "  %18 = constant 64 : index\n"
     "  %19 = mul %17, %18 : index<512>\n"
     "  %20 = floordiv %o, %16 : index<512>\n"
     "  %21 = floormod %20, %16 : index<512>\n"
     "  %22 = mul %21, %16 : index<512>\n"
     "  %23 = add %19, %22 : index<512>\n"
     "  %24 = floordiv %o, %18 : index<512>\n"
     "  %25 = add %23, %24 : index<512>\n"
     "  %26 = constant 1.0 : f32\n"
     "  %27 = broadcast %26 : f32<512>\n"
     "  store %y[%row, gather %25], %27\n"
     "}\n"},
    {"o = arange(512)\n"
     "y[row, (o & 7) << 6 | (o >> 3)] = 1.0\n",
     "  %row = program row : index\n"
     "  %o = arange 512 : index<512>\n"
     "  %16 = constant 7 : index\n"
     "  %17 = and %o, %16 : index<512>\n"
     "  %18 = constant 6 : index\n"
     "  %19 = shl %17, %18 : index<512>\n"
     "  %20 = constant 3 : index\n"
     "  %21 = shr %o, %20 : index<512>\n"
     "  %22 = or %19, %21 : index<512>\n"
     "  %23 = constant 1.0 : f32\n"
     "  %24 = broadcast %23 : f32<512>\n"
     "  store %y[%row, gather %22], %24\n"
     "}\n"},
    {"for k in 0..N step 8 { y[row, k + arange(8)] = 1.0 }\n",
     "  %row = program row : index\n"
     "  %15 = constant 0 : index\n"
     "  %16 = size N : index\n"
     "  %17 = constant 8 : index\n"
     "  for %15, %16, %17 (%k: index) {\n"
     "    %19 = arange 8 : index<8>\n"
     "    %20 = add %k, %19 : index<8>\n"
     "    %21 = constant 1.0 : f32\n"
     "    %22 = broadcast %21 : f32<8>\n"
     "    store %y[%row, gather %20], %22\n"
     "    yield\n"
     "  }\n"
     "}\n"},
    {"z[N - 1 - row] = 1.0\n", "  %row = program row : index\n"
                               "  %15 = size N : index\n"
                               "  %16 = constant 1 : index\n"
                               "  %17 = size N - 1 : index\n"
                               "  %18 = sub %17, %row : index\n"
                               "  %19 = constant 1.0 : f32\n"
                               "  store %z[%18], %19\n"
                               "}\n"},
    {"for k in 0..4 { z[row * 4 + k] = 1.0 }\n", "  %row = program row : index\n"
                                                 "  %15 = constant 0 : index\n"
                                                 "  %16 = constant 4 : index\n"
                                                 "  %17 = constant 1 : index\n"
                                                 "  %18 = mul %row, %16 : index\n"
                                                 "  for %15, %16, %17 (%k: index) {\n"
                                                 "    %20 = add %18, %k : index\n"
                                                 "    %21 = constant 1.0 : f32\n"
                                                 "    store %z[%20], %21\n"
                                                 "    yield\n"
                                                 "  }\n"
                                                 "}\n"},
};

static const lower_case rejected[] = {
    {"t = x[row, n : +B]\n", "range-start 1:12"},
    {"z[row] = max(h[row, :], nan=ignore)\n", "type-mismatch 1:10"},
    {"v = row + l[0]\n"
     "q = i[row, 0] + row\n"
     "z[row] = where(v > q, 1, 0)\n",
     "type-mismatch 3:10"},
    {"z[row] = s // 2\n", "type-mismatch 1:12"},
    {"y[row, arange(8) % 4] = 1.0\n", "store-overlap 1:1"},
    {"y[row, arange(8)[:, None] * 7 + arange(8)[None, :]] = 1.0\n", "store-overlap 1:1"},
    {"y[0, :] = 1.0\n", "store-overlap 1:1"},
    {"z[row % 8] = 1.0\n", "store-overlap 1:1"},
    {"z[row // 8] = 1.0\n", "store-overlap 1:1"},
    {"z[row // 8 + row % 8 * 8] = 1.0\n", "store-overlap 1:1"},
    {"for k in 0..5 { z[row * 4 + k] = 1.0 }\n", "store-overlap 1:17"},
    {"a = zz\n", "unknown-name 1:5"},
    {"a = x\n", "tensor-as-value 1:5"},
    {"a = T2(1)\n", "unknown-function 1:5"},
    {"a = expp(s)\n", "unknown-function 1:5"},
    {"a = exp(n)\n", "type-mismatch 1:5"},
    {"a = exp(row)\n", "type-mismatch 1:5"},
    {"a = convert(s, s)\n", "layout-expected 1:16"},
    {"a = arange(64, s)\n", "layout-expected 1:16"},
    {"a = dot(x[:, :], x[:, :])\n", "unsupported-function 1:5"},
    {"a = arange(n)\n", "size-formula 1:12"},
    {"a = arange(-1)\n", "negative-size 1:12"},
    {"a = exp(s, s)\n", "argument-count 1:5"},
    {"a = exp(t=s)\n", "unknown-keyword 1:9"},
    {"a = max(s)\n", "reduce-scalar 1:5"},
    {"a = max(s, s)\n", "argument-count 1:5"},
    {"a = max(x[row, :], axis=1)\n", "axis-range 1:25"},
    {"a = max(x[row, :], axis=s)\n", "axis-range 1:25"},
    {"a = max(x[row, :][:, None])\n", "axis-missing 1:5"},
    {"a = max(x[row, :], order=up)\n", "reduction-policy 1:26"},
    {"a = sum(x[row, :], zero=left)\n", "reduction-policy 1:25"},
    {"a = sum(x[row, :], nan=maybe)\n", "reduction-policy 1:24"},
    {"a = sum(x[row, :], foo=1)\n", "unknown-keyword 1:20"},
    {"a = any(x[row, :])\n", "type-mismatch 1:5"},
    {"a = max(m[:])\n", "type-mismatch 1:5"},
    {"a = where(n, 1, 2)\n", "type-mismatch 1:11"},
    {"a = where(true, x[row, :], i[row, :])\n", "type-mismatch 1:5"},
    {"a = pad(s, 0.0)\n", "pad-scalar 1:5"},
    {"a = pad(x[row, :8], w[:])\n", "pad-value 1:21"},
    {"a = x[row, :] + i[row, :]\n", "type-mismatch 1:15"},
    {"a = i[row, :] + u[:]\n", "type-mismatch 1:15"},
    {"a = l[:] + i[row, :]\n", "type-mismatch 1:10"},
    {"a = l[:] < u[:]\n", "type-mismatch 1:10"},
    {"a = x[row, :] & 1\n", "type-mismatch 1:15"},
    {"a = m[:] & i[row, :]\n", "type-mismatch 1:10"},
    {"a = m[:] | x[row, :] > 0\n", "type-mismatch 1:10"},
    {"a = x[row, :] // 2\n", "type-mismatch 1:15"},
    {"a = n / 2\n", "type-mismatch 1:7"},
    {"a = n / n\n", "type-mismatch 1:7"},
    {"a = row / 3\n", "type-mismatch 1:9"},
    {"a = ~s\n", "type-mismatch 1:5"},
    {"a = n // 0\n", "zero-divisor 1:7"},
    {"a = n % (B - 64)\n", "zero-divisor 1:7"},
    {"a = 1 // 0\n", "zero-divisor 1:7"},
    {"a = 1.5 // 2\n", "type-mismatch 1:9"},
    {"a = i[row, :] + 3000000000\n", "literal-range 1:17"},
    {"a = i[row, :] + 0.5\n", "literal-fraction 1:17"},
    {"a = maximum(b[:], 300)\n", "literal-range 1:19"},
    {"a = u[:] + -1\n", "literal-range 1:12"},
    {"a = s + 1e39\n", "literal-range 1:9"},
    {"a = s + 1e-60\n", "literal-range 1:9"},
    {"a = maximum(h[row, :], 1e5)\n", "literal-range 1:24"},
    {"a = m[:] == 0.5\n", "literal-fraction 1:13"},
    {"a = 9223372036854775807 + 1\n", "literal-range 1:25"},
    {"a = x[row, :] + x[row, :][:, None]\n", "rank-mismatch 1:15"},
    {"a = x[row, :] + lut[:]\n", "shape-mismatch 1:15"},
    {"a = x[row, :8] + w[:8][:, None]\n", "rank-mismatch 1:16"},
    {"a = x[row, 1 : +8] + x[row, 2 : +8]\n", "domain-mismatch 1:20"},
    {"a = x[row]\n", "index-count 1:5"},
    {"a = x[row, :, :]\n", "index-count 1:5"},
    {"a = x[row, -1]\n", "negative-index 1:12"},
    {"a = x[row, s]\n", "index-type 1:12"},
    {"a = x[row, n :]\n", "range-start 1:12"},
    {"a = x[row, n - 5 : +8]\n", "range-start 1:14"},
    {"a = x[row, : n]\n", "range-length 1:14"},
    {"a = x[row, row : n]\n", "range-length 1:18"},
    {"a = x[row, 5 : 3]\n", "negative-size 1:12"},
    {"a = x[row, : +n]\n", "range-length 1:15"},
    {"a = x[row, arange(4) : +3]\n", "range-start 1:12"},
    {"a = x[arange(4), :]\n", "gather-range 1:5"},
    {"a = x[row, : 8, fill=1.0]\n", "fill-unused 1:22"},
    {"a = x[row, i[row, 0], fill=n]\n", "type-mismatch 1:28"},
    {"a = x[row, i[row, 0], fill=1e40]\n", "literal-range 1:28"},
    {"a = x[row, i[row, 0], unique]\n", "unique-load 1:5"},
    {"a = x[row, :][0]\n", "tile-index 1:15"},
    {"a = x[row, :][1]\n", "tile-index 1:15"},
    {"a = x[row, :][1 : 2]\n", "tile-index 1:15"},
    {"a = x[row, :][:, :]\n", "tile-index 1:5"},
    {"a = s[0]\n", "index-scalar 1:5"},
    {"a = s[None]\n", "index-scalar 1:5"},
    {"a = x[row, :][None, None, None, None, :]\n", "rank-limit 1:33"},
    {"x[row, :] = 0.0\n", "store-to-in 1:1"},
    {"s[0] = 1.0\n", "store-target 1:1"},
    {"q[0] = 1.0\n", "store-target 1:1"},
    {"y[row, :] = i[row, :]\n", "type-mismatch 1:13"},
    {"y[row, :] = w[:8]\n", "shape-mismatch 1:13"},
    {"y[row, :] = x[row, :][:, None]\n", "shape-mismatch 1:13"},
    {"y[row, : 8] = x[row, 1 : +8]\n", "domain-mismatch 1:15"},
    {"y[row, :, fill=1] = 0.0\n", "fill-store 1:16"},
    {"y[row, :, None] = 0.0\n", "none-store 1:11"},
    {"y[0, :] = 0.0\n", "store-overlap 1:1"},
    {"y[row // 2, :] = 0.0\n", "store-overlap 1:1"},
    {"y[row, arange(8) // 2] = 0.0\n", "store-overlap 1:1"},
    {"y[row, arange(8) % 4] = 0.0\n", "store-overlap 1:1"},
    {"y[row, i[row, :]] = x[row, :]\n", "store-overlap 1:1"},
    {"y[row, :] = true\n", "type-mismatch 1:13"},
    {"y[row + 1, :] = x[row, :] ;\n", "unexpected-character 1:27"},
    {"y[n, :] = x[row, :]\n", "store-overlap 1:1"},
    {"yb[:] = 300\n", "literal-range 1:9"},
    {"yb[:, unique] = 2.5\n", "literal-fraction 1:17"},
    {"s = 1\n", "name-taken 1:1"},
    {"N = 1\n", "name-taken 1:1"},
    {"exp = 1\n", "name-taken 1:1"},
    {"row = 1\n", "name-taken 1:1"},
    {"f32 = 1\n", "name-taken 1:1"},
    {"for k in 0..s { a = 1 }\n", "index-type 1:13"},
    {"for k in 0..N step 0 { a = 1 }\n", "step-positive 1:20"},
    {"for k in 0..N step n { a = 1 }\n", "step-positive 1:20"},
    {"for k in 0..N step -1 { a = 1 }\n", "step-positive 1:20"},
    {"for k in arange(4)..N { a = 1 }\n", "loop-bound 1:10"},
    {"for row in 0..N { a = 1 }\n", "name-taken 1:1"},
    {"for k in 0..N { k = 1 }\n", "name-taken 1:17"},
    {"for k in 0..N { q = k }\n"
     "a = q\n",
     "undefined-name 2:5"},
    {"if n > 1 { q = 1 }\n"
     "a = q\n",
     "undefined-name 2:5"},
    {"if n { q = 1 }\n", "condition-type 1:4"},
    {"if m[:] { q = 1 }\n", "condition-type 1:4"},
    {"a = max(w[:])\n"
     "for k in 0..4 { a = w[:] }\n",
     "type-mismatch 2:17"},
    {"a = n\n"
     "for k in 0..4 { a = s }\n",
     "type-mismatch 2:17"},
    {"a = w[:8]\n"
     "for k in 0..4 { a = a + w[1 : +8] }\n",
     "domain-mismatch 2:23"},
    {"a = 0.0\n"
     "for k in 0..4 { a = a + w[k : +8] }\n",
     "domain-mismatch 2:17"},
    {"if n > 1 { a = n } else { a = s }\n", "type-mismatch 1:27"},
    {"if n > 1 { a = w[:8] } else { a = w[1 : +8] }\n", "domain-mismatch 1:31"},
    {"for k in 0..4 { program q: N }\n", "program-place 1:17"},
    {"program q: N\n", "program-place 1:1"},
    {"a = sum\n"
     "b = T\n",
     "unknown-name 1:5, type-as-value 2:5, name-taken 2:1"},
    {"a = row * 1.5\n", "literal-fraction 1:11"},
    {"a = i[row, 0] * row * 1.5\n", "literal-fraction 1:23"},
    {"a = f32(l[0] + row) + (l[0] + row) * s\n", "inexact-index 1:36"},
    {"a = -m[:] + -b[:]\n"
     "c = a + s\n",
     "type-mismatch 2:7, name-taken 2:1"},
    {"a = y[row + 1, 0]\n"
     "y[row, 0] = a\n",
     "program-overlap 2:1"},
    {"y[row, 0] = 1.0\n"
     "a = y[n, 0]\n",
     "program-overlap 2:5"},
    {"y[row, 0] = 1.0\n"
     "y[row + 1, 1] = 2.0\n",
     "program-overlap 2:1"},
};

#endif
