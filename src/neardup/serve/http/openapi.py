"""The description of the calls: as OpenAPI 3.1, and as a page."""

from __future__ import annotations

import functools
import html
import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

import neardup
from neardup.serve import calls
from neardup.serve.calls import CALLS, COMMON, WRITING, Call

_REF = "#/components/schemas/{name}"
_LINES = "application/x-ndjson"
_SYSTEM = (
    ("/healthz", "Return whether the process is alive.", (200,), "application/json"),
    ("/readyz", "Return whether the index is open, kernels are compiled, and its folder is there.",
     (200, 503), "application/json"),
    ("/metrics", "Return counts, latencies and sizes as Prometheus reads them.", (200, 503),
     "text/plain"),
    ("/openapi.json", "Return this description.", (200,), "application/json"),
    ("/", "Return this description as a page.", (200,), "text/html"),
)  # fmt: skip
_STREAMS: tuple[tuple[str, str, str, dict[str, str], bool], ...] = (
    ("/v1/stream", "post", "Add documents that are new, in JSON lines; each line comes back with "
     "kept, duplicate_of and similarity added, as of neardup stream. Read while you send.",
     {"id": "string", "text": "string"}, True),
    ("/v1/stream/query", "post", "Query with JSON lines that have a text, and an id if you like; a "
     "line for each match comes back.", {"top": "integer", "threshold": "number"}, False),
    ("/v1/ids", "get", "Return the ids of all documents, a line for each.", {}, False),
    ("/v1/buckets", "get", "Return the ids of the documents in each bucket, a line for each; with "
     "keys, band, key and ids.", {"minimum": "integer", "keys": "boolean"}, False),
)  # fmt: skip

_DOCUMENTS: list[Any] = [
    {
        "required": ["documents"],
        "not": {"anyOf": [{"required": [name]} for name in ("id", "group")]},
    },
    {"required": ["text"]},
]
#: Bodies that have one of two forms.
_FORMS: dict[type[msgspec.Struct], list[Any]] = {
    calls.NewDocuments: _DOCUMENTS,
    calls.AddedDocuments: _DOCUMENTS,
    calls.Query: [{"required": ["texts"]}, {"required": ["text"]}],
}


@functools.cache
def document() -> bytes:
    """Return the description as JSON."""
    return json.dumps(described(), indent=1).encode()


def described() -> dict[str, Any]:
    """Return the description as plain values."""
    types = [kind for call in CALLS for kind in (call.asked, call.answer) if kind is not None]
    schemas, components = msgspec.json.schema_components(
        [*dict.fromkeys(types), calls.Problem], ref_template=_REF
    )
    del schemas
    for asked, forms in _FORMS.items():
        components[asked.__name__]["oneOf"] = forms
    paths: dict[str, Any] = {}
    for call in CALLS:
        method = "get" if call.asked is None else "post"
        paths[f"/v1/{call.name}"] = {method: _operation(call)}
    for path, method, about, given, writes in _STREAMS:
        paths[path] = {method: _stream(path, about, given, writes, method == "post")}
    for path, about, statuses, kind in _SYSTEM:
        content = {kind: {"schema": {"type": "string"} if "text" in kind else {"type": "object"}}}
        answers = {
            str(s): {"description": HTTPStatus(s).phrase, "content": content} for s in statuses
        }
        secured = path in ("/metrics", "/openapi.json")
        if secured or path == "/":
            answers |= _errors((400, *((401,) if secured else ()), 421, 500))
        paths[path] = {
            "get": {
                "operationId": path.strip("/").partition(".")[0] or "page",
                "summary": about,
                "responses": answers,
                **({} if secured else {"security": []}),
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "neardup",
            "version": neardup.__version__,
            "description": "A persistent index that finds similar documents.",
        },
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(call: Call) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": call.name,
        "summary": call.about,
        "responses": {
            "200": {"description": "OK", "content": _json(call.answer)},
            **_errors({*COMMON, *(WRITING if call.writes else (429,)), *call.errors}),
        },
    }
    if call.asked is not None:
        found["requestBody"] = {"required": True, "content": _json(call.asked)}
    return found


