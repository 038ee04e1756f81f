// The form in which a user of a scheduler's own page types a token.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { setToken } from "../api.js";

const REFUSALS = {
  401: "this token was refused (401)",
  403: "the user of this token has no right to see this (403)",
};

export function TokenForm({ problem, onToken }) {
  const [isTyped, setIsTyped] = useState(false);
  const take = (event) => {
    event.preventDefault();
    setToken(new FormData(event.target).get("token").trim());
    setIsTyped(true);
    onToken();
  };
  return html`<form class="token" onSubmit=${take}>
    <h1>Who are you?</h1>
    <p>This scheduler shows its state to users with the right to get <code>/debug/*</code>, such as the ClusterRole policysched-debug-reader gives.</p>
    ${isTyped && html`<p class="error" role="alert">${REFUSALS[problem.status]}: ${problem.message}</p>`}
    <label>token <input name="token" type="password" autocomplete="off" required /></label> <button>show</button>
    <p class="quiet"><code>kubectl -n NAMESPACE create token NAME</code> prints one; NAME is a ServiceAccount in NAMESPACE to which this ClusterRole is bound. The token is kept only while this page is open.</p>
  </form>`;
}
