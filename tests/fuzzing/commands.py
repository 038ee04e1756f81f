"""Draws cases: a kind of input, what damages it, and a command that reads it."""

from __future__ import annotations

import dataclasses
import json
import random
import shlex
from collections.abc import Callable
from typing import Any

from policysched.inputs import plain_yaml
from tests.fuzzing import cases, mutation, seeds

Case = cases.Case
_NOW = "2026-03-02T10:00:00+00:00"
_JSON_ONLY = ("decisions.json", "tree.json")
_FORMATS = ("full", "concise", "json", "github", "gitlab", "sarif", "junit", "rdjson")


@dataclasses.dataclass(slots=True)
class Drawing:
    """The input of one case, while it is drawn."""

    rng: random.Random
    files: dict[str, bytes] = dataclasses.field(default_factory=dict)
    stdin: bytes = b""

    def chance(self, share: float) -> bool:
        """Return True in this share of all cases."""
        return self.rng.random() < share

    def pick(self, *choices: str) -> list[str]:
        """Return the words of one of the choices."""
        return shlex.split(self.rng.choice(choices))

    def values(self, name: str, choices: list[Any], others: list[Any] | None = None) -> str:
        """Add a damaged file of values, as JSON or YAML; return its name."""
        damage = mutation.Damage(self.rng)
        value = damage.mutate(self.rng.choice(choices), others or choices)
        is_yaml = name not in _JSON_ONLY and self.chance(0.3)
        text = damage.as_yaml(value) if is_yaml else damage.as_json(value)
        return self.add(name, text if name in _JSON_ONLY else self._mark(text))

    def text(self, name: str, choices: list[str]) -> str:
        """Add a damaged file of text; return its name."""
        text = mutation.mutate_text(self.rng.choice(choices), choices, self.rng)
        return self.add(name, text)

    def add(self, name: str, text: str, damaged_share: float = 0.05) -> str:
        """Add a file, whose bytes are damaged in a share of all cases; return its name."""
        content = text.encode("utf-8", "surrogatepass")
        if self.chance(damaged_share):
            content = mutation.mutate_bytes(content, self.rng)
        self.files[name] = content
        return name

    def whole(self, name: str, choices: list[Any]) -> str:
        """Add a file that is as it should be; return its name."""
        choice = self.rng.choice(choices)
        return self.add(name, choice if isinstance(choice, str) else json.dumps(choice), 0)

    def _mark(self, text: str) -> str:
        """Return JSON that is read as YAML in some cases."""
        return f"---\n{text}" if self.chance(0.1) else text

    def through_stdin(self, name: str) -> str:
        """Return `-` in some cases, with the file on standard input, as one text or as lines."""
        if not self.chance(0.15):
            return name
        content = self.files.pop(name)
        self.stdin = content
        if content.startswith(b"{") and self.chance(0.5):
            self.stdin = content.replace(b"\n", b" ") + b"\n" + content
        return "-"

    def case(self, *words: str) -> Case:
        """Return the case; in some the arguments are damaged, too."""
        argv = list(words)
        if self.chance(0.06):
            argv = _damage_words(argv, self.rng)
        return Case(tuple(argv), self.files, self.stdin)


def draw(rng: random.Random) -> Case:
    """Return a random case."""
    (maker,) = rng.choices(list(_MAKERS), list(_MAKERS.values()))
    return maker(Drawing(rng))


def _damage_words(words: list[str], rng: random.Random) -> list[str]:
    at = rng.randint(1, len(words))
    word = rng.choice((*_FLAGS, *_WORDS))
    edits: tuple[Callable[[], list[str]], ...] = (
        lambda: [*words[:at], word, *words[at:]],
        lambda: [*words[:at], *words[at + 1 :]],
        lambda: [*words[:at], *words[at : at + 2], *words[at:]],
    )
    return rng.choice(edits)()


_FLAGS = (
    *("--all", "--now=x", "--now=9999-12-31T23:59:59Z", "--seed=-1", "--seed=1e400", "-o=json"),
    *("--params=limit=9%", "--params=limit", "--params==", "--param=nosuch=1", "--output=yaml"),
    *("--scheduler-name=policysched", "--scheduler-name=", "--node=n0", "--all-nodes", "--help"),
    *("--select=PS801", "--ignore=PS", "--fail-level=info", "--fix", "--diff", "--unsafe-fixes"),
    *("--threshold=101", "--threshold=nan", "--run=[", "--hot=2", "--place=all", "--", "--config="),
    *("--feature-gates=A=treu", "--leader-elect=treu", "--kube-api-qps=nan", "--kube-api-burst=-1"),
    *("--log-level=loud", "--secure-address=:-1", "--prometheus=http://127.0.0.1:9", "-v", "-"),
)
"""Options with right and wrong values; commands refuse those that they do not have."""
_WORDS = tuple(text for text in mutation.TEXTS if text != "/" and "\0" not in text)
"""Not all files of the machine, and nothing that a process cannot be given."""


