"""Judges what witness clients saw: each push exactly once, in one order.

A push adds 1 to keys of its own, so a pull shows the set of pushes that a
partition had applied. For a set that only grows, and is always read whole, the
history is linearizable exactly if the order given by real time and the order
given by what the pulls show do not contradict each other; for sets that means:

1. no push counts twice or in part; the last pull has every acknowledged push,
   and nothing that was never sent;
2. a pull that was begun after a push was acknowledged shows it, and none shows
   a push that was begun after the pull was answered;
3. the sets of all pulls form a chain, and pulls that follow each other in real
   time follow each other in the chain;
4. if push a was acknowledged before push b was begun, a pull with b has a.
"""

import bisect
import json


class Verdict:
    def __init__(self):
        self.errors = []
        self.pushes = self.pulls = self.repeats = self.epochs = 0


def read(lines):
    return [json.loads(line) for line in lines if line.strip()]


def check(operations, final):
    """`final`: pulls after the last push was answered, one of each partition
    at least."""
    verdict = Verdict()
    partitions = {op["partition"] for op in operations + final}
    epochs = set()
    for partition in sorted(partitions):
        mine = [op for op in operations if op["partition"] == partition]
        last = [op for op in final if op["partition"] == partition]
        check_partition(partition, mine, last, verdict)
        epochs |= {(partition, op["epoch"]) for op in mine if "epoch" in op}
    verdict.epochs = len(epochs) - len({place for place, _ in epochs})
    return verdict


def check_partition(partition, operations, final, verdict):
    def wrong(text):
        verdict.errors.append(f"partition {partition}: {text}")

    pushes = {op["id"]: op for op in operations if op["kind"] == "push"}
    pulls = sorted((op for op in operations if op["kind"] == "pull"),
                   key=lambda op: (len(op["seen"]), op["ended"]))
    verdict.pushes += len(pushes)
    verdict.pulls += len(pulls)
    verdict.repeats += sum(op["sent"] > 1 for op in pushes.values())
    acknowledged = {name for name, op in pushes.items()
                    if op["outcome"] == "ok"}

    # 1.
    for op in pulls + final:
        for name, one, other in op["wrong"]:
            wrong(f"push {name} counts {one} and {other} times")
        strangers = set(op["seen"]) - set(pushes)
        if strangers:
            # Those under way while the clients were stopped are not recorded.
            wrong(f"nobody recorded pushes {sorted(strangers)[:5]}")
    if not final:
        wrong("nobody looked at the end")
    for op in final:
        lost = acknowledged - set(op["seen"])
        if lost:
            wrong(f"acknowledged and lost: {sorted(lost)[:5]}")

    # 2 and 4: acknowledgements in the order of time, against each pull.
    by_end = sorted((pushes[name]["ended"], name) for name in acknowledged)
    ends = [end for end, _ in by_end]
    for op in pulls + final:
        seen = set(op["seen"])
        before = bisect.bisect_left(ends, op["begun"])
        missing = [name for _, name in by_end[:before] if name not in seen]
        if missing:
            wrong(f"a pull lacks {missing[:5]}, acknowledged before it began")
        begun = [pushes[name]["begun"] for name in seen if name in pushes]
        if any(time > op["ended"] for time in begun):
            wrong("a pull shows a push that was begun after it")
        latest = max(begun, default=0)
        missing = [name for _, name in
                   by_end[:bisect.bisect_left(ends, latest)]
                   if name not in seen]
        if missing:
            wrong(f"a pull shows a push but not {missing[:5]}, acknowledged "
                  "before that began")

    # 3.
    for smaller, larger in zip(pulls, pulls[1:]):
        if not set(smaller["seen"]) <= set(larger["seen"]):
            wrong("two pulls saw sets of which neither holds the other")
    by_time = sorted(pulls, key=lambda op: op["begun"])
    answered = sorted(pulls, key=lambda op: op["ended"])
    best, place = 0, 0
    for op in by_time:
        while place < len(answered) and answered[place]["ended"] < op["begun"]:
            best = max(best, len(answered[place]["seen"]))
            place += 1
        if len(op["seen"]) < best:
            wrong("a pull shows less than an earlier one")
