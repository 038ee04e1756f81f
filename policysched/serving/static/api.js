// Requests to the server of `ui`, or to a scheduler that serves the page itself (`live_answers.py`).

const KEY_NAME = "policysched key";
/** Below /ui/, a scheduler itself serves the page; its users have tokens instead of a key. */
export const isServedByScheduler = /\/ui\/$/.test(location.pathname);
const ROOT = isServedByScheduler ? "../debug/page/" : "api/";

export const NO_ANSWER = `policysched does not answer; is policysched ${isServedByScheduler ? "run" : "ui"} still running?`;

let token = "";

/** Takes the token of the user, which is kept only while the page is open. */
export function setToken(typed) {
  token = typed;
}

/** An answer with an error, or no answer. `status` is the HTTP status, 0 without an answer. */
export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Takes the key out of the address bar, where it would get into the history; returns whether there was one. */
export function takeKeyFromAddress() {
  const found = /^#key=([\w-]+)$/.exec(location.hash);
  if (found === null) return false;
  localStorage.setItem(KEY_NAME, found[1]);
  history.replaceState(null, "", `${location.pathname}#/cluster`);
  return true;
}

async function request(path, settings) {
  const key = isServedByScheduler ? token : (localStorage.getItem(KEY_NAME) ?? "");
  let response;
  try {
    response = await fetch(path, {
      ...settings,
      headers: { Authorization: `Bearer ${key}` },
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(NO_ANSWER, 0);
  }
  const text = await response.text();
  if (response.headers.get("Content-Type") !== "application/json") {
    throw new ApiError(text.trim(), response.status);
  }
  const answer = JSON.parse(text);
  if (!response.ok) throw new ApiError(answer.error ?? answer.message, response.status);
  return answer;
}

/**
 * Returns the answer to a question, such as `ask("explain", { pod: "prod/web-0" })`. A `signal`
 * cancels the request.
 */
export function ask(name, parameters = {}, signal = undefined) {
  const query = new URLSearchParams(parameters).toString();
  return request(`${ROOT}${name}${query && `?${query}`}`, { signal });
}

function post(name, question) {
  return request(`${ROOT}${name}`, { method: "POST", body: JSON.stringify(question) });
}

/** Lets something happen in the demo, and returns the new status. */
export function takeStep(name) {
  return request(`${ROOT}step`, { method: "POST", body: name });
}

/** Returns the answer to a question about edited policies: { kind, texts, name, at }. */
export function askLanguage(question) {
  return post("language", question);
}

/** Starts a plan from the policies in use to edited ones, and returns { job }. */
export function startPlan(inUse, texts) {
  return post("plan", { inUse, texts });
}

/** Returns a plan when it is finished, or its progress after some seconds. */
export function askPlan(job, wait) {
  return ask("plan", { job, wait });
}