# --- what is read, by kind -----------------------------------------------------------------------


def _of_decisions(found: Drawing) -> list[str]:
    """Return options of commands that decide: policies, metrics, time, output."""
    words: list[str] = []
    if found.chance(0.3):
        words += ["--policies", found.whole("web.policy", [seeds.RICH_POLICY])]
        if found.chance(0.4):
            words += ["--metrics", found.values("metrics.json", seeds.METRICS)]
    words += found.pick("", "", f"--now {_NOW}", "-o json")
    return words


def _cluster(found: Drawing) -> Case:
    seed = found.rng.choice(seeds.clusters())
    name = found.values("c.json", [seed], seeds.clusters())
    command = found.rng.randrange(6)
    source = name if command == 1 else found.through_stdin(name)
    if command == 0:
        policy = found.whole("web.policy", [seeds.RICH_POLICY])
        return found.case("lint", policy, "--cluster", source, *found.pick("", "--format json"))
    if command == 1:
        return found.case("plan", "--cluster", source, *_plan_options(found))
    words = _of_decisions(found)
    if command == 2:
        pod = found.rng.choice(["x", *_names(seed, "Pod")])
        return found.case("explain", "pod", pod, "--cluster", source, *words)
    if command == 3:
        return found.case("explain", "--all", "--cluster", source, *words)
    options = found.pick("", "--deterministic", "--seed 5")
    return found.case("simulate", "--cluster", source, *options, *words)


def _names(listed: Any, kind: str) -> list[str]:
    """Return the objects of a kind, as `explain` takes them."""
    metadata = [each["metadata"] for each in listed["items"] if each["kind"] == kind]
    return [f"{each.get('namespace', 'default')}/{each['name']}" for each in metadata]


def _plan_options(found: Drawing) -> list[str]:
    found.whole("web.policy", [seeds.RICH_POLICY])
    found.whole("old.policy", [seeds.policies()[0]])
    return found.pick(
        *("--from none --to web.policy", "--from web.policy --to none -o json"),
        *("--from old.policy --to web.policy", "--from old.policy --to web.policy -o markdown"),
        *(
            "--from none --to web.policy --fail-on any",
            "--to web.policy --sweep params.limit=9%,50%",
        ),
        "--to web.policy --from-params limit=40% --to-params limit=50% --from web.policy",
        "--to web.policy --sweep web/quiet.weight=0,20 --place all --hot 90%",
        "--to web.policy --sweep params.limit=10%,20% --plot out.svg",
        "--to web.policy --sweep params.limit=1e400,nan",
    )


def _plane(found: Drawing) -> Case:
    seed = found.rng.choice(seeds.planes())
    name = found.through_stdin(found.values("plane.json", [seed], seeds.planes()))
    words = found.pick(
        *(
            "",
            "-o json",
            "--feature-gates=PriorityBasedScheduling=true",
            "--plugins=*,-ClusterLocality",
        ),
        *("--enable-empty-workload-propagation=T", "--feature-gates=WorkloadAffinity=1"),
        *("--feature-gates=MultiplePodTemplatesScheduling=true",),
    )
    if found.chance(0.3):
        words += ["--policies", found.whole("gold.policy", [seeds.CLUSTER_POLICY])]
        if found.chance(0.4):
            words += ["--metrics", found.values("metrics.json", seeds.CLUSTER_METRICS)]
    if found.chance(0.5):
        return found.case("karmada", "simulate", "--cluster", name, *words)
    which = found.rng.choice(["--all", "full", *_names(seed, "ResourceBinding")])
    return found.case("explain", "binding", which, "--cluster", name, *words)


def _policy(found: Drawing) -> Case:
    name = found.text("web.policy", seeds.policies())
    if found.chance(0.15):
        name = found.text("more/second.policy", seeds.policies()) and "."
    words = found.pick(
        *(
            "check",
            "check -o json",
            "lint",
            "lint --fix",
            "lint --diff",
            "lint --fix --unsafe-fixes",
        ),
        *("fmt", "fmt --check", "fmt --diff", "fmt --write", "migrate --check", "migrate --diff"),
        *(
            "migrate",
            "ast",
            "ast -o json",
            "ast --profiles",
            "check --params limit=5%",
            f"check --now {_NOW}",
        ),
        *(f"check --format {each}" for each in _FORMATS),
        *(f"lint --format {each}" for each in _FORMATS),
    )
    return found.case(words[0], name, *words[1:])


