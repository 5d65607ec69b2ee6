def f(a, b):
    x = True and a, a and True, a < b and True, a or False, False or a, 0 or a, 1 and a, not True
    y = a if True else b, (a if 1 < 2 else b) + 1, "relu" == "relu", "a" != "a", a if "x" == 1 else b
    if a and True:
        pass
    if not (a or False) or g(a) and True and b or 1 == 2:
        pass
    while a and 2 > 1:
        pass
    return g(a) and False, b if g(a) or True else a
# output
def f(a, b):
    x = a, a and True, a < b, a or False, a, a, a, False
    y = a, a + 1, True, False, a if "x" == 1 else b
    if a:
        pass
    if not a or g(a) and b:
        pass
    while a:
        pass
    return g(a) and False, b if g(a) or True else a
