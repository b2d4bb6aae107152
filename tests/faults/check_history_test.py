#!/usr/bin/env python3
"""The checker finds what it should: each kind of damage to a right history."""

import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/faults")
from check_history import check  # noqa: E402


def right_history(seed, operations=400, clients=4):
    """Clients that push and pull one set; an operation takes effect at a
    moment between its begin and its end."""
    draw = random.Random(seed)
    events, names = [], 0
    for client in range(clients):
        time = draw.random()
        for _ in range(operations // clients):
            begun = time
            effect = begun + draw.random()
            time = effect + draw.random()
            events.append((effect, client, begun, time))
            time += draw.random() / 10
    applied, history = [], []
    for _, client, begun, ended in sorted(events):
        op = {"client": client, "partition": 0, "begun": begun, "ended": ended,
              "outcome": "ok", "epoch": 1}
        if draw.random() < 0.5:
            names += 1
            applied.append(names)
            op.update(kind="push", id=names, sent=1)
        else:
            op.update(kind="pull", seen=list(applied), wrong=[])
        history.append(op)
    final = dict(history[-1], kind="pull", seen=list(applied), wrong=[],
                 begun=1e9, ended=1e9 + 1)
    return history, final


class CheckHistoryTest(unittest.TestCase):

    def test_a_right_history_is_right(self):
        for seed in range(20):
            history, final = right_history(seed)
            self.assertEqual(check(history, [final]).errors, [])

    def found(self, damage):
        for seed in range(10):
            history, final = right_history(seed)
            damage(history, final)
            self.assertNotEqual(check(history, [final]).errors, [], seed)

    def test_a_lost_push(self):
        self.found(lambda history, final: final["seen"].pop(3))

    def test_a_push_that_counts_twice(self):
        self.found(lambda history, final: final["wrong"].append([1, 2, 2]))

    def test_a_torn_push(self):
        self.found(lambda history, final: final["wrong"].append([1, 1, 0]))

    def test_a_stale_pull(self):
        def damage(history, final):
            pulls = [op for op in history if op["kind"] == "pull" and
                     len(op["seen"]) > 50]
            pulls[-1]["seen"] = pulls[-1]["seen"][:20]
        self.found(damage)

    def test_a_push_that_came_and_went(self):
        def damage(history, final):
            pulls = [op for op in history if op["kind"] == "pull" and
                     len(op["seen"]) > 50]
            pulls[len(pulls) // 2]["seen"].pop(10)
        self.found(damage)

    def test_a_push_out_of_nowhere(self):
        self.found(lambda history, final: final["seen"].append(10**6))

    def test_a_push_before_its_time(self):
        def damage(history, final):
            pull = next(op for op in history if op["kind"] == "pull")
            last = [op for op in history if op["kind"] == "push"][-1]
            pull["seen"].append(last["id"])
        self.found(damage)


if __name__ == "__main__":
    unittest.main(verbosity=2)
