"""The transport over a real sshd: every way a host can misbehave ends in an answer or one clear error."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import pytest

from surefoot.asking import Asked, HostError, ask, build
from surefoot.errors import UsageError
from surefoot.hosts import program

from .conftest import Server


def system_of(asked: Asked) -> str:
    answer = ask(program(), asked, seconds=60)
    return str(answer["parts"]["system"]["value"]["hostname"])


@pytest.mark.parametrize("host", ["plain", "banner", "restricted", "behind"])
def test_a_host_behind_ssh_answers(sshd: Server, host: str) -> None:
    assert system_of(Asked(host, ssh_config=sshd.config)) == os.uname().nodename


@pytest.mark.parametrize("name", ["py thon", "it's", 'dou"ble', "$HOME", "`id`", "a;b", "ünï", "back\\slash"])
def test_paths_of_python_need_no_quoting(sshd: Server, name: str) -> None:
    python = sshd.folder / name
    if not python.exists():
        python.symlink_to(sys.executable)
    assert system_of(Asked("plain", python=str(python), ssh_config=sshd.config)) == os.uname().nodename


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("wrong-key", "its host key is not the known one"),
        ("never-seen", "its host key is not the known one"),
        ("password", "it accepts none of your keys without asking"),
        ("dead", "nothing listens on its SSH port"),
        ("no-python", "cannot run python3"),
        ("nologin", "status 1 and gave no answer.*currently not available"),
        ("garbage", "printed more than 64 MiB"),
        ("torn", "cut off in the middle"),
        ("killed", "gave no answer|SSH failed"),
    ],
)
def test_each_misfortune_is_one_clear_error(sshd: Server, host: str, message: str) -> None:
    start = time.monotonic()
    with pytest.raises(HostError, match=message):
        system_of(Asked(host, ssh_config=sshd.config))
    assert time.monotonic() - start < 15


def test_a_host_that_never_answers_is_given_up(sshd: Server) -> None:
    start = time.monotonic()
    with pytest.raises(HostError, match="did not finish within 1 s"):
        ask(program(), Asked("silent", ssh_config=sshd.config), seconds=1)
    assert time.monotonic() - start < 5


def test_a_port_that_accepts_and_says_nothing_is_given_up(sshd: Server, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        config = tmp_path / "ssh_config"
        config.write_text(f"Host mute\n  HostName 127.0.0.1\n  Port {mute.getsockname()[1]}\n")
        with pytest.raises(HostError, match=r"did not finish|does not answer"):
            ask(program(), Asked("mute", ssh_config=config), seconds=1)


def test_a_missing_python_is_named(sshd: Server) -> None:
    with pytest.raises(HostError, match="cannot run /no/such python"):
        system_of(Asked("plain", python="/no/such python", ssh_config=sshd.config))


@pytest.mark.parametrize("host", ["-oProxyCommand=touch /tmp/x", "-v", "", "a b", "a\nb"])
def test_what_is_no_host_name_never_reaches_ssh(host: str) -> None:
    with pytest.raises(UsageError, match="not a host name"):
        Asked(host)


@pytest.mark.parametrize("python", ["", "py\nthon"])
def test_what_is_no_path_of_a_python(python: str) -> None:
    with pytest.raises(UsageError, match="not the path"):
        Asked("h", python=python)


def test_the_remote_command_is_a_constant() -> None:
    commands = {Asked("h", python=p).command()[-1] for p in ("/usr/bin/python3", "$(touch x)", "a'b")}
    assert len(commands) == 1
    assert Asked("h").command()[-1] == "python3 -"


def test_nothing_is_left_behind_on_the_host(sshd: Server) -> None:
    before = set(os.listdir("/tmp"))
    system_of(Asked("plain", ssh_config=sshd.config))
    assert {name for name in set(os.listdir("/tmp")) - before if "surefoot" in name.lower()} == set()


def test_an_answer_that_is_not_an_object_is_damaged() -> None:
    odd = build([], {})
    text = odd.text.replace("json.dumps(answer)", "'[1, 2'")
    with pytest.raises(HostError, match="damaged"):
        ask(type(odd)(text, odd.mark), Asked())
