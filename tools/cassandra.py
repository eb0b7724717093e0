"""A real Apache Cassandra on this machine, for tests and measurements; nothing but Java and Maven.

    cassandra.py start [--folder F] [--port N] [--secure] [--quick]
                                                 start it, unless it runs; prints its URL
    cassandra.py status [--folder F]             print the URL of one that runs; 4 if none does
    cassandra.py flush [--folder F]              write what it holds in memory to its data files
    cassandra.py stop [--folder F] [--now]       end the one that was started for that folder

Its jars come from Maven's repository, once; everything lies in ``.cassandra``. It listens on the
loopback address alone and asks for no password: not for use. With ``--secure`` it takes TLS alone,
by the certificate ``server.pem`` in its folder, and wants its first user's name and password, which
are ``cassandra`` both. With ``--quick`` it starts in two thirds of the time and is slower later.

Exit codes: 0 done, 1 it does not start, 3 it can't be had here (the reason is on stderr), 4 none
runs.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VERSION = "5.0.8"
HEAP = "768m"
HOST = "127.0.0.1"
MISSING = 3
NONE_RUNS = 4
JARS_SECONDS = 300
READY_SECONDS = 90
STOP_SECONDS = 40
KEYSTORE = "keystore.p12"
CERTIFICATE = "server.pem"
SECURE = "client_encryption_options"

POM = f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>cassandra-for-tests</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId>
      <artifactId>cassandra-all</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""

LOGBACK = """<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date %logger{0} %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
"""

EXPORTS = [
    "java.base/jdk.internal.misc",
    "java.base/java.lang.ref",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.management/com.sun.jmx.remote.security",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.rmi/sun.rmi.transport.tcp",
    "java.sql/java.sql",
    "jdk.unsupported/sun.misc",
    "jdk.compiler/com.sun.tools.javac.file",
    "jdk.attach/sun.tools.attach",
]
OPENS = [
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/java.nio",
    "java.base/sun.nio.ch",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.util.jar",
    "jdk.management/com.sun.management.internal",
    "jdk.compiler/com.sun.tools.javac",
]


class MissingError(Exception):
    """What is needed is not on this machine."""


class FailedError(Exception):
    """It is here and does not do what it should."""


def settings(folder: Path, port: int, storage_port: int, secure: bool) -> str:
    """The server's own options; it refuses those it does not know."""
    data = folder / "data"
    locked = f"""authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
client_encryption_options:
  enabled: true
  optional: false
  keystore: {folder}/{KEYSTORE}
  keystore_password: {KEYSTORE}
"""
    return f"""cluster_name: neardup
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "{HOST}:{storage_port}"
listen_address: {HOST}
rpc_address: {HOST}
storage_port: {storage_port}
start_native_transport: true
native_transport_port: {port}
data_file_directories: ["{data}/data"]
commitlog_directory: {data}/commitlog
saved_caches_directory: {data}/saved_caches
hints_directory: {data}/hints
cdc_raw_directory: {data}/cdc_raw
commitlog_sync: periodic
commitlog_sync_period: 1000ms
commitlog_segment_size: 32MiB
commitlog_total_space: 512MiB
memtable_heap_space: 128MiB
memtable_offheap_space: 128MiB
file_cache_size: 64MiB
concurrent_reads: 8
concurrent_writes: 8
concurrent_compactors: 1
auto_snapshot: false
snapshot_before_compaction: false
{locked if secure else ""}"""


def jars(home: Path, seconds: float) -> Path:
    """Return the folder of jars, filled by Maven within so many seconds if it is not there."""
    folder = home / f"jars-{VERSION}"
    if folder.is_dir():
        return folder
    if shutil.which("mvn") is None:
        raise MissingError("Maven (mvn) is not installed, and the jars of Cassandra are not here")
    partial = home / f"jars-{VERSION}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    (home / "pom.xml").write_text(POM, encoding="utf-8")
    command = [
        *("mvn", "-B", "-q", "dependency:copy-dependencies"),
        *("-DincludeScope=runtime", f"-DoutputDirectory={partial}"),
    ]
    try:
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise MissingError(f"Maven fetched no jars within {seconds:g} s") from None
    if done.returncode or not any(partial.glob("cassandra-all-*.jar")):
        said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise MissingError("Maven can't fetch the jars" + (f": {said[0]}" if said else ""))
    partial.rename(folder)
    return folder


