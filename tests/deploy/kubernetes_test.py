#!/usr/bin/env python3
"""The Kubernetes manifests render, agree with each other, and start the daemons.

Without kubectl the files are read as they are and rendering is skipped.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/deploy")
import daemons  # noqa: E402

FOLDER = "deploy/kubernetes"
WORKLOADS = {"scheduler": "StatefulSet", "server": "StatefulSet",
             "worker": "Deployment"}


def parse_yaml(text):
    output = subprocess.run(["tests/deploy/yaml_to_json"], input=text,
                            check=True, stdout=subprocess.PIPE, text=True)
    return [document for document in json.loads(output.stdout) if document]


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def render():
    """What `kubectl kustomize` prints."""
    with tempfile.TemporaryDirectory() as folder:
        # Real files: kustomize refuses links that lead out of its folder.
        for path in glob.glob(FOLDER + "/*"):
            shutil.copy(path, folder)
        return subprocess.run(["kubectl", "kustomize", folder], check=True,
                              stdout=subprocess.PIPE, text=True).stdout


def load_documents():
    if shutil.which("kubectl"):
        return parse_yaml(render())
    (kustomization,) = parse_yaml(read_text(FOLDER + "/kustomization.yaml"))
    documents = []
    for name in kustomization["resources"]:
        documents += parse_yaml(read_text(os.path.join(FOLDER, name)))
    for generator in kustomization["configMapGenerator"]:
        documents.append({
            "kind": "ConfigMap", "metadata": {"name": generator["name"]},
            "data": {name: read_text(os.path.join(FOLDER, name))
                     for name in generator["files"]}})
    return documents


def port_of(address):
    return address.rsplit(":", 1)[1]


class KubernetesTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.documents = load_documents()
        (cls.config,) = parse_yaml(read_text(FOLDER + "/cluster.yaml"))

    def find(self, kind, name):
        found = [d for d in self.documents
                 if d["kind"] == kind and d["metadata"]["name"] == name]
        self.assertEqual(len(found), 1, "%s %s" % (kind, name))
        return found[0]

    def pod_of(self, role):
        workload = self.find(WORKLOADS[role], "seraph-" + role)
        return workload["spec"]["template"]["spec"]

    def container_of(self, role):
        (container,) = self.pod_of(role)["containers"]
        return container

    def environment_of(self, role):
        """The container's environment, as the kubelet would make it."""
        known = {"metadata.name": "seraph-%s-0" % role,
                 "status.podIP": "127.0.0.1"}
        environment = {}
        for entry in self.container_of(role).get("env", []):
            if "valueFrom" in entry:
                path = entry["valueFrom"]["fieldRef"]["fieldPath"]
                environment[entry["name"]] = known[path]
            else:
                environment[entry["name"]] = re.sub(
                    r"\$\((\w+)\)", lambda match: environment[match[1]],
                    entry["value"])
        return environment

    @unittest.skipUnless(shutil.which("kubectl"), "kubectl is not installed")
    def test_kustomize_renders_the_cluster_file_into_every_pod(self):
        (config_map,) = [d for d in self.documents if d["kind"] == "ConfigMap"]
        self.assertEqual(config_map["data"]["cluster.yaml"],
                         read_text(FOLDER + "/cluster.yaml"))
        for role in WORKLOADS:
            maps = [volume["configMap"]["name"]
                    for volume in self.pod_of(role)["volumes"]
                    if "configMap" in volume]
            # Its name carries the hash of the contents.
            self.assertEqual(maps, [config_map["metadata"]["name"]])
            self.assertRegex(maps[0], "^seraph-cluster-.+$")

    def test_ports_agree(self):
        for role in WORKLOADS:
            with self.subTest(role=role):
                port = port_of(self.config[role]["listen"])
                container = self.container_of(role)
                self.assertEqual([p["containerPort"]
                                  for p in container["ports"]], [port])
                for kind in ("startup", "readiness", "liveness"):
                    probe = container[kind + "Probe"]["grpc"]
                    self.assertEqual(probe["port"], port)
                    self.assertEqual(
                        probe["service"],
                        "readiness" if kind == "readiness" else "liveness")

    def test_nodes_are_found_by_names_that_exist(self):
        name, port = self.config["cluster"]["scheduler"].split(":")
        (service_port,) = self.find("Service", name)["spec"]["ports"]
        self.assertEqual(service_port["port"], port)

        servers = self.find("StatefulSet", "seraph-server")
        service = self.find("Service", servers["spec"]["serviceName"])
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertEqual(
            service["spec"]["selector"].items() &
            servers["spec"]["template"]["metadata"]["labels"].items(),
            service["spec"]["selector"].items())
        self.assertEqual(
            self.environment_of("server")["SERAPH_SERVER__ADVERTISE"],
            "seraph-server-0.%s:%s" % (
                service["metadata"]["name"],
                port_of(self.config["server"]["listen"])))
        self.assertEqual(
            self.environment_of("worker")["SERAPH_WORKER__ADVERTISE"],
            "127.0.0.1:" + port_of(self.config["worker"]["listen"]))

    def test_pods_are_confined(self):
        for role in WORKLOADS:
            with self.subTest(role=role):
                pod = self.pod_of(role)
                # Or a Service's SERAPH_SCHEDULER_PORT mixes with ours.
                self.assertEqual(pod["enableServiceLinks"], "false")
                self.assertEqual(pod["automountServiceAccountToken"], "false")
                self.assertEqual(pod["securityContext"]["runAsNonRoot"],
                                 "true")
                self.assertEqual(pod["securityContext"]["runAsUser"],
                                 str(daemons.UNPRIVILEGED))
                container = self.container_of(role)
                self.assertEqual(
                    container["securityContext"]["readOnlyRootFilesystem"],
                    "true")
                self.assertIn("memory", container["resources"]["limits"])

    def test_what_is_written_lies_on_a_volume(self):
        # The root file system is read-only.
        for role, path in (
                ("scheduler", self.config["scheduler"]["state_directory"]),
                ("worker", self.config["worker"]["spool_directory"])):
            mounts = [mount["mountPath"]
                      for mount in self.container_of(role)["volumeMounts"]
                      if mount.get("readOnly") != "true"]
            self.assertIn(path, mounts)
        claims = [claim["metadata"]["name"] for claim in self.find(
            "StatefulSet", "seraph-scheduler")["spec"]["volumeClaimTemplates"]]
        self.assertIn("state", claims)

    def test_manifests_start_the_daemons(self):
        root = daemons.Root()
        self.addCleanup(root.remove)
        commands = {}
        environments = {}
        for role in WORKLOADS:
            container = self.container_of(role)
            environments[role] = self.environment_of(role)
            # Files are those of the root; no other argument changes.
            commands[role] = [
                root.map(word) if word.startswith("/") else word
                for word in container["command"] + container["args"]]
            for mount in container["volumeMounts"]:
                root.make_folder(mount["mountPath"],
                                 writable=mount.get("readOnly") != "true")
        root.install(FOLDER + "/cluster.yaml", "/etc/seraph/cluster.yaml")
        # Paths in the file mean the machine's root; the environment, which
        # goes before it, moves them.
        environments["scheduler"]["SERAPH_SCHEDULER__STATE_DIRECTORY"] = (
            root.map(self.config["scheduler"]["state_directory"]))
        environments["worker"]["SERAPH_WORKER__SPOOL_DIRECTORY"] = (
            root.map(self.config["worker"]["spool_directory"]))
        daemons.start_as_shipped(self, commands, root, environments,
                                 user=daemons.UNPRIVILEGED)


if __name__ == "__main__":
    unittest.main()
