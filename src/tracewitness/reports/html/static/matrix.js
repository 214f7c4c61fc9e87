// Cases by runs: which cases fail now and then is seen at a glance.

const CELLS = 200;

function showMatrix(runs) {
  const { shown, pages, part } = paged(groupsOf(runs));
  const table = el(
    "table",
    { class: "matrix" },
    el(
      "caption",
      {},
      unseen("Cases by runs. "),
      el(
        "span",
        { class: "key", "aria-hidden": "true" },
        STATUSES.filter((each) => report.results.outcomes[each]).map((each) => badge(each)),
      ),
    ),
    head("Case", "Passed", "Runs"),
    el("tbody", {}, shown.map(matrixLine)),
  );
  fill(byId("listed"), table, pages);
  return part && part.replace(" shown", " of the cases shown");
}

/** The runs by case, in the order of their first; with “failed first”, flaky cases stand after those that always fail. */
function groupsOf(runs) {
  const groups = new Map();
  for (const run of runs) {
    const number = index.columns.case[run];
    if (!groups.has(number)) groups.set(number, []);
    groups.get(number).push(run);
  }
  const all = [...groups].map(([number, some]) => ({
    name: index.names.case[number],
    runs: some.sort((one, other) => index.columns.run[one] - index.columns.run[other] || one - other),
    passed: some.filter((run) => index.columns.result[run] === "passed").length,
  }));
  return state.sort === "failed"
    ? all.sort((one, other) => one.passed / one.runs.length - other.passed / other.runs.length)
    : all;
}

function matrixLine({ name, runs, passed }) {
  const flaky = passed > 0 && runs.some((run) => index.columns.result[run] === "failed");
  const more = runs.length - CELLS;
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, link({ case: name, view: "" }, shortened(caseName(name), 80))),
    el(
      "td",
      { class: "share" },
      `${numbers.format(passed)}/${numbers.format(runs.length)}`,
      flaky && [" ", el("span", { class: "tag flaky" }, "flaky")],
    ),
    el(
      "td",
      {},
      el("ul", { class: "cells" }, runs.slice(0, CELLS).map(cell)),
      more > 0 && link({ case: name, view: "" }, `${numbers.format(more)} more`),
    ),
  );
}

function cell(run) {
  const known = row(run);
  const [held, checks] = known.checks;
  const words = `${titleOf(known)}: ${RESULTS[known.result].word}, ${held} of ${checks} checks held`;
  return el(
    "li",
    {},
    link({ run: String(run + 1) }, el("span", { "aria-hidden": "true" }, RESULTS[known.result].mark), {
      class: `cell ${known.result}`,
      "aria-label": words,
      title: words,
    }),
  );
}
