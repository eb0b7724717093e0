"""One module for each group of commands: options in, a call of the library, its result out."""
