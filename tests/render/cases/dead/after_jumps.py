def f(a):
    for k in range(a):
        if a:
            continue
            one()
        if True:
            # Enough.
            return a
        two()
        # gone with two
    while False:
        three()
    else:
        four()
    raise ValueError
    five()


def g():
    while False:
        one()
# output
def f(a):
    for k in range(a):
        if a:
            continue
        # Enough.
        return a
    four()
    raise ValueError


def g():
    pass
