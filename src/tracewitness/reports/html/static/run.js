// One run, opened: what was decided of it beside what happened.

let opening = 0;

async function showRun(number) {
  const mine = ++opening;
  const article = byId("opened");
  const run = await loadRun(number - 1);
  if (mine !== opening) return; // something else was opened meanwhile
  run.events ??= [];
  run.read ??= { kinds: [], turns: [], answers: {}, unread: {} };
  run.failed = new Set(
    Object.entries(run.read.answers).flatMap(([result, call]) => (run.events[result].is_error === true ? [call] : [])),
  );
  fill(article, runHead(run, row(number - 1)), runBody(run));
  article.hidden = false;
  byId("overview").hidden = byId("runs").hidden = byId("notices").hidden = true;
  window.scrollTo(0, 0);
  byId("opened-title").focus({ preventScroll: true });
  document.title = visible(
    shortened(`${RESULTS[run.outcome].mark} ${titleOf(row(number - 1))} – ${report.suite || "report"}`, 120),
  );
  if (state.q) run.find.find((run.find.input.value = state.q));
}

function runHead(run, known) {
  return el(
    "header",
    { class: "run-head" },
    el(
      "nav",
      { "aria-label": "Runs" },
      link({ run: "" }, [el("span", { "aria-hidden": "true" }, "← "), "All runs"], { class: "back" }),
      neighbours(known),
    ),
    el(
      "div",
      { class: "run-title" },
      el("h2", { id: "opened-title", tabindex: "-1" }, shortened(titleOf(known), 200)),
      badge(run.outcome),
      RUN_STATUS[run.status] !== run.outcome && el("span", { class: "hint" }, "tool checks ", badge(run.status)),
      run.tags.map((tag) => link({ tag, run: "" }, shortened(tag, 40), { class: "tag" })),
    ),
    facts(run),
    siblings(known),
    run.error &&
      el(
        "div",
        { class: "failure" },
        el("p", {}, el("strong", {}, run.error_kind ? `Error (${run.error_kind}): ` : "Error: "), longText(run.error)),
        run.traceback && folded("Traceback", () => el("pre", { tabindex: "0" }, run.traceback)),
      ),
    run.problems.length > 0 && problemList(run.problems),
  );
}

/** What the tool checks' status says of a run of which nothing else is known. */
const RUN_STATUS = { held: "passed", broken: "failed", inconclusive: "inconclusive", unreadable: "unreadable" };

/** The runs before and after in the list that the address asks for. */
function neighbours(known) {
  const runs = chosenRuns(search && search.needle === state.q.toLowerCase() && ((run) => search.found.has(run)));
  const at = runs.indexOf(known.run);
  if (at < 0) return null;
  const to = (run, label, mark) =>
    run === undefined
      ? el("span", { class: "none", "aria-hidden": "true" }, mark)
      : link({ run: String(run + 1) }, el("span", { "aria-hidden": "true" }, mark), {
          "aria-label": label,
          rel: label === "Next run" ? "next" : "prev",
        });
  return el(
    "span",
    { class: "step" },
    to(runs[at - 1], "Previous run", "‹"),
    ` ${numbers.format(at + 1)} of ${numbers.format(runs.length)} `,
    to(runs[at + 1], "Next run", "›"),
  );
}

function facts(run) {
  const { usage } = run;
  const tokens =
    usage && typeof usage === "object"
      ? Object.entries(usage)
          .filter(([, value]) => typeof value === "number" && value)
          .map(([name, value]) => `${numbers.format(value)} ${name.replaceAll("_", " ")}`)
      : [];
  const known = [
    ["Source", [run.source, run.place || (run.number && `row ${run.number}`)].filter(Boolean).join(", ")],
    ["Name", run.name !== (run.case ?? run.name) ? run.name : ""],
    ["Took", typeof run.duration_s === "number" ? seconds(run.duration_s) : ""],
    ["Turns", run.turns ?? ""],
    ["Session", run.session_id ?? ""],
    ["Usage", tokens.slice(0, 8).join(", ")],
  ].filter(([, value]) => value !== "");
  return el(
    "dl",
    { class: "facts" },
    known.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, shortened(value, 200)))),
  );
}

/** The other runs of the same case. */
function siblings(known) {
  const number = index.columns.case[known.run];
  const runs = index.columns.case.flatMap((each, run) => (each === number ? [run] : []));
  if (runs.length < 2) return null;
  const at = runs.indexOf(known.run);
  const from = Math.max(0, Math.min(at - 30, runs.length - 60));
  const shown = runs.slice(from, from + 60);
  const item = (run) => {
    const made = cell(run);
    if (run === known.run) made.firstChild.setAttribute("aria-current", "true");
    return made;
  };
  return el(
    "div",
    { class: "siblings" },
    el("span", { class: "hint" }, `${plural(runs.length, "run")} of this case`),
    el("ul", { class: "cells" }, shown.map(item)),
  );
}

function problemList(problems) {
  const item = (each) =>
    el(
      "li",
      {},
      longText(each.reason),
      each.place && el("span", { class: "hint" }, ` ${shortened(each.place, 80)}`),
      each.hides_call && el("span", { class: "hint" }, " It may hide a call."),
      each.cut && el("span", { class: "hint" }, " The recording breaks off here."),
      each.position !== null &&
        each.position !== undefined && [
          " ",
          button(`#${each.position}`, () => goToEvent(each.position), {
            class: "quiet small",
            "aria-label": `Go to event ${each.position}`,
          }),
        ],
    );
  return el(
    "div",
    { class: "failure mild" },
    el("p", {}, el("strong", {}, plural(problems.length, "problem")), " in this recording"),
    el("ul", {}, problems.map(item)),
  );
}

function runBody(run) {
  const evidence = new Evidence(run);
  const timeline = new Timeline(run, evidence.citing());
  const judged = [run.steps.length > 0 && stepList(run.steps), run.judged.length > 0 && judgedList(run.judged)].filter(
    Boolean,
  );
  const held = run.verdicts.filter((verdict) => verdict.status === "held").length;
  const checks = verdictList("Tool checks", "checks-title", evidence.items, `${held} of ${run.verdicts.length} held`);
  return el(
    "div",
    { class: `run-body${judged.length ? " judged" : ""}` },
    judged.length > 0 && el("div", { class: "column" }, judged),
    el("div", { class: "column" }, checks),
    trace(run, timeline),
  );
}

function trace(run, timeline) {
  if (!run.events.length)
    return el(
      "section",
      { class: "trace", id: "trace", "aria-labelledby": "trace-title" },
      el("h3", { id: "trace-title" }, "Trace"),
      el("p", { class: "empty" }, "There is no recording of what happened."),
    );
  const box = el("section", { class: "trace", id: "trace", tabindex: "0", "aria-labelledby": "trace-title" });
  run.find = new Find(box, timeline);
  const list = timeline.build();
  return append(box, [
    el(
      "div",
      { class: "trace-head" },
      el("h3", { id: "trace-title" }, "Trace", el("span", { class: "hint" }, ` ${plural(run.events.length, "event")}`)),
      run.find.build(),
      timeline.lanes.legend(),
    ),
    callsToScale(run, timeline.clock, goToEvent),
    list,
  ]);
}
