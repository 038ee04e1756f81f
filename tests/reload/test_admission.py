from __future__ import annotations

from typing import Any

import orjson
import pytest

from policysched.config import config, config_reading
from policysched.lang import source
from policysched.lang.checked import content_hash
from policysched.reload import admission

GOOD = "version 1\npolicy web {\n  for pods\n  nodeAffinity required disk In (ssd)\n}\n"
BROKEN = "version 1\npolicy web {\n  for pods\n  nodeAffinity required disk Inn (ssd)\n}\n"
WITH_WARNING = "version 1\nmetric brief: ratio = `x` node instance over 59s max missing allow\n"
NEVER = GOOD.replace("(ssd)", "(ssd) and disk DoesNotExist")
NEVER_HASH = content_hash.hash_policy_texts_and_params([source.SourceText("web.policy", NEVER)], {})
WITH_PARAM = GOOD + "param most: ratio = 90%\n"
POLICIES = {"web.policy": GOOD}


def review(data: dict[str, Any] | None = None, **fields: Any) -> bytes:
    """Return a review of a ConfigMap `test/web`, as the API server posts it."""
    meta = {"name": "web", "namespace": "test", "labels": fields.pop("labels", {})}
    former = fields.pop("former", None)
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
    request = {
        "uid": "a-uid",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "operation": "CREATE" if former is None else "UPDATE",
        "name": "web",
        "namespace": "test",
        "dryRun": False,
        "userInfo": {"username": "alice"},
        "object": config_map | fields.pop("config_map", {}),
        "oldObject": None if former is None else config_map | {"data": former},
    }
    request |= fields
    return orjson.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    )


def response(
    body: bytes,
    chosen: admission.ConfigMapFilter | None = None,
    configuration: config.Config | None = None,
) -> dict[str, Any]:
    """Return what is answered."""
    made = admission.PolicyReviewer(
        configuration or config.Config(), None, chosen or admission.ConfigMapFilter()
    )
    question = made.parse_admission_request(body)
    answer = orjson.loads(
        admission.encode_admission_response(question, made.review_policies(question))
    )
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    found: dict[str, Any] = answer["response"]
    assert found["uid"] == "a-uid"
    return found


def test_a_good_policy_is_admitted() -> None:
    """Nothing more is said."""
    assert response(review(POLICIES)) == {"uid": "a-uid", "allowed": True}


def test_a_broken_policy_is_refused_with_all_its_errors() -> None:
    """Each as `check` shows it, in the order of the keys."""
    found = response(review({"b.policy": BROKEN, "a.policy": "policy {"}))
    assert not found["allowed"]
    message = found["status"]["message"]
    assert "error[PS001]: `Inn` is not a label operator\n  --> b.policy:4:30\n" in message
    assert message.index("a.policy") < message.index("b.policy")
    assert found["status"]["code"] == 400


def test_many_errors_are_cut() -> None:
    """A terminal is not a place for a thousand of them."""
    data = {f"{number:03}.policy": BROKEN for number in range(200)}
    message = response(review(data))["status"]["message"]
    assert message.startswith("the policies have ")
    assert message.count("error[") == 10
    assert message.endswith(" more")
    long = {"a.policy": "version 1\n" + "policy é {" * 20_000}
    assert len(response(review(long))["status"]["message"]) < 10_000


def test_warnings_are_told_on_a_line_each() -> None:
    """They are headers of HTTP on their way to kubectl."""
    found = response(review({"web.policy": WITH_WARNING}))
    assert found["allowed"]
    (warning,) = found["warnings"]
    assert warning.startswith("web.policy:2:")
    assert "PS305: the window is shorter" in warning
    assert "\n" not in warning


def test_many_warnings_are_cut() -> None:
    """The API server takes 4 KiB of them."""
    lines = [
        f"metric m{n}: ratio = `x` node instance over 59s max missing allow\n" for n in range(50)
    ]
    warnings = response(review({"web.policy": "version 1\n" + "".join(lines)}))["warnings"]
    assert len(warnings) == 16
    assert warnings[-1] == "… and 35 more; `policysched check` shows all"
    assert max(map(len, warnings)) <= 256


@pytest.mark.parametrize(
    "mode, annotations, is_allowed",
    [
        pytest.param("refuse", {}, False, id="refused"),
        pytest.param("warn", {}, True, id="warned of by configuration"),
        pytest.param("refuse", {"policysched.io/hash": NEVER_HASH}, True, id="in use"),
        pytest.param("refuse", {"policysched.io/rollback": NEVER_HASH}, True, id="gone back to"),
        pytest.param("refuse", {"policysched.io/hash": "other"}, False, id="another one in use"),
    ],
)
def test_an_error_of_lint_counts_as_it_does_for_the_scheduler(
    mode: str, annotations: dict[str, str], is_allowed: bool
) -> None:
    """It is refused, or warned of where it served before or the configuration says so."""
    policies = config.PoliciesConfig(lint_errors=mode)  # type: ignore[arg-type]  # one of two words
    meta = {"name": "web", "namespace": "test", "annotations": annotations}
    body = review({"web.policy": NEVER}, config_map={"metadata": meta})
    found = response(body, configuration=config.Config(policies=policies))
    assert found["allowed"] is is_allowed
    if is_allowed:
        assert any("PS201: this selector can never" in each for each in found["warnings"])
    else:
        assert "error[PS201]" in found["status"]["message"]
        assert "ignore[PS201]" in found["status"]["message"]


