// Values that outlive the view that sets them, such as the edits of this tab.

import { useEffect, useState } from "./vendor/preact.js";

/** Returns { get, set, use } of a value; `use` is a hook that draws its view again after each `set`. */
export function makeShared(first) {
  let value = first;
  const viewers = new Set();
  const use = () => {
    const [, draw] = useState(null);
    useEffect(() => {
      const drawAgain = () => draw({});
      viewers.add(drawAgain);
      return () => viewers.delete(drawAgain);
    }, []);
    return value;
  };
  const set = (next) => {
    value = next;
    for (const drawAgain of viewers) drawAgain();
  };
  return { get: () => value, set, use };
}
