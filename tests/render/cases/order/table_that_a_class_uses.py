class Plan:
    def size(self):
        return TABLE["one"](self)


def _one(a):
    return _two(a)


TABLE = {"one": _one}


def _two(a):
    return a
# output
def _two(a):
    return a


def _one(a):
    return _two(a)


TABLE = {"one": _one}


class Plan:
    def size(self):
        return TABLE["one"](self)
