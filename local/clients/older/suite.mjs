// What users of LanceDB's client for Node do, in the words of its version 0.21. Arguments are the URL of the service
// and a token.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import * as lancedb from "@lancedb/lancedb";

const [url, token] = process.argv.slice(2);
const db = await lancedb.connect("db://local", { apiKey: token, hostOverride: url });
const name = "older_" + randomUUID();
const row = (id, item = `word${id}`) => ({ id, item, vector: [id, 1] });

const table = await db.createTable(name, Array.from({ length: 20 }, (_, i) => row(i)));
await table.add([row(100, "extra")]);
assert.equal(await table.countRows("id > 17"), 3);
assert.equal(Number((await table.update({ where: "id = 1", values: { item: "one" } })).rowsUpdated), 1);
await table.delete("id = 2");
await table.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute([row(1, "merged"), row(101)]);
assert.deepEqual((await table.listVersions()).map((version) => version.version), [1, 2, 3, 4, 5]);
assert.ok((await table.listVersions()).every((version) => version.timestamp instanceof Date));

const near = await table.search([3.1, 1]).where("id < 50").select(["id"]).limit(2).toArray();
assert.deepEqual(near.map((hit) => Number(hit.id)), [3, 4]);
const [named] = await table.search([5, 1]).select({ number: "id", upper: "upper(item)" }).limit(1).toArray();
assert.deepEqual([Number(named.number), named.upper], [5, "WORD5"]);

await table.createIndex("item", { config: lancedb.Index.fts() });
for (let i = 0; i < 600 && (await table.listIndices()).length === 0; i++) {
  await new Promise((resolve) => setTimeout(resolve, 100));
}
assert.deepEqual((await table.listIndices()).map((index) => index.name), ["item_idx"]);
assert.deepEqual((await table.search("word9", "fts", "item").limit(3).toArray()).map((hit) => Number(hit.id)), [9]);
await (await table.tags()).create("first", 1);
await table.checkout(1);
assert.equal(await table.countRows(), 20);
await table.checkoutLatest();
await db.dropTable(name);
console.log("done");
