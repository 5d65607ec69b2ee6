def f(a, b):
    x = (
        a  # the rows
        + 0
    )
    y = (a
         + b) * 1
    if(a * 1):
        return(a + 0)
    g(
        (a + b) * 1,  # both
        a * 1,
    )
# output
def f(a, b):
    x = (
        a  # the rows
        + 0
    )
    y = (a
         + b)
    if(a):
        return(a)
    g(
        a + b,  # both
        a,
    )
