"""Cells that other tests hold: mostly what a database or a peer does that is ill."""

from __future__ import annotations

from typing import Final

from tests.blame.cells import AMQP, ASYNC, SQL, STORE, WORK

ANEW = "the server of the database is started anew while work is held"
UNHEARD = "the answer to a take is lost, and nobody knows what was taken"
AWAY = "a lease is over, and the server of the database was started anew since the work was taken"
GONE = "a statement waits for a server that is gone, or for an answer that is lost"
READS = "a server writes nothing for a while (a stand-by, a disk that is nearly full)"
LIMITS = "it asks for more than the [limits](../how-to/serve-access.md#limits) let it have"
HANGS = (
    "one message is worked on for longer than the queue's "
    "[`max_seconds`](../how-to/failures.md#handlers-that-hang)"
)
KEPT = "the oldest message that a receiver has not settled is held for longer than `max_seconds`"
HELD = "`fairlead held`"
TOLD: Final[dict[tuple[str, str], str]] = {
    ("an operator takes it back with `--failed`", HELD): (
        "store/test_holding.py::test_it_counts_as_a_failure_where_that_is_said"
    ),
    ("an operator takes it back", HELD): (
        "cli/test_held.py::test_what_is_taken_back_is_not_its_reader_s_any_more"
    ),
    (HANGS, WORK): (
        "store/test_too_long.py::"
        "test_a_message_on_which_handlers_hang_becomes_a_dead_letter_and_others_go_on"
    ),
    (KEPT, AMQP): (
        "serve/test_given_back.py::"
        "test_what_a_client_keeps_for_too_long_has_failed_and_what_it_has_beside_that_has_not"
    ),
    ("it is given back for the 20th time", AMQP): (
        "serve/test_given_back.py::"
        "test_what_is_given_back_again_and_again_comes_later_and_in_the_end_is_a_failure"
    ),
    (ANEW, STORE): "store/test_kill.py::test_a_store_goes_on_after_its_server_was_killed",
    (ANEW, AMQP): "serve/test_restarted_database.py::test_servers_go_on_when_it_is_back",
    (UNHEARD, STORE): (
        "store/test_take_lost.py::test_what_nobody_was_told_of_is_taken_soon_and_has_not_failed"
    ),
    (UNHEARD, ASYNC): "store/test_take_lost.py::test_the_same_on_an_event_loop",
    (UNHEARD, AMQP): (
        "serve/test_take_lost.py::test_what_no_client_got_is_given_soon_and_has_not_failed"
    ),
    (AWAY, STORE): (
        "store/test_kill.py::test_a_lease_that_was_over_while_the_server_was_away_blames_nobody"
    ),
    (AWAY, SQL): (
        "store/test_kill.py::test_a_lease_that_was_over_while_the_server_was_away_blames_nobody"
    ),
    (GONE, STORE): (
        "store/test_half_open.py::test_a_statement_does_not_wait_for_a_server_that_is_gone"
    ),
    (GONE, ASYNC): "store/test_half_open.py::test_a_task_does_not_wait_for_a_server_that_is_gone",
    ("a statement waits for 30 s for what another transaction has locked", STORE): (
        "store/test_half_open.py::test_nobody_waits_for_a_lock_for_ever"
    ),
    (READS, STORE): "store/test_read_only.py::test_a_store_goes_on_when_the_server_writes_again",
    (READS, ASYNC): (
        "store/test_read_only.py::test_an_asyncio_store_goes_on_when_the_server_writes_again"
    ),
    ("the disk is full", STORE): (
        "store/test_disk_full.py::test_readers_without_room_lose_nothing_and_do_nothing_twice"
    ),
    ("the disk is full", AMQP): (
        "serve/test_faults.py::test_on_a_full_disk_senders_are_told_and_receivers_go_on"
    ),
    ("two transactions of the store's own are in each other's way", STORE): (
        "store/test_transient.py::test_what_is_given_up_each_time_raises_an_error_that_says_so"
    ),
    ("it says nothing, or nothing right, before it has said who it is", AMQP): (
        "serve/test_access.py::test_the_oldest_that_says_nothing_makes_room"
    ),
    (LIMITS, AMQP): "serve/test_hostile.py::test_links_by_the_thousand_are_refused_one_by_one",
    ("it sends what is no AMQP", AMQP): (
        "serve/test_hostile.py::test_what_is_no_frame_or_out_of_turn_is_one_condition"
    ),
    ("it sends what is no message", AMQP): (
        "serve/test_hostile.py::test_a_body_that_is_none_is_rejected"
    ),
    ("it names an address that it has no right to, or that is not there", AMQP): (
        "serve/test_access.py::test_each_message_is_looked_at_where_the_link_has_no_address"
    ),
    ("its program reads slowly, or not at all", AMQP): (
        "serve/test_hostile.py::test_who_wants_everything_and_reads_nothing_gets_little"
    ),
}
