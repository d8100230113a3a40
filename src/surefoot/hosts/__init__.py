"""A host: the machine and the engines on it, learned in one round trip and kept in one machine.json."""

from surefoot.hosts.host import SCHEMA, Host, read_host, write_host
from surefoot.hosts.probe import probe, program

__all__ = ["SCHEMA", "Host", "probe", "program", "read_host", "write_host"]