CONFIGURATION = """\
apiVersion: policysched.io/v1alpha1
kind: PolicySchedulerConfiguration
params: {most: 80%}
"""


def test_params_and_plugins_are_those_of_the_scheduler() -> None:
    """What it could not start with is refused, and what it can is not."""
    configuration = config_reading.parse_config(CONFIGURATION, "a test")
    assert response(review({"web.policy": WITH_PARAM}), configuration=configuration)["allowed"]
    without = response(review({"web.policy": GOOD}), configuration=configuration)
    assert "`most`" in without["status"]["message"]
    plugin = {"web.policy": GOOD + "profile p {\n  plugin NoSuch\n}\n"}
    assert "NoSuch" in response(review(plugin))["status"]["message"]
    arguments = {"web.policy": GOOD + 'profile p {\n  plugin InterPodAffinity { x = "y" }\n}\n'}
    assert not response(review(arguments))["allowed"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(review({"notes": BROKEN}), id="no-policy"),
        pytest.param(review(None), id="no-data"),
        pytest.param(review({"web.policy": BROKEN}, operation="DELETE", object=None), id="delete"),
        pytest.param(
            review({"x.policy": BROKEN}, kind={"group": "", "kind": "Secret"}), id="another-kind"
        ),
        pytest.param(review({"x.policy": BROKEN}, former={"x.policy": BROKEN}), id="unchanged"),
    ],
)
def test_what_is_no_new_policy_is_admitted(body: bytes) -> None:
    """Other ConfigMaps, and other changes of one: the scheduler annotates bad ones, too."""
    assert response(body)["allowed"]


def test_a_change_of_other_keys_is_not_looked_at_but_one_of_policies_is() -> None:
    """A key that is taken away changes the whole."""
    former = {"a.policy": BROKEN, "b.policy": GOOD}
    assert response(review(former | {"notes": "x"}, former=former))["allowed"]
    assert not response(review({"a.policy": BROKEN}, former=former))["allowed"]


@pytest.mark.parametrize(
    "chosen, labels, data, is_allowed",
    [
        pytest.param(
            admission.ConfigMapFilter(frozenset({"test/web"})),
            {},
            {"x.policy": BROKEN},
            False,
            id="named",
        ),
        pytest.param(
            admission.ConfigMapFilter(frozenset({"test/other"})),
            {},
            {"x.policy": BROKEN},
            True,
            id="other",
        ),
        pytest.param(
            admission.ConfigMapFilter(frozenset({"test/web"})),
            {},
            {"x": "y"},
            False,
            id="named-without",
        ),
        pytest.param(
            admission.ConfigMapFilter(labels={"a": "b"}),
            {"a": "b"},
            {"x.policy": BROKEN},
            False,
            id="label",
        ),
        pytest.param(
            admission.ConfigMapFilter(labels={"a": "b"}),
            {"a": "c"},
            {"x.policy": BROKEN},
            True,
            id="value",
        ),
        pytest.param(
            admission.ConfigMapFilter(labels={"a": "b"}), {"a": "b"}, {}, False, id="label-without"
        ),
    ],
)
def test_flags_say_which_config_maps_hold_policies(
    chosen: admission.ConfigMapFilter,
    labels: dict[str, str],
    data: dict[str, str],
    is_allowed: bool,
) -> None:
    """Of those each has to have some."""
    assert response(review(data, labels=labels), chosen)["allowed"] is is_allowed


def test_bytes_are_no_policy() -> None:
    """`kubectl create configmap --from-file` puts there what is not UTF-8."""
    found = response(review(POLICIES, config_map={"binaryData": {"x.policy": "/w=="}}))
    assert "the key `x.policy` is not UTF-8 text" in found["status"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="half"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"\xff", id="bytes"),
        pytest.param(b'{"apiVersion": "v1", "kind": "ConfigMap"}', id="another-object"),
        pytest.param(review().replace(b"/v1", b"/v1beta1"), id="another-version"),
        pytest.param(review().replace(b'"AdmissionReview"', b'"Review"'), id="another-kind"),
        pytest.param(review(object="text"), id="no-object"),
        pytest.param(review(object=None), id="null"),
        pytest.param(review({"x.policy": 5}), id="number"),
        pytest.param(review({"x.policy": "y"}, oldObject=[]), id="former"),
        pytest.param(b'{"a":' * 5000 + b"1" + b"}" * 5000, id="deep"),
    ],
)
def test_what_is_no_review_is_an_error(body: bytes) -> None:
    """And never an admission."""
    made = admission.PolicyReviewer(config.Config(), None, admission.ConfigMapFilter())
    with pytest.raises(admission.ReviewError, match="AdmissionReview"):
        made.parse_admission_request(body)
