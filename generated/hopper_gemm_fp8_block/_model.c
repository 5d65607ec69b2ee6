/* The part of the model of time that depends on the shape, a second time: every result has the bits of model.py's.

   model.py puts the struct `Kernel` before this text: what does not depend on the shape, by its names there. */

typedef long long Count;

/* Kernels, and what estimates of any shape need: what a row costs, by its pitch, and the network that corrects them. */
typedef struct {
    const Kernel *kernels;
    Count count;
    const double *costs;
    const Count *widths; /* how many inputs, and units of each layer; no inputs where there is none */
    const double *weights;
} Kernels;

enum { WHOLE, HELPED, SPLIT, LAST, EACH }; /* tails, in the order of model.py's TAILS */

typedef struct {
    Count m, n, k;          /* as tiles have them */
    Count tiles_m, tiles_n; /* and how many there are */
    Count slots;            /* of a tile, or of its part */
    double fill, boxes, zeros, loaded, delivered, a_asked, b_asked;
    double read_once; /* negative where not everything stays in L2 */
    Count down;
    int rough; /* whether a slot takes as long at least, instead of just as long */
} Problem;

/* Rounded up. Most numbers have 32 bits, which take half the time to divide. */
static Count over(Count a, Count b) {
    if ((a | b) >> 31) return (a + b - 1) / b;
    return ((unsigned)a + (unsigned)b - 1) / (unsigned)b;
}
static Count least(Count a, Count b) { return a < b ? a : b; }
static Count most(Count a, Count b) { return a > b ? a : b; }
static double fourth(double a) { return a * a * (a * a); }

/* Of a tile that an operand ends in: clocks for its rows of zeros if all SMs fill them, and for more boxes. */
static void edge(const Kernel *x, Count beyond, Count extent, Count block, double line, double *zeros, double *boxes) {
    Count edge = (Count)x->edge;
    *zeros = *boxes = 0;
    if (!beyond || !line) return;
    if (0 < edge && edge < block && edge <= extent) {
        *zeros = (over(extent, edge) * edge - extent) * line;
        *boxes = (block / edge - 1) * x->box;
    } else {
        *zeros = least(beyond, block) * line;
    }
}

static Problem problem(const Kernel *x, Count m, Count n, Count k, double a_cost, double b_cost) {
    Problem p = {0};
    double cost;
    if (x->swap) {
        Count extent = m;
        m = n, n = extent;
        cost = a_cost, a_cost = b_cost, b_cost = cost;
    }
    if (x->a_width) a_cost = 1; /* threads copy at their own pace */
    if (x->b_width) b_cost = 1;
    if (x->b_start > b_cost) b_cost = x->b_start;
    Count block_m = (Count)x->block_m, block_n = (Count)x->block_n, parts = (Count)x->parts;
    p.m = m, p.n = n, p.k = k;
    p.tiles_m = over(m, (Count)x->rows) * (Count)x->cluster_m;
    p.tiles_n = over(n, (Count)x->columns) * (Count)x->cluster_n;
    p.slots = over(over(k, (Count)x->block_k), parts);
    Count high = least(block_m, m), wide = least((Count)x->reach, n); /* of a tile, what there is */
    p.fill = x->a_fill * high * a_cost + x->b_fill * wide * b_cost;
    Count tiles = p.tiles_m * p.tiles_n, some_m = 1, some_n = 1;
    if (tiles > (Count)x->ctas) some_m = p.tiles_m, some_n = p.tiles_n;
    double a_zeros, a_boxes, b_zeros, b_boxes;
    edge(x, p.tiles_m * block_m - m, m, block_m, x->a_beyond, &a_zeros, &a_boxes);
    edge(x, p.tiles_n * block_n - n, n, block_n, x->b_beyond, &b_zeros, &b_boxes);
    p.boxes = x->boxes + a_boxes / some_m + b_boxes / some_n;
    p.zeros = a_zeros / (some_m * p.tiles_m) + b_zeros / (some_n * p.tiles_n);
    p.loaded = x->a_slot * high + x->b_slot * wide;
    p.delivered = x->a_slot * high * a_cost / x->cluster_n + x->b_slot * wide * b_cost / x->cluster_m;
    p.delivered /= x->all;
    double operands = (x->a * m + x->b * n) * k, read = (x->a_read * m + x->b_read * n) * k;
    p.down = least((Count)x->group, p.tiles_m);
    double a_lines = x->a_lines / m, b_lines = x->b_lines / n;
    p.a_asked = (a_lines > 1 ? a_lines : 1) / x->cluster_n * x->hot;
    p.b_asked = (b_lines > 1 ? b_lines : 1) / x->cluster_m * x->hot;
    p.read_once = operands < x->l2_bytes ? read / (tiles * parts * p.slots) : -1;
    return p;
}

