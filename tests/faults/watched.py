"""Jobs whose tables are pushed to by clients of the test, and looked at."""

import os
import subprocess
import time

from check_history import check, read

WITNESS = os.path.abspath("tests/faults/witness")
PARTITIONS = 4


class Watched:
    """To be mixed into a FaultTest."""

    def quiet_job(self, mode, replicas):
        """Its labels are 0, so it has no gradient: it only holds the tables."""
        self.write("train.txt", "".join(
            f"0 {1 + i % 50}:1\n" for i in range(20000)))
        return self.job(epochs=10000, ranks=1, mode=mode, replicas=replicas,
                        model={"kind": "linear_regression", "bias": "none"},
                        data={"validation_fraction": 0},
                        train={"optimizer": {"kind": "sum"}, "batch_size": 64},
                        tables={"partitions": PARTITIONS})

    def witness(self, cluster, name, *flags):
        return subprocess.Popen(
            [WITNESS, f"--scheduler={cluster.scheduler}", f"--job={name}",
             f"--partitions={PARTITIONS}", *flags], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def watched(self, cluster, name, faults, seconds, *flags, clients=4):
        """Clients push and pull while `faults` are made."""
        process = self.witness(cluster, name, f"--seconds={seconds}",
                               f"--clients={clients}",
                               f"--seed={self.seed}", *flags)
        try:
            time.sleep(1)
            faults()
            out, err = process.communicate(timeout=seconds + 60)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 0, err)
        final = self.witness(cluster, name, "--final", f"--seed={self.seed}")
        last, err = final.communicate(timeout=60)
        self.assertEqual(final.returncode, 0, err)
        verdict = check(read(out.splitlines()), read(last.splitlines()))
        print(f"{self.id()}: {verdict.pushes} pushes, {verdict.repeats} sent "
              f"again, {verdict.pulls} pulls, {verdict.epochs} epochs passed",
              flush=True)
        self.assertEqual(verdict.errors, [])
        self.assertGreater(verdict.pushes, 100)
        self.assertGreater(verdict.pulls, 20)
        return verdict
