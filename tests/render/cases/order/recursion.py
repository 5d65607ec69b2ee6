def even(n):
    return odd(n - 1)


def odd(n):
    return even(n - 1)


def a():
    return b() + even(2)


def b():
    return b()
# output
def b():
    return b()


def even(n):
    return odd(n - 1)


def odd(n):
    return even(n - 1)


def a():
    return b() + even(2)