def _manifest(found: Drawing) -> Case:
    name = found.values("maps.yaml", seeds.manifests())
    if found.chance(0.4):
        damage = mutation.Damage(found.rng)
        text = damage.as_yaml(found.rng.choice(seeds.manifests()))
        name = found.add("maps.yaml", mutation.mutate_text(text, [text], found.rng))
    words = found.pick(
        *("check", "lint", "lint --fix", "lint --diff", "fmt", "fmt --write", "migrate", "ast"),
    )
    return found.case(words[0], name, *words[1:])


def _config(found: Drawing) -> Case:
    found.whole("web.policy", [seeds.RICH_POLICY])
    if found.chance(0.5):
        name = found.values("config.yaml", seeds.CONFIGS)
    else:
        texts = [mutation.Damage(found.rng).as_yaml(each) for each in seeds.CONFIGS]
        name = found.text("config.yaml", texts)
    words = found.pick(
        *("check --config", "run --print-config --config", "check --config"),
        *("run --print-config --leader-elect=1 --log-level debug --config",),
        *("run --kubeconfig none --config",),
    )
    return found.case(*words, name)


def _lint_settings(found: Drawing) -> Case:
    name = found.text("lint.toml", seeds.LINT_SETTINGS)
    return found.case("lint", found.whole("web.policy", seeds.policies()[:2]), "--config", name)


def _metrics(found: Drawing) -> Case:
    cluster = found.whole("c.json", seeds.clusters()[:3])
    policy = found.whole("web.policy", [seeds.RICH_POLICY])
    name = found.values("m.yaml", seeds.METRICS)
    words = found.pick("explain --all", "simulate", "plan --from none", "audit")
    more = {"plan": ["--to", policy], "audit": [policy]}.get(words[0], ["--policies", policy])
    return found.case(*words, "--cluster", cluster, *more, "--metrics", name)


def _tests(found: Drawing) -> Case:
    found.whole("web.policy", [seeds.policies()[0]])
    found.whole("cluster.json", seeds.clusters()[:3])
    if found.chance(0.5):
        name = found.text("web_test.yaml", seeds.TEST_FILES)
    else:
        values = [plain_yaml.load_yaml_document(each, "").value for each in seeds.TEST_FILES]
        name = found.values("web_test.yaml", values)
    words = found.pick(
        *("", "", "--format json", "--format junit", "--coverage", "--run web", "--update"),
        *(
            "--lcov out.info",
            "--cobertura out.xml",
            "--fuzz 3 --seed 7",
            "--coverage --threshold 50",
        ),
    )
    return found.case("test", name, *words)


def _import(found: Drawing) -> Case:
    if found.chance(0.2):
        return _command_line(found)
    name = found.through_stdin(found.values("input.yaml", seeds.imports()))
    words = found.pick(
        *("", "", "-o json", "--out made", "--from legacy-policy", "--from workload"),
        *("--from kube-scheduler-config", "--from tas-policy", "--from command-line"),
    )
    return found.case("import", name, *words)


def _command_line(found: Drawing) -> Case:
    found.values("config.yaml", seeds.imports()[:1])
    found.values("policy.cfg", seeds.imports()[1:2])
    text = mutation.mutate_text(
        found.rng.choice(seeds.COMMAND_LINES), seeds.COMMAND_LINES, found.rng
    )
    if found.chance(0.4):
        return found.case("import", found.add("line.txt", text), "--from", "command-line")
    plain = text.replace("\x00", "").encode("utf-8", "replace").decode()
    return found.case("import", "--", *plain.split())


def _decisions(found: Drawing) -> Case:
    name = found.values("decisions.json", [seeds.DECISIONS])
    words = found.pick("pod prod/web", "pod prod/big", "--all", "pod prod/web -o json")
    return found.case("explain", *words, "--decisions", name)


def _tree(found: Drawing) -> Case:
    name = found.values("tree.json", seeds.trees())
    return found.case("ast", "--from-json", name)


def _flags(found: Drawing) -> Case:
    words = found.pick(
        *(
            "run --print-config",
            "explain rule PS001",
            "explain rule",
            "completion bash",
            "completion",
        ),
        *("karmada run --kubeconfig none", "run --kubeconfig none", "rollback --kubeconfig none"),
        "rollout pause --kubeconfig none",
        *("karmada", "test", "check", "lint", "fmt", "plan", "simulate", "nosuch", ""),
    )
    for _ in range(found.rng.randint(1, 3)):
        words = _damage_words(words or ["x"], found.rng)
    return Case(tuple(words))


_MAKERS: dict[Callable[[Drawing], Case], int] = {
    _cluster: 30,
    _plane: 12,
    _policy: 14,
    _manifest: 6,
    _config: 10,
    _metrics: 5,
    _tests: 8,
    _import: 12,
    _decisions: 3,
    _tree: 3,
    _flags: 6,
    _lint_settings: 2,
}
"""What draws each kind, and its share."""
