import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def scale_of(largest):
    byte = tl.maximum((largest >> 23) - 8, 0)
    byte = tl.where(largest >= 0x7F800000, 255, byte)
    factor = tl.where(byte == 255, 0x7FC00000, (254 - byte) << 23)
    return byte.to(tl.uint8), factor.to(tl.float32, bitcast=True)


@triton.jit
def place(row, scale, depth):
    block = row // 128 * tl.cdiv(depth, 128) + scale // 4
    return block * 512 + row % 32 * 16 + row % 128 // 32 * 4 + scale % 4


@triton.jit
def work(x, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns, row, column,
         BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = row + tl.arange(0, BLOCK_M)
    columns = column + tl.arange(0, BLOCK_N)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    x = x.to(tl.float32)
    magnitude = x.to(tl.int32, bitcast=True) & 0x7FFFFFFF
    blocks = tl.reshape(magnitude, (BLOCK_M, BLOCK_N // 32, 32))
    byte, factor = scale_of(tl.max(blocks, 2))
    numbers = tl.reshape(tl.reshape(x, (BLOCK_M, BLOCK_N // 32, 32)) * factor[:, :, None], (BLOCK_M, BLOCK_N))
    tl.store(
        rows_ptr + rows.to(tl.int64)[:, None] * stride_rows + columns[None, :], numbers.to(tl.float8e4nv), mask=inside
    )
    scale = column // 32 + tl.arange(0, BLOCK_N // 32)
    known = (rows < tl.cdiv(M, 128) * 128)[:, None] & (scale < tl.cdiv(N, 128) * 4)[None, :]
    tl.store(row_scales_ptr + place(rows[:, None], scale[None, :], N), byte, mask=known)
    blocks = tl.reshape(magnitude, (BLOCK_M // 32, 32, BLOCK_N))
    byte, factor = scale_of(tl.max(blocks, 1))
    numbers = tl.reshape(tl.reshape(x, (BLOCK_M // 32, 32, BLOCK_N)) * factor[:, None, :], (BLOCK_M, BLOCK_N))
    there = (columns < N)[:, None] & (rows < M)[None, :]
    tl.store(
        columns_ptr + columns.to(tl.int64)[:, None] * stride_columns + rows[None, :],
        tl.trans(numbers.to(tl.float8e4nv)),
        mask=there,
    )
    scale = row // 32 + tl.arange(0, BLOCK_M // 32)
    known = (columns < tl.cdiv(N, 128) * 128)[None, :] & (scale < tl.cdiv(M, 128) * 4)[:, None]
    tl.store(column_scales_ptr + place(columns[None, :], scale[:, None], M), byte, mask=known)


@triton.jit
def fetch(x_ptr, row, column, M, N, stride_x, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = row + tl.arange(0, BLOCK_M)
    columns = column + tl.arange(0, BLOCK_N)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    return tl.load(x_ptr + rows.to(tl.int64)[:, None] * stride_x + columns[None, :], mask=inside, other=0.0)


@triton.jit
def plain(x_ptr, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_x, stride_rows, stride_columns,
          BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    index = tl.program_id(0)
    row = index // tl.cdiv(N, BLOCK_N) * BLOCK_M
    column = index % tl.cdiv(N, BLOCK_N) * BLOCK_N
    x = fetch(x_ptr, row, column, M, N, stride_x, BLOCK_M, BLOCK_N)
    work(x, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns, row, column,
         BLOCK_M, BLOCK_N)


@triton.jit
def ahead(x_ptr, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_x, stride_rows, stride_columns,
          BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    wide = tl.cdiv(N, BLOCK_N)
    items = tl.cdiv(M, BLOCK_M) * wide
    index = tl.program_id(0)
    row = index // wide * BLOCK_M
    column = index % wide * BLOCK_N
    step = tl.num_programs(0)
    x = fetch(x_ptr, row, column, M, N, stride_x, BLOCK_M, BLOCK_N)
    for index in range(tl.program_id(0), items, step):
        now = x
        row = index // wide * BLOCK_M
        column = index % wide * BLOCK_N
        after = index + step
        x = fetch(x_ptr, after // wide * BLOCK_M, after % wide * BLOCK_N, M, N, stride_x, BLOCK_M, BLOCK_N)
        work(now, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns, row, column,
             BLOCK_M, BLOCK_N)


@triton.jit
def ring(x_desc, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns,
         BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr):
    tiles = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.bfloat16, STAGES)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    wide = tl.cdiv(N, BLOCK_N)
    items = tl.cdiv(M, BLOCK_M) * wide
    step = tl.num_programs(0)
    first = tl.program_id(0)
    for s in tl.static_range(STAGES - 1):
        index = first + s * step
        if index < items:
            tlx.barrier_expect_bytes(full[s], BLOCK_M * BLOCK_N * 2)
            tlx.async_descriptor_load(x_desc, tiles[s], [index // wide * BLOCK_M, index % wide * BLOCK_N], full[s])
    count = 0
    for index in range(first, items, step):
        after = index + (STAGES - 1) * step
        tl.debug_barrier()
        if after < items:
            slot = (count + STAGES - 1) % STAGES
            tlx.barrier_expect_bytes(full[slot], BLOCK_M * BLOCK_N * 2)
            tlx.async_descriptor_load(x_desc, tiles[slot], [after // wide * BLOCK_M, after % wide * BLOCK_N], full[slot])
        slot = count % STAGES
        tlx.barrier_wait(full[slot], (count // STAGES) & 1)
        x = tlx.local_load(tiles[slot])
        tlx.fence("async_shared")
        count += 1
        work(x, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns,
             index // wide * BLOCK_M, index % wide * BLOCK_N, BLOCK_M, BLOCK_N)


@triton.jit
def along_rows(x, rows_ptr, row_scales_ptr, M, N, stride_rows, row, column, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = row + tl.arange(0, BLOCK_M)
    columns = column + tl.arange(0, BLOCK_N)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    x = x.to(tl.float32)
    magnitude = x.to(tl.int32, bitcast=True) & 0x7FFFFFFF
    blocks = tl.reshape(magnitude, (BLOCK_M, BLOCK_N // 32, 32))
    byte, factor = scale_of(tl.max(blocks, 2))
    numbers = tl.reshape(tl.reshape(x, (BLOCK_M, BLOCK_N // 32, 32)) * factor[:, :, None], (BLOCK_M, BLOCK_N))
    tl.store(
        rows_ptr + rows.to(tl.int64)[:, None] * stride_rows + columns[None, :], numbers.to(tl.float8e4nv), mask=inside
    )
    scale = column // 32 + tl.arange(0, BLOCK_N // 32)
    known = (rows < tl.cdiv(M, 128) * 128)[:, None] & (scale < tl.cdiv(N, 128) * 4)[None, :]
    tl.store(row_scales_ptr + place(rows[:, None], scale[None, :], N), byte, mask=known)


@triton.jit
def ring2(x_desc, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns,
         BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr):
    tiles = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.bfloat16, STAGES)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    wide = tl.cdiv(N, BLOCK_N)
    items = tl.cdiv(M, BLOCK_M) * wide
    step = tl.num_programs(0)
    first = tl.program_id(0)
    for s in tl.static_range(STAGES - 1):
        index = first + s * step
        if index < items:
            tlx.barrier_expect_bytes(full[s], BLOCK_M * BLOCK_N * 2)
            tlx.async_descriptor_load(x_desc, tiles[s], [index // wide * BLOCK_M, index % wide * BLOCK_N], full[s])
    count = 0
    for index in range(first, items, step):
        after = index + (STAGES - 1) * step
        tlx.fence("async_shared")
        tl.debug_barrier()
        if after < items:
            slot = (count + STAGES - 1) % STAGES
            tlx.barrier_expect_bytes(full[slot], BLOCK_M * BLOCK_N * 2)
            tlx.async_descriptor_load(x_desc, tiles[slot], [after // wide * BLOCK_M, after % wide * BLOCK_N], full[slot])
        slot = count % STAGES
        tlx.barrier_wait(full[slot], (count // STAGES) & 1)
        row = index // wide * BLOCK_M
        column = index % wide * BLOCK_N
        # as columns: the transposed tile's rows
        x = tlx.local_load(tlx.local_trans(tiles[slot]))
        along_rows(x, columns_ptr, column_scales_ptr, N, M, stride_columns, column, row, BLOCK_N, BLOCK_M)
        x = tlx.local_load(tiles[slot])
        along_rows(x, rows_ptr, row_scales_ptr, M, N, stride_rows, row, column, BLOCK_M, BLOCK_N)
        count += 1


@triton.jit
def quantised(x, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """e4m3 and e8m0 bytes of blocks of 32 along the last dimension."""
    x = x.to(tl.float32)
    magnitude = x.to(tl.int32, bitcast=True) & 0x7FFFFFFF
    byte, factor = scale_of(tl.max(tl.reshape(magnitude, (ROWS, COLUMNS // 32, 32)), 2))
    numbers = tl.reshape(tl.reshape(x, (ROWS, COLUMNS // 32, 32)) * factor[:, :, None], (ROWS, COLUMNS))
    return numbers.to(tl.float8e4nv), byte


@triton.jit
def ring3(x_desc, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns,
          BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr):
    # BLOCK_M is of the descriptor's box: 32; a tile has four of them
    TALL: tl.constexpr = 128
    tiles = tlx.local_alloc((32, BLOCK_N), tl.bfloat16, STAGES * 4)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    wide = tl.cdiv(N, BLOCK_N)
    items = tl.cdiv(M, TALL) * wide
    step = tl.num_programs(0)
    first = tl.program_id(0)
    for s in tl.static_range(STAGES - 1):
        index = first + s * step
        if index < items:
            tlx.barrier_expect_bytes(full[s], TALL * BLOCK_N * 2)
            for i in tl.static_range(4):
                tlx.async_descriptor_load(x_desc, tiles[s * 4 + i], [index // wide * TALL + i * 32, index % wide * BLOCK_N], full[s])
    count = 0
    for index in range(first, items, step):
        after = index + (STAGES - 1) * step
        tlx.fence("async_shared")
        tl.debug_barrier()
        if after < items:
            slot = (count + STAGES - 1) % STAGES
            tlx.barrier_expect_bytes(full[slot], TALL * BLOCK_N * 2)
            for i in tl.static_range(4):
                tlx.async_descriptor_load(x_desc, tiles[slot * 4 + i], [after // wide * TALL + i * 32, after % wide * BLOCK_N], full[slot])
        slot = count % STAGES
        tlx.barrier_wait(full[slot], (count // STAGES) & 1)
        row = index // wide * TALL
        column = index % wide * BLOCK_N
        columns = column + tl.arange(0, BLOCK_N)
        q0, b0 = quantised(tlx.local_load(tlx.local_trans(tiles[slot * 4])), BLOCK_N, 32)
        q1, b1 = quantised(tlx.local_load(tlx.local_trans(tiles[slot * 4 + 1])), BLOCK_N, 32)
        q2, b2 = quantised(tlx.local_load(tlx.local_trans(tiles[slot * 4 + 2])), BLOCK_N, 32)
        q3, b3 = quantised(tlx.local_load(tlx.local_trans(tiles[slot * 4 + 3])), BLOCK_N, 32)
        q = tl.join(tl.join(q0, q1), tl.join(q2, q3))  # [N, 32, low, high]
        q = tl.reshape(tl.permute(q, (0, 3, 2, 1)), (BLOCK_N, TALL))
        rows = row + tl.arange(0, TALL)
        there = (columns < N)[:, None] & (rows < M)[None, :]
        tl.store(columns_ptr + columns.to(tl.int64)[:, None] * stride_columns + rows[None, :], q, mask=there)
        word = b0.to(tl.int32) | (b1.to(tl.int32) << 8) | (b2.to(tl.int32) << 16) | (b3.to(tl.int32) << 24)
        word = tl.reshape(word, (BLOCK_N,))
        at = place(columns, row // 32, M) // 4
        tl.store(column_scales_ptr.to(tl.pointer_type(tl.int32)) + at, word, mask=columns < tl.cdiv(N, 128) * 128)
        for i in tl.static_range(4):
            x = tlx.local_load(tiles[slot * 4 + i])
            along_rows(x, rows_ptr, row_scales_ptr, M, N, stride_rows, row + i * 32, column, 32, BLOCK_N)
        count += 1


@triton.jit
def larger(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def quantised4(x, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    x = x.to(tl.float32)
    largest = tl.reduce(tl.abs(tl.reshape(x, (ROWS, COLUMNS // 32, 32))), 2, larger)
    byte, factor = scale_of(largest.to(tl.int32, bitcast=True))
    numbers = tl.reshape(tl.reshape(x, (ROWS, COLUMNS // 32, 32)) * factor[:, :, None], (ROWS, COLUMNS))
    return numbers.to(tl.float8e4nv), byte


@triton.jit
def along_rows4(x, rows_ptr, row_scales_ptr, M, N, stride_rows, row, column, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = row + tl.arange(0, BLOCK_M)
    columns = column + tl.arange(0, BLOCK_N)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    q, byte = quantised4(x, BLOCK_M, BLOCK_N)
    tl.store(rows_ptr + rows.to(tl.int64)[:, None] * stride_rows + columns[None, :], q, mask=inside)
    scale = column // 32 + tl.arange(0, BLOCK_N // 32)
    known = (rows < tl.cdiv(M, 128) * 128)[:, None] & (scale < tl.cdiv(N, 128) * 4)[None, :]
    tl.store(row_scales_ptr + place(rows[:, None], scale[None, :], N), byte, mask=known)


@triton.jit
def ring4(x_desc, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns,
          BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr):
    # BLOCK_M is of the descriptor's box: 32; a tile has four of them
    TALL: tl.constexpr = 128
    tiles = tlx.local_alloc((32, BLOCK_N), tl.bfloat16, STAGES * 4)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    wide = tl.cdiv(N, BLOCK_N)
    items = tl.cdiv(M, TALL) * wide
    step = tl.num_programs(0)
    first = tl.program_id(0)
    for s in tl.static_range(STAGES - 1):
        index = first + s * step
        if index < items:
            tlx.barrier_expect_bytes(full[s], TALL * BLOCK_N * 2)
            for i in tl.static_range(4):
                tlx.async_descriptor_load(x_desc, tiles[s * 4 + i], [index // wide * TALL + i * 32, index % wide * BLOCK_N], full[s])
    count = 0
    for index in range(first, items, step):
        after = index + (STAGES - 1) * step
        tlx.fence("async_shared")
        tl.debug_barrier()
        if after < items:
            slot = (count + STAGES - 1) % STAGES
            tlx.barrier_expect_bytes(full[slot], TALL * BLOCK_N * 2)
            for i in tl.static_range(4):
                tlx.async_descriptor_load(x_desc, tiles[slot * 4 + i], [after // wide * TALL + i * 32, after % wide * BLOCK_N], full[slot])
        slot = count % STAGES
        tlx.barrier_wait(full[slot], (count // STAGES) & 1)
        row = index // wide * TALL
        column = index % wide * BLOCK_N
        columns = column + tl.arange(0, BLOCK_N)
        q0, b0 = quantised4(tlx.local_load(tlx.local_trans(tiles[slot * 4])), BLOCK_N, 32)
        q1, b1 = quantised4(tlx.local_load(tlx.local_trans(tiles[slot * 4 + 1])), BLOCK_N, 32)
        q2, b2 = quantised4(tlx.local_load(tlx.local_trans(tiles[slot * 4 + 2])), BLOCK_N, 32)
        q3, b3 = quantised4(tlx.local_load(tlx.local_trans(tiles[slot * 4 + 3])), BLOCK_N, 32)
        q = tl.join(tl.join(q0, q1), tl.join(q2, q3))  # [N, 32, low, high]
        q = tl.reshape(tl.permute(q, (0, 3, 2, 1)), (BLOCK_N, TALL))
        rows = row + tl.arange(0, TALL)
        there = (columns < N)[:, None] & (rows < M)[None, :]
        tl.store(columns_ptr + columns.to(tl.int64)[:, None] * stride_columns + rows[None, :], q, mask=there)
        word = b0.to(tl.int32) | (b1.to(tl.int32) << 8) | (b2.to(tl.int32) << 16) | (b3.to(tl.int32) << 24)
        word = tl.reshape(word, (BLOCK_N,))
        at = place(columns, row // 32, M) // 4
        tl.store(column_scales_ptr.to(tl.pointer_type(tl.int32)) + at, word, mask=columns < tl.cdiv(N, 128) * 128)
        for i in tl.static_range(4):
            x = tlx.local_load(tiles[slot * 4 + i])
            along_rows4(x, rows_ptr, row_scales_ptr, M, N, stride_rows, row + i * 32, column, 32, BLOCK_N)
        count += 1




@triton.jit
def work4(x, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns, row, column,
         BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = row + tl.arange(0, BLOCK_M)
    columns = column + tl.arange(0, BLOCK_N)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    x = x.to(tl.float32)
    byte, factor = scale_of(tl.reduce(tl.abs(tl.reshape(x, (BLOCK_M, BLOCK_N // 32, 32))), 2, larger).to(tl.int32, bitcast=True))
    numbers = tl.reshape(tl.reshape(x, (BLOCK_M, BLOCK_N // 32, 32)) * factor[:, :, None], (BLOCK_M, BLOCK_N))
    tl.store(
        rows_ptr + rows.to(tl.int64)[:, None] * stride_rows + columns[None, :], numbers.to(tl.float8e4nv), mask=inside
    )
    scale = column // 32 + tl.arange(0, BLOCK_N // 32)
    known = (rows < tl.cdiv(M, 128) * 128)[:, None] & (scale < tl.cdiv(N, 128) * 4)[None, :]
    tl.store(row_scales_ptr + place(rows[:, None], scale[None, :], N), byte, mask=known)
    byte, factor = scale_of(tl.reduce(tl.abs(tl.reshape(x, (BLOCK_M // 32, 32, BLOCK_N))), 1, larger).to(tl.int32, bitcast=True))
    numbers = tl.reshape(tl.reshape(x, (BLOCK_M // 32, 32, BLOCK_N)) * factor[:, None, :], (BLOCK_M, BLOCK_N))
    there = (columns < N)[:, None] & (rows < M)[None, :]
    tl.store(
        columns_ptr + columns.to(tl.int64)[:, None] * stride_columns + rows[None, :],
        tl.trans(numbers.to(tl.float8e4nv)),
        mask=there,
    )
    scale = row // 32 + tl.arange(0, BLOCK_M // 32)
    known = (columns < tl.cdiv(N, 128) * 128)[None, :] & (scale < tl.cdiv(M, 128) * 4)[:, None]
    tl.store(column_scales_ptr + place(columns[None, :], scale[:, None], M), byte, mask=known)


@triton.jit
def plain4(x_ptr, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_x, stride_rows, stride_columns,
          BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    index = tl.program_id(0)
    row = index // tl.cdiv(N, BLOCK_N) * BLOCK_M
    column = index % tl.cdiv(N, BLOCK_N) * BLOCK_N
    x = fetch(x_ptr, row, column, M, N, stride_x, BLOCK_M, BLOCK_N)
    work4(x, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns, row, column,
         BLOCK_M, BLOCK_N)


@triton.jit
def spot(index, M, wide, GROUP: tl.constexpr):
    """Row and column of tile `index`, GROUP tiles of rows at a time, down first."""
    tall = tl.cdiv(M, 128)
    band = index // (GROUP * wide)
    high = tl.minimum(tall - band * GROUP, GROUP)
    inner = index - band * GROUP * wide
    return band * GROUP + inner % high, inner // high


@triton.jit
def pull(x_desc, tiles, full, slot, index, M, wide, BLOCK_N: tl.constexpr, GROUP: tl.constexpr, HINT: tl.constexpr):
    tlx.barrier_expect_bytes(full[slot], 128 * BLOCK_N * 2)
    row, column = spot(index, M, wide, GROUP)
    for i in tl.static_range(4):
        tlx.async_descriptor_load(x_desc, tiles[slot * 4 + i], [row * 128 + i * 32, column * BLOCK_N], full[slot], eviction_policy=HINT)


@triton.jit
def rows5(x, rows_ptr, M, N, stride_rows, row, column, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STORE: tl.constexpr):
    rows = row + tl.arange(0, BLOCK_M)
    columns = column + tl.arange(0, BLOCK_N)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    q, byte = quantised4(x, BLOCK_M, BLOCK_N)
    tl.store(rows_ptr + rows.to(tl.int64)[:, None] * stride_rows + columns[None, :], q, mask=inside, eviction_policy=STORE)
    return tl.sum(byte.to(tl.int32) << (8 * tl.arange(0, BLOCK_N // 32))[None, :], 1)


@triton.jit
def ring5(x_desc, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns,
          BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr, GROUP: tl.constexpr, HINT: tl.constexpr,
          STORE: tl.constexpr, WORD: tl.constexpr):
    TALL: tl.constexpr = 128
    tiles = tlx.local_alloc((32, BLOCK_N), tl.bfloat16, STAGES * 4)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    wide = tl.cdiv(N, BLOCK_N)
    items = tl.cdiv(M, TALL) * wide
    step = tl.num_programs(0)
    first = tl.program_id(0)
    for s in tl.static_range(STAGES - 1):
        index = first + s * step
        if index < items:
            pull(x_desc, tiles, full, s, index, M, wide, BLOCK_N, GROUP, HINT)
    count = 0
    for index in range(first, items, step):
        after = index + (STAGES - 1) * step
        tlx.fence("async_shared")
        tl.debug_barrier()
        if after < items:
            pull(x_desc, tiles, full, (count + STAGES - 1) % STAGES, after, M, wide, BLOCK_N, GROUP, HINT)
        slot = count % STAGES
        tlx.barrier_wait(full[slot], (count // STAGES) & 1)
        r, c = spot(index, M, wide, GROUP)
        row = r * TALL
        column = c * BLOCK_N
        columns = column + tl.arange(0, BLOCK_N)
        q0, b0 = quantised4(tlx.local_load(tlx.local_trans(tiles[slot * 4])), BLOCK_N, 32)
        q1, b1 = quantised4(tlx.local_load(tlx.local_trans(tiles[slot * 4 + 1])), BLOCK_N, 32)
        q2, b2 = quantised4(tlx.local_load(tlx.local_trans(tiles[slot * 4 + 2])), BLOCK_N, 32)
        q3, b3 = quantised4(tlx.local_load(tlx.local_trans(tiles[slot * 4 + 3])), BLOCK_N, 32)
        q = tl.join(tl.join(q0, q1), tl.join(q2, q3))  # [N, 32, low, high]
        q = tl.reshape(tl.permute(q, (0, 3, 2, 1)), (BLOCK_N, TALL))
        rows = row + tl.arange(0, TALL)
        there = (columns < N)[:, None] & (rows < M)[None, :]
        tl.store(columns_ptr + columns.to(tl.int64)[:, None] * stride_columns + rows[None, :], q, mask=there, eviction_policy=STORE)
        word = b0.to(tl.int32) | (b1.to(tl.int32) << 8) | (b2.to(tl.int32) << 16) | (b3.to(tl.int32) << 24)
        word = tl.reshape(word, (BLOCK_N,))
        at = place(columns, row // 32, M) // 4
        tl.store(column_scales_ptr.to(tl.pointer_type(tl.int32)) + at, word, mask=columns < tl.cdiv(N, 128) * 128)
        if WORD:
            w0 = rows5(tlx.local_load(tiles[slot * 4]), rows_ptr, M, N, stride_rows, row, column, 32, BLOCK_N, STORE)
            w1 = rows5(tlx.local_load(tiles[slot * 4 + 1]), rows_ptr, M, N, stride_rows, row + 32, column, 32, BLOCK_N, STORE)
            w2 = rows5(tlx.local_load(tiles[slot * 4 + 2]), rows_ptr, M, N, stride_rows, row + 64, column, 32, BLOCK_N, STORE)
            w3 = rows5(tlx.local_load(tiles[slot * 4 + 3]), rows_ptr, M, N, stride_rows, row + 96, column, 32, BLOCK_N, STORE)
            words = tl.reshape(tl.join(tl.join(w0, w2), tl.join(w1, w3)), (128,))
            block = row // 128 * tl.cdiv(N, 128) + column // 128
            tl.store(row_scales_ptr.to(tl.pointer_type(tl.int32)) + block * 128 + tl.arange(0, 128), words)
        else:
            for i in tl.static_range(4):
                x = tlx.local_load(tiles[slot * 4 + i])
                along_rows4(x, rows_ptr, row_scales_ptr, M, N, stride_rows, row + i * 32, column, 32, BLOCK_N)
        count += 1


@triton.jit
def pull6(x_desc, tiles, full, slot, index, M, wide, HIGH: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    tlx.barrier_expect_bytes(full[slot], HIGH * 128 * BLOCK_N * 2)
    row, column = spot6(index, M, wide, HIGH, GROUP)
    for i in tl.static_range(4 * HIGH):
        tlx.async_descriptor_load(x_desc, tiles[slot * (4 * HIGH) + i], [row + i * 32, column * BLOCK_N], full[slot])


@triton.jit
def spot6(index, M, wide, HIGH: tl.constexpr, GROUP: tl.constexpr):
    tall = tl.cdiv(M, HIGH * 128)
    band = index // (GROUP * wide)
    high = tl.minimum(tall - band * GROUP, GROUP)
    inner = index - band * GROUP * wide
    return (band * GROUP + inner % high) * (HIGH * 128), inner // high


@triton.jit
def rows6(x, rows_ptr, M, N, stride_rows, row, column, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = row + tl.arange(0, BLOCK_M)
    columns = column + tl.arange(0, BLOCK_N)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    q, byte = quantised4(x, BLOCK_M, BLOCK_N)
    tl.store(rows_ptr + rows.to(tl.int64)[:, None] * stride_rows + columns[None, :], q, mask=inside)
    byte = tl.reshape(byte.to(tl.int32), (BLOCK_M, BLOCK_N // 128, 4))
    return tl.sum(byte << (8 * tl.arange(0, 4))[None, None, :], 2)


@triton.jit
def ring6(x_desc, rows_ptr, row_scales_ptr, columns_ptr, column_scales_ptr, M, N, stride_rows, stride_columns,
          BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGES: tl.constexpr, GROUP: tl.constexpr, HIGH: tl.constexpr, EARLY: tl.constexpr):
    tiles = tlx.local_alloc((32, BLOCK_N), tl.bfloat16, STAGES * 4 * HIGH)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    wide = tl.cdiv(N, BLOCK_N)
    items = tl.cdiv(M, HIGH * 128) * wide
    step = tl.num_programs(0)
    first = tl.program_id(0)
    for s in tl.static_range(STAGES):
        index = first + s * step
        if index < items:
            pull6(x_desc, tiles, full, s, index, M, wide, HIGH, BLOCK_N, GROUP)
    count = 0
    for index in range(first, items, step):
        after = index + STAGES * step
        slot = count % STAGES
        tlx.barrier_wait(full[slot], (count // STAGES) & 1)
        row, c = spot6(index, M, wide, HIGH, GROUP)
        column = c * BLOCK_N
        columns = column + tl.arange(0, BLOCK_N)
        for h in tl.static_range(HIGH):
            b = slot * (4 * HIGH) + 4 * h
            q0, b0 = quantised4(tlx.local_load(tlx.local_trans(tiles[b])), BLOCK_N, 32)
            q1, b1 = quantised4(tlx.local_load(tlx.local_trans(tiles[b + 1])), BLOCK_N, 32)
            q2, b2 = quantised4(tlx.local_load(tlx.local_trans(tiles[b + 2])), BLOCK_N, 32)
            q3, b3 = quantised4(tlx.local_load(tlx.local_trans(tiles[b + 3])), BLOCK_N, 32)
            q = tl.join(tl.join(q0, q1), tl.join(q2, q3))  # [N, 32, low, high]
            q = tl.reshape(tl.permute(q, (0, 3, 2, 1)), (BLOCK_N, 128))
            rows = row + h * 128 + tl.arange(0, 128)
            there = (columns < N)[:, None] & (rows < M)[None, :]
            tl.store(columns_ptr + columns.to(tl.int64)[:, None] * stride_columns + rows[None, :], q, mask=there)
            word = b0.to(tl.int32) | (b1.to(tl.int32) << 8) | (b2.to(tl.int32) << 16) | (b3.to(tl.int32) << 24)
            word = tl.reshape(word, (BLOCK_N,))
            at = place(columns, row // 32 + 4 * h, M) // 4
            tl.store(column_scales_ptr.to(tl.pointer_type(tl.int32)) + at, word, mask=columns < tl.cdiv(N, 128) * 128)
        for h in tl.static_range(HIGH):
            b = slot * (4 * HIGH) + 4 * h
            r = row + h * 128
            w0 = rows6(tlx.local_load(tiles[b]), rows_ptr, M, N, stride_rows, r, column, 32, BLOCK_N)
            w1 = rows6(tlx.local_load(tiles[b + 1]), rows_ptr, M, N, stride_rows, r + 32, column, 32, BLOCK_N)
            w2 = rows6(tlx.local_load(tiles[b + 2]), rows_ptr, M, N, stride_rows, r + 64, column, 32, BLOCK_N)
            x = tlx.local_load(tiles[b + 3])
            if EARLY and h == HIGH - 1:
                tlx.fence("async_shared")
                tl.debug_barrier()
                if after < items:
                    pull6(x_desc, tiles, full, slot, after, M, wide, HIGH, BLOCK_N, GROUP)
            w3 = rows6(x, rows_ptr, M, N, stride_rows, r + 96, column, 32, BLOCK_N)
            words = tl.reshape(tl.join(tl.join(w0, w2), tl.join(w1, w3)), (32, BLOCK_N // 128, 4))
            block = r // 128 * tl.cdiv(N, 128) + column // 128
            inner = tl.arange(0, 32)[:, None, None] * 4 + tl.arange(0, BLOCK_N // 128)[None, :, None] * 128 + tl.arange(0, 4)[None, None, :]
            known = column // 128 + tl.arange(0, BLOCK_N // 128)[None, :, None] + 0 * inner < tl.cdiv(N, 128)
            tl.store(row_scales_ptr.to(tl.pointer_type(tl.int32)) + block * 128 + inner, words, mask=known)
        if not EARLY:
            tlx.fence("async_shared")
            tl.debug_barrier()
            if after < items:
                pull6(x_desc, tiles, full, slot, after, M, wide, HIGH, BLOCK_N, GROUP)
        count += 1
