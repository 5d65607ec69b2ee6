"""`tlxgen review`: what a change of specs, templates or generator means for the kernels, as one page."""
