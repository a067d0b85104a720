"""The file of users: names, and hashes of their passwords."""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import secrets
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from fairlead.balance.objects import FileTable, Name
from fairlead.balance.refusal import read
from fairlead.config.roles import Role
from fairlead.config.toml import file_and_line, parsed
from fairlead.errors import ConfigError, OutputError, UserError
from fairlead.serve.passwords import LONGEST, SHORTEST, HashCost, KeptHash, hashed, kept, matches
from fairlead.serve.sasl import NOBODY

LONGEST_NAME: Final = 100
"""Bytes."""
HEAD: Final = "# Written by `fairlead users`; remarks of your own are not kept.\n"


class User(FileTable, frozen=True, kw_only=True):
    """A `[[user]]`."""

    name: Name
    hash: str
    role: Role | None = None
    """In the console; None: the user is not let in there."""

    def __post_init__(self) -> None:
        check_name(self.name)
        kept(self.hash)

    def __repr__(self) -> str:
        return f"User({self.name!r})"


class KeptUser(NamedTuple):
    """What is kept of a user."""

    secret: KeptHash
    role: Role | None
    """In the console; None: the user is not let in there."""


class UsersFile(FileTable, frozen=True, kw_only=True):
    """All of a file."""

    users: list[User] = msgspec.field(name="user", default_factory=list)

    def __post_init__(self) -> None:
        names = [user.name for user in self.users]
        for k, name in enumerate(names):
            if name in names[:k]:
                raise ValueError(f"user: found {name!r} twice, allowed: each name once")


def check_name(name: str) -> None:
    """Raises ValueError for what no user is called."""
    if not name or not name.isprintable() or len(name.encode()) > LONGEST_NAME:
        raise ValueError(
            f"name: found {name!r}, allowed: printable characters, at most {LONGEST_NAME} bytes"
        )
    if name == NOBODY:
        raise ValueError(f"name: found {NOBODY!r}, allowed: a name that not everybody has")


def check_password(password: bytes) -> None:
    """Raises UserError for what cannot be a password; does not say it."""
    if not SHORTEST <= len(password) <= LONGEST or b"\0" in password:
        raise UserError(
            f"password: found {len(password)} bytes, allowed: {SHORTEST} to {LONGEST}, none zero"
        )


class Users:
    """Users and their hashes, as a file has them at one time."""

    def __init__(self, every: Mapping[str, KeptUser]) -> None:
        """By their names."""
        self.every: Final = dict(every)
        dearest = max((user.secret.cost for user in self.every.values()), default=HashCost())
        self._nobody = KeptHash(dearest, b"nobody's salt...", bytes(32))

    def check(self, name: str, password: bytes) -> bool:
        """Whether this is that user's password; an unknown name takes the time of a known one."""
        user = self.every.get(name)
        right = matches(password, user.secret if user else self._nobody)
        return right and user is not None


class UserFile:
    """A file of users that is followed; may be asked by several threads."""

    def __init__(self, path: Path, changed: Callable[[str], None] = lambda _: None) -> None:
        """`changed`: called with a line where the file was read again, or cannot be any more.

        Raises ConfigError.
        """
        self.path: Final = path
        self._changed = changed
        self._lock = threading.Lock()
        self._seen, self._users = _stamp(path), load(path)
        self._key = secrets.token_bytes(32)
        self._right: dict[str, tuple[KeptHash, bytes]] = {}
        """Who was let in last by which hash, and by what; so each password is hashed once."""

    def check(self, name: str, password: bytes) -> bool:
        """Whether this is that user's password now; takes a tenth of a second or more."""
        users = self._current()
        if self._remembers(users, name, password):
            return True
        right = users.check(name, password)
        if right:
            with self._lock:
                self._right[name] = users.every[name].secret, self._digest(password)
        return right

    def has(self, name: str) -> bool:
        """Whether there is a user of that name now; takes no time."""
        return name in self._current().every

    def role(self, name: str) -> Role | None:
        """What a user may be in the console now; takes no time."""
        user = self._current().every.get(name)
        return user and user.role

    def remembers(self, name: str, password: bytes) -> bool:
        """Whether this user was let in by this password before; takes no time.

        So whoever tries passwords does not keep those waiting who know theirs.
        """
        return self._remembers(self._current(), name, password)

    def _remembers(self, users: Users, name: str, password: bytes) -> bool:
        with self._lock:
            by, remembered = self._right.get(name, (None, b""))
        user = users.every.get(name)
        is_same = hmac.compare_digest(self._digest(password), remembered)
        return is_same and user is not None and user.secret == by

    def _digest(self, password: bytes) -> bytes:
        return hmac.digest(self._key, password, "sha256")

    def _current(self) -> Users:
        """The users; read again where the file has changed, kept where it cannot be read."""
        with self._lock:
            stamp = _stamp(self.path)
            if stamp == self._seen:
                return self._users
            self._seen = stamp
            try:
                self._users = load(self.path)
            except UserError as error:
                self._changed(f"all stays as it was: {error}")
            else:
                self._changed(f"{self.path}: {len(self._users.every)} users")
            return self._users


