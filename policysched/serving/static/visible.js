// Text from a cluster is not trusted: characters that a reader cannot see could make one name look
// like another, so they are shown by their number.

export const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

/** Returns the text with ‹U+202E› in place of each character without a visible form. */
export function showText(text) {
  return text.replace(UNSEEN, (character) => showCharacter(character.codePointAt(0)));
}

/** Returns ‹U+202E› for the number of a character. */
export function showCharacter(code) {
  return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
}
