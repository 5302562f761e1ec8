// Long work: the list of jobs, one job's progress, and transactions.

import * as api from "./api.js";
import { fill, h, moment, number, problem, say, show } from "./dom.js";

const every = 1500; // milliseconds between two looks at work in progress

const words = { IN_PROGRESS: "in progress", DONE: "done", FAILED: "failed", CANCELLED: "cancelled" };

/** How far a job is, as a bar and in words. */
function progress(p) {
  if (!p) return "waits for a worker";
  const [done, all, what] = p.parts > 0 ? [p.parts_done, p.parts, "parts"] : p.steps > 0 ? [p.steps_done, p.steps, "steps"] : [p.stages_done, p.stages, "stages"];
  return [
    h("progress", { max: all || 1, value: done, "aria-label": "progress" }),
    ` ${p.stage}: ${number(done)} of ${number(all)} ${what}`, p.rows_done > 0 ? `, ${number(p.rows_done)} rows` : "",
  ];
}

function buttons(id, then) {
  const act = (operation, said) => h("button", {
    async onclick() {
      try {
        await api.call(`v1/jobs/${operation}`, { job_id: id });
        say(said);
        then();
      } catch (error) {
        say(error.message, true);
      }
    },
  }, operation[0].toUpperCase() + operation.slice(1));
  return [act("pause", "The job pauses at its next checkpoint."), act("resume", "The job goes on."), act("cancel", "The job is cancelled.")];
}

/** Draws the page of all jobs, which looks again while any is in progress. */
export function jobs(main) {
  const content = h("div");
  show(main, h("h1", {}, "Jobs"), content);
  const draw = () => api.call("v1/jobs/list", { limit: 100 }).then(({ jobs: list }) => {
    show(content, list.length === 0 ? h("p", {}, "There are no jobs. Index builds, refreshes, backfills and maintenance are jobs.") :
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Jobs" }, h("table", {},
        h("thead", {}, h("tr", {}, ["Job", "Table", "Kind", "State", "Begun", "Progress", ""].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, list.map((job) => h("tr", {},
          h("td", {}, h("code", { title: job.job_id }, job.job_id.slice(0, 12))), h("td", {}, job.table), h("td", {}, job.job_type.replaceAll("_", " ")),
          h("td", {}, h("span", { class: `state ${job.state.toLowerCase()}` }, words[job.state] || job.state)), h("td", {}, moment(job.created_at_millis)),
          h("td", {}, progress(job.progress)), h("td", { class: "buttons" }, job.state === "IN_PROGRESS" && buttons(job.job_id, draw))))))));
    if (!list.some((job) => job.state === "IN_PROGRESS")) clearInterval(main.timer);
  }, (error) => {
    clearInterval(main.timer);
    show(content, problem(error));
  });
  draw();
  main.timer = setInterval(draw, every);
}

/** Shows the progress of one job in the parent until it ends; then calls ended, if it is done. */
export function follow(parent, id, ended) {
  const look = async () => {
    if (!parent.isConnected) return;
    let job;
    try {
      job = await api.call("v1/jobs/describe", { job_id: id });
    } catch (error) {
      return show(parent, problem(error));
    }
    show(parent, h("p", {}, h("span", { class: `state ${job.job_state.toLowerCase()}` }, words[job.job_state] || job.job_state), " ", progress(job.progress)),
      job.failure ? problem(new Error(job.failure.message)) : null);
    if (job.job_state === "IN_PROGRESS") setTimeout(look, every);
    else if (job.job_state === "DONE") {
      say("The job is done.");
      ended();
    }
  };
  look();
}

/** Draws the page on which a transaction is looked up. */
export function transactions(main, id = "") {
  const content = h("div");
  const input = h("input", { name: "id", value: id, required: true, autocomplete: "off" });
  show(main, h("h1", {}, "Transactions"),
    h("p", {}, "Changes that go on after their answer name a transaction. Its id is also the id of its job."),
    h("form", {
      class: "row",
      onsubmit(event) {
        event.preventDefault();
        location.hash = `#/transactions/${encodeURIComponent(input.value.trim())}`;
      },
    }, h("label", { class: "field" }, h("span", {}, "Id"), input), h("button", { class: "main" }, "Look up")), content);
  if (id) {
    fill(content, api.call(api.path("transaction", [id], "describe")), (found) => [
      h("p", {}, h("span", { class: `state ${String(found.status).toLowerCase()}` }, String(found.status).toLowerCase())),
      h("dl", { class: "facts" }, Object.entries(found.properties || {}).map(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))])),
    ]);
  }
}
