// A button that copies a text, and says for a moment that it has.

import { html } from "../html.js";
import { useEffect, useState } from "../vendor/preact.js";

const SHOWN_MILLISECONDS = 2000;
const COPIED = "copied";

export function CopyButton({ text }) {
  const [result, setResult] = useState("");
  const isRefused = result !== "" && result !== COPIED;
  useEffect(() => {
    if (result === "") return undefined;
    const timer = setTimeout(() => setResult(""), SHOWN_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setResult(COPIED);
    } catch {
      setResult("the browser refuses: select the text and copy it");
    }
  };
  return html`<button onClick=${copy}>copy</button> <span class=${isRefused ? "error" : "fits"} aria-live="polite">${result}</span>`;
}
