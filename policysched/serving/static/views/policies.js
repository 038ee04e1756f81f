// The policies in use: the text of each file with findings, and the rules of each profile.

import { html } from "../html.js";
import { useEffect, useRef } from "../vendor/preact.js";
import { ask, askLanguage, isServedByScheduler } from "../api.js";
import { shortenNames } from "../file_names.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatCount, formatMoment, formatNumber } from "../numbers.js";
import { makeAddress, makeRuleAddress } from "../routes.js";
import { words } from "../words.js";
import { breakName } from "./links.js";
import { EffectsNote, RuleEffect, useRuleEffects } from "./rule_effects.js";

/** The rules that are counted above all others. */
const MOST_RULES = 5;

const SEVERITIES = ["error", "warning", "info"];
/** So many findings are shown at once; more of them hide the rules. */
const MOST_OPEN = 5;

/** @param hasVersions whether a running scheduler also has earlier versions */
export function PoliciesView({ kind, what, options, hasVersions, generation }) {
  const { answer, error } = useAnswer(() => ask("policies"), [generation]);
  const lint = useLint(answer, generation);
  const effects = useRuleEffects(!hasVersions && !words.areBindings, generation);
  if (!answer) return html`<${Waiting} error=${error} what="reading the policies" />`;
  if (answer.files.length === 0) {
    return html`<h1>Policies</h1>
      <p>There are ${words.withoutPolicies}. <a href="#/edit">Write one</a></p>`;
  }
  const rules = answer.profiles.flatMap((profile) => profile.rules);
  const rule = kind === "rules" ? rules.find((each) => each.name === what) : undefined;
  const place = rule ? { file: rule.file, line: rule.line } : { file: kind === "policies" ? what : "", line: Number(options.get("line")) || undefined };
  const file = answer.files.find((each) => isOfFile(place, each)) ?? answer.files[0];
  const short = shortenNames(answer.files.map((each) => each.name));
  return html`
    <h1>Policies</h1>
    <p class="quiet">version in use${answer.reading && " by the page"}: ${answer.hash}${hasVersions && html` · <a href=${makeAddress(["versions"])}>earlier versions</a>`}${answer.reading && ` · read at ${formatMoment(answer.reading.readAt)} from ${file.name}; start policysched ui again to read it anew`}</p>
    ${answer.reading?.changed.length > 0 && html`<p class="warning">changed since then, which the page does not show: ${answer.reading.changed.join(", ")}</p>`}
    ${kind === "rules" && !rule && html`<p class="error" role="alert">No rule is called ${what} in the policies in use.</p>`}
    <nav class="files" aria-label="Policy files">
      ${answer.files.map((each) => html`<a href=${makeAddress(["policies", each.name])} title=${each.name} aria-current=${each === file ? "true" : undefined}>${short[each.name]}</a> `)}
      <a href=${makeAddress(["edit"], { file: file.name, line: place.line })}>edit ${short[file.name]}</a>
    </nav>
    <div class="policies">
      <${PolicyText} file=${file} rule=${rule} line=${place.line} findings=${lint.answer?.findings ?? answer.findings} />
      <div>
        <${Findings} lint=${lint} short=${short} />
        <${Rules} profiles=${answer.profiles} since=${answer.since} chosen=${rule} effects=${effects} />
      </div>
    </div>
  `;
}

/**
 * Returns { answer, error, isWaiting } with the findings of `lint` about the policies in use. They
 * arrive after the texts; the page of a scheduler has only those of the check.
 */
function useLint(policies, generation) {
  const files = isServedByScheduler ? [] : (policies?.files ?? []);
  const question = () => ({ kind: "findings", texts: Object.fromEntries(files.map(({ name, text }) => [name, text])), name: files[0].name });
  return useAnswer(() => (files.length > 0 ? askLanguage(question()) : Promise.resolve(null)), [files.length, policies?.hash, generation]);
}

/** Lists all findings, each with a link to its line. */
function Findings({ lint, short }) {
  const { answer, error, isWaiting } = lint;
  if (error) return html`<p class="quiet">no findings of lint: ${error.message}</p>`;
  if (!answer) return isWaiting && html`<${Waiting} what="looking for findings" />`;
  const { findings, total } = answer;
  if (total === 0) return html`<p class="quiet">no findings of lint</p>`;
  const sorted = SEVERITIES.flatMap((severity) => findings.filter((each) => each.severity === severity));
  const counts = SEVERITIES.map((severity) => [severity, findings.filter((each) => each.severity === severity).length]);
  const parts = counts.filter(([, count]) => count > 0).map(([severity, count]) => (severity === "info" ? `${formatNumber(count)} info` : formatCount(count, severity)));
  const more = total - findings.length;
  return html`<details open=${findings.length <= MOST_OPEN}>
    <summary>${formatCount(total, "finding")} of lint: ${parts.join(", ")}${more > 0 && `, ${formatNumber(more)} more`}</summary>
    <ul class="findings">
      ${sorted.map((each) => html`<li class=${each.severity}><a href=${makeAddress(["policies", each.file], { line: each.line })}>${short[each.file]}:${each.line}</a> ${each.severity} ${each.code}: ${each.message}</li>`)}
    </ul>
  </details>`;
}

function isOfFile(place, file) {
  return place.file === file.name || place.file.endsWith(`/${file.name}`);
}

