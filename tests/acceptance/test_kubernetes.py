"""The Kubernetes manifests are valid, fit each other, and hold a configuration that the service accepts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import kubernetes_validate  # type: ignore[import-untyped]  # it has no types
import pytest
import yaml

from tests.meta.project import ROOT

_FOLDER: Final = ROOT / "manifests" / "kubernetes"
_OLDEST, _NEWEST = "1.29", kubernetes_validate.latest_version()
_PATIENCE: Final = 60.0


def _resources() -> dict[str, dict[str, Any]]:
    """Return the resources that the kustomization lists, by kind and name."""
    listed = yaml.safe_load((_FOLDER / "kustomization.yaml").read_text("utf-8"))["resources"]
    found = [
        each for name in listed for each in yaml.safe_load_all((_FOLDER / name).read_text("utf-8"))
    ]
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in found}


RESOURCES: Final = _resources()


@pytest.mark.parametrize("version", [_OLDEST, _NEWEST])
@pytest.mark.parametrize("name", RESOURCES)
def test_each_resource_fits_the_schema_of_its_api(name: str, version: str) -> None:
    kubernetes_validate.validate(RESOURCES[name], version, strict=True)


def test_a_misspelt_field_is_noticed() -> None:
    wrong = {**RESOURCES["PodDisruptionBudget/answerback"], "spec": {"minAvailble": 1}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, _NEWEST, strict=True)


def test_every_file_is_part_of_the_kustomization() -> None:
    kustomization = yaml.safe_load((_FOLDER / "kustomization.yaml").read_text("utf-8"))
    named = {"kustomization.yaml", *kustomization["resources"]}
    named.update(*(each["files"] for each in kustomization["configMapGenerator"]))
    assert {path.name for path in _FOLDER.iterdir()} == named


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")
def test_kustomize_builds_it() -> None:
    built = subprocess.run(
        ["kubectl", "kustomize", str(_FOLDER)],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=True,
    ).stdout
    resources = list(yaml.safe_load_all(built))
    assert {each["kind"] for each in resources} == {
        *("Namespace", "ConfigMap", "Secret", "Service", "Deployment", "Ingress"),
        *("NetworkPolicy", "PodDisruptionBudget"),
    }
    (deployment,) = [each for each in resources if each["kind"] == "Deployment"]
    (config,) = [each for each in resources if each["kind"] == "ConfigMap"]
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    assert config["metadata"]["name"] in {each.get("configMap", {}).get("name") for each in volumes}


def test_the_parts_fit_each_other() -> None:
    pod = RESOURCES["Deployment/answerback"]["spec"]["template"]
    labels = pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert ports == {"agents": 8420, "public": 8421}
    for probe, path in (
        ("startup", "/healthz"),
        ("liveness", "/healthz"),
        ("readiness", "/readyz"),
    ):
        assert container[f"{probe}Probe"]["httpGet"] == {"path": path, "port": "agents"}
    for name in ("agents", "public"):
        service = RESOURCES[f"Service/answerback-{name}"]["spec"]
        assert service["selector"].items() <= labels
        assert [each["targetPort"] for each in service["ports"]] == [name]
    (rule,) = RESOURCES["Ingress/answerback"]["spec"]["rules"]
    backends = [path["backend"]["service"]["name"] for path in rule["http"]["paths"]]
    assert backends == ["answerback-public"], "the agents' API stays inside the cluster"
    policy = RESOURCES["NetworkPolicy/answerback"]["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= labels
    (of_agents,) = [each for each in policy["ingress"] if {"port": "agents"} in each["ports"]]
    assert of_agents["from"], "only named namespaces reach the agents' API"
    assert (
        RESOURCES["PodDisruptionBudget/answerback"]["spec"]["selector"]["matchLabels"].items()
        <= labels
    )
    for each in (*pod["spec"]["initContainers"], container):
        assert each["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True


def test_the_service_accepts_the_configuration(tmp_path: Path) -> None:
    secret = dict(RESOURCES["Secret/answerback"]["stringData"])
    assert "replace-me" in secret["PGPASSWORD"]
    checked = subprocess.run(
        [sys.executable, "-m", "answerback_agents.cli.main", "serve", "--check"],
        cwd=tmp_path,
        env={
            **os.environ,
            **secret,
            "ANSWERBACK_CONFIG": str(_FOLDER / "answerback.toml"),
        },
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
