// The field that finds pods, nodes and rules by a part of their name.

import { html } from "../html.js";
import { useEffect, useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { formatCount } from "../numbers.js";
import { go, makeNodeAddress, makePodAddress, makeRuleAddress } from "../routes.js";
import { words } from "../words.js";

const PAUSE_MILLISECONDS = 150;
/** So many names of each kind are shown. */
const MOST_NAMES = 8;
const KINDS = [
  ["pods", () => words.pod, makePodAddress],
  ["nodes", () => words.node, makeNodeAddress],
  ["rules", () => "rule", makeRuleAddress],
];

export function Search() {
  const [text, setText] = useState("");
  const [found, setFound] = useState(null);
  const [more, setMore] = useState("");
  const [chosen, setChosen] = useState(0);
  useEffect(() => {
    if (text === "") {
      setFound(null);
      return undefined;
    }
    const timer = setTimeout(() => {
      ask("find", { text: text.slice(0, 200) }).then(
        (answer) => {
          setFound(listMatches(answer));
          setMore(describeOthers(answer));
          setChosen(0);
        },
        () => setFound([]),
      );
    }, PAUSE_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [text]);

  const open = (match) => {
    setText("");
    document.querySelector("#find").blur(); // so that keys work in the view
    go(match.address);
  };
  const press = (event) => {
    if (event.key === "Escape") setText("");
    if (found === null || found.length === 0) return;
    if (event.key === "Enter") open(found[chosen]);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      setChosen((chosen + step + found.length) % found.length);
    }
  };
  return html`<div class="search" role="search">
    <input
      id="find"
      type="search"
      placeholder=${`find ${words.pod}, ${words.node}, rule  /`}
      aria-label=${`Find a ${words.pod}, a ${words.node} or a rule`}
      role="combobox"
      aria-expanded=${found !== null}
      aria-controls="matches"
      aria-activedescendant=${found && found.length ? `match-${chosen}` : undefined}
      autocomplete="off"
      spellcheck=${false}
      value=${text}
      onInput=${(event) => setText(event.target.value)}
      onKeyDown=${press}
    />
    ${found !== null &&
    html`<ul id="matches" role="listbox" aria-label="Matches">
      ${found.length === 0 && html`<li class="quiet" role="option">no pod, node or rule with this name</li>`}
      ${found.map(
        (match, index) => html`<li
          id=${`match-${index}`}
          role="option"
          aria-selected=${index === chosen}
          onMouseDown=${() => open(match)}
        >
          <span class="kind">${match.kind}</span> ${match.name}
        </li>`,
      )}
      ${found.length > 0 && more && html`<li class="quiet" role="option" aria-disabled="true">${more}: type more of the name</li>`}
    </ul>`}
  </div>`;
}

function listMatches(answer) {
  return KINDS.flatMap(([field, getKind, makeAddress]) =>
    answer[field].slice(0, MOST_NAMES).map((name) => ({ kind: getKind(), name, address: makeAddress(name) })),
  );
}

/** Returns how many names are not among the matches: `12 more pods, 1 more node`. */
function describeOthers({ counts }) {
  const others = KINDS.map(([field, getKind]) => [counts[field] - MOST_NAMES, getKind()]);
  return others.filter(([count]) => count > 0).map(([count, kind]) => formatCount(count, `more ${kind}`)).join(", ");
}
