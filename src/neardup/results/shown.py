"""Results that print as the command shows them, and that a notebook shows as a card."""


class Shown:
    """Base of a result; what is shown of it is in `neardup.api.notebook`."""

    __slots__ = ()

    def __str__(self) -> str:
        from neardup.api import notebook

        return notebook.SHOWN[type(self).__name__][0](self)

    def _repr_html_(self) -> str:
        from neardup.api import notebook

        return notebook.SHOWN[type(self).__name__][1](self)
