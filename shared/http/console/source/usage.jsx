// What tenants have used, by the day or the hour: sums over the table that the server keeps with --usage on.

import * as api from "./api.js";
import { bytes, number } from "./format.js";
import { address, go } from "./place.js";
import { Choice, Field, Loaded, Problem, Segments, Table, useAsync } from "./ui.jsx";
import { isNull, records, textOf } from "../static/console/values.js";

const table = ["__system", "usage"], hour = 3_600_000, day = 24 * hour;
const periods = [["1", "24 hours"], ["7", "7 days"], ["30", "30 days"], ["90", "90 days"]];
const mostTenants = 200, daysOfHours = 7; // beyond these days a page of hours would be too long

/** A time in milliseconds, as long as a person needs it. */
const duration = (millis) => millis < 1000 ? `${number(millis)} ms` : millis < hour ? `${number((millis / 1000).toFixed(1))} s` : `${number((millis / hour).toFixed(1))} h`;

// What is summed: the column, its heading, how a sum is written, and whether it is drawn.
const sums = [
  ["requests", "Requests", number, true], ["refused", "Refused", number], ["failed", "Failed", number], ["compute_ms", "Compute", duration, true],
  ["read_bytes", "Read", bytes, true], ["sent_bytes", "Sent", bytes], ["written_rows", "Rows written", number, true], ["jobs", "Jobs", number],
];

// What is stored is measured once a day, and not summed over days.
const stored = ["stored_bytes", "Stored", bytes, true];

/** Parameters are those of the address: period in days, by (hour or day), and tenant. */
export function Usage({ parameters }) {
  const days = periods.some(([value]) => value === parameters.period) ? Number(parameters.period) : 7;
  const by = parameters.by === "hour" && days <= daysOfHours || days === 1 ? "hour" : "day";
  const { tenant } = parameters;
  const set = (change) => go(address("usage", [], { ...parameters, ...change }));
  const state = useAsync((signal) => usage(days, by, tenant, signal), [days, by, tenant]);
  const tenants = state.value?.tenants || [], known = tenants.map((one) => one.tenant);
  return <>
    <h1>Usage</h1>
    <div class="row">
      <Field label="Period"><Choice name="period" options={periods.map(([value, text]) => [value, `the last ${text}`])} value={String(days)} onChange={(event) => set({ period: event.currentTarget.value })} /></Field>
      <Field label="Tenant"><Choice name="tenant" options={[["", "all"], ...(tenant && !known.includes(tenant) ? [tenant] : []), ...known.filter(Boolean)]} value={tenant || ""} onChange={(event) => set({ tenant: event.currentTarget.value })} /></Field>
      {days > 1 && days <= daysOfHours && <Segments label="Steps" value={by} options={[["day", "Days"], ["hour", "Hours"]]} onChange={(value) => set({ by: value })} />}
    </div>
    <Loaded state={state}>{(found) => found.missing ? <Missing {...found.missing} /> : <Found {...found} by={by} tenant={tenant} link={(name) => address("usage", [], { ...parameters, tenant: name })} />}</Loaded>
  </>;
}

function Found({ steps, tenants, by, tenant, link }) {
  const used = steps.filter((step) => step.requests > 0 || step.compute_ms > 0 || step.stored_bytes > 0), unit = by === "hour" ? "Hour (UTC)" : "Day (UTC)";
  const measures = steps.some((step) => step.stored_bytes > 0) ? [...sums, stored] : sums;
  const cells = (row) => measures.map(([name, , text]) => text(row[name])), right = measures.map((_, i) => i + 1), head = measures.map(([, title]) => title);
  if (used.length === 0) return <p class="empty">{tenant ? `The tenant ${tenant} has sent no request` : "There was no request"} in the hours of this period that have ended.</p>;
  return <>
    <div class="charts">{measures.filter(([, , , drawn]) => drawn).map(([name, title, text]) => <Chart key={name} title={title} text={text} steps={steps} of={name} />)}</div>
    {!tenant && <>
      <Table caption="Tenants" head={["Tenant", ...head]} right={right} rows={tenants.map((one) => [one.tenant ? <a href={link(one.tenant)}>{one.tenant}</a> : <span class="quiet">tables of the root</span>, ...cells(one)])} />
      {tenants.length >= mostTenants && <p class="quiet">These are the {number(mostTenants)} tenants with the most requests. <code>tiltyard usage</code> shows all.</p>}
    </>}
    <Table caption={tenant ? `Usage of ${tenant}` : "All tenants together"} head={[unit, ...head]} right={right} rows={used.reverse().map((step) => [step.name, ...cells(step)])} />
    <p class="quiet">An hour is added some minutes after its end, in a cloud up to an hour after it.{measures.includes(stored) && " Stored are the bytes of all tables at the end of a day; of a tenant, the most on any of the days."}</p>
  </>;
}

/** A measure over the period: a bar for each step. */
function Chart({ title, text, steps, of }) {
  const most = Math.max(...steps.map((step) => step[of]));
  const total = of === stored[0] ? steps.findLast((step) => step[of] > 0)[of] : steps.reduce((sum, step) => sum + step[of], 0);
  return (
    <figure class="histogram">
      <strong>{title}: {text(total)}</strong>
      <svg viewBox={`0 0 ${steps.length * 10} 60`} role="img" aria-label={`${title} from ${steps[0].name} to ${steps.at(-1).name}, at most ${text(most)}`} preserveAspectRatio="none">
        {steps.map((step, i) => step[of] > 0 && <rect key={step.name} x={i * 10 + 1} y={60 - 58 * step[of] / most} width={8} height={58 * step[of] / most}><title>{step.name}: {text(step[of])}</title></rect>)}
      </svg>
      <figcaption><span>{steps[0].name}</span><span>{steps.at(-1).name}</span></figcaption>
    </figure>
  );
}