/* Clocks of a slot where so many CTAs are at work, `spread` of which multiply other parts of K of one tile. */
static double slot_of(const Kernel *x, const Problem *p, Count at_work, Count spread) {
    Count block_m = (Count)x->block_m, block_n = (Count)x->block_n, block_k = (Count)x->block_k;
    Count down = p->down, across = over(at_work, down * spread);
    if (across > p->tiles_n) across = p->tiles_n, down = over(at_work, p->tiles_n * spread);
    double unique = x->a_read * least(down * block_m, p->m);
    unique = spread * block_k * (unique + x->b_read * least(across * block_n, p->n));
    if (p->read_once >= 0 && p->read_once * at_work < unique) unique = p->read_once * at_work;
    double latency = x->latency + x->cold * unique / (at_work * p->loaded);
    double asked = across * p->a_asked, b_asked = down * p->b_asked, mix = x->mix;
    if (b_asked > asked) asked = b_asked;
    double loads = p->fill + p->boxes + p->zeros * at_work, read = unique / x->memory;
    double delivered = p->delivered * at_work;
    if (p->rough) { /* no powers, which take most of the time: a norm of roots is no greater than that of `mix` */
        double inner = (x->products > loads ? x->products : loads) + x->barriers;
        double sum = fourth(inner) + fourth(read) + fourth(latency) + fourth(asked);
        return sqrt(sqrt(sum + fourth(delivered) + fourth(x->producing))) * x->norm;
    }
    double inner = pow(pow(x->multiply + pow(loads, x->blend), x->root) + x->barriers, mix);
    double waits = pow(read, mix) + pow(latency, mix) + pow(asked, mix);
    waits += pow(delivered, mix);
    waits += pow(x->producing, mix);
    return pow(inner + waits, x->mix_root);
}

/* How many times a consumer waits for sums to add up, of so many parts of a tile. */
static Count stripes(const Kernel *x, Count rows, Count parts, Count trips) {
    Count stripe = (Count)x->stripe_sums, ahead = (Count)x->ahead;
    Count count = over(least(rows, (Count)x->adder_rows) * (Count)x->adder_columns, stripe);
    Count at_once = most(1, ahead / (parts <= 4 ? 4 : parts <= 8 ? 8 : (Count)x->limit_parts));
    return (Count)x->tail == EACH ? trips * over(over(count, parts), at_once) : over(count, at_once);
}

typedef struct {
    Count whole, parts, slots; /* as in model.py's `Cut` */
} Cut;

/* Clocks of tiles the last of which may be cut into parts along K, and how they are best cut, if into less than `limit`. */
static double shared_out(const Kernel *x, const Problem *p, Count rows, double limit, Cut *chosen) {
    Count ctas = (Count)x->ctas, tiles = p->tiles_m * p->tiles_n, full = tiles / ctas;
    double whole_tile = p->slots * slot_of(x, p, least(tiles, ctas), 1) + x->between;
    double best = over(tiles, ctas) * whole_tile;
    *chosen = (Cut){tiles, 1, p->slots};
    for (Count kept = full; kept >= (full ? full - 1 : 0); kept--) {
        Count whole = kept * ctas, cut = tiles - whole;
        for (Count rounds = 1; rounds <= (Count)x->limit_rounds; rounds++) {
            if (2 * cut > rounds * ctas || whole >= tiles) continue;
            Count part = over(p->slots, least(rounds * ctas / cut, (Count)x->most_parts));
            Count parts = over(p->slots, part);
            if (parts <= 1) continue;
            Count trips = over(cut * parts, ctas);
            double clocks = whole / ctas * whole_tile + trips * (x->between + x->sums);
            double multiplying = trips * part * x->fastest;
            if (clocks + multiplying >= (best < limit ? best : limit)) continue;
            clocks += x->mark + stripes(x, rows, parts, trips) * x->stripe;
            if (clocks + multiplying < best) {
                clocks += trips * part * slot_of(x, p, least(cut * parts, ctas), parts);
                if (clocks < best) best = clocks, *chosen = (Cut){whole, parts, part};
            }
        }
    }
    return best;
}

