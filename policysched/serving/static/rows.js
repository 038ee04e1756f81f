// The rows of decisions: how the page gets and keeps them.

import { useEffect, useState } from "./vendor/preact.js";
import { ask } from "./api.js";

const FIELDS = [
  "number", "pod", "uid", "profile", "result", "node", "feasible", "nodes", "hash", "time",
  "seconds", "message", "by", "amount", "rolloutStage",
];
const MOST_KEPT = 2000;
const WAIT_SECONDS = 15;
const PAUSE_MILLISECONDS = 500;
const RETRY_MILLISECONDS = 2000;

/** The rows that were shown last; they outlive the view, also while the scheduler does not answer. */
let last;

const NOTHING = { startedAt: "", next: 0, rows: [], isKnown: false, error: null };

/**
 * Returns { rows, error, isKnown } with the newest decision first. A row with `missed` stands for
 * decisions that were made in between and never sent.
 */
export function useRows(status) {
  const isFollowed = status.kind === "scheduler";
  const [state, setState] = useState(isFollowed && last ? { ...last, error: null } : NOTHING);
  useEffect(() => {
    if (isFollowed) return follow(state, setState);
    let isCurrent = true;
    ask("decisions").then(
      (answer) => isCurrent && setState(addAnswer(NOTHING, answer)),
      (error) => isCurrent && setState((before) => ({ ...before, error })),
    );
    return () => {
      isCurrent = false;
    };
  }, [isFollowed, isFollowed || status.decisions]);
  return state;
}

/** Asks for the next rows again and again, and returns the function that ends it. */
function follow(first, setState) {
  const ending = new AbortController();
  const run = async () => {
    let state = first;
    while (!ending.signal.aborted) {
      try {
        await waitUntilVisible();
        const wait = state.isKnown && state !== first ? WAIT_SECONDS : 0;
        const answer = await ask("decisions", { after: state.next, wait }, ending.signal);
        const isAnotherRun = state.startedAt !== "" && state.startedAt !== answer.startedAt;
        state = isAnotherRun ? NOTHING : addAnswer(state, answer);
        if (isAnotherRun) continue;
        last = state;
        setState(state);
        await pause(PAUSE_MILLISECONDS);
      } catch (error) {
        if (ending.signal.aborted) return;
        state = { ...state, error };
        setState(state);
        await pause(RETRY_MILLISECONDS);
      }
    }
  };
  run();
  return () => ending.abort();
}

function addAnswer(state, answer) {
  const rows = answer.rows.map((row) => Object.fromEntries(FIELDS.map((name, index) => [name, row[index]])));
  if (answer.missed > 0 && state.isKnown) rows.unshift({ number: `-${answer.next}`, missed: answer.missed });
  return {
    startedAt: answer.startedAt,
    next: answer.next,
    rows: sortByDecision([...rows.reverse(), ...state.rows]).slice(0, MOST_KEPT),
    isKnown: true,
    error: null,
  };
}

/** Rows arrive in the order in which attempts end, which is that of bindings; a gap keeps its place. */
function sortByDecision(rows) {
  const parts = splitAtGaps(rows);
  for (const part of parts) part.sort((one, other) => other.time.localeCompare(one.time) || other.number - one.number);
  return joinAtGaps(parts, rows);
}

/** Returns the rows between gaps. */
function splitAtGaps(rows) {
  const parts = [[]];
  for (const row of rows) {
    if (row.missed) parts.push([]);
    else parts.at(-1).push(row);
  }
  return parts;
}

/** Puts the gaps of `rows` between parts of them again. */
function joinAtGaps([first, ...parts], rows) {
  const gaps = rows.filter((row) => row.missed);
  return [...first, ...parts.flatMap((part, index) => [gaps[index], ...part])];
}

/**
 * Returns the rows with failures alike as one: `others` has the earlier attempts, also of other pods.
 * A gap separates them.
 */
export function foldFailures(rows) {
  return joinAtGaps(splitAtGaps(rows).map(foldPart), rows);
}

function foldPart(rows) {
  const folded = new Map();
  for (const row of rows) {
    const { number, result, message, by, amount, profile, hash, feasible, nodes, rolloutStage } = row;
    const key = result === "scheduled" ? number : JSON.stringify([result, message, by, amount, profile, hash, feasible, nodes, rolloutStage]);
    if (folded.has(key)) folded.get(key).others.push(row);
    else folded.set(key, { ...row, others: [] });
  }
  return [...folded.values()];
}

/** Lets tabs in the background wait: browsers allow six connections to a server for all tabs. */
function waitUntilVisible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
