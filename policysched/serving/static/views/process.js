// The facts about a running scheduler in the header, and the warnings below it.

import { html } from "../html.js";
import { makeLazy } from "../loading.js";
import { formatAge, formatCount } from "../numbers.js";
import { makeAddress } from "../routes.js";

const MetricTrouble = makeLazy(() => import("./metric_trouble.js"), "MetricTrouble");

const NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

/** Returns the facts of the header: process, role, version. */
export function describeProcess(status) {
  const { process, isLeading, isDryRun, since } = status.scheduler;
  const role = isDryRun ? "dry run" : isLeading ? "leader" : "standby";
  const now = new Date().toISOString();
  const version = status.hash ? `policies version ${status.hash} in use for ${formatAge(since, now)}` : "no policies: kube-scheduler's defaults";
  return `${process} ● ${role} · ${formatCount(status.nodes, "node")}, ${formatCount(status.placed, "placed pod")} · ${version}`;
}

/** Shows lines about a standby, a refused version, a rollout, and an older scheduler. */
export function ProcessBanners({ status }) {
  const process = status.scheduler;
  return html`
    ${status.problem && html`<p class="error banner" role="alert">${status.problem}</p>`}
    ${process && !process.isLeading && !process.isDryRun && html`<${Standby} process=${process} />`}
    ${process?.refused &&
    html`<p class="error banner" role="alert">
      ▲ ${process.refused.hash ? `version ${process.refused.hash}` : "the current content of the policies"} ${process.refused.isRolledBack ? "was rolled back" : "is refused"}:${" "}
      ${describeFirstError(process.refused.errors)} <a href=${makeAddress(["versions"])}>details</a>
    </p>`}
    ${process?.rollout && html`<p class="banner" role="status">rollout of ${process.rollout} <a href=${makeAddress(["versions"])}>details</a></p>`}
    ${process?.downSources.length + process?.rulesWithoutSamples.length > 0 && html`<${MetricTrouble} process=${process} />`}
    ${process?.isFrozen && html`<p class="warning banner">reloads are frozen: other versions of the policies are held back</p>`}
  `;
}

/** Returns the first of the errors that `check` prints, with its file and line. */
function describeFirstError(errors) {
  const place = /^\s*--> (.+?:\d+)/m.exec(errors)?.[1];
  return `${errors.split("\n")[0]}${place ? ` (${place})` : ""}`;
}

/** Names the process that decides, and how to reach it; only names of Kubernetes get into a command. */
function Standby({ process }) {
  const pod = process.leaseHolder.split("_")[0];
  const namespace = process.namespace || process.lease.split("/")[0];
  const isNamed = NAME.test(pod) && NAME.test(namespace);
  return html`<p class="warning banner">
    ${process.process} is a standby, which decides about no pod.
    ${isNamed ? html` To follow the leader: <code>kubectl -n ${namespace} port-forward pod/${pod} 10259</code>` : " There is no leader at the moment."}
  </p>`;
}