/* Clocks of a round of so few work items that some CTAs have none. */
static double last_round(const Kernel *x, const Problem *p, Count left) {
    Count ctas = (Count)x->ctas, slots = p->slots;
    if ((Count)x->tail == HELPED) {
        Count helpers = least(left, ctas - left);
        if (helpers > 0) {
            Count pieces = over(left, helpers);
            Count lent = (Count)((slots * x->ideal - 2700 - 2400 * pieces) / ((pieces + 1) * x->ideal));
            if (lent * x->ideal >= 5000 && lent) {
                Count at_work = least(2 * left, ctas);
                return (slots - lent) * slot_of(x, p, at_work, over(at_work, left)) + x->helped;
            }
        }
    } else if ((Count)x->tail == SPLIT) {
        Count part = over(slots, least(ctas / left, 32));
        if ((slots - part) * x->ideal > (x->ahead >= 16 ? 10000 : 19000)) {
            Count parts = over(slots, part);
            return part * slot_of(x, p, least(left * parts, ctas), parts) + x->parts_sums;
        }
    }
    return slots * slot_of(x, p, left, (Count)x->parts);
}

/* A launch: microseconds, for which share of it tensor cores have products, and how tiles are shared out. */
typedef struct {
    double us, busy;
    Problem p;
    Cut cut;
} Launch;

/* Clocks that take so many microseconds, in `busy` of which tensor cores have products. */
static double clocks_of(const Kernel *x, double us, double busy) {
    double clocks = (us - x->fixed) * x->mhz / x->longer, slowed = clocks - 4 * x->throttle * busy;
    return slowed > 0 ? (clocks + sqrt(clocks * slowed)) / 2 * (1 + 1e-9) : 0;
}

/* With `rough`, it takes as long at least, if less than `limit`: else any time beyond that. */
static Launch launch(const Kernel *x, Count m, Count n, Count k, double a_cost, double b_cost, int rough, double limit) {
    Launch made = {.p = problem(x, m, n, k, a_cost, b_cost)};
    const Problem *p = &made.p;
    made.p.rough = rough;
    Count ctas = (Count)x->ctas, parts = (Count)x->parts, tiles = p->tiles_m * p->tiles_n, items = tiles * parts;
    double total, busy = items * p->slots * x->ideal / ctas;
    made.cut = (Cut){tiles, 1, p->slots};
    if ((Count)x->tail >= LAST) {
        double most = limit < HUGE_VAL ? clocks_of(x, limit, busy) - (x->around - x->between) : HUGE_VAL;
        total = shared_out(x, p, m, most, &made.cut);
    } else {
        Count rounds = items / ctas, left = items % ctas;
        total = rounds ? rounds * (p->slots * slot_of(x, p, ctas, parts) + x->between) : 0;
        if (left) total += last_round(x, p, left) + x->between;
    }
    total += x->around - x->between;
    if (x->split > 1) total += (Count)x->sum * p->m * p->n * (parts + 1) / (ctas * x->l2 / 2);
    made.busy = busy / total;
    made.us = total * x->longer / (x->mhz * (1 - x->throttle * busy / total)) + x->fixed;
    return made;
}

/* Whether a kernel cannot load such rows, or a narrower one does as well. */
static int needless(const Kernel *x, Count m, Count n) {
    Count width = (Count)x->width, extent = x->swap ? m : n;
    return !x->can_load || (width && over(extent, width) == over(extent, width - (Count)x->spare));
}

/* Microseconds that a kernel takes at least: products and barriers of its tiles, as if no load had to be waited for.
   The clock rate falls by less than half where tensor cores are always busy, so fewer clocks are always less time. The
   last factor is for rounding. */
