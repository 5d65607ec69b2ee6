"""One module a verb that does more than print: what the command line does for people with the packages below it."""
