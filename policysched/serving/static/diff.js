// What differs between two texts, line by line. Pure functions.

const MOST_CELLS = 4_000_000;
const CONTEXT = 2;

/**
 * Returns the lines of both texts as { mark, text }: "-" only before, "+" only after, " " in both,
 * by the longest common subsequence. Texts of thousands of lines count as wholly different.
 */
export function diffLines(before, after) {
  return diffParts(before.split("\n"), after.split("\n"));
}

function diffParts(old, now) {
  if (old.length * now.length > MOST_CELLS) {
    return [...old.map((text) => ({ mark: "-", text })), ...now.map((text) => ({ mark: "+", text }))];
  }
  const lengths = measureCommon(old, now);
  const found = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      found.push({ mark: " ", text: old[i] });
      i += 1;
      j += 1;
    } else if (j >= now.length || (i < old.length && lengths[i + 1][j] >= lengths[i][j + 1])) {
      found.push({ mark: "-", text: old[i] });
      i += 1;
    } else {
      found.push({ mark: "+", text: now[j] });
      j += 1;
    }
  }
  return found;
}

/**
 * Returns the lines with `parts` [{ text, isChanged }]. The words that differ are known where as many
 * lines are removed as are added in their place; else, the whole line differs.
 */
export function markWords(lines) {
  const marked = lines.map((line) => ({ ...line, parts: [{ text: line.text, isChanged: false }] }));
  for (let start = 0; start < lines.length; start += 1) {
    if (lines[start].mark !== "-" || lines[start - 1]?.mark === "-") continue;
    const removed = countMarks(lines, start, "-");
    if (countMarks(lines, start + removed, "+") !== removed) continue;
    for (let each = start; each < start + removed; each += 1) {
      const words = diffParts(splitWords(lines[each].text), splitWords(lines[each + removed].text));
      marked[each].parts = selectParts(words, "-");
      marked[each + removed].parts = selectParts(words, "+");
    }
  }
  return marked;
}

function countMarks(lines, start, mark) {
  const rest = lines.slice(start).findIndex((line) => line.mark !== mark);
  return rest < 0 ? lines.length - start : rest;
}

function splitWords(text) {
  return text.match(/[\p{L}\p{N}_.-]+|\s+|[^]/gu) ?? [];
}

/** Returns the parts of one side. */
function selectParts(words, side) {
  return words.filter(({ mark }) => mark === " " || mark === side).map(({ mark, text }) => ({ text, isChanged: mark === side }));
}

/** Returns, for each pair of positions, how many lines the rests of both texts have in common. */
function measureCommon(old, now) {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      lengths[i][j] = old[i] === now[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
}

/** Keeps the lines that differ, with two lines around them; "…" stands for what is left out. */
export function keepChanges(lines) {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some((line) => line.mark !== " "),
  );
  return lines.flatMap((line, index) => {
    if (isNear[index]) return [line];
    return index > 0 && !isNear[index - 1] ? [] : [{ mark: " ", text: "…" }];
  });
}
