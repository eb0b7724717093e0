"""Errors of the libraries of stores and web servers, as ours."""

import re

import pyarrow as pa

from neardup.errors import InputError, InputNotFoundError, NeardupError

#: Messages of libraries, their meaning and a remedy; the first match counts.
_KINDS = (
    (
        "NO_SUCH_BUCKET|NoSuchBucket|Bucket '.*' not found",
        "there is no such bucket",
        "check its name",
    ),
    (
        r"ACCESS_DENIED|[Ff]orbidden|[Uu]nauthorized|\b40[13]\b|INVALID_ACCESS_KEY|SIGNATURE|"
        "[Cc]redential|account_name|connection_string|UNRECOGNIZED_CLIENT",
        "access is refused, or there are no credentials",
        "set them as the tools of the store read them, such as AWS_ACCESS_KEY_ID, or log in",
    ),
    (
        "NETWORK_CONNECTION|[Cc]onnect|resolve|[Tt]imed? ?out",
        "the server can't be reached",
        "check the network, and the endpoint if one is set",
    ),
    (r"\b404\b|PATH_NOT_FOUND", "there is no such file", "check the bucket and the path"),
)


def failed(url: str, error: BaseException, kind: type[NeardupError] = InputError) -> NeardupError:
    """The error for a URL that can't be read or written; it quotes no text of the library."""
    if isinstance(error, NeardupError):
        return error
    # Of web servers, all errors are files that are not there, for fsspec.
    errors = [one for one in (error, error.__cause__) if one is not None]
    said = " ".join(f"{type(one).__name__} {one}" for one in errors).replace(url, "")
    said += " 404" if isinstance(error, FileNotFoundError) else ""
    for pattern, what, hint in _KINDS:
        if re.search(pattern, said):
            missing = "404" in pattern and kind is InputError
            return (InputNotFoundError if missing else kind)(f"{url}: {what}", hint)
    code = re.search(r"AWS Error (\w+)", said)
    what = code[1].lower().replace("_", " ") if code else type(error).__name__
    return kind(f"{url}: the store reports an error ({what})", "try again")


def is_of_transfer(error: BaseException) -> bool:
    return not isinstance(error, pa.ArrowException) and not re.search(
        "zlib|ZSTD|zstd|[Tt]runcated|compress|Parquet|magic|thrift|[Cc]orrupt|flatbuffer",
        str(error),
    )
