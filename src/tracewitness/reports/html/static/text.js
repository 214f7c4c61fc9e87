// What stands in a report was written by models, tools and users. Every text goes through `visible` before it is shown.

/** What has no look of its own, or changes how its neighbours look: controls, bidirectional overrides, odd spaces. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]/gu;
const PICTURE = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F/u;
const ANY_UNSEEN = /[^\P{C}\n\t]|[^\P{Z} ]/u;

/** A number of the data that JavaScript has no exact value for, by its digits. */
class Numeral {
  constructor(digits) {
    this.digits = digits;
  }
}

function isContainer(value) {
  return value !== null && typeof value === "object" && !(value instanceof Numeral);
}

function escaped(character) {
  const code = character.codePointAt(0);
  if (character === "\r") return "\\r";
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}

function staysAsItIs(character, at, text) {
  if (character === " " || character === "\n" || character === "\t") return true;
  if (character !== "\u200D") return false;
  // The joiner within one emoji, such as that of a family.
  const before = [...text.slice(Math.max(0, at - 2), at)].pop() ?? "";
  const after = String.fromCodePoint(text.codePointAt(at + 1) ?? 0x20);
  return PICTURE.test(before) && PICTURE.test(after);
}

/** The pieces of a text: those to be shown as they are, and escapes of what would not be seen. */
function pieces(text) {
  if (!ANY_UNSEEN.test(text)) return [{ text, escape: false }];
  const found = [];
  let from = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (staysAsItIs(match[0], match.index, text)) continue;
    if (match.index > from) found.push({ text: text.slice(from, match.index), escape: false });
    found.push({ text: escaped(match[0]), escape: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), escape: false });
  return found;
}

function visible(text) {
  return pieces(String(text))
    .map((piece) => piece.text)
    .join("");
}

function shortened(text, most) {
  const line = String(text).replaceAll(/\s+/g, " ");
  return line.length <= most ? line : `${line.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/u, "")}…`;
}

const numbers = new Intl.NumberFormat("en");

function plural(count, noun, nouns = `${noun}s`) {
  return `${numbers.format(count)} ${count === 1 ? noun : nouns}`;
}

function percent(part, whole) {
  if (!whole) return "–";
  const exact = (100 * part) / whole;
  // Not all is never 100 %, and something is never 0 %.
  const shown = part < whole && exact > 99.9 ? 99.9 : part > 0 && exact < 0.1 ? 0.1 : exact;
  return `${shown.toFixed(shown % 1 ? 1 : 0).replace(/\.0$/, "")} %`;
}

function seconds(value) {
  if (value === 0) return "0 s";
  if (value < 0.001) return "<1 ms";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 100) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  if (value < 6000) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  return `${(value / 3600).toFixed(1)} h`;
}

/** A value on one line, as JSON. */
function oneLine(value) {
  const text = JSON.stringify(value, (_, each) => (each instanceof Numeral ? `\u0000${each.digits}` : each)) ?? "–";
  return text.replaceAll(/"\\u0000([^"]*)"/g, "$1");
}
