"""The command line: arguments in, calls, printing, exit code; no logic of its own.

Each command is a module of this package, imported only when it is called, so that `--help` stays instant.
"""

from __future__ import annotations

import importlib
import sys

import click

from surefoot import __version__
from surefoot.errors import SurefootError

COMMANDS: dict[str, str] = {
    "inspect": "What a checkpoint is, and whether a drafter fits it.",
    "probe": "What a machine and its engines are.",
    "init": "Write surefoot.toml, the one file of a deployment.",
    "check": "Go or no-go, with the budget, the reasons and the command.",
    "bench": "Compare strategies on the embedded pair, name the winner.",
    "generate": "Stream one answer of the embedded engine.",
}
"""Command name -> one line of help. The command itself is `surefoot.cli.<name>:command`."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"surefoot.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="surefoot")
def app() -> None:
    """Will this model run here with this drafter, how is it launched, and which strategy is fastest?"""


def main() -> None:
    """Entry point: one clear line and a stable exit code for every error."""
    try:
        app(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except SurefootError as error:
        click.echo(f"error: {error.message}", err=True)
        if error.remedy:
            click.echo(f"  try: {error.remedy}", err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
