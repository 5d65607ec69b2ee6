def f(a):
    one()

    # Drain.
    for _ in range(0):
        two()
    for _ in range(3, 3):
        two()
    for _ in range(3, 0, -1):
        three()
    pass
    if a:
        pass
    else:
        four()
    if a:
        five()
    else:
        pass
    with open(a):
        pass
# output
def f(a):
    one()

    for _ in range(3, 0, -1):
        three()
    if a:
        pass
    else:
        four()
    if a:
        five()
    with open(a):
        pass
