// The filter, and the list of the runs that it leaves, page by page.

const PAGE = 50;
let search = null;

function buildFilter() {
  const form = byId("filter");
  fill(
    form,
    field(
      "Search",
      el("input", {
        id: "q",
        name: "q",
        type: "search",
        autocomplete: "off",
        spellcheck: "false",
        placeholder: "Text anywhere in a run",
      }),
    ),
    choice("Status", "status", [
      ["Runs", statusOptions(STATUSES, "result")],
      ["Tool checks", statusOptions(CHECKED, "status")],
    ]),
    choice("Tag", "tag", [["", options("tags", index.names.tags)]]),
    choice("Check", "check", [
      ["Broken", options("broken", index.names.operators), "broken"],
      ["Any outcome", options("operators", index.names.operators), "operator"],
    ]),
    choice("Tool", "tool", [["", options("tools", index.names.tools)]]),
    choice(
      "Order",
      "sort",
      [
        [
          "",
          Object.entries(SORTS)
            .filter(([value]) => value)
            .map(([value, words]) => ({ value, words })),
        ],
      ],
      SORTS[""],
    ),
    el(
      "div",
      { class: "views", role: "group", "aria-label": "View" },
      viewButton("", "List"),
      viewButton("matrix", "Matrix"),
    ),
  );
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("q").addEventListener(
    "input",
    later(() => searchFor(byId("q").value), 200),
  );
  for (const select of form.querySelectorAll("select")) select.addEventListener("change", () => chosen(select));
}

function field(label, control) {
  return el("label", { class: "field" }, el("span", {}, label), control);
}

function choice(label, name, groups, all = "any") {
  const offered = groups.filter(([, some]) => some.length);
  if (!offered.length) return null;
  const option =
    (prefix) =>
    ({ value, words, count }) =>
      el(
        "option",
        { value: "", data: { value, key: prefix } },
        `${shortened(words ?? RESULTS[value]?.word ?? value, 60)}${count === undefined ? "" : ` (${numbers.format(count)})`}`,
      );
  const lists = offered.map(([title, some, key = name]) =>
    title ? el("optgroup", { label: title }, some.map(option(key))) : some.map(option(key)),
  );
  return field(label, el("select", { id: `choose-${name}`, name }, el("option", { value: "" }, all), lists));
}

/** The value of an option is kept apart from its attribute, so that no name of the data is changed by being shown. */
function chosen(select) {
  const change = Object.fromEntries(
    [...select.querySelectorAll("option")].map((option) => [option.dataset.key, ""]).filter(([key]) => key),
  );
  const { key, value } = select.selectedOptions[0].dataset;
  go({ ...change, ...(key ? { [key]: value } : {}) });
}

function viewButton(view, label) {
  return button(label, () => go({ view }), { data: { view }, "aria-pressed": "false" });
}

function later(action, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
}

/** While somebody types, the address follows without an entry for each letter. */
function searchFor(text) {
  if (text !== state.q) go({ q: text }, state.q !== "" && text !== "");
}

function syncFilter() {
  if (document.activeElement !== byId("q")) byId("q").value = state.q;
  for (const select of byId("filter").querySelectorAll("select")) {
    const at = [...select.options].findIndex(({ dataset }) => dataset.key && state[dataset.key] === dataset.value);
    select.selectedIndex = Math.max(at, 0);
  }
  for (const each of byId("filter").querySelectorAll("[data-view]")) {
    each.setAttribute("aria-pressed", String(each.dataset.view === (state.view === "matrix" ? "matrix" : "")));
  }
  const set = FILTERS.filter((key) => state[key]);
  const names = { q: "text", operator: "check", broken: "broken check" };
  fill(
    byId("chosen"),
    set.map((key) =>
      button(
        [`${names[key] ?? key}: ${shortened(state[key], 60)} `, el("span", { "aria-hidden": "true" }, "✕")],
        () => go({ [key]: "" }),
        { class: "chip", title: "Take this filter away" },
      ),
    ),
    set.length > 1 &&
      button("Clear all", () => go(Object.fromEntries(FILTERS.map((key) => [key, ""]))), { class: "quiet" }),
  );
}

