// The decisions of a scheduler, newest first; new ones wait while the reader has scrolled down.

import { html } from "../html.js";
import { useRef, useState } from "../vendor/preact.js";
import { Waiting } from "../loading.js";
import { formatCount, formatNumber, formatTime } from "../numbers.js";
import { makeAddress, makeNodeAddress } from "../routes.js";
import { foldFailures, useRows } from "../rows.js";
import { RejectedBy } from "./links.js";
import { Names } from "./pending.js";
import { nameDecidingVersion } from "./rollout.js";

const MOST_SHOWN = 200;
const RESULTS = ["scheduled", "unschedulable", "error"];

export function DecisionsView({ status, options, problem }) {
  const { rows, error: ownError, isKnown } = useRows(status);
  const error = problem ? null : ownError; // the frame of the page says it already
  const [held, setHeld] = useState(null);
  const [isPaused, setIsPaused] = useState(false);
  const top = useRef(null);
  if (!isKnown) return html`<h1>Decisions</h1><${Waiting} error=${error} what="reading the decisions" />`;
  if (status.decisions === 0 && rows.length === 0) {
    return html`<h1>Decisions</h1>${error && html`<p class="error" role="alert">${error.message}</p>`}
      <p>${status.kind === "scheduler" ? "the scheduler has not decided about a pod yet" : html`${status.title} has no scheduler that the page could follow. <a href="#/pending">Pending</a> shows what would be decided.`}</p>`;
  }
  const shown = held ?? rows;
  const matches = foldFailures(filterRows(shown, options));
  const end = matches[MOST_SHOWN]?.missed ? MOST_SHOWN + 1 : MOST_SHOWN;
  const hasStages = shown.some((row) => row.rolloutStage);
  const news = held === null ? 0 : countNews(rows, held);
  const scroll = (event) => {
    const isScrolled = event.target.scrollTop > 0;
    if (isScrolled && held === null) setHeld(rows);
    if (!isScrolled && held !== null && !isPaused) setHeld(null);
  };
  const showNews = () => {
    top.current.scrollTop = 0;
    setHeld(isPaused ? rows : null);
  };
  const pause = () => {
    setIsPaused(!isPaused);
    setHeld(isPaused && top.current.scrollTop === 0 ? null : (held ?? rows));
  };
  return html`
    <h1>Decisions</h1>
    <${Filters} rows=${rows} options=${options} />
    ${error && html`<p class="error" role="alert">${error.message}</p>`}
    ${problem && html`<p class="warning">no answer since ${formatTime(new Date(status.askedAt).toISOString())}: these are the decisions known until then</p>`}
    <p class="buttons">
      ${status.kind === "scheduler" && html`<button aria-pressed=${isPaused} onClick=${pause}>pause</button>`}
      ${news > 0 && html`<button onClick=${showNews}>${formatCount(news, "new decision")}: show</button>`}
    </p>
    <div class="scrolls decisions-scroll" ref=${top} onScroll=${scroll} tabindex="0" role="region" aria-label="Decisions">
      <table class="decisions cards">
        <thead><tr><th scope="col">time</th><th scope="col">pod</th><th scope="col">node</th><th scope="col">fits on</th><th scope="col">why</th><th scope="col">profile</th><th scope="col">policies version</th>${hasStages && html`<th scope="col">in the rollout</th>`}</tr></thead>
        <tbody>
          ${matches.slice(0, end).map((row) => (row.missed ? html`<${Gap} key=${row.number} missed=${row.missed} columns=${hasStages ? 8 : 7} />` : html`<${Row} key=${row.number} row=${row} hasStages=${hasStages} />`))}
        </tbody>
      </table>
    </div>
    ${matches.length === 0 && html`<p>none of the ${formatCount(shown.length, "newest decision")} is so</p>`}
  `;
}

/** Returns the number of decisions that have ended since the held ones. */
function countNews(rows, held) {
  const newest = held.reduce((most, { number }) => Math.max(most, Math.abs(number)), 0);
  return rows.reduce((sum, row) => sum + (Math.abs(row.number) > newest ? (row.missed ?? 1) : 0), 0);
}

function filterRows(rows, options) {
  const result = options.get("result") ?? "";
  const profile = options.get("profile") ?? "";
  const text = (options.get("text") ?? "").toLowerCase();
  if (!result && !profile && !text) return rows;
  return rows.filter(
    (row) =>
      !row.missed &&
      (!result || row.result === result) &&
      (!profile || row.profile === profile) &&
      (!text || [row.pod, row.node, row.message, row.by, row.hash].some((each) => each.toLowerCase().includes(text))),
  );
}

function Filters({ rows, options }) {
  const profiles = [...new Set(rows.filter((row) => !row.missed).map((row) => row.profile))].sort();
  const change = (name) => (event) => {
    const chosen = { ...Object.fromEntries(options), [name]: event.target.value };
    location.replace(makeAddress(["decisions"], chosen));
  };
  const choice = (name, values) => html`<label>${name}${" "}
    <select name=${name} value=${options.get(name) ?? ""} onChange=${change(name)}>
      <option value="">all</option>
      ${values.map((value) => html`<option value=${value}>${value}</option>`)}
    </select></label>`;
  return html`<form class="settings" onSubmit=${(event) => event.preventDefault()}>
    ${choice("result", RESULTS)} ${choice("profile", profiles)}
    <label>text <input name="text" type="search" value=${options.get("text") ?? ""} onInput=${change("text")} autocomplete="off" spellcheck=${false} /></label>
  </form>`;
}

function Gap({ missed, columns }) {
  return html`<tr class="gap"><td colspan=${columns}>${formatNumber(missed)} more were made in between</td></tr>`;
}

function Row({ row, hasStages }) {
  const first = row.others.at(-1);
  return html`<tr class=${row.result === "scheduled" ? "" : "failed"}>
    <td data-title="time" title=${row.time}>${formatTime(row.time)}${first && html`<br />${formatCount(row.others.length + 1, "attempt")} since ${formatTime(first.time)}`}</td>
    <th scope="row"><${Names} names=${[...new Set([row, ...row.others].map(({ pod }) => pod))]} /></th>
    <td data-title="node">${row.node === "" ? "none" : html`<a href=${makeNodeAddress(row.node)}>${row.node}</a>`}${row.result === "error" ? " (error)" : ""}</td>
    <td data-title="fits on">${formatNumber(row.feasible)} of ${formatNumber(row.nodes)}</td>
    <td><${Cause} row=${row} /></td>
    <td data-title="profile">${row.profile}</td>
    <td data-title="policies version">${row.hash}</td>
    ${hasStages && html`<td>${row.rolloutStage && describeStage(row)}</td>`}
  </tr>`;
}

/** Says which of the two versions decided, and in which stage. */
function describeStage({ rolloutStage, hash }) {
  const stage = rolloutStage.slice(rolloutStage.indexOf(": ") + 2);
  return html`<span title=${`rollout of ${rolloutStage}`}>${nameDecidingVersion({ stage: rolloutStage, hash })}, ${stage}</span>`;
}

function Cause({ row }) {
  if (row.message) return html`${row.message}`;
  if (!row.by) return row.feasible === 1 ? "the only node that fits" : "equal points, chosen at random";
  return html`<${RejectedBy} by=${row.by} /> +${formatNumber(row.amount)} points`;
}