/** Why no usage is shown: the error of the service, whether policies decide and may hide the table, and who the caller is. */
function Missing({ error, byPolicies, mayBeHidden, who }) {
  const refused = error.status === 403;
  if (!refused && error.status !== 404) return <Problem error={error} />;
  return <>
    {refused ? <p class="empty">Your token may not read the usage of tenants.</p> : <p class="empty">There is no usage yet{mayBeHidden && ", or your token may not see it"}.</p>}
    {!refused && <p>A server meters usage with <code>tiltyard serve --usage on</code>, and a deployment in AWS with the option <code>usage=on</code>. This page has something to show once the first full hour has ended.</p>}
    {(refused || mayBeHidden) && <p>To read it, a token needs the rights to DescribeTable and QueryTable on the table <code>{table.join("$")}</code>{byPolicies ? ", by a policy such as this one:" : ". Tokens with the scope tiltyard:read have them."}</p>}
    {(refused || mayBeHidden) && byPolicies && <pre tabIndex={0} aria-label="The policy">{`permit (principal == User::${JSON.stringify(who)}, action in Action::"read", resource == Table::"${table.join("$")}");`}</pre>}
  </>;
}

/** Reads the sums of the steps of a period and of its tenants, or { missing } with the reason. */
async function usage(days, by, tenant, signal) {
  const length = by === "hour" ? hour : day, end = Math.floor(Date.now() / hour) * hour;
  const first = by === "hour" ? end - days * day : (Math.floor(end / day) - days + 1) * day;
  try {
    const [found, tenants, storedThen, storedBy] = await Promise.all([
      summed(`date_trunc('${by}', hour)`, "step", first, tenant, "step", signal), summed("tenant", "tenant", first, "", `requests DESC, tenant LIMIT ${mostTenants}`, signal),
      ...(by === "hour" ? [[], []] : [measured("hour", "sum", first, tenant, signal), measured("tenant", "max", first, "", signal)]),
    ]);
    const none = Object.fromEntries([...sums, stored].map(([name]) => [name, 0]));
    const join = (names, lists) => names.map((name) => Object.assign({}, none, ...lists.map((list) => list.get(name))));
    const byStep = [new Map(found.map((one) => [nameOf(one.step, by), one])), new Map(storedThen.map((one) => [nameOf(one.hour, by), one]))];
    const byTenant = [tenants, storedBy].map((list) => new Map(list.map((one) => [one.tenant, one])));
    const steps = Array.from({ length: Math.ceil((end - first) / length) }, (_, i) => nameOf(new Date(first + i * length).toISOString(), by));
    return { steps: join(steps, byStep).map((one, i) => ({ ...one, name: steps[i] })), tenants: join([...new Set([...byTenant[0].keys(), ...byTenant[1].keys()])], byTenant) };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return { missing: await reason(error) };
  }
}

/** The name of a step by its time as ISO text. */
const nameOf = (time, by) => by === "hour" ? time.slice(0, 16).replace("T", " ") : time.slice(0, 10);

/** The sums by an expression since a moment, as objects of texts and numbers. */
const summed = (expression, name, since, tenant, order, signal) =>
  select(expression, name, sums.map(([column]) => `sum(${column}) AS ${column}`).join(", "), "kind <> 'storage'", since, tenant, order, signal);

/**
 * The stored bytes of the days or of the tenants since a moment. A table that an older release has made has no such column;
 * if the table itself is missing, the other statements fail.
 */
const measured = (name, aggregate, since, tenant, signal) =>
  select(name, name, `${aggregate}(stored_bytes) AS stored_bytes`, "kind = 'storage'", since, tenant, `stored_bytes DESC LIMIT ${mostTenants}`, signal)
    .catch((error) => { if (error.status === 404) return []; throw error; });

async function select(expression, name, columns, condition, since, tenant, order, signal) {
  const from = new Date(since).toISOString().slice(0, 19).replace("T", " ");
  const query = `SELECT ${expression} AS ${name}, ${columns} FROM "${table[0]}"."${table[1]}"
    WHERE ${condition} AND hour >= TIMESTAMP '${from}'${tenant ? " AND tenant = $tenant" : ""} GROUP BY ${expression} ORDER BY ${order}`;
  const rows = records(await api.rows("v1/sql", { query, ...(tenant ? { parameters: { tenant } } : {}) }, signal));
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([column, value]) => [column, column === name ? textOf(value) : isNull(value) ? 0 : Number(textOf(value))])));
}

/** Explains a refusal. A table that policies hide from the caller does not exist for it; they may hide the root, too. */
async function reason(error) {
  const { by_policies: byPolicies, administrator, subject } = await api.call("v1/access/explain", { object_id: [] }).catch(() => ({ by_policies: true }));
  const who = subject?.issuer ? `${subject.issuer}#${subject.subject}` : subject?.subject || "NAME";
  return { error, byPolicies, mayBeHidden: byPolicies && !administrator, who };
}
