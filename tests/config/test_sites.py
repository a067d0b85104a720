"""Files of several queue managers: what each sees, what is refused, and where two files differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead import load_clusters
from fairlead.config.clusters import load_sites
from fairlead.config.sites import first_difference
from fairlead.errors import ConfigError

SNIPPET = Path(__file__).parents[2] / "docs" / "snippets" / "sites.toml"


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    """The file of the documentation, changed."""
    text = SNIPPET.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file = folder / "sites.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_each_queue_manager_sees_the_others() -> None:
    clusters = {cluster.name: cluster.start() for cluster in load_clusters(SNIPPET)}
    assert {name: state.members for name, state in clusters.items()} == {
        "sites.QM1": ("TO.QM2", "TO.QM3", "local"),
        "sites.QM2": ("TO.QM1", "TO.QM3", "local"),
        "sites.QM3": ("TO.QM1", "TO.QM2", "local"),
    }


def test_what_a_queue_manager_says_of_itself_is_for_itself(tmp_path: Path) -> None:
    keys = 'use_queue = "any"\nmost_recently_used_channels = 1'
    file = written(tmp_path, ('name = "QM2"\n', f'name = "QM2"\n{keys}\n'))
    sites = load_sites(file)
    own = sites.cluster("QM2").to_dict()["queue_manager"]
    assert (own["use_queue"], own["most_recently_used_channels"], own["clusters"]) == (
        "any",
        1,
        ["SHOP"],
    )
    (seen,) = [
        remote for remote in sites.cluster("QM1").to_dict()["remote"] if remote["name"] == "QM2"
    ]
    assert "use_queue" not in seen


def test_a_file_without_addresses_is_one_cluster_as_ever(tmp_path: Path) -> None:
    text = SNIPPET.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("address")]
    start = lines.index('name = "TO.QM1"')
    del lines[start - 1 : start + 2]
    file = tmp_path / "plain.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    (cluster,) = load_clusters(file)
    assert cluster.name == "plain"
    with pytest.raises(ConfigError, match="whose channels have an address, allowed: one"):
        load_sites(file)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('address = "amqp://127.0.0.1:5702"\n', "", "channel[2].address: found none, allowed"),
        ("127.0.0.1:5702", "127.0.0.1:0", "allowed: a port from 1 to 65535"),
        ("amqp://127.0.0.1:5702", "http://x", "channel[2].address: found 'http://x', allowed"),
        ('"QM2"\naddress', '"QM9"\naddress', "channel[2].queue_manager: found 'QM9', allowed"),
        ('name = "QM3"', 'name = "QM2"', "remote[2].name: found 'QM2' twice, allowed: once"),
        ('name = "QM3"', 'name = "Q@M"', "remote[2].name: found 'Q@M', allowed: a name without @"),
        (
            'address = "amqp://127.0.0.1:5702"',
            'address = "amqp://127.0.0.1:5702"\nuser = "u"',
            "channel[2].password_file: found none, allowed: a file, as there is a user",
        ),
        (
            'address = "amqp://127.0.0.1:5702"',
            'address = "amqp://far.example:5702"\nuser = "u"\npassword_file = "p"',
            "allowed with a password: amqps://",
        ),
        (
            'address = "amqp://127.0.0.1:5702"',
            'address = "amqp://127.0.0.1:5702"\nca = "c"',
            "channel[2].ca: found one, allowed only where the address is amqps://",
        ),
        (
            'address = "amqp://127.0.0.1:5702"',
            'address = "amqp://127.0.0.1:5702"\nshort_retry = 0',
            "short_retry: found 0, allowed: seconds, from 0.01 to 1000000",
        ),
        (
            'address = "amqp://127.0.0.1:5702"',
            'address = "amqp://127.0.0.1:5702"\nbatch = 5000',
            "batch",
        ),
        ('bind = "not-fixed"', 'bindd = "not-fixed"', "bindd"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, old: str, new: str, line: str) -> None:
    file = written(tmp_path, (old, new))
    with pytest.raises(ConfigError) as told:
        load_clusters(file)
    assert line in str(told.value)
    assert str(told.value).startswith(str(file))
    assert "\n" not in str(told.value)


def test_the_first_difference_is_named(tmp_path: Path) -> None:
    ours = load_sites(SNIPPET).facts()
    assert first_difference(ours, ours) is None
    for change, line in (
        (('bind = "not-fixed"', 'bind = "on-open"'), "queue 'ORDERS' of QM2: bind"),
        (('"TO.QM3"', '"TO.QM3"\nrank = 3'), "channel 'TO.QM3': rank: found '3' there, '0' here"),
        (('clusters = ["SHOP"]', 'clusters = ["SHOP", "B"]'), "queue_manager 'QM1': clusters"),
        (('"amqp://127.0.0.1:5702"', '"amqp://127.0.0.1:5999"'), None),
    ):
        theirs = load_sites(written(tmp_path, change)).facts()
        difference = first_difference(ours, theirs)
        assert difference is None if line is None else line in str(difference)
