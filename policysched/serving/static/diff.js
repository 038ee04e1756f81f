// What differs between two texts, line by line. Pure functions.

const MOST_CELLS = 4_000_000;
const CONTEXT = 2;

/**
 * Returns the lines of both texts as { mark, text }: "-" only before, "+" only after, " " in both,
 * by the longest common subsequence. Texts of thousands of lines count as wholly different.
 */
export function diffLines(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
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
