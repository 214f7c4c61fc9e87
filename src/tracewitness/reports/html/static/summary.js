// The top of the report: pass rate, counts, what changed since the last report.

function card(title, id, ...children) {
  return el(
    "section",
    { class: "card", id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    children,
  );
}

function showHead() {
  const { suite, command, created_at: created, tracewitness } = report;
  fill(byId("suite"), suite || "Report");
  const about = [command, created && moment(created), plural(report.results.runs, "run")].filter(Boolean).join(" · ");
  fill(byId("about"), about);
  fill(
    byId("written"),
    `Written by tracewitness ${tracewitness}. What stands in a recording is shown as text and never run.`,
  );
  fill(
    byId("notices"),
    notices().map((text) => el("p", { class: "notice" }, text)),
  );
}

function notices() {
  const { missing = [], without_case: without = [], not_selected: left = 0, unfinished = 0 } = report.summary;
  return [
    ...report.notices,
    missing.length ? `No run of ${plural(missing.length, "case")}: ${shortened(missing.join(", "), 400)}` : "",
    without.length ? `No case for the runs ${shortened(without.join(", "), 400)}` : "",
    left ? `${plural(left, "run")} not selected` : "",
    unfinished ? `${plural(unfinished, "run")} unfinished` : "",
  ].filter(Boolean);
}

function moment(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function showOverview() {
  fill(byId("overview"), el("div", { class: "stack" }, passCard(), historyCard()), changesCard(), toolsCard());
}

function passCard() {
  const { passed, decided, outcomes } = report.results;
  const counts = STATUSES.filter((status) => outcomes[status]);
  const apart = counts.some((status) => ["inconclusive", "infrastructure", "not_run"].includes(status));
  return card(
    "Pass rate",
    "pass",
    el(
      "p",
      { class: "rate" },
      el("strong", {}, percent(passed, decided)),
      ` ${numbers.format(passed)} of ${plural(decided, "run")} passed`,
    ),
    shareBar(counts.map((status) => [status, outcomes[status]])),
    el(
      "ul",
      { class: "counts" },
      counts.map((status) =>
        el("li", {}, link({ status, run: "" }, [badge(status), ` ${numbers.format(outcomes[status])}`])),
      ),
    ),
    apart &&
      el("p", { class: "hint" }, "What is inconclusive, not run or failed by infrastructure is not in the rate."),
  );
}

/** A bar of the shares, for the eye: the counts stand beside it. */
function shareBar(counts) {
  const bar = el("div", { class: "shares", "aria-hidden": "true" });
  for (const [status, count] of counts) {
    const part = el("span", { class: status });
    part.style.flexGrow = count;
    bar.append(part);
  }
  return bar;
}

const CHANGES = {
  worse: { title: "Worse", mark: "▼" },
  better: { title: "Better", mark: "▲" },
  new: { title: "New cases", mark: "+" },
  vanished: { title: "Vanished cases", mark: "−" },
};
const FEW = 6;

function changesCard() {
  const { changes, earlier } = report;
  if (!changes) return null;
  const last = earlier.at(-1);
  const parts = Object.keys(CHANGES).filter((kind) => changes[kind].length);
  return card(
    "Since the last report",
    "changes",
    el(
      "p",
      { class: "hint" },
      `Compared with ${last.created_at ? moment(last.created_at) : "the report before"}: ${percent(last.passed, last.decided)} passed then. `,
      plural(changes.same, "case"),
      " with the same share.",
    ),
    parts.length ? parts.map((kind) => changeList(kind, changes[kind])) : el("p", {}, "No case changed."),
  );
}

function changeList(kind, entries) {
  const list = (some) =>
    el(
      "ul",
      {},
      some.map((entry) => el("li", {}, changeWords(kind, entry))),
    );
  const more = entries.length - FEW;
  return el(
    "div",
    { class: `change ${kind}` },
    el(
      "h3",
      {},
      el("span", { "aria-hidden": "true" }, `${CHANGES[kind].mark} `),
      `${CHANGES[kind].title} (${numbers.format(entries.length)})`,
    ),
    list(entries.slice(0, FEW)),
    more > 0 && folded(`${numbers.format(more)} more`, () => list(entries.slice(FEW))),
  );
}

function changeWords(kind, entry) {
  if (kind === "vanished") return entry;
  if (kind === "new") return link({ case: entry, run: "" }, caseName(entry));
  const labels = kind === "worse" ? entry.newly_broken : entry.no_longer_broken;
  return [
    link({ case: entry.case, run: "" }, caseName(entry.case)),
    ` ${entry.before.join("/")} → ${entry.now.join("/")}`,
    labels.length
      ? el(
          "span",
          { class: "hint" },
          ` ${kind === "worse" ? "newly broken" : "no longer broken"}: ${shortened(labels.join(", "), 160)}`,
        )
      : null,
  ];
}
