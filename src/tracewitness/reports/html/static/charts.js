// Charts are SVG that is made here, each with its numbers as a table.

const CHART = { width: 420, height: 150, left: 34, right: 12, top: 10, bottom: 22 };

function historyCard() {
  if (!report.earlier.length) return null;
  const points = [...report.earlier, report.results];
  return card(
    "Pass rate over reports",
    "history",
    historyChart(points),
    folded("As a table", () => historyTable(points)),
  );
}

function historyChart(points) {
  const { width, height, left, right, top, bottom } = CHART;
  const x = (number) => left + (points.length > 1 ? (number * (width - left - right)) / (points.length - 1) : 0);
  const y = (share) => top + (1 - share) * (height - top - bottom);
  const known = points.map((point, number) => ({ ...point, number })).filter((point) => point.decided);
  const places = known.map((point) => `${x(point.number)},${y(point.passed / point.decided)}`);
  const label = `Pass rates, the oldest first: ${known.map((point) => percent(point.passed, point.decided)).join(", ")}`;
  return svg(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    [0, 0.5, 1].map((share) => [
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(share), y2: y(share) }),
      svg("text", { class: "tick", x: left - 6, y: y(share) + 4, "text-anchor": "end" }, `${100 * share}`),
    ]),
    places.length > 1 &&
      svg("polygon", {
        class: "area",
        points: `${x(known[0].number)},${y(0)} ${places.join(" ")} ${x(known.at(-1).number)},${y(0)}`,
      }),
    svg("polyline", { class: "line", points: places.join(" ") }),
    known.map((point) =>
      svg(
        "circle",
        {
          class: "dot",
          cx: x(point.number),
          cy: y(point.passed / point.decided),
          r: point.number === points.length - 1 ? 4.5 : 3,
        },
        svg("title", {}, `${moment(point.created_at)}: ${percent(point.passed, point.decided)}`),
      ),
    ),
    svg("text", { class: "tick", x: left, y: height - 5 }, moment(points[0].created_at).slice(0, 10)),
    svg("text", { class: "tick", x: width - right, y: height - 5, "text-anchor": "end" }, "this report"),
  );
}

function historyTable(points) {
  const line = (point, number) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, number === points.length - 1 ? "this report" : moment(point.created_at)),
      el("td", {}, percent(point.passed, point.decided)),
      el("td", {}, `${numbers.format(point.passed)} of ${numbers.format(point.decided)}`),
    );
  return el("table", { class: "numbers" }, head("Report", "Rate", "Passed"), el("tbody", {}, points.map(line)));
}

function head(...titles) {
  return el(
    "thead",
    {},
    el(
      "tr",
      {},
      titles.map((title) => el("th", { scope: "col" }, title)),
    ),
  );
}

const SHOWN_TOOLS = 8;

function toolsCard() {
  const { tools } = report;
  if (!tools.length) return null;
  const most = tools[0].calls;
  const table = (some) =>
    el(
      "table",
      { class: "numbers tools" },
      head("Tool", "Share", "Calls", "Errors", "No answer", "Runs"),
      el(
        "tbody",
        {},
        some.map((counts) => toolLine(counts, most)),
      ),
    );
  const rest = tools.slice(SHOWN_TOOLS);
  return card(
    "Tools",
    "tools",
    el(
      "div",
      { class: "wide", tabindex: "0", role: "group", "aria-label": "Table of tools" },
      table(tools.slice(0, SHOWN_TOOLS)),
    ),
    rest.length > 0 && folded(`${plural(rest.length, "more tool")}`, () => el("div", { class: "wide" }, table(rest))),
  );
}

function toolLine(counts, most) {
  const number = (value) => el("td", { class: value ? "" : "none" }, numbers.format(value));
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, link({ tool: counts.tool, run: "" }, el("code", {}, shortened(counts.tool, 80)))),
    el("td", { "aria-hidden": "true" }, toolBar(counts, most)),
    number(counts.calls),
    el("td", { class: counts.errors ? "bad" : "none" }, numbers.format(counts.errors)),
    el("td", { class: counts.unanswered ? "warn" : "none" }, numbers.format(counts.unanswered)),
    number(counts.runs),
  );
}

function toolBar({ calls, errors, unanswered }, most) {
  const share = (value) => `${(100 * value) / most}%`;
  const good = calls - errors - unanswered;
  return svg(
    "svg",
    { class: "bar", width: "100%", height: 10 },
    svg("rect", { class: "good", x: 0, y: 0, height: 10, width: share(good) }),
    svg("rect", { class: "bad", x: share(good), y: 0, height: 10, width: share(errors) }),
    svg("rect", { class: "open", x: share(good + errors), y: 0, height: 10, width: share(unanswered) }),
  );
}
