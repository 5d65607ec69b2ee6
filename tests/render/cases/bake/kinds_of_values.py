# bake: {"SHIFT": -2, "SCALE": 0.5, "ACT": "relu", "ON": true}
@triton.jit
def kernel(a, *, SHIFT: tl.constexpr, SCALE: tl.constexpr, ACT: tl.constexpr, ON: tl.constexpr = True):
    x = SHIFT**2 + (SHIFT) - SHIFT
    y = a * SCALE if ACT == "relu" else ON
    z = f"{SHIFT}"
# output
@triton.jit
def kernel(a):
    x = (-2)**2 + (-2) - -2
    y = a * 0.5 if "relu" == "relu" else True
    z = f"{-2}"
