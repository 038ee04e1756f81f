// The rollout of a new version of the policies: its stage and guards, or how it ended.

import { html } from "../html.js";
import { formatCount, formatMoment, formatNumber } from "../numbers.js";
import { makeRolloutCommand } from "../kubectl.js";

const ENDED = { promoted: "promoted", rolledBack: "rolled back", replaced: "replaced" };

/** @param answer the versions of a running scheduler that has had a rollout */
export function Rollout({ answer }) {
  const { rollout, refused } = answer;
  const isRunning = rollout.status === "running";
  const passed = rollout.status === "promoted" ? rollout.stageCount : rollout.stage - 1;
  return html`<section class="rollout">
    <h2>Rollout of version ${rollout.hash}</h2>
    <p>
      <progress max=${rollout.stageCount} value=${passed} aria-label="stages passed"></progress>${" "}
      ${!isRunning && html`<b class=${rollout.status === "promoted" ? "fits" : "rejected"}>${ENDED[rollout.status] ?? rollout.status}</b> at ${formatMoment(rollout.stageStartedAt)} in${" "}`}
      stage ${rollout.stage} of ${rollout.stageCount} (${rollout.stageName})${isRunning && html` since ${formatMoment(rollout.stageStartedAt)}${rollout.isPaused && html`, <b>paused</b>`}`}
    </p>
    ${rollout.reason && rollout.reason !== refused?.errors && html`<p>${rollout.reason}</p>`}
    <p>${formatCount(rollout.judgedPods, "pod")} judged in this stage, needed: ${formatNumber(rollout.minPods)}</p>
    ${rollout.guards.length > 0 && html`<h3>guards</h3><ul>${rollout.guards.map((guard) => html`<li>${guard}</li>`)}</ul>`}
    <p class="quiet">the rollout started at ${formatMoment(rollout.startedAt)}; version ${rollout.oldHash} ${isRunning ? "is" : "was"} in force</p>
    ${isRunning && html`<${Commands} answer=${answer} />`}
  </section>`;
}

/** Names the version that made a decision in a stage, which begins with the hash of the new version. */
export function nameDecidingVersion({ stage, hash }) {
  return stage.startsWith(`${hash}: `) ? "new version" : "version in force";
}

function Commands({ answer }) {
  const { rollout, isFrozen } = answer;
  const hold = rollout.isPaused ? [["continue it with", "resume"]] : [["hold this stage with", "pause"]];
  // A freeze holds the stage as well, and `resume` does not end it.
  const verbs = [...(isFrozen ? [] : hold), ["use the new version for all pods with", "promote"], ["return to the former version with", "abort"]];
  const commands = verbs.map(([text, verb]) => [text, makeRolloutCommand(answer, verb)]);
  return commands.filter(([, command]) => command).map(([text, command]) => html`<p class="quiet">${text} <code>${command}</code></p>`);
}