def load(path: Path) -> Users:
    """The users of a file that nobody else may read.

    Raises ConfigError with one line that names file, key, what was found and what is allowed.
    """
    _check_mode(path)
    text, plain = parsed(path)
    try:
        listed = read(plain, UsersFile)
    except ConfigError as error:
        raise ConfigError(f"{file_and_line(path, text, error.place)}: {error}") from None
    return Users({user.name: KeptUser(kept(user.hash), user.role) for user in listed.users})


def _check_mode(path: Path) -> None:
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            raise ConfigError(
                f"{path}: found the mode {mode:04o}, allowed: 0600 (chmod 600 {path})"
            )


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode


# -------- changes


def add(
    path: Path,
    name: str,
    password: bytes,
    cost: HashCost | None = None,
    role: Role | None = None,
) -> bool:
    """Add a user, or give one another password; whether it is a new one. Raises UserError.

    `role`: in the console; None: a user keeps what he is, and a new one is not let in there.
    """
    try:
        check_name(name)
    except ValueError as error:
        raise UserError(str(error)) from None
    check_password(password)
    secret = hashed(password, cost)
    with _changing(path) as every:
        before = every.get(name)
        every[name] = KeptUser(secret, role or (before and before.role))
    return before is None


def set_role(path: Path, name: str, role: Role | None) -> None:
    """Say what a user may be in the console; None: nothing. Raises UserError."""
    with _changing(path) as every:
        user = every.get(name)
        if user is None:
            raise UserError(f"{path}: found no user {name!r}, allowed: one that is there")
        every[name] = user._replace(role=role)


def remove(path: Path, name: str) -> None:
    """Take a user out. Raises UserError where there is none of that name."""
    with _changing(path) as every:
        if every.pop(name, None) is None:
            raise UserError(f"{path}: found no user {name!r}, allowed: one that is there")


@contextmanager
def _changing(path: Path) -> Iterator[dict[str, KeptUser]]:
    """The users, to be changed; written at the end of the block, whole or not at all."""
    path = path.resolve()
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise OutputError(f"{path.parent}: {error.strerror}, allowed: a folder") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # until it is closed
        every = dict(load(path).every) if path.exists() else {}
        yield every
        try:
            _write(path, every)
            os.fsync(folder)
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from None
    finally:
        os.close(folder)


def _write(path: Path, every: Mapping[str, KeptUser]) -> None:
    tables = [
        f"\n[[user]]\nname = {json.dumps(name, ensure_ascii=False)}\nhash = '{user.secret}'\n"
        + (f'role = "{user.role}"\n' if user.role else "")
        for name, user in every.items()
    ]
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(HEAD + "".join(tables))
            file.flush()
            os.fsync(handle)
            _keep_owner(path, handle)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink()
        raise


def _keep_owner(path: Path, handle: int) -> None:
    """Whoever serves by the file can still read it after an administrator has changed it."""
    with suppress(FileNotFoundError):
        before = path.stat()
        if before.st_uid != os.geteuid():
            os.fchown(handle, before.st_uid, before.st_gid)
