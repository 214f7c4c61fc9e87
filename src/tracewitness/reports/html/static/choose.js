// Which runs are shown, in which order.

const STATUSES = ["passed", "failed", "inconclusive", "infrastructure", "not_run", "unreadable"];
const CHECKED = ["held", "broken", "inconclusive"];

/** The runs that the address asks for; of a search only those in `found` as well. */
function chosenRuns(found) {
  const wanted = tests();
  const runs = [];
  for (let run = 0; run < index.count; run++)
    if (wanted.every((test) => test(run)) && (!found || found(run))) runs.push(run);
  return ordered(runs);
}

function tests() {
  const { columns, names } = index;
  const has = (column, name) => {
    const number = names[column === "broken" ? "operators" : column].indexOf(name);
    return (run) => columns[column][run].includes(number);
  };
  const all = [];
  if (state.status) all.push((run) => columns.result[run] === state.status || columns.status[run] === state.status);
  if (state.case) {
    const number = names.case.indexOf(state.case);
    all.push((run) => columns.case[run] === number);
  }
  if (state.tag) all.push(has("tags", state.tag));
  if (state.operator) all.push(has("operators", state.operator));
  if (state.broken) all.push(has("broken", state.broken));
  if (state.tool) all.push(has("tools", state.tool));
  return all;
}

const SORTS = {
  "": "as recorded",
  failed: "failed first",
  case: "by case",
  slow: "longest first",
  calls: "most calls first",
};

function ordered(runs) {
  const { columns, names } = index;
  const by = {
    failed: (run) => (columns.result[run] === "passed" ? 1 : 0),
    case: (run) => names.case[columns.case[run]],
    slow: (run) => -(columns.seconds[run] ?? -1),
    calls: (run) => -columns.calls[run],
  }[state.sort];
  if (!by) return runs;
  const order = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
  return runs.sort(
    (one, other) =>
      order(by(one), by(other)) || order(columns.run[one], columns.run[other]) * (state.sort === "case") || one - other,
  );
}

/** How many runs have each name of a column, as options of a choice. */
function options(column, names) {
  const counts = new Array(names.length).fill(0);
  for (const numbers of index.columns[column]) for (const number of numbers) counts[number]++;
  return names
    .map((name, number) => ({ value: name, count: counts[number] }))
    .filter((option) => option.count)
    .sort((one, other) => (one.value < other.value ? -1 : 1));
}

function statusOptions(values, column) {
  const count = (value) => index.columns[column].reduce((sum, each) => sum + (each === value), 0);
  return values.map((value) => ({ value, count: count(value) })).filter((option) => option.count);
}
