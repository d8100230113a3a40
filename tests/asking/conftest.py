"""A real OpenSSH server on loopback, with one port for each kind of login shell."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

FORCED = {
    "plain": None,
    "banner": 'echo "*** Welcome to the cluster ***"; echo "{{}}"; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"',
    "restricted": 'PATH={bin}:/usr/bin:/bin; export PATH; exec /bin/bash -r -c "$SSH_ORIGINAL_COMMAND"',
    "nologin": "echo This account is currently not available.; exit 1",
    "no-python": 'PATH={empty}; export PATH; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"',
    "garbage": "exec yes garbage",
    "torn": '/bin/sh -c "$SSH_ORIGINAL_COMMAND" | head -c 400',
    "killed": "exec timeout -s KILL 0.02 python3 -",
    "silent": "exec sleep 60",
}


@dataclass(frozen=True)
class Server:
    """The server's client configuration: each key of FORCED is a host alias in it, and some more."""

    config: Path
    folder: Path


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(s.getsockname()[1]) for s in sockets]
    for s in sockets:
        s.close()
    return ports


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    program = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("needs sshd: apt-get install openssh-server")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    folder = tmp_path_factory.mktemp("sshd")
    (folder / "bin").mkdir()
    (folder / "empty").mkdir()
    (folder / "bin" / "python3").symlink_to(sys.executable)
    for name in ("host", "other", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shutil.copy(folder / "user.pub", folder / "authorized_keys")
    ports = dict(zip(FORCED, free_ports(len(FORCED)), strict=True))
    _write_server_configuration(folder, ports)
    _write_client_configuration(folder, ports)
    server = subprocess.Popen([program, "-D", "-e", "-f", folder / "sshd_config"], stderr=subprocess.PIPE)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", ports["silent"])) == 0:
                    break
            assert server.poll() is None, server.stderr and server.stderr.read()
            time.sleep(0.05)
        yield Server(folder / "ssh_config", folder)
    finally:
        server.terminate()
        server.wait(10)


def _write_server_configuration(folder: Path, ports: dict[str, int]) -> None:
    lines = [f"ListenAddress 127.0.0.1:{port}" for port in ports.values()]
    lines += [
        f"HostKey {folder / 'host'}",
        f"AuthorizedKeysFile {folder / 'authorized_keys'}",
        "PidFile none",
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication yes",
        "PermitRootLogin yes",
        "MaxStartups 100",
    ]
    for name, script in FORCED.items():
        if script is not None:
            path = folder / f"{name}.sh"
            path.write_text(script.format(bin=folder / "bin", empty=folder / "empty") + "\n")
            lines += [f"Match LocalPort {ports[name]}", f"  ForceCommand /bin/sh {path}"]
    (folder / "sshd_config").write_text("\n".join(lines) + "\n")


def _write_client_configuration(folder: Path, ports: dict[str, int]) -> None:
    host, other = ((folder / f"{name}.pub").read_text() for name in ("host", "other"))
    (folder / "known_hosts").write_text(f"right {host}wrong {other}")
    text = "".join(f"Host {name}\n  Port {port}\n" for name, port in ports.items())
    text += textwrap.dedent(f"""\
        Host wrong-key
          Port {ports["plain"]}
          HostKeyAlias wrong
        Host never-seen
          Port {ports["plain"]}
          HostKeyAlias never-seen
        Host password
          Port {ports["plain"]}
          PubkeyAuthentication no
        Host behind
          Port {ports["plain"]}
          ProxyJump plain
        Host dead
          Port {free_ports(1)[0]}
        Host *
          HostName 127.0.0.1
          User {getpass.getuser()}
          IdentityFile {folder / "user"}
          IdentitiesOnly yes
          HostKeyAlias right
          UserKnownHostsFile {folder / "known_hosts"}
        """)
    (folder / "ssh_config").write_text(text)
