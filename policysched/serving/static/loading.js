// How views wait for answers, and what they show meanwhile.

import { useEffect, useErrorBoundary, useState } from "./vendor/preact.js";
import { NO_ANSWER } from "./api.js";
import { html } from "./html.js";

const RETRY_MILLISECONDS = 3000;

/**
 * Asks again whenever one of `inputs` changes, and returns { answer, error }. The last answer stays
 * until the next one arrives, so that a view does not flicker. An error of a server is asked about
 * again, because servers restart and tokens are renewed.
 */
export function useAnswer(makeQuestion, inputs) {
  const [state, setState] = useState({ answer: null, error: null, of: null });
  const asked = JSON.stringify(inputs);
  useEffect(() => {
    let isCurrent = true;
    let timer;
    const askOnce = () =>
      makeQuestion().then(
        (answer) => isCurrent && setState({ answer, error: null, of: asked }),
        (error) => {
          if (!isCurrent) return;
          setState({ answer: null, error, of: asked });
          if (error.status === 0 || error.status >= 500) timer = setTimeout(askOnce, RETRY_MILLISECONDS);
        },
      );
    askOnce();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [asked]);
  return { ...state, isWaiting: state.of !== asked };
}

/**
 * Returns a component whose script is loaded when it is shown for the first time, so that the first
 * view does not wait for the scripts of all others.
 *
 * @param load imports the module of the component
 * @param name what the module calls the component
 */
export function makeLazy(load, name) {
  let loaded = null;
  const loadOnce = async () => {
    try {
      loaded ??= (await load())[name];
    } catch {
      throw new Error(NO_ANSWER);
    }
    return true;
  };
  return function Lazy(properties) {
    const { error } = useAnswer(loadOnce, []);
    if (loaded) return html`<${loaded} ...${properties} />`;
    if (!error) return html`<${Waiting} what="loading the view" />`;
    // A browser does not ask again for a script that it could not load, until the page is loaded again.
    return html`<p class="error" role="alert">${error.message} <button onClick=${() => location.reload()}>load again</button></p>`;
  };
}

/** Shows an error, or that an answer is awaited. */
export function Waiting({ error, what }) {
  if (error) return html`<p class="error" role="alert">${error.message}</p>`;
  return html`<p class="quiet" role="status">${what} …</p>`;
}

/**
 * Shows one line in place of children that cannot be drawn, until `address` changes: a scheduler may
 * send answers that fit their form and still make no sense.
 */
export function Guarded({ address, children }) {
  const [error, forget] = useErrorBoundary();
  useEffect(() => forget(), [address]);
  if (!error) return html`<div key="view">${children}</div>`;
  return html`<p class="error" role="alert">This view cannot be drawn (${error.message}). Open another one, or load the page again.</p>`;
}
