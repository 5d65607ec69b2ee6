SIZE = 4 * 1024
CONFIGS = [triton.Config({"A": 2 * 64}) for _ in range(3 - 1)]


class Plan:
    depth = 1 + 1

    def size(self):
        """2 * 3 is 6."""
        return 2 * 3


def f(a=1 + 1):
    return [2 * i * 1 for i in range(1 + 1)]
# output
SIZE = 4 * 1024
CONFIGS = [triton.Config({"A": 2 * 64}) for _ in range(3 - 1)]


class Plan:
    depth = 1 + 1

    def size(self):
        """2 * 3 is 6."""
        return 6


def f(a=1 + 1):
    return [2 * i for i in range(2)]
