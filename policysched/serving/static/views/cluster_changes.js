// The bindings that a new decision would place on one member cluster, change there, or take away.

import { html } from "../html.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatCount, formatNumber } from "../numbers.js";
import { makeAddress, makePodAddress } from "../routes.js";
import { compareTargets } from "../targets.js";
import { TargetChanges } from "./binding.js";
import { TableRegion } from "./tables.js";

export function ClusterChanges({ cluster, generation }) {
  const { answer, error } = useAnswer(() => ask("pending"), [generation]);
  if (!answer) return html`<h2>New decisions</h2><${Waiting} error=${error} what="deciding about the bindings" />`;
  const rows = answer.pods.flatMap(({ pod, present, shares }) =>
    compareTargets(present, shares)
      .filter(({ name, now, next }) => name === cluster && now !== next)
      .map((target) => ({ ...target, name: pod, address: makePodAddress(pod) })),
  );
  return html`
    <h2>New decisions would change ${formatCount(rows.length, "binding")} here</h2>
    <p class="quiet"><${Coverage} answer=${answer} />Karmada decides again about a placed binding only after a change. <a href=${makeAddress(["pending"])}>All changes</a></p>
    ${rows.length > 0 && html`<${TableRegion} label="Bindings that a new decision would change here">
      <${TargetChanges} head="binding" rows=${rows} />
    <//>`}
  `;
}

/** Says which bindings are not among those that count here. */
function Coverage({ answer }) {
  const { decided, bindings, total, pods } = answer;
  return html`${decided < bindings && `Only ${formatNumber(decided)} of ${formatCount(bindings, "binding")} are decided. `}${total > pods.length && `Only the first ${formatNumber(pods.length)} of ${formatCount(total, "change")} count here. `}`;
}
