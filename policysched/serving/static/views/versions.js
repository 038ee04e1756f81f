// The versions of the policies of a running scheduler: in use, refused, in a rollout, and earlier ones.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatMoment } from "../numbers.js";
import { makeAuthorCommand, makeRollbackCommand } from "../kubectl.js";
import { Changes } from "./changes.js";
import { ErrorText } from "./error_text.js";
import { Rollout } from "./rollout.js";

const OUTCOMES = {
  loaded: "came into use",
  refused: "was refused",
  frozen: "was held back",
  kept: "stayed in use",
  staged: "entered a stage",
  rolledBack: "was rolled back",
};

export function VersionsView({ generation }) {
  const { answer, error } = useAnswer(() => ask("versions"), [generation]);
  if (!answer) return html`<h1>Versions</h1><${Waiting} error=${error} what="reading the versions" />`;
  const author = makeAuthorCommand(answer.origin);
  const current = answer.versions.find((each) => each.inUse)?.texts ?? [];
  return html`
    <h1>Versions</h1>
    <p>source: ${answer.origin}${answer.isFrozen && html`, <b>frozen</b>: other versions are held back`}</p>
    <p class="quiet">The scheduler does not know who has edited them: ${author ? html`<code>${author}</code> names the latest writers, and ` : ""}the repository from which they come has its log.</p>
    ${answer.refused && html`<${Refused} refused=${answer.refused} />`}
    ${answer.rollout && html`<${Rollout} answer=${answer} />`}
    ${answer.warnings.map((warning) => html`<p class="warning">${warning}</p>`)}
    <h2>In use and before</h2>
    ${answer.versions.length === 0 && html`<p>There are no policies: pods are placed as by kube-scheduler.</p>`}
    ${answer.versions.map((version) => html`<${Version} key=${version.hash} version=${version} current=${current} rollback=${version.inUse ? "" : makeRollbackCommand(answer, version.hash)} />`)}
    ${answer.problem && html`<p class="warning">the history in ${answer.history} cannot be read: ${answer.problem}</p>`}
    ${answer.events.length > 0 && html`<${Events} events=${answer.events} refused=${answer.refused} />`}
  `;
}

function Refused({ refused }) {
  const { isRolledBack } = refused;
  return html`<section class="refused">
    <h2>${refused.hash ? `Version ${refused.hash}` : "The current content of the source"} ${isRolledBack ? "was rolled back" : "is refused"}</h2>
    <p class="quiet">${isRolledBack ? "at" : "since"} ${formatMoment(refused.at)}; the version in use ${isRolledBack ? "decides about all pods until the policies are edited" : "stays"}</p>
    <${ErrorText} text=${refused.errors} role="region" />
  </section>`;
}

function Version({ version, current, rollback }) {
  const [isOpen, setIsOpen] = useState(false);
  return html`<section class="version">
    <p>
      <button aria-expanded=${isOpen} onClick=${() => setIsOpen(!isOpen)}>version ${version.hash}</button>${" "}
      ${version.inUse ? html`<b class="fits">in use</b> since` : "last loaded"} ${formatMoment(version.loadedAt)}
      <span class="quiet"> from ${version.origin}</span>
    </p>
    ${rollback && html`<p class="quiet">restore it with <code>${rollback}</code></p>`}
    ${isOpen && !version.inUse && html`<h3>changes since then</h3><${Changes} from=${version.texts} to=${current} none="none in the texts: the params differ" />`}
    ${isOpen && version.texts.map((each) => html`<h3>${each.name}</h3><pre tabindex="0">${each.text}</pre>`)}
  </section>`;
}

/** @param refused the version whose errors are shown above */
function Events({ events, refused }) {
  return html`<h2>Since this process started</h2>
    <ul class="events">
      ${events.map(
        (event) => html`<li>
          ${formatMoment(event.at)}: ${event.hash || "the content of the source"} ${event.stage ? `entered ${event.stage}` : (OUTCOMES[event.outcome] ?? event.outcome)}
          ${event.errors && (event.errors === refused?.errors ? `, ${refused.isRolledBack ? "for the reason" : "with the errors"} above` : html`<${ErrorText} text=${event.errors} role="region" />`)}
        </li>`,
      )}
    </ul>`;
}
