// A button that copies a text, and says for a moment that it has.

import { html } from "../html.js";
import { useEffect, useState } from "../vendor/preact.js";

const SHOWN_MILLISECONDS = 2000;

export function CopyButton({ text }) {
  const [result, setResult] = useState("");
  useEffect(() => {
    if (result === "") return undefined;
    const timer = setTimeout(() => setResult(""), SHOWN_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setResult("copied");
    } catch {
      setResult("the browser refuses: select the text and copy it");
    }
  };
  return html`<button onClick=${copy}>copy</button> <span class="fits" aria-live="polite">${result}</span>`;
}
