// Arguments and results as they are: pretty, foldable, made when they are unfolded.

const OPEN_DEPTH = 2;
const OPEN_ENTRIES = 12;
const MOST_ENTRIES = 100;
const LONG_TEXT = 900;
const LONG_LINES = 14;

/** Show a value. `marks` says where it differs from what was expected. */
function shownValue(value, marks = NO_MARKS, path = []) {
  if (isContainer(value)) return container(value, marks, path);
  const inside = typeof value === "string" ? jsonWithin(value) : null;
  return inside === null ? scalar(value) : textOfJson(value, inside, marks, path);
}

function scalar(value) {
  if (typeof value === "string") return el("span", { class: "v text" }, "“", longText(value), "”");
  if (value instanceof Numeral) return el("span", { class: "v number" }, shortened(value.digits, 5000));
  return el("span", { class: `v ${value === null ? "null" : typeof value}` }, String(value));
}

function entriesOf(value) {
  return Array.isArray(value) ? value.map((each, at) => [at, each]) : Object.entries(value);
}

function container(value, marks, path) {
  const entries = entriesOf(value);
  if (!entries.length && !marks.below(path).length)
    return el("span", { class: "v none" }, Array.isArray(value) ? "[ ] empty list" : "{ } empty");
  if (fitsOnLine(value, entries) && !marks.within(path))
    return el(
      "span",
      { class: "v" },
      "[",
      entries.map(([, each], at) => [at ? ", " : "", shownValue(each)]),
      "]",
    );
  const open = marks.within(path) || path.length === 0 || (path.length < OPEN_DEPTH && entries.length <= OPEN_ENTRIES);
  if (path.length === 0) return entryList(value, entries, marks, path);
  return folded(sizeOf(value, entries), () => entryList(value, entries, marks, path), open, { class: "v" });
}

/** Whether a list is short and flat enough to be read as it is written. */
function fitsOnLine(value, entries) {
  if (!Array.isArray(value) || entries.length > 12) return false;
  return value.every(
    (each) => !isContainer(each) && (typeof each !== "string" || (each.length < 24 && jsonWithin(each) === null)),
  );
}

function sizeOf(value, entries) {
  if (Array.isArray(value)) return el("span", { class: "hint" }, `[ ] ${plural(entries.length, "item")}`);
  const keys = shortened(
    entries
      .slice(0, 6)
      .map(([key]) => key)
      .join(", "),
    60,
  );
  return el("span", { class: "hint" }, `{ } ${plural(entries.length, "key")} `, el("span", { class: "preview" }, keys));
}

function entryList(value, entries, marks, path) {
  const list = el("ul", { class: Array.isArray(value) ? "tree list" : "tree" });
  const add = (some) =>
    append(
      list,
      some.map(([key, each]) => entry(key, each, marks, [...path, key])),
    );
  add(entries.slice(0, MOST_ENTRIES));
  const known = new Set(entries.map(([key]) => key));
  append(
    list,
    marks
      .below(path)
      .filter((each) => !known.has(each.path.at(-1)))
      .map((each) => missing(each)),
  );
  if (entries.length > MOST_ENTRIES) append(list, [el("li", {}, moreEntries(entries.slice(MOST_ENTRIES), add))]);
  return list;
}

function moreEntries(rest, add) {
  const more = button(
    `Show ${plural(Math.min(rest.length, 10 * MOST_ENTRIES), "more entry", "more entries")} of ${numbers.format(rest.length)}`,
    () => {
      more.parentElement.remove();
      add(rest.slice(0, 10 * MOST_ENTRIES));
    },
    { class: "quiet" },
  );
  return more;
}

function entry(key, value, marks, path) {
  const differences = marks.at(path);
  const name =
    typeof key === "number"
      ? el("span", { class: "key at" }, `${key}`)
      : el("span", { class: "key" }, shortened(key, 200) || "“”");
  const shown =
    differences.length && !isContainer(value)
      ? differences.map(differenceOf)
      : [shownValue(value, marks, path), differences.map((each) => [" ", differenceOf(each)])];
  return el("li", { class: differences.length ? "miss" : null }, name, el("span", { class: "colon" }, ": "), shown);
}

function missing({ path, difference }) {
  return el(
    "li",
    { class: "miss" },
    el("span", { class: "key" }, String(path.at(-1))),
    el("span", { class: "colon" }, ": "),
    differenceOf(difference),
  );
}

/** What a text holds that is itself a JSON object or list, else null. */
function jsonWithin(text) {
  if (!/^\s*[[{]/.test(text) || text.length > 1e6) return null;
  try {
    return JSON.parse(text, digitsKept);
  } catch {
    return null;
  }
}

function textOfJson(text, inside, marks, path) {
  const shown = el("div", { class: "v inside" });
  const show = (raw) =>
    fill(
      shown,
      button(raw ? "As JSON" : "As text", () => show(!raw), {
        class: "quiet small",
        title: "The recording has this as a text that holds JSON",
      }),
      " ",
      raw ? scalar(text) : container(inside, marks, path),
    );
  show(false);
  return shown;
}

/** A text of any length: the beginning, and the rest when it is asked for. */
function longText(text) {
  const lines = text.split("\n", LONG_LINES + 1);
  if (text.length <= LONG_TEXT * 1.2 && lines.length <= LONG_LINES) return text;
  const start = lines
    .slice(0, LONG_LINES)
    .join("\n")
    .slice(0, LONG_TEXT)
    .replace(/[\uD800-\uDBFF]$/u, "");
  const shown = el("span", {});
  const show = (all) => {
    const more = button(all ? "Show less" : `Show all ${plural(text.length, "character")}`, () => show(!all), {
      class: "quiet small more",
      "aria-expanded": String(all),
    });
    fill(shown, all ? text : `${start}…`, " ", more);
    return more;
  };
  show(false);
  shown.className = "long";
  shown.showAll = () => show(true);
  return shown;
}
