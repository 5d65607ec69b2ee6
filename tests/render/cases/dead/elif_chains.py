def f(a, b):
    # Which.
    if False:
        one()
    elif a:
        two()
    # three
    elif True:
        three()
    else:
        four()

    if a:
        one()
    elif False:
        # dropped
        two()
    elif b: three()

    if False: one()
    # kept with its branch
    elif True: two(); three()
    if a:
        one()
    else:
        if True:
            two(
                a,
                b,
            )
# output
def f(a, b):
    # Which.
    if a:
        two()
    # three
    else:
        three()

    if a:
        one()
    elif b: three()

    # kept with its branch
    two(); three()
    if a:
        one()
    else:
        two(
            a,
            b,
        )
