// What the page knows about the screen and the wishes of the reader.

import { useEffect, useState } from "./vendor/preact.js";

export const NARROW = "(max-width: 720px)";
/** A screen that is pressed rather than pointed at; a narrow one is a phone also if it reports a mouse. */
export const PRESSED = "(pointer: coarse), (max-width: 720px)";
export const DARK = "(prefers-color-scheme: dark)";

/** Returns whether a media query applies, also after it has changed. */
export function useMedia(query) {
  const [isTrue, setIsTrue] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const list = window.matchMedia(query);
    const change = () => setIsTrue(list.matches);
    list.addEventListener("change", change);
    return () => list.removeEventListener("change", change);
  }, [query]);
  return isTrue;
}
