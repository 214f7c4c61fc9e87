// How two values differ, marked within them.

const MOST_TOKENS = 400;

function tokens(text) {
  return text.match(/[\p{L}\p{M}\p{N}_]+|\s+|./gsu) ?? [];
}

/** The pieces of two texts: what both have, what only the expected has, what only the actual has. */
function textDifference(expected, actual) {
  const one = tokens(expected);
  const other = tokens(actual);
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start++;
  let end = 0;
  while (end < one.length - start && end < other.length - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const middle = between(one.slice(start, one.length - end), other.slice(start, other.length - end));
  const same = (some) => (some.length ? [["same", some.join("")]] : []);
  return [...same(one.slice(0, start)), ...middle, ...same(one.slice(one.length - end))];
}

/** The longest common subsequence of tokens, where they are few enough; else all of the one and all of the other. */
function between(one, other) {
  if (!one.length || !other.length || one.length > MOST_TOKENS || other.length > MOST_TOKENS) {
    return [
      ["expected", one.join("")],
      ["actual", other.join("")],
    ].filter(([, text]) => text);
  }
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      lengths[i][j] = one[i] === other[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return walked(one, other, lengths);
}

function walked(one, other, lengths) {
  const found = [];
  const add = (kind, token) => (found.at(-1)?.[0] === kind ? (found.at(-1)[1] += token) : found.push([kind, token]));
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) {
      add("same", one[i++]);
      j++;
    } else if (j >= other.length || (i < one.length && lengths[i + 1][j] >= lengths[i][j + 1]))
      add("expected", one[i++]);
    else add("actual", other[j++]);
  }
  return found;
}

/** Two values beside each other: what was expected, what came, and in texts the letters that differ. */
function differenceOf({ expected, actual, reason, text }) {
  if (expected === undefined && actual === undefined) return el("span", { class: "pair" }, reason || text);
  const both = typeof expected === "string" && typeof actual === "string";
  const parts = both ? textDifference(expected, actual) : null;
  const side = (kind, value, name) =>
    el(
      kind === "expected" ? "ins" : "del",
      { class: kind },
      unseen(`${name} `),
      value === undefined
        ? el("em", {}, kind === "expected" ? "nothing" : "missing")
        : parts
          ? quoted(parts, kind)
          : shortened(oneLine(value), 500),
    );
  return el(
    "span",
    { class: "pair" },
    side("actual", actual, "came"),
    el("span", { "aria-hidden": "true", class: "arrow" }, " → "),
    side("expected", expected, "expected"),
    reason && el("span", { class: "hint" }, ` ${reason}`),
  );
}

/** A text in quotes in which what the other has not is marked; what lies far from the marks is left out. */
function quoted(parts, kind) {
  const shown = parts.filter(([each]) => each === "same" || each === kind);
  const some = shown.map(([each, text], at) =>
    each === "same" ? around(text, at > 0, at < shown.length - 1) : el("mark", {}, shortenedMiddle(text)),
  );
  return ["“", some, "”"];
}

function shortenedMiddle(text) {
  return text.length <= 600 ? text : `${text.slice(0, 300)} … ${text.slice(-290)}`;
}

function around(text, markBefore, markAfter) {
  const kept = 60;
  if (text.length <= 2 * kept + 3) return text;
  return `${markBefore ? text.slice(0, kept) : ""}…${markAfter ? text.slice(-kept) : ""}`;
}

/** Read a path as it is shown, such as `args.items[0]['odd key']`, or give up: then it is only shown. */
function pathOf(text) {
  const step = /\.?([^\s.[\]'"…]+)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]/y;
  const path = [];
  while (step.lastIndex < text.length) {
    const match = step.exec(text);
    if (!match) return null;
    path.push(match[1] ?? (match[2] === undefined ? unquoted(match[3].slice(1, -1)) : Number(match[2])));
  }
  return path.length ? path : null;
}

const ESCAPES = { n: "\n", t: "\t", r: "\r" };

/** Undo the escapes of a Python text. */
function unquoted(text) {
  return text.replaceAll(/\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))/gs, (_, two, four, eight, one) => {
    const code = two ?? four ?? eight;
    return code ? String.fromCodePoint(Math.min(parseInt(code, 16), 0x10ffff)) : (ESCAPES[one] ?? one);
  });
}

/** Differences by where they are below a root (`args` or `result`), as texts of paths. */
class Marks {
  constructor(differences, root) {
    this.byPath = new Map();
    for (const each of differences) {
      if (typeof each === "string") continue;
      const path = pathOf(each.path);
      if (path?.[0] === root) this.add(path.slice(1), each);
    }
  }

  add(path, difference) {
    const key = JSON.stringify(path);
    this.byPath.set(key, [...(this.byPath.get(key) ?? []), { path, difference }]);
  }

  at(path) {
    return (this.byPath.get(JSON.stringify(path)) ?? []).map((each) => each.difference);
  }

  /** The differences directly below a place, by key. */
  below(path) {
    const start = JSON.stringify(path).slice(0, -1);
    return [...this.byPath.values()]
      .flat()
      .filter((each) => each.path.length === path.length + 1 && JSON.stringify(each.path).startsWith(start));
  }

  within(path) {
    const start = JSON.stringify(path).slice(0, -1);
    return [...this.byPath.keys()].some((key) => key.startsWith(start) && key !== `${start}]`);
  }
}

const NO_MARKS = new Marks([], "");