static double bound(const Kernel *x, Count m, Count n, Count k) {
    Count rows = x->swap ? n : m, columns = x->swap ? m : n, parts = (Count)x->parts, ctas = (Count)x->ctas;
    Count items = over(rows, (Count)x->rows) * (Count)x->cluster_m;
    items *= over(columns, (Count)x->columns) * (Count)x->cluster_n * parts;
    Count slots = over(over(k, (Count)x->block_k), parts), left = items % ctas;
    double clocks = slots * x->fastest, total = items / ctas * (clocks + x->between);
    if (left) total += (Count)x->tail == WHOLE ? clocks + x->between : clocks * left / ctas;
    total += x->around - x->between;
    double busy = items * slots * x->ideal / ctas;
    return (total * x->longer / (x->mhz * (1 - x->throttle * busy / total)) + x->fixed) * (1 - 1e-9);
}

/* How the tiles of a shape are cut, of a kernel whose tail is LAST or EACH: the first of these. */
void cut(const Kernels *of, Count m, Count n, Count k, Count a_pitch, Count b_pitch, Cut *made) {
    Problem p = problem(of->kernels, m, n, k, of->costs[a_pitch], of->costs[b_pitch]);
    shared_out(of->kernels, &p, m, HUGE_VAL, made);
}

/* Microseconds of each kernel; infinite for those that are needless. */
void times(const Kernels *of, Count m, Count n, Count k, Count a_pitch, Count b_pitch, double *made) {
    for (const Kernel *x = of->kernels; x < of->kernels + of->count; x++)
        *made++ = needless(x, m, n) ? HUGE_VAL : launch(x, m, n, k, of->costs[a_pitch], of->costs[b_pitch], 0, HUGE_VAL).us;
}

enum { INPUTS = 128, UNITS = 24 }; /* of a network at most, and units of a layer; of these, what registers hold */

/* Sums of `some` units of a layer, which has `units`. */
static inline void layer(const double *weights, Count units, Count some, const double *values, Count inputs,
                         double *made) {
    double sums[UNITS];
    for (Count unit = 0; unit < some; unit++) sums[unit] = weights[unit];
    for (Count i = 0; i < inputs; i++) {
        weights += units;
        for (Count unit = 0; unit < some; unit++) sums[unit] += weights[unit] * values[i];
    }
    for (Count unit = 0; unit < some; unit++) made[unit] = sums[unit];
}

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default"))) /* registers of four numbers, where there are such */
#else
#define WIDE
#endif

/* Logarithms of time over estimate that were learned: a network of rectified linear units. */
WIDE static double correction(const Count *widths, const double *weights, double *values) {
    double made[INPUTS];
    for (; widths[1]; widths++) {
        Count inputs = widths[0], units = widths[1], unit = 0;
        for (; unit + UNITS <= units; unit += UNITS) layer(weights + unit, units, UNITS, values, inputs, made + unit);
        for (; unit < units; unit++) layer(weights + unit, units, 1, values, inputs, made + unit);
        weights += (inputs + 1) * units;
        for (unit = 0; unit < units; unit++) values[unit] = made[unit] > 0 || units == 1 ? made[unit] : 0;
    }
    return values[0];
}

/* The logarithm of microseconds that a kernel is expected to take for its launch, up to what all have in common. */
static double corrected(const Kernel *x, Launch of, double a_cost, double b_cost, const Count *widths,
                        const double *weights) {
    Count k = of.p.k;
    Count whole = of.cut.whole, parts = of.cut.parts, ctas = (Count)x->ctas, tiles = of.p.tiles_m * of.p.tiles_n;
    Count items = (whole + (tiles - whole) * parts) * (Count)x->parts, rounds = over(items, ctas);
    Count block_m = (Count)x->block_m, block_n = (Count)x->block_n, block_k = (Count)x->block_k, i = 0;
    double values[INPUTS], high = of.p.m, wide = of.p.n, log_high = log2(high), log_wide = log2(wide);
    for (const double *about = &x->about_0; about <= &x->about_21; about++) values[i++] = *about;
    values[i++] = log_high, values[i++] = log_wide, values[i++] = log2(k);
    double wide_cost = x->swap ? a_cost : b_cost;
    values[i++] = x->swap ? b_cost : a_cost, values[i++] = wide_cost > x->b_start ? wide_cost : x->b_start;
    values[i++] = log2(items), values[i++] = log2((double)items / ctas);
    values[i++] = (double)items / (rounds * ctas), values[i++] = log2(parts * (Count)x->parts);
    values[i++] = log2(rounds * (whole ? of.p.slots : of.cut.slots)), values[i++] = log2(of.us), values[i++] = of.busy;
    values[i++] = (double)(of.p.m * of.p.n) / (tiles * block_m * block_n);
    values[i++] = (double)(of.p.m % block_m) / block_m, values[i++] = (double)(of.p.n % block_n) / block_n;
    values[i++] = (double)(k % block_k) / block_k;
    values[i++] = log2(tiles), values[i++] = log2(of.p.slots), values[i++] = 1.0 / rounds;
    values[i++] = log_high < log_wide ? log_high : log_wide;
    values[i++] = items < 8 * ctas ? (double)items / ctas : 8, values[i++] = parts * (Count)x->parts;
    double off = correction(widths, weights, values), most = x->most_off;
    return log(of.us) + (off < -most ? -most : off > most ? most : off);
}

