# ruff: noqa  (designs as they were measured; they go when the family has the ring schedule)
"""Checks and times the candidates of designs.py on a GPU.   python bench_norm.py fwd|bwd [--out DIR] [--budget S] [--shapes 0,1,..]

The parent only starts children with time limits: compilers (16), checkers (one a design), timers (one a norm). Each child
appends JSON lines; what a child has not reported when it is killed (a hang) is left out of what follows.
Internal: bench_norm.py --role compile|quack|inductor|check|time ...
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("TRITON_CACHE_DIR", str(Path(tempfile.gettempdir(), "norm-triton")))
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(tempfile.gettempdir(), "norm-inductor")))
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
import designs  # noqa: E402

START = time.time()
EPS = 1e-5


def lists(kind, norm, args):
    """[(shape index, candidate)], from the file of picks where there is one."""
    picks = Path(args.work) / f"picks_{kind}_{norm}.json"
    if picks.exists():
        return [(i, cand) for i, cand in json.loads(picks.read_text()) if i in args.shapes]
    make = designs.forward if kind == "fwd" else designs.backward
    found = {(i, designs.name(cand)): (i, cand) for i in args.shapes for cand in make(*designs.SHAPES[i])}
    return list(found.values())


def note(path, record):
    with open(path, "a") as file:
        file.write(json.dumps(record) + "\n")


def read(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()] if Path(path).exists() else []


# ---- what is launched -------------------------------------------------------------------------------------------------


class Ours:
    """One candidate at one shape, bound to a set of tensors."""

    def __init__(self, kind, norm, cand, M, N):
        import norm_proto

        self.kind, self.norm, self.M, self.N = kind, norm, M, N
        kernel, self.consts, self.options, self.grid, self.P, self.C = designs.call(kind, norm, cand, M, N)
        self.kernel = getattr(norm_proto, kernel)
        self.total = norm_proto.bwd_sum
        self.sum_consts = dict(
            HAS_B=norm == "ln", BLOCK_P=min(64, designs.pow2(self.P)), BLOCK_C=8 if N <= 1024 else 32
        )
        if kind == "bwd":
            import torch

            self.pw = torch.full((self.P, N), float("nan"), device="cuda")
            self.pb = torch.full((self.P, N), float("nan"), device="cuda") if norm == "ln" else self.pw

    def args(self, s, o):
        v = self.consts["VEC"]
        if self.kind == "fwd":
            return (
                s["x"],
                s["w"],
                s["b"],
                o["y"],
                o["mean"],
                o["rstd"],
                self.M,
                self.N,
                self.C,
                self.N // v,
                self.N // v,
                EPS,
            )
        return (
            s["x"],
            s["w"],
            s["dy"],
            s["mean"],
            s["rstd"],
            o["dx"],
            self.pw,
            self.pb,
            self.M,
            self.N,
            self.C,
            self.N // v,
            self.N // v,
        )

    def run(self, s, o):
        self.kernel[self.grid](*self.args(s, o), **self.consts, **self.options)
        if self.kind == "bwd":
            grid = (-(-self.N // self.sum_consts["BLOCK_C"]),)
            self.total[grid](self.pw, self.pb, o["dw"], o["db"], self.P, self.N, **self.sum_consts, num_warps=4)

    def compile(self, s, o):
        self.kernel.warmup(*self.args(s, o), grid=self.grid, **self.consts, **self.options)
        if self.kind == "bwd":
            self.total.warmup(
                self.pw, self.pb, o["dw"], o["db"], self.P, self.N, grid=(1,), **self.sum_consts, num_warps=4
            )


def inputs(kind, norm, M, N):
    import torch

    g = dict(device="cuda")
    s = {
        "x": (torch.randn(M, N, **g) + 3).bfloat16(),
        "w": torch.randn(N, **g).bfloat16(),
        "b": torch.randn(N, **g).bfloat16(),
    }
    if kind == "bwd":
        s["dy"] = torch.randn(M, N, **g).bfloat16()
        s["mean"] = torch.zeros(M, **g)
        for r in range(0, M, 1024):
            part = s["x"][r : r + 1024].float()
            if norm == "ln":
                s["mean"][r : r + 1024] = part.mean(1)
        s["rstd"] = torch.empty(M, **g)
        for r in range(0, M, 1024):
            part = s["x"][r : r + 1024].double() - s["mean"][r : r + 1024].double()[:, None]
            s["rstd"][r : r + 1024] = (part.square().mean(1) + EPS).rsqrt().float()
    return s


def outputs(kind, M, N):
    import torch

    def nan(*shape, dtype=torch.bfloat16):
        return torch.full(shape, float("nan"), dtype=dtype, device="cuda")

    if kind == "fwd":
        return {"y": nan(M, N), "mean": nan(M, dtype=torch.float32), "rstd": nan(M, dtype=torch.float32)}
    return {"dx": nan(M, N), "dw": nan(N), "db": nan(N)}


# ---- children ---------------------------------------------------------------------------------------------------------


def compile_child(args):
    import torch

    mine = lists(args.kind, args.norm, args)[args.part :: args.parts]
    small = {
        k: torch.empty(64, device="cuda", dtype=torch.bfloat16) for k in ("x", "w", "b", "dy", "y", "dx", "dw", "db")
    }
    small |= {k: torch.empty(64, device="cuda") for k in ("mean", "rstd")}
    for i, cand in mine:
        M, N = designs.SHAPES[i]
        begin = time.time()
        try:
            ours = Ours(args.kind, args.norm, cand, M, N)
            ours.compile(small, small)
            error = ""
        except Exception as e:  # noqa: BLE001
            error = f"{type(e).__name__}: {str(e)[-300:]}"
        note(args.file, {"i": i, "cand": cand, "error": error, "s": time.time() - begin})


def check_child(args):
    import torch

    torch.manual_seed(int.from_bytes(os.urandom(4), "little"))
    for i in args.shapes:
        mine = [cand for j, cand in lists(args.kind, args.norm, args) if j == i and cand["design"] == args.design]
        if not mine:
            continue
        M, N = designs.SHAPES[i]
        s = inputs(args.kind, args.norm, M, N)
        want = reference(args.kind, args.norm, s, M, N)
        for cand in mine:
            note(args.file, {"i": i, "cand": cand, "begun": 1})
            record = {"i": i, "cand": cand}
            try:
                ours = Ours(args.kind, args.norm, cand, M, N)
                first, second = outputs(args.kind, M, N), outputs(args.kind, M, N)
                ours.run(s, first)
                torch.cuda.synchronize()
                ours.run(s, second)
                torch.cuda.synchronize()
                bad = [k for k in want if not within(first[k], *want[k])]
                bad += [f"{k} differs" for k in want if not torch.equal(first[k], second[k])]
                record["bad"] = ", ".join(bad)
            except Exception as e:  # noqa: BLE001
                record["bad"] = f"{type(e).__name__}: {str(e)[-300:]}"
            note(args.file, record)
            if "CUDA error" in record["bad"] or "illegal" in record["bad"]:
                return  # the context is lost; the parent starts the design again after this candidate
        del s, want
        torch.cuda.empty_cache()


def within(got, ref, rel, add):
    import torch

    for r in range(0, got.shape[0], 1024) if got.dim() == 2 else (slice(None),):
        at = slice(r, r + 1024) if isinstance(r, int) else r
        want = ref[at].double()
        if not bool(((got[at].double() - want).abs() <= rel * want.abs() + add).all()):
            return False
    return True


def reference(kind, norm, s, M, N):
    """float64, in rows; kept in float32 where it is held against bf16."""
    import torch

    ln = norm == "ln"
    mean = torch.zeros(M, device="cuda", dtype=torch.float64)
    rstd = torch.empty_like(mean)
    big = torch.empty(M, N, device="cuda")
    dw = torch.zeros(N, device="cuda", dtype=torch.float64)
    db = torch.zeros_like(dw)
    step = max(1, (1 << 25) // N)
    for r in range(0, M, step):
        at = slice(r, r + step)
        x = s["x"][at].double()
        if kind == "bwd":
            mean[at], rstd[at] = s["mean"][at].double(), s["rstd"][at].double()
        else:
            if ln:
                mean[at] = x.mean(1)
            rstd[at] = ((x - mean[at, None]).square().mean(1) + EPS).rsqrt()
        xhat = (x - mean[at, None]) * rstd[at, None]
        if kind == "fwd":
            big[at] = (xhat * s["w"].double() + (s["b"].double() if ln else 0)).float()
            continue
        dy = s["dy"][at].double()
        wdy = dy * s["w"].double()
        dx = wdy - xhat * (wdy * xhat).mean(1, keepdim=True)
        if ln:
            dx -= wdy.mean(1, keepdim=True)
        big[at] = (dx * rstd[at, None]).float()
        dw += (dy * xhat).sum(0)
        db += dy.sum(0)
    if kind == "fwd":
        out = {"y": (big, 0.0041, 2e-4), "rstd": (rstd, 1e-5, 0.0)}
        return out | ({"mean": (mean, 1e-5, 1e-5)} if ln else {})
    out = {"dx": (big, 0.0041, 5e-4), "dw": (dw, 0.0041, 5e-3)}
    return out | ({"db": (db, 0.0041, 5e-3)} if ln else {})


def baselines(kind, norm, sets, M, N, stream, only=None):
    """name -> function of a set's number that returns its outputs."""
    import torch
    import torch.nn.functional as F

    ln = norm == "ln"
    found = {}

    def attempt(name, make):
        if only and name not in only:
            return
        if time.time() - START > BUDGET:
            print(f"    {name}: no time left", flush=True)
            return
        try:
            with torch.cuda.stream(stream):
                f = make()
                f(0)
            torch.cuda.synchronize()
            found[name] = f
        except Exception as e:  # noqa: BLE001
            print(f"    {name}: {type(e).__name__}: {str(e)[-200:]}", flush=True)

    def plain(x, w, b):
        return F.layer_norm(x, (N,), w, b, EPS) if ln else F.rms_norm(x, (N,), w, EPS)

    def torch_of(function):
        if kind == "fwd":
            return lambda i: function(sets[i]["x"], sets[i]["w"], sets[i]["b"])
        saved = []
        for s in sets:
            leaves = [s[k].detach().requires_grad_() for k in ("x", "w", "b")]
            saved.append((function(*leaves), leaves[: 3 if ln else 2], s["dy"]))
        return lambda i: torch.autograd.grad(saved[i][0], saved[i][1], saved[i][2], retain_graph=True)

    def compiled():
        import torch._functorch.config

        torch._functorch.config.donated_buffer = False
        torch._dynamo.reset()
        return torch_of(torch.compile(plain, dynamic=False))

    def quack():
        import quack.rmsnorm as q

        w32 = [s["w"].float() for s in sets]
        b32 = [s["b"].float() for s in sets]
        if kind == "fwd" and ln:
            return lambda i: q.layernorm_fwd(sets[i]["x"], w32[i], b32[i], EPS, return_rstd=True, return_mean=True)
        if kind == "fwd":
            return lambda i: q.rmsnorm_fwd(sets[i]["x"], sets[i]["w"], eps=EPS, store_rstd=True)
        if ln:
            return lambda i: q.layernorm_bwd(sets[i]["x"], w32[i], sets[i]["dy"], sets[i]["rstd"], sets[i]["mean"])
        return lambda i: q.rmsnorm_bwd(sets[i]["x"], sets[i]["w"], sets[i]["dy"], sets[i]["rstd"])

    attempt("eager", lambda: torch_of(plain))
    attempt("compiled", compiled)
    attempt("quack", quack)
    return found


