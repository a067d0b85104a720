"""Who may connect to a server: `fairlead users …`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from fairlead.cli.options import one_of, place
from fairlead.cli.output import acted
from fairlead.cli.strict_options import CommandGroup, Once
from fairlead.config.roles import Role as AsRole
from fairlead.errors import UserError

app = typer.Typer()
users = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Names and passwords of programs that connect over AMQP, in a file that holds hashes.",
)
app.add_typer(users, name="users", rich_help_panel="Connect")
command = partial(users.command, cls=Once)
WRONG: Final = 1
NO_ROLE: Final = "none"

File = Annotated[
    Path, typer.Argument(metavar="FILE", parser=place, help="The file of users (TOML).")
]
Role = Annotated[
    AsRole | None,
    typer.Option(
        metavar="ROLE",
        parser=one_of("--role", AsRole),
        help="What the user may be in `fairlead console`: viewer or operator. Default: as it is; "
        "a new user is not let in there.",
    ),
]
UserName = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.")]


@command()
def add(file: File, name: UserName, role: Role = None) -> None:
    """Add a user, or give one another password. It is asked for, or the first line of stdin.

    A server that runs takes it from the next connection on.
    """
    from fairlead.serve.users import add as done

    is_new = done(file, name, _password(twice=True), role=role)
    acted()
    print(f"{name}: {'added' if is_new else 'has another password now'}")


@command()
def role(
    file: File,
    name: UserName,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="viewer, operator or none.")],
) -> None:
    """Say what a user may be in `fairlead console`. One that runs takes it over at once."""
    from fairlead.serve.users import set_role

    wanted = None if role == NO_ROLE else one_of("ROLE", AsRole)(role)
    set_role(file, name, wanted)
    acted()
    print(f"{name}: {wanted or 'is not let in to the console'}")


@command()
def remove(file: File, name: UserName) -> None:
    """Take a user out. Connections that are open stay open."""
    from fairlead.serve.users import remove as done

    done(file, name)
    acted()
    print(f"{name}: removed")


@command("list")
def list_(file: File) -> None:
    """Print the names, one a line; behind a tab what the user may be in `fairlead console`."""
    from fairlead.serve.users import load

    for name, user in load(file).every.items():
        print(f"{name}\t{user.role}" if user.role else name)


@command()
def check(file: File, name: UserName) -> None:
    """Try a password; status 1 where name and password do not belong together."""
    from fairlead.serve.users import load

    right = load(file).check(name, _password(twice=False))
    acted()
    if right:
        print(f"{name}: the password is right")
        return
    print(f"{name}: found no such name and password", file=sys.stderr)
    raise typer.Exit(WRONG)


def _password(*, twice: bool) -> bytes:
    """From the terminal, unseen; else the first line of the standard input."""
    from fairlead.serve.users import check_password

    if sys.stdin.isatty():
        from getpass import getpass

        password = getpass("Password: ")
        if twice and getpass("Once more: ") != password:
            raise UserError("password: found two different ones, allowed: the same twice")
        raw = password.encode()
    else:
        raw = sys.stdin.buffer.readline().rstrip(b"\r\n")
    check_password(raw)
    return raw
