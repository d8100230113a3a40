"""The host that a word names: a machine.json, an entry of the catalog, or a host to ask."""

from __future__ import annotations

from pathlib import Path

from surefoot.asking import Asked
from surefoot.errors import InputError
from surefoot.hosts.host import Host, read_host
from surefoot.hosts.probe import probe
from surefoot.machines import catalog_names, known_machine


def find_host(name: str | None, *, ssh_config: Path | None = None, python: str | None = None) -> Host:
    """The host `name`: a file, a catalog name such as `rtx-pro-6000x8`, else a host; None is this machine.

    Raises:
        InputError: no such file, or not a machine.json.
        HostError: the host cannot be asked.
    """
    if name is not None and name in catalog_names():
        return Host(known_machine(name))
    if name is not None and (name.endswith(".json") or "/" in name):
        if not Path(name).is_file():
            raise InputError(f"{name} is not there", remedy=f"surefoot probe HOST -o {name}, or a name of the catalog")
        return read_host(Path(name))
    local = name in (None, "localhost", "here")
    return probe(Asked(None if local else name, python, ssh_config))
