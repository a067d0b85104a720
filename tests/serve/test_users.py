"""The file of users: who is in it, how it is changed, and what is refused."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.config.roles import Role
from fairlead.errors import ConfigError, UserError
from fairlead.serve import users
from fairlead.serve.passwords import HashCost, KeptHash, hashed, kept, matches
from fairlead.serve.users import KeptUser, UserFile, Users, load, remove, set_role

QUICK = HashCost(4, 1, 1)
add = partial(users.add, cost=QUICK)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "users.toml"


@given(st.binary(min_size=1, max_size=200), st.binary(min_size=1, max_size=200))
def test_a_hash_is_read_as_it_was_written(password: bytes, other: bytes) -> None:
    found = hashed(password, QUICK)
    again = kept(str(found))
    assert again == found
    assert matches(password, again)
    assert matches(other, again) == (other == password)
    assert hashed(password, QUICK).salt != found.salt


def test_users_come_and_go(file: Path) -> None:
    assert add(file, "anna", b"secret")
    assert add(file, 'bertä "x" \\', b"guess")
    assert not add(file, "anna", b"another")
    found = load(file)
    assert [*found.every] == ["anna", 'bertä "x" \\']
    assert found.check("anna", b"another")
    assert not found.check("anna", b"secret")
    assert not found.check("carla", b"another")
    remove(file, "anna")
    assert [*load(file).every] == ['bertä "x" \\']
    assert [*file.parent.iterdir()] == [file]
    assert file.stat().st_mode & 0o777 == 0o600
    assert "guess" not in file.read_text()


def test_a_role_stays_when_the_password_changes(file: Path) -> None:
    add(file, "anna", b"secret", role=Role.VIEWER)
    add(file, "anna", b"another")
    add(file, "berta", b"guess")
    roles = {name: user.role for name, user in load(file).every.items()}
    assert roles == {"anna": Role.VIEWER, "berta": None}
    set_role(file, "anna", Role.OPERATOR)
    followed = UserFile(file)
    assert followed.role("anna") is Role.OPERATOR
    set_role(file, "anna", None)
    assert followed.role("anna") is None
    assert followed.check("anna", b"another")
    with pytest.raises(UserError, match="found no user 'carla'"):
        set_role(file, "carla", Role.VIEWER)


def test_who_adds_at_one_time_loses_nobody(file: Path) -> None:
    names = [f"user-{k}" for k in range(12)]
    threads = [threading.Thread(target=add, args=(file, each, b"p")) for each in names]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(load(file).every) == sorted(names)


def test_a_file_that_changes_is_followed(file: Path) -> None:
    add(file, "anna", b"secret")
    lines: list[str] = []
    followed = UserFile(file, lines.append)
    assert followed.check("anna", b"secret")
    assert followed.check("anna", b"secret")  # remembered
    assert followed.remembers("anna", b"secret")
    assert not followed.remembers("anna", b"guess")
    assert not followed.remembers("berta", b"secret")
    assert not followed.check("anna", b"guess")
    add(file, "anna", b"another")
    assert not followed.check("anna", b"secret")
    assert followed.check("anna", b"another")
    remove(file, "anna")
    assert not followed.check("anna", b"another")
    add(file, "berta", b"secret")
    assert followed.check("berta", b"secret")
    file.chmod(0o644)
    assert followed.check("berta", b"secret")
    file.unlink()
    assert followed.check("berta", b"secret")
    *_, opened, gone = lines
    assert opened.startswith("all stays as it was: ")
    assert "found the mode 0644" in opened
    assert gone == f"all stays as it was: {file}: no such file"
    assert lines[:2] == [f"{file}: 1 users", f"{file}: 0 users"]


def test_an_unknown_name_costs_as_much_as_a_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[HashCost] = []

    def counted(password: bytes, against: KeptHash) -> bool:
        seen.append(against.cost)
        return matches(password, against)

    monkeypatch.setattr(users, "matches", counted)
    known = Users({"anna": KeptUser(hashed(b"secret", HashCost(5, 1, 1)), None)})
    known.check("anna", b"guess")
    known.check("berta", b"guess")
    assert seen == [HashCost(5, 1, 1)] * 2


HASH = str(hashed(b"secret", QUICK))
USER = f"[[user]]\nname = 'anna'\nhash = '{HASH}'\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (USER + USER, ": user: found 'anna' twice, allowed: each name once"),
        (
            USER.replace("anna", ""),
            ": user[1] ''.name: found nothing, allowed: a text that is not empty",
        ),
        (
            USER.replace("'anna'", '"a\\n"'),
            ":2: user[1] 'a\\n'.name: found 'a\\n', allowed: printable",
        ),
        (USER.replace("anna", "anonymous"), "name: found 'anonymous', allowed: a name that not"),
        (USER.replace(HASH, "secret"), "user[1] 'anna'.hash: found no hash of scrypt, allowed: as"),
        (
            USER.replace("ln=4", "ln=21"),
            "user[1] 'anna'.hash: found ln=21, r=1, p=1, allowed: what",
        ),
        (USER.replace("ln=4", "ln=20").replace("r=1", "r=8"), "allowed: what takes at most 256 MB"),
        (USER.replace("p=1", "p=0"), "user[1] 'anna'.hash: found ln=4, r=1, p=0, allowed: what"),
        (USER + "password = 'secret'\n", "user[1] 'anna'.password: found an unknown key, allowed"),
        ("[[users]]\n", ": users: found an unknown key, allowed: user; did you mean 'user'?"),
        ("[[user]]\n", "user[1].name: found nothing, allowed: "),
    ],
    ids=lambda value: value.replace(HASH[-66:], "…"),
)
def test_a_file_is_refused_in_one_line(file: Path, text: str, expected: str) -> None:
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(ConfigError) as refused:
        load(file)
    assert expected in str(refused.value)
    assert str(refused.value).startswith(str(file))
    assert "secret" not in str(refused.value)


def test_what_is_no_name_and_no_password(file: Path) -> None:
    for name in ("", "a\n", "x" * 101, "anonymous"):
        with pytest.raises(UserError, match=r"^name: found "):
            add(file, name, b"secret")
    for password in (b"", b"x" * 201, b"a\0b"):
        with pytest.raises(UserError, match=r"^password: found [0-9]+ bytes, allowed: 1 to 200"):
            add(file, "anna", password)
    assert not file.exists()
    with pytest.raises(UserError, match="found no user 'anna', allowed: one that is there"):
        remove(file, "anna")
    with pytest.raises(UserError, match="No such file or directory, allowed: a folder"):
        add(file.parent / "none" / "users.toml", "anna", b"secret")


def test_what_cannot_be_written_changes_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(file, "anna", b"secret")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(users.os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        add(file, "berta", b"secret")
    assert [*load(file).every] == ["anna"]
    assert [*file.parent.iterdir()] == [file]


def test_what_is_kept_is_as_dear_as_is_recommended() -> None:
    found = hashed(b"secret")
    assert (found.cost, len(found.salt), len(found.digest)) == (HashCost(15, 8, 3), 16, 32)
    assert found.cost.memory < 34_000_000


def test_a_users_text_tells_nothing(file: Path) -> None:
    shown = repr(users.User(name="anna", hash=HASH))
    assert shown == "User('anna')"