def java() -> str:
    """Return the path of a Java that the server runs on."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=f"{home}/bin" if home else None)
    if path is None:
        raise MissingError("Java is not installed")
    said = subprocess.run([path, "-version"], capture_output=True, text=True).stderr
    version = said.partition('version "')[2].partition(".")[0]
    if version not in ("11", "17"):
        raise MissingError(
            f"Java is {version or 'of an unknown version'}, Cassandra needs 11 or 17"
        )
    return path


def make_certificate(folder: Path, program: str) -> None:
    """Make a key for this address, and the certificate that vouches for it."""
    if (folder / CERTIFICATE).is_file():
        return
    about = ["-alias", "server", "-storetype", "PKCS12", "-storepass", KEYSTORE]
    about += ["-keystore", str(folder / KEYSTORE)]
    names = ["-dname", "CN=neardup", "-ext", f"san=ip:{HOST},dns:localhost"]
    may = ["-ext", "bc=ca:true", "-ext", "ku=keyCertSign,digitalSignature"]
    for words in (
        ["-genkeypair", "-keyalg", "RSA", "-validity", "3650", *names, *may],
        ["-exportcert", "-rfc", "-file", str(folder / CERTIFICATE)],
    ):
        command = [str(Path(program).with_name("keytool")), *words, *about]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except FileNotFoundError:
            raise MissingError("Java came without its keytool") from None
        if done.returncode:
            raise FailedError("keytool: " + (done.stdout + done.stderr).strip())


def free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        port: int = one.getsockname()[1]
        return port


def answers(port: int, folder: Path | None = None) -> bool:
    """Whether the server takes clients: it answers an OPTIONS frame of its protocol."""
    try:
        with socket.create_connection((HOST, port), timeout=2) as plain:
            plain.settimeout(5)
            client = plain
            if folder is not None and SECURE in (folder / "cassandra.yaml").read_text("utf-8"):
                context = ssl.create_default_context(cafile=str(folder / CERTIFICATE))
                client = context.wrap_socket(plain, server_hostname=HOST)
            client.sendall(bytes([4, 0, 0, 0, 5, 0, 0, 0, 0]))
            return client.recv(9)[:1] == b"\x84"
    except OSError:
        return False


def arguments(pid: int) -> str:
    """Return the command line of a process; empty if there is none, or if it is a zombie."""
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
    return subprocess.run(
        ["ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True
    ).stdout


def running(folder: Path) -> dict[str, Any] | None:
    """Return pid and ports of the server of a folder, None if it does not run."""
    try:
        server: dict[str, Any] = json.loads((folder / "server.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    # The number may be another process's by now.
    line = arguments(server["pid"])
    if "CassandraDaemon" not in line or str(folder) not in line:
        return None
    return server


def start(
    home: Path, folder: Path, port: int | None, seconds: float, secure: bool, quick: bool
) -> dict[str, Any]:
    """Start a server and wait until it answers; one that runs already is left as it is."""
    server = running(folder)
    if server is not None:
        wait(server, folder)
        return server
    program = java()
    path = jars(home, seconds)
    # The port of the last time, so that clients that hold on find it again.
    before = None
    if (folder / "port").is_file():
        before = int((folder / "port").read_text(encoding="utf-8"))
    port = port or before or free_port()
    if answers(port):
        raise FailedError(f"port {port} is taken")
    jmx = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "port").write_text(str(port), encoding="utf-8")
    if secure:
        make_certificate(folder, program)
    (folder / "cassandra.yaml").write_text(
        settings(folder, port, free_port(), secure), encoding="utf-8"
    )
    (folder / "logback.xml").write_text(LOGBACK, encoding="utf-8")
    command = [
        *(program, f"-Xms{HEAP}", f"-Xmx{HEAP}", "-XX:+UseG1GC", "-Xss256k"),
        "-XX:MaxDirectMemorySize=512m",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:+PerfDisableSharedMem",
        *(["-XX:TieredStopAtLevel=1"] if quick else []),
        "-Djdk.attach.allowAttachSelf=true",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Djava.net.preferIPv4Stack=true",
        f"-Dcassandra.config=file://{folder}/cassandra.yaml",
        f"-Dcassandra.storagedir={folder}/data",
        f"-Dlogback.configurationFile={folder}/logback.xml",
        f"-Djava.rmi.server.hostname={HOST}",
        f"-Dcassandra.jmx.local.port={jmx}",
        "-Dcassandra-foreground=yes",
        "-Dcassandra.ring_delay_ms=100",
        "-Dcassandra.shutdown_announce_in_ms=0",
        "-Dcassandra.skip_wait_for_gossip_to_settle=0",
        "-Dcassandra.superuser_setup_delay_ms=0",
        *flags(),
        *("-cp", f"{path}/*", "org.apache.cassandra.service.CassandraDaemon"),
    ]
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    server = {"pid": process.pid, "port": port, "jmx": jmx}
    (folder / "server.json").write_text(json.dumps(server), encoding="utf-8")
    wait(server, folder, process)
    return server


def flags() -> list[str]:
    return [
        *(word for name in EXPORTS for word in ("--add-exports", f"{name}=ALL-UNNAMED")),
        *(word for name in OPENS for word in ("--add-opens", f"{name}=ALL-UNNAMED")),
    ]


def wait(
    server: dict[str, Any], folder: Path, process: subprocess.Popen[bytes] | None = None
) -> None:
    """Wait until a server answers; one that does not is ended."""
    deadline = time.monotonic() + READY_SECONDS
    while not answers(server["port"], folder):
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > deadline:
            log = (folder / "server.log").read_text(encoding="utf-8", errors="replace")
            stop(folder)
            why = "ended" if ended else f"did not answer within {READY_SECONDS} s"
            raise FailedError(
                f"the server {why}; its log ends:\n" + "\n".join(log.splitlines()[-12:])
            )
        time.sleep(0.2)


def stop(folder: Path, now: bool = False) -> bool:
    """End the server of a folder, by its process id; False if none runs.

    Args:
        now: Don't let it put its things in order.
    """
    server = running(folder)
    if server is None:
        return False
    os.kill(server["pid"], signal.SIGKILL if now else signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while running(folder) is not None:
        if time.monotonic() > deadline:
            os.kill(server["pid"], signal.SIGKILL)
        time.sleep(0.1)
    (folder / "server.json").unlink(missing_ok=True)
    return True


def flush(home: Path, folder: Path) -> None:
    """Have the server write its tables to their files, as its own nodetool does."""
    server = running(folder)
    if server is None:
        raise FailedError("no server runs")
    command = [
        *(java(), "-Xmx128m", *flags(), f"-Dlogback.configurationFile={folder}/logback.xml"),
        *("-cp", f"{jars(home, JARS_SECONDS)}/*", "org.apache.cassandra.tools.NodeTool"),
        *("-h", HOST, "-p", str(server["jmx"]), "flush"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    if done.returncode:
        raise FailedError((done.stdout + done.stderr).strip())


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Let no two of these commands work in one folder at once."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("verb", choices=["start", "status", "flush", "stop"])
    parser.add_argument("--home", type=Path, default=Path(__file__).parent.parent / ".cassandra")
    parser.add_argument("--folder", type=Path, help="of the data and the log; in .cassandra")
    parser.add_argument("--port", type=int, help="for clients; a free one if not given")
    parser.add_argument(
        "--jars-seconds", type=float, default=JARS_SECONDS, help="how long Maven may take"
    )
    parser.add_argument("--secure", action="store_true", help="TLS and a password")
    parser.add_argument("--quick", action="store_true", help="for one that lives but briefly")
    parser.add_argument("--now", action="store_true", help="kill it: what it holds may be lost")
    given = parser.parse_args()
    home = given.home.resolve()
    folder = (given.folder or home / "server").resolve()
    try:
        with alone(home):
            if given.verb == "stop":
                stop(folder, given.now)
                return 0
            if given.verb == "flush":
                flush(home, folder)
                return 0
            if given.verb == "start":
                server: dict[str, Any] | None = start(
                    home, folder, given.port, given.jars_seconds, given.secure, given.quick
                )
            else:
                server = running(folder)
    except MissingError as error:
        print(f"no Cassandra here: {error}", file=sys.stderr)
        return MISSING
    except FailedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if server is None:
        return NONE_RUNS
    print(f"cassandra://{HOST}:{server['port']}/neardup")
    return 0


if __name__ == "__main__":
    sys.exit(main())
