"""The calls of mattilyra/lsh, by the names of its modules, with similarities that are exact."""
