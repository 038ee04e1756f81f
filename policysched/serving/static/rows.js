// The rows of decisions: how the page gets and keeps them.

import { useEffect, useState } from "./vendor/preact.js";
import { ask } from "./api.js";

const FIELDS = [
  "number", "pod", "uid", "profile", "result", "node", "feasible", "nodes", "hash", "time",
  "seconds", "message", "by", "amount",
];
const MOST_KEPT = 2000;
const WAIT_SECONDS = 15;
const PAUSE_MILLISECONDS = 500;
const RETRY_MILLISECONDS = 2000;

const NOTHING = { startedAt: "", next: 0, rows: [], isKnown: false, error: null };

/**
 * Returns { rows, error, isKnown } with the newest row first. A row with `missed` stands for decisions
 * that were made in between and never sent.
 */
export function useRows(status) {
  const [state, setState] = useState(NOTHING);
  const isFollowed = status.kind === "scheduler";
  useEffect(() => {
    if (isFollowed) return follow(setState);
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
function follow(setState) {
  const ending = new AbortController();
  const run = async () => {
    let state = NOTHING;
    while (!ending.signal.aborted) {
      try {
        await waitUntilVisible();
        const wait = state.isKnown ? WAIT_SECONDS : 0;
        const answer = await ask("decisions", { after: state.next, wait }, ending.signal);
        const isAnotherRun = state.startedAt !== "" && state.startedAt !== answer.startedAt;
        state = isAnotherRun ? NOTHING : addAnswer(state, answer);
        if (isAnotherRun) continue;
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
    rows: [...rows.reverse(), ...state.rows].slice(0, MOST_KEPT),
    isKnown: true,
    error: null,
  };
}

/** Lets tabs in the background wait: browsers allow six connections to a server for all tabs. */
function waitUntilVisible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
