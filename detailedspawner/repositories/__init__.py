"""Where the values of `models` come from: the Hub's objects and database."""