function startSearch() {
  if (search?.needle === state.q.toLowerCase()) return;
  if (search) search.stopped = true;
  search = state.q ? new Search(state.q, later(showRuns, 60)) : null;
  search?.run();
}

function showRuns() {
  startSearch();
  syncFilter();
  const runs = chosenRuns(search && ((run) => search.found.has(run)));
  const counted =
    runs.length === index.count
      ? plural(index.count, "run")
      : `${numbers.format(runs.length)} of ${plural(index.count, "run")}`;
  const shown = showListed(runs);
  const searching =
    search && search.share < 1 ? `, ${Math.floor(100 * search.share)} % of the recordings searched` : "";
  const told = `${counted}${shown}${searching}`;
  if (byId("count").textContent !== told) fill(byId("count"), told);
}

/** Show runs in the list or the matrix, and say which part of them it is, where it is a part. */
function showListed(runs) {
  if (!runs.length) {
    fill(
      byId("listed"),
      el("p", { class: "empty" }, index.count ? "No run is left by this filter." : "There is no run in this report."),
    );
    return "";
  }
  if (state.view === "matrix") return showMatrix(runs);
  const { shown, pages, part } = paged(runs);
  fill(
    byId("listed"),
    el(
      "ul",
      { class: "runs" },
      shown.map((run) => runLine(row(run))),
    ),
    pages,
  );
  return part;
}

/** The part of a list that the address asks for, and the links to its other parts. */
function paged(all) {
  const last = Math.max(1, Math.ceil(all.length / PAGE));
  const page = Math.min(Math.max(1, Math.floor(Number(state.page)) || 1), last);
  const shown = all.slice((page - 1) * PAGE, page * PAGE);
  if (last === 1) return { shown, pages: null, part: "" };
  const from = (page - 1) * PAGE + 1;
  return {
    shown,
    pages: pageLinks(page, last),
    part: `, ${numbers.format(from)} to ${numbers.format(from + shown.length - 1)} shown`,
  };
}

function pageLinks(page, last) {
  const near = [1, page - 2, page - 1, page, page + 1, page + 2, last];
  const numbered = [...new Set(near)].filter((each) => each >= 1 && each <= last);
  const step = (to, label) =>
    to >= 1 && to <= last
      ? link({ page: String(to) }, label)
      : el("span", { class: "none", "aria-hidden": "true" }, label);
  return el(
    "nav",
    { class: "pages", "aria-label": "Pages" },
    step(page - 1, "Previous"),
    numbered.map((each, at) => [
      at > 0 && each > numbered[at - 1] + 1 ? el("span", { "aria-hidden": "true" }, "…") : null,
      link({ page: String(each) }, numbers.format(each), {
        "aria-current": each === page ? "page" : null,
        "aria-label": `Page ${numbers.format(each)}`,
      }),
    ]),
    step(page + 1, "Next"),
  );
}

function titleOf(known) {
  const name = caseName(known.group);
  return known.number === null ? name : `${name}, run ${known.number}`;
}

/** The name of a case as it is shown: a link needs a text that can be seen. */
function caseName(name) {
  return name.trim() === "" ? "(no name)" : name;
}

function runLine(known) {
  const [held, checks] = known.checks;
  return el(
    "li",
    { class: `run ${known.result}` },
    sign(known.result),
    el(
      "span",
      { class: "name" },
      link({ run: String(known.run + 1) }, shortened(titleOf(known), 120), { id: `run-${known.run + 1}` }),
      known.name !== known.group && el("span", { class: "hint" }, ` ${shortened(known.name, 60)}`),
      known.tags.map((tag) => [" ", el("span", { class: "tag" }, shortened(tag, 30))]),
    ),
    el(
      "span",
      { class: "figures" },
      el("span", {}, `${held}/${checks} checks`),
      index.hasJudged && el("span", {}, known.judged && `${known.judged[0]}/${known.judged[1]} judged`),
      el("span", {}, plural(known.calls, "call")),
      known.seconds !== null && el("span", {}, seconds(known.seconds)),
    ),
    known.finding && el("span", { class: "finding" }, shortened(known.finding, 160)),
  );
}