/* A kernel that may be the fastest, and its launch. */
typedef struct {
    Count index;
    Launch of;
} Likely;

/* A kernel, and microseconds that it takes at least. */
typedef struct {
    Count index;
    double us;
} Bound;

/* Puts a kernel among the `known` fastest, from the fastest on, those of one time by their index. */
static void insert(Likely *fastest, Count known, Likely made) {
    for (; known > 0; known--) {
        const Likely *before = fastest + known - 1;
        if (before->of.us < made.of.us || (before->of.us == made.of.us && before->index < made.index)) break;
        fastest[known] = *before;
    }
    fastest[known] = made;
}

/* The first of the kernels that are expected to take least, by estimates of those that may be it, which are corrected
   if there is a network. By their bounds, most kernels are passed over. The others get closer bounds, wave by wave from
   the least bound on, and those that are still likely an estimate. */
Count least_of(const Kernels *of, Count m, Count n, Count k, Count a_pitch, Count b_pitch) {
    const Kernel *x = of->kernels;
    const Count *widths = of->widths;
    Count room = widths[0] ? (Count)x->most_likely : 1, known = 0, left = 0, likely = 0;
    double a_cost = of->costs[a_pitch], b_cost = of->costs[b_pitch], factor = widths[0] ? x->likely : 1;
    double limit = HUGE_VAL, reached = HUGE_VAL;
    Bound others[of->count], closer[of->count];
    Likely fastest[room + 1]; /* the last one is left out */
    for (Count i = 0; i < of->count; i++) {
        if (needless(x + i, m, n)) continue;
        others[left] = (Bound){i, bound(x + i, m, n, k)};
        if (others[left].us < reached) reached = others[left].us;
        left++;
    }
    if (!left) return 0;
    while (reached <= limit) {
        Count found = left;
        reached *= 1.1;
        left = 0;
        for (const Bound *one = others; one < others + found; one++) {
            if (one->us > reached) {
                others[left++] = *one;
                continue;
            }
            double us = launch(x + one->index, m, n, k, a_cost, b_cost, 1, limit).us * (1 - 1e-9);
            if (us <= limit) closer[likely++] = (Bound){one->index, us};
        }
        while (likely) {
            Bound *next = closer;
            for (Bound *one = closer; one < closer + likely; one++)
                if (one->us < next->us) next = one;
            if (next->us > (limit < reached ? limit : reached)) break;
            insert(fastest, known, (Likely){next->index, launch(x + next->index, m, n, k, a_cost, b_cost, 0, HUGE_VAL)});
            *next = closer[--likely];
            if (known < room) known++;
            limit = fastest[0].of.us * factor;
            if (known == room && fastest[room - 1].of.us < limit) limit = fastest[room - 1].of.us;
        }
    }
    Count best = fastest[0].index;
    if (!widths[0] || !x[best].learned) return best;
    double least_log = HUGE_VAL;
    for (const Likely *one = fastest; one < fastest + known && one->of.us <= limit; one++) {
        if (!x[one->index].learned) continue;
        double expected = corrected(x + one->index, one->of, a_cost, b_cost, widths, of->weights);
        if (expected < least_log || (expected == least_log && one->index < best)) least_log = expected, best = one->index;
    }
    return best;
}