def _stream(
    path: str, about: str, given: dict[str, str], writes: bool, has_body: bool
) -> dict[str, Any]:
    lines = {_LINES: {"schema": {"type": "string"}}}
    found: dict[str, Any] = {
        "operationId": path.removeprefix("/v1/").replace("/", "_"),
        "summary": about,
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": kind}} for name, kind in given.items()
        ],
        "responses": {
            "200": {"description": "OK", "content": lines},
            **_errors({*COMMON, 409, *(WRITING if writes else (429,))}),
        },
    }
    if has_body:
        found["requestBody"] = {"required": True, "content": lines}
    return found


def _json(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(name=kind.__name__)}}}


def _errors(statuses: Iterable[int]) -> dict[str, Any]:
    schema = {"schema": {"$ref": _REF.format(name="Problem")}}
    return {
        str(status): {
            "description": HTTPStatus(status).phrase,
            "content": {"application/problem+json": schema},
        }
        for status in sorted(statuses)
    }


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code,pre{font-size:.9em}table{border-collapse:collapse}td,th{padding:.1rem .8rem .1rem 0;"
    "text-align:left;vertical-align:top}h2{margin-top:2rem;border-top:1px solid #8888}"
)


@functools.cache
def page() -> str:
    """Return the description as a page, which loads nothing from elsewhere."""
    found = described()
    schemas = found["components"]["schemas"]
    parts = [
        "<!DOCTYPE html><html lang=en><meta charset=utf-8><meta name=viewport "
        f"content='width=device-width'><title>neardup</title><style>{_STYLE}</style>",
        f"<h1>neardup {html.escape(found['info']['version'])}</h1>",
        f"<p>{html.escape(found['info']['description'])} The same as <a href=openapi.json>"
        "OpenAPI 3.1</a>. Send <code>Authorization: Bearer TOKEN</code> if the service has a "
        "token.",
    ]
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<h2><code>{method.upper()} {path}</code></h2>")
            parts.append(f"<p>{html.escape(operation['summary'])}")
            for parameter in operation.get("parameters", ()):
                kind = parameter["schema"]["type"]
                parts.append(f"<p>Parameter <code>{parameter['name']}</code>: {kind}.")
            if "requestBody" in operation:
                parts += _shown("Body", operation["requestBody"]["content"], schemas)
            parts += _shown("Answer", operation["responses"]["200"]["content"], schemas)
            errors = [status for status in operation["responses"] if status != "200"]
            if errors:
                parts.append(f"<p>Errors: {', '.join(errors)}.")
    parts.append("<h2>Types</h2>")
    for name, schema in schemas.items():
        parts.append(f"<h3 id={name}>{name}</h3><p>{html.escape(schema.get('description', ''))}")
        parts += _fields(schema)
    return "\n".join(parts)


def _shown(what: str, content: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    kind, value = next(iter(content.items()))
    name = value["schema"].get("$ref", "").rpartition("/")[2]
    if not name:
        return [f"<p>{what}: {kind}."]
    link = f"<p>{what}: <a href=#{name}>{name}</a>, {kind}."
    return [link, *_fields(schemas[name])]


def _fields(schema: dict[str, Any]) -> list[str]:
    required = schema.get("required", ())
    rows = []
    for name, value in schema.get("properties", {}).items():
        note = "" if name in required else "optional"
        rows.append(f"<tr><td><code>{name}</code><td>{_kind(value)}<td>{note}")
    return ["<table>", *rows, "</table>"] if rows else []


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"<a href=#{name}>{name}</a>"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(html.escape(json.dumps(value)) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}" if "items" in schema else "list"
    return str(schema.get("type", "any"))
