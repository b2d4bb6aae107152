#!/usr/bin/python3
"""A client of generated messages and another gRPC pushes and pulls.

Debian's python3-grpcio and python3-protobuf, which /usr/bin/python3 finds; where
they are not installed the test is skipped.
"""

import glob
import importlib
import os
import random
import struct
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/cluster")
from cluster import Cluster, ClusterTest  # noqa: E402

try:
    import google.protobuf  # noqa: F401
    import grpc
except ImportError as error:
    grpc = None
    WHY = f"{error}: Debian's python3-grpcio, python3-protobuf are not there"

SERVICE = "/seraph.v1.Parameters/"
WIDTH = 1


def generate(folder):
    """Messages of the protocol, by protoc."""
    subprocess.run(["/usr/bin/protoc", "-I.", f"--python_out={folder}",
                    *glob.glob("proto/*.proto")], check=True)
    sys.path.insert(0, folder)
    return importlib.import_module("proto.parameters_pb2")


class Client:
    """One client that is no rank."""

    def __init__(self, address, messages, job, epoch):
        self.messages = messages
        self.job = job
        self.epoch = epoch
        self.number = 0
        self.channel = grpc.insecure_channel(address, options=[
            ("grpc.max_receive_message_length", 64 << 20)])

    def unary(self, name, request):
        reply = getattr(self.messages, f"{name}Reply")
        return self.channel.unary_unary(
            SERVICE + name, request_serializer=type(request).SerializeToString,
            response_deserializer=reply.FromString)(request, timeout=30)

    def exchange(self, requests):
        return self.channel.stream_stream(
            SERVICE + "Exchange",
            request_serializer=self.messages.ExchangeRequest.SerializeToString,
            response_deserializer=self.messages.ExchangeReply.FromString)(
                iter(requests), timeout=30)

    def fill(self, request, keys):
        request.header.job.id = self.job
        request.header.job.generation = 1
        request.header.session = 12345
        request.parts.add(table=0, partition=0, epoch=self.epoch,
                          key_count=len(keys))
        request.keys = struct.pack(f"<{len(keys)}Q", *keys)
        return request

    def push(self, keys, values):
        request = self.fill(self.messages.PushRequest(), keys)
        self.number += 1
        request.number = self.number
        request.values = struct.pack(f"<{len(values)}f", *values)
        return request

    def pull(self, keys):
        return self.fill(self.messages.PullRequest(), keys)


def floats(values):
    return struct.unpack(f"<{len(values) // 4}f", values)


@unittest.skipIf(grpc is None, WHY if grpc is None else "")
class PythonClientTest(ClusterTest):

    def start(self, cluster):
        self.write("train.txt", "".join(f"0 {1 + i % 50}:1\n"
                                        for i in range(64)))
        path = self.job_file({
            "ranks": 1,
            "model": {"kind": "linear_regression", "bias": "none"},
            "data": {"format": "libsvm", "train": ["train.txt"]},
            "train": {"epochs": 1000000, "batch_size": 64,
                      "optimizer": {"kind": "sum"}},
            "sync": {"mode": "asp"}, "tables": {"partitions": 1}})
        result = cluster.call("submit", path, "-o", "json")
        self.assertEqual(result.code, 0, result.stderr)
        job = result.json.get("id") or result.json["job"]["id"]
        while cluster.call("job", job, "-o", "json").json["job"][
                "phase"] != "training":
            time.sleep(0.05)
        messages = generate(self.folder)
        client = Client(cluster.addresses["server-0"], messages, job, 1)
        described = client.unary("DescribeServer",
                                 messages.DescribeServerRequest())
        client.epoch = described.partitions[0].epoch
        return client

    def check_pull(self, reply, model, keys):
        self.assertEqual([result.code for result in reply.results], [0])
        self.assertEqual(floats(reply.values),
                         tuple(model.get(key, 0.0) for key in keys))

    def test_pushes_and_pulls(self):
        seed = int(os.environ.get("SERAPH_TEST_SEED", time.time_ns() % 10**6))
        print(f"SERAPH_TEST_SEED={seed}", flush=True)
        draw = random.Random(seed)
        with Cluster(self.folder, servers=1, workers=1) as cluster:
            client = self.start(cluster)
            messages = client.messages
            model = {}

            def new_push(count):
                keys = sorted(draw.sample(range(10**6, 10**9), count))
                values = [draw.randrange(-100, 100) / 4 for _ in keys]
                for key, value in zip(keys, values):
                    model[key] = model.get(key, 0.0) + value
                return keys, client.push(keys, values)

            # Unary: some keys, and more than fit into a slice of gRPC's.
            for count in (3, 200000):
                keys, push = new_push(count)
                reply = client.unary("Push", push)
                self.assertEqual([one.code for one in reply.results], [0])
                self.check_pull(client.unary("Pull", client.pull(keys)),
                                model, keys)
            keys, push = new_push(1000)
            reply = client.unary("PushPull", messages.PushPullRequest(
                push=push, pull=client.pull(keys)))
            self.check_pull(reply.pull, model, keys)

            # The stream, one request a message and then many.
            keys, push = new_push(20000)
            one = messages.ExchangeRequest(number=1)
            one.push_pull.push.CopyFrom(push)
            one.push_pull.pull.CopyFrom(client.pull(keys))
            replies = list(client.exchange([one]))
            self.assertEqual([reply.number for reply in replies], [1])
            self.check_pull(replies[0].push_pull.pull, model, keys)
            batch = messages.ExchangeRequest()
            asked = {}
            for number in range(1, 200):
                asked[number] = sorted(draw.sample(sorted(model), 20))
                batch.batch.add(number=number).pull.CopyFrom(
                    client.pull(asked[number]))
            answered = [one for reply in client.exchange([batch])
                        for one in reply.batch]
            self.assertEqual(len(answered), len(asked))
            for reply in answered:
                self.check_pull(reply.pull, model, asked.pop(reply.number))
            cluster.call("cancel", client.job)


if __name__ == "__main__":
    unittest.main(verbosity=2)