/** Returns the numbers of the lines of a rule, of which the statement is `length` characters from its column on. */
function listLines({ line, column = 1, length = 0 }, text) {
  const rest = text.split("\n").slice(line - 1).join("\n");
  const statement = [...rest].slice(column - 1, column - 1 + length).join("").trimEnd();
  return statement.split("\n").map((_, index) => line + index);
}

function PolicyText({ file, rule, line, findings }) {
  const chosen = useRef(null);
  const lines = rule ? listLines(rule, file.text) : [line];
  useEffect(() => {
    if (chosen.current === null) return;
    chosen.current.scrollIntoView({ block: "center" }); // in its box, and on the screen
  }, [file.name, lines[0]]);
  return html`<div class="text" tabindex="0" role="region" aria-label=${file.name}>
    <h2>${file.name}</h2>
    <ol>
      ${file.text.split("\n").map((text, index) => {
        const found = findings.filter((each) => isOfFile(each, file) && each.line === index + 1);
        return html`<li class=${lines.includes(index + 1) ? "chosen" : ""} ref=${index + 1 === lines[0] ? chosen : null}>
          <code>${text || " "}</code>
          ${found.map((each) => html`<p class=${each.severity}>${each.code}: ${each.message}${each.help ? ` (${each.help})` : ""}</p>`)}
        </li>`;
      })}
    </ol>
  </div>`;
}

/** Shows how often a filter has rejected nodes since the running scheduler loaded it. */
function Effect({ rule, compared }) {
  if (rule.attempts > 0) return html`<p>rejected ${formatCount(rule.rejected, "node")} in ${formatCount(rule.attempts, "attempt")}</p>`;
  // An older scheduler counts no leads.
  if (rule.weight !== null && compared > 0) return html`<p class="quiet">gave the chosen node its largest lead in ${formatNumber(rule.led)} of ${formatCount(compared, "decision")}</p>`;
  return isFilter(rule) && html`<p class="quiet">has rejected no node yet</p>`;
}

/** Lists the rules that have rejected the most nodes, all profiles together. */
function MostRejecting({ rules, since }) {
  const sums = new Map();
  for (const { name, rejected, attempts } of rules) {
    const sum = sums.get(name) ?? { name, rejected: 0, attempts: 0 };
    sums.set(name, { name, rejected: sum.rejected + rejected, attempts: sum.attempts + attempts });
  }
  const most = [...sums.values()].filter(({ rejected }) => rejected > 0).sort((one, other) => other.rejected - one.rejected);
  return html`<h2>Rules that reject the most nodes</h2>
    <p class="quiet">counted since this version was loaded, ${formatMoment(since)}</p>
    ${most.length === 0
      ? html`<p>No rule has rejected a node yet.</p>`
      : html`<table class="rejects">
          <thead><tr><th scope="col">rule</th><th scope="col">nodes</th><th scope="col">attempts</th></tr></thead>
          <tbody>
            ${most.slice(0, MOST_RULES).map(
              (rule) => html`<tr>
                <th scope="row"><a href=${makeRuleAddress(rule.name)}>${breakName(rule.name)}</a></th>
                <td>${formatNumber(rule.rejected)}</td>
                <td>${formatNumber(rule.attempts)}</td>
              </tr>`,
            )}
          </tbody>
        </table>`}`;
}

function isFilter({ weight, kind }) {
  return weight === null && kind !== "tolerate";
}

/** Shows the rules of each profile, and then the names of profiles without any. */
function Rules({ profiles, since, chosen, effects }) {
  const effectOf = (profile, rule) => (rule.isOfProfile === false ? undefined : effects.answer?.profiles[profile.name]?.[rule.name]);
  const [acting, empty] = [true, false].map((hasRules) => profiles.filter(({ rules }) => rules.length > 0 === hasRules));
  return html`<div class="rules">
    ${since && html`<${MostRejecting} rules=${acting.flatMap(({ rules }) => rules)} since=${since} />`}
    <${EffectsNote} effects=${effects} />
    ${acting.map(
      (profile) => html`<h2>profile ${profile.name}</h2>
        <table>
          ${profile.rules.map(
            (rule) => html`<tr class=${chosen && rule.name === chosen.name ? "chosen" : ""}>
              <th scope="row">
                <a href=${makeRuleAddress(rule.name)}>${breakName(rule.name)}</a>
                ${rule.attempts !== undefined && html`<${Effect} rule=${rule} compared=${profile.compared} />`}
                ${effectOf(profile, rule) && html`<${RuleEffect} effect=${effectOf(profile, rule)} isFilter=${isFilter(rule)} />`}
                ${rule.isOfProfile === false && html`<p class="quiet">of a policy of other profiles: their placed pods keep pods of this profile away</p>`}
              </th>
              <td>${describeRule(rule)}</td>
            </tr>`,
          )}
        </table>`,
    )}
    ${empty.length > 0 && html`<p class="quiet">${empty.length === 1 ? "profile" : "profiles"} without rules: ${empty.map(({ name }) => name).join(", ")}</p>`}
  </div>`;
}

function describeRule({ weight, kind }) {
  if (kind === "tolerate") return "adds tolerations";
  return weight === null ? "" : `weight ${formatNumber(weight)}`;
}
