import argparse


def _choose(a, b):
    # A comment.
    try:
        value = compute(a)
    except ValueError as error:
        raise SystemExit(1) from error
    else:
        a.total += value


    while True:
        a, *rest = b
        if a and b:
            break
        rest.append(lambda x, y=1: x)
    return {k: v for k, v in a} if a else None


def main():
    parser = argparse.ArgumentParser()
    return _choose(parser, [i for i in range(3)])


if __name__ == "__main__":
    main()
