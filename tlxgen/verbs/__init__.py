"""The verbs of the command line that do more than print, one module each. They use the packages below."""