def warm_child(args):
    """Fills the caches on disk of torch.compile and quack, one shape a child."""
    import torch

    M, N = designs.SHAPES[args.shapes[0]]
    s = [inputs(args.kind, args.norm, M, N)]
    baselines(args.kind, args.norm, s, M, N, torch.cuda.Stream(), only=[args.role])


def time_child(args):
    import torch

    ok = {(r["i"], designs.name(r["cand"])) for r in read(args.checks) if r.get("bad") == ""}
    stream = torch.cuda.Stream()
    for i in args.shapes:
        M, N = designs.SHAPES[i]
        moved = M * N * 2 * (2 if args.kind == "fwd" else 3)
        count = max(2, -(-400_000_000 // moved))
        sets = [inputs(args.kind, args.norm, M, N) for _ in range(count)]
        outs = [outputs(args.kind, M, N) for _ in range(count)]
        repeats = max(1, round(500e-6 / (moved / 4.2e12) / count))
        source = torch.randint(-100, 100, (count, moved // 4), device="cuda", dtype=torch.int16)
        target = torch.empty_like(source)
        todo = {"copy": lambda n: target[n].copy_(source[n])}
        todo |= baselines(args.kind, args.norm, sets, M, N, stream)
        cands, keep = {}, []
        for j, cand in lists(args.kind, args.norm, args):
            if j == i and (i, designs.name(cand)) in ok:
                ours = Ours(args.kind, args.norm, cand, M, N)
                cands[designs.name(cand)] = cand
                todo[designs.name(cand)] = lambda n, ours=ours: ours.run(sets[n], outs[n])
        graphs = {}
        for name, f in todo.items():
            try:
                with torch.cuda.stream(stream):
                    f(0)
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, stream=stream):
                    for _ in range(repeats):
                        held = [f(n) for n in range(count)]  # so that each set has outputs of its own
                keep.append(held)
                graph.replay()
                torch.cuda.synchronize()
                graphs[name] = graph
            except Exception as e:  # noqa: BLE001
                print(f"    {name}: capture: {type(e).__name__}: {str(e)[-200:]}", flush=True)
                torch.cuda.synchronize()
        times = {name: [] for name in graphs}
        for _ in range(15):
            for name, graph in graphs.items():
                e0, e1 = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                e0.record()
                graph.replay()
                e1.record()
                e1.synchronize()
                times[name].append(e0.elapsed_time(e1) * 1000 / (repeats * count))
        us = {name: statistics.median(t) for name, t in times.items()}
        spread = {name: (min(t), max(t)) for name, t in times.items()}
        note(args.file, {"i": i, "kind": args.kind, "norm": args.norm, "us": us, "spread": spread, "cands": cands,
                         "launches": repeats * count, "bytes": moved})  # fmt: skip
        del graphs, sets, outs, todo, keep, source, target
        import gc

        gc.collect()
        torch.cuda.empty_cache()


# ---- parent -----------------------------------------------------------------------------------------------------------


def child(role, args, **more):
    command = [sys.executable, str(HERE / "bench_norm.py"), args.kind, "--role", role, "--work", args.work]
    for key, value in (
        {"norm": args.norm, "shapes": ",".join(map(str, args.shapes)), "budget": args.budget} | more
    ).items():
        command += [f"--{key}", str(value)]
    log = open(Path(args.work) / f"log_{role}_{args.kind}_{args.norm}.txt", "a")  # noqa: SIM115
    return subprocess.Popen(command, stdout=log, stderr=log)


def wait(children, seconds):
    """Whether all ended in time; those that did not are killed."""
    end = time.time() + seconds
    for c in children:
        try:
            c.wait(max(0.1, end - time.time()))
        except subprocess.TimeoutExpired:
            c.kill()
            c.wait()
    return time.time() < end


def left(args):
    return args.budget - (time.time() - START)


def warm(args):
    return [child(role, args, shapes=i) for i in args.shapes for role in ("compiled", "quack")]


def section(args, warming, then=None):
    """One norm; `then` is called when the candidates are compiled, to start what the next section wants warm."""
    work = Path(args.work)
    compiles, checks, times = (work / f"{what}_{args.kind}_{args.norm}.jsonl" for what in ("compile", "check", "time"))
    for path in (compiles, checks, times):
        path.unlink(missing_ok=True)
    begin = time.time()
    parts = os.cpu_count() or 8
    wait([child("compile", args, file=compiles, part=p, parts=parts) for p in range(parts)], min(90, left(args) - 40))
    wait(warming, min(25, max(1, left(args) - 60)))
    started = then() if then else []
    made = read(compiles)
    failed = [r for r in made if r["error"]]
    print(
        f"[{args.kind} {args.norm}] {len(made)} compiled in {time.time() - begin:.0f} s, {len(failed)} failed",
        flush=True,
    )
    for r in failed[:6]:
        print(f"    {designs.SHAPES[r['i']]} {designs.name(r['cand'])}: {r['error'][-200:]}", flush=True)
    begin = time.time()
    kinds = sorted({cand["design"] for _, cand in lists(args.kind, args.norm, args)})
    files = {d: work / f"check_{args.kind}_{args.norm}_{d}.jsonl" for d in kinds}
    for f in files.values():
        f.unlink(missing_ok=True)
    wait([child("check", args, file=files[d], design=d) for d in kinds], min(60, left(args) - 35))
    records = [r for f in files.values() for r in read(f)]
    checks.write_text("".join(json.dumps(r) + "\n" for r in records))
    done = [r for r in records if "bad" in r]
    wrong = [r for r in done if r["bad"]]
    hung = {(r["i"], designs.name(r["cand"])) for r in records} - {(r["i"], designs.name(r["cand"])) for r in done}
    print(
        f"[{args.kind} {args.norm}] {len(done) - len(wrong)} right, {len(wrong)} not, in {time.time() - begin:.0f} s; unfinished {hung}",
        flush=True,
    )
    for r in wrong[:8]:
        print(f"    {designs.SHAPES[r['i']]} {designs.name(r['cand'])}: {r['bad'][-200:]}", flush=True)
    begin = time.time()
    wait([child("time", args, file=times, checks=checks)], max(20, left(args) - 3))
    table(read(times), time.time() - begin)
    return read(times), started


def table(rows, seconds):
    for row in rows:
        us, base = row["us"], ("copy", "eager", "compiled", "quack")
        ours = sorted((t, n) for n, t in us.items() if n not in base)
        if not ours:
            continue
        best, name = ours[0]
        M, N = designs.SHAPES[row["i"]]
        ratios = "  ".join(f"{b} {us[b] / best:.3f}" for b in base[1:] if b in us)
        copy = us.get("copy", float("nan"))
        print(f"{row['kind']} {row['norm']:3} {M}x{N}: {best:8.2f} us  {row['bytes'] / best / 1e6:.2f} TB/s  {100 * copy / best:5.1f} % of copy"
              f" ({copy:.2f})  {ratios}  | {name}", flush=True)  # fmt: skip
        for design in ("plain", "pipe", "cp", "bulk"):
            of = [(t, n) for t, n in ours if n.split()[0] == design][:3]
            print("      " + "; ".join(f"{n} {t:.2f}" for t, n in of), flush=True)
    print(f"    timed in {seconds:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["fwd", "bwd"])
    for name, default in (("role", ""), ("norm", "ln"), ("work", str(Path(tempfile.gettempdir(), "norm-work"))), ("out", os.environ.get("OUT", "")), ("file", ""),
                          ("checks", ""), ("design", ""), ("shapes", "0,1,2,3,4,5")):  # fmt: skip
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--budget", type=float, default=235)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=1)
    args = parser.parse_args()
    args.shapes = [int(i) for i in args.shapes.split(",")]
    global BUDGET
    BUDGET = args.budget
    roles = {
        "compile": compile_child,
        "check": check_child,
        "time": time_child,
        "compiled": warm_child,
        "quack": warm_child,
    }
    if args.role:
        return roles[args.role](args)
    Path(args.work).mkdir(parents=True, exist_ok=True)
    for old in Path(args.work).glob(f"picks_{args.kind}_*.json"):
        old.unlink()
    rms = argparse.Namespace(**{**vars(args), "norm": "rms"})
    results, warming = section(args, warm(args), lambda: warm(rms))
    picks = [
        [r["i"], r["cands"][n]] for r in results for n in sorted(r["cands"], key=lambda n: r["us"].get(n, 1e9))[:10]
    ]
    (Path(args.work) / f"picks_{args.kind}_rms.json").write_text(json.dumps(picks))
    if picks and left(args) > 50:
        results += section(rms, warming)[0]
    else:
        wait(warming, 0)
    if args.out:
        Path(args.out).mkdir(parents=True, exist_ok=True)
        Path(args.out, f"norm_{args.kind}.json").write_text(json.dumps(results))
        log = "".join(
            f"== {p.name}\n{p.read_text()[-20000:]}\n" for p in sorted(Path(args.work).glob(f"log_*_{args.kind}_*"))
        )
        Path(args.out, f"norm_{args.kind}_log.txt").write_text(log)
        lines = "".join(p.read_text() for p in sorted(Path(args.work).glob(f"c*_{args.kind}_*.jsonl")))
        Path(args.out, f"norm_{args.kind}_checks.jsonl").write_text(lines)
    print(f"[{args.kind}] {time.time() - START:.0f} s", flush=True)


if __name__ == "__main__":
    main()
