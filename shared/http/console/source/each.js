// Work on the elements of a list, several at a time.

/** Does something for each of a list, a few at a time, and returns the results in order. */
export async function each(list, work, atOnce = 6) {
  const results = new Array(list.length);
  let next = 0;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (next < list.length) {
      const i = next++;
      results[i] = await work(list[i]);
    }
  }));
  return results;
}
