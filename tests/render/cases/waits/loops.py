for index in range(first, last):
    for k in range(k_tiles):
        acc = tlx.async_dot(a_tiles[k], b_tiles[k], acc)
        acc = tlx.async_dot_wait(1, acc)
    for k in range(2):
        tlx.barrier_wait(full[k], 0)
for k in tl.range(0, n, num_stages=3):
    acc = tlx.async_dot(a, b, acc)
for k in tl.static_range(2):
    acc = tlx.async_dot(a, b, acc)
for k in tl.range(0, n, warp_specialize=False):
    if k:
        acc = tlx.async_dot(a, b, acc)
# output
for index in range(first, last):
    for k in tl.range(k_tiles, num_stages=0):
        acc = tlx.async_dot(a_tiles[k], b_tiles[k], acc)
        acc = tlx.async_dot_wait(1, acc)
    for k in range(2):
        tlx.barrier_wait(full[k], 0)
for k in tl.range(0, n, num_stages=3):
    acc = tlx.async_dot(a, b, acc)
for k in tl.static_range(2):
    acc = tlx.async_dot(a, b, acc)
for k in tl.range(0, n, warp_specialize=False, num_stages=0):
    if k:
        acc = tlx.async_dot(a, b, acc)
