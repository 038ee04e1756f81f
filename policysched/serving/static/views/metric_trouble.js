// The sources of metrics that do not answer, and the rules without samples.

import { html } from "../html.js";
import { formatTime } from "../numbers.js";
import { makeRuleAddress } from "../routes.js";

/** Says which sources of metrics do not answer, and which rules are without samples. */
export function MetricTrouble({ process }) {
  const { downSources, rulesWithoutSamples } = process;
  const metrics = [...new Set(rulesWithoutSamples.map(({ metric }) => metric))];
  const [held, skipped] = [true, false].map((holds) => [...new Set(rulesWithoutSamples.filter(({ holdsPods }) => holdsPods === holds).map(({ rule }) => rule))]);
  return html`<p class="error banner" role="alert">▲
    ${downSources.map(({ name, since, problem }) => ` metrics source ${name} is down${since && ` since ${formatTime(since)}`}: ${problem}. `)}
    ${downSources.length > 0 && "Samples count until they are older than maxAge. "}
    ${rulesWithoutSamples.length > 0 && `No node has a valid sample of ${metrics.join(", ")}. `}
    ${skipped.length > 0 && html`These rules are skipped: <${RuleLinks} names=${skipped} />. `}
    ${held.length > 0 && html`Pods wait for these rules: <${RuleLinks} names=${held} />.`}
  </p>`;
}

function RuleLinks({ names }) {
  return names.map((name, index) => html`${index > 0 ? ", " : ""}<a href=${makeRuleAddress(name)}>${name}</a>`);
}
