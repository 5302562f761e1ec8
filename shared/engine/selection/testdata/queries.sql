SELECT * FROM t
select * from t limit 3
SELECT id AS "id", upper(text) AS "u" FROM "t" WHERE id > 1 LIMIT 5
SELECT meta.title AS title, id AS id, meta.title AS other FROM t
SELECT `a``b`, "c""d" FROM t
SELECT id id2 FROM t;
SELECT id FROM t; SELECT id FROM t
SELECT id FROM a.b.c.d
SELECT id FROM T
SELECT id FROM "T"
SELECT id AS Y FROM t
SELECT id AS "order" FROM t
SELECT id AS order FROM t
SELECT id FROM t LIMIT 0
SELECT id FROM t LIMIT 05
SELECT id FROM t LIMIT -1
SELECT id FROM t LIMIT 1.5
SELECT id FROM t LIMIT ALL
SELECT id FROM t LIMIT NULL
SELECT id FROM t LIMIT 18446744073709551615
SELECT id FROM t LIMIT 18446744073709551616
SELECT id FROM t LIMIT 5 OFFSET 2
SELECT id FROM t LIMIT 2, 5
SELECT id FROM t OFFSET 2
SELECT id FROM t FETCH FIRST 2 ROWS ONLY
SELECT id FROM t ORDER BY id
SELECT id FROM t HAVING id > 1
SELECT id FROM t WHERE id > 1 FOR UPDATE
SELECT id FROM t UNION SELECT id FROM u
SELECT id FROM t JOIN u ON t.id = u.id
SELECT id FROM t, u
SELECT id FROM t AS u
SELECT id FROM t u
SELECT id FROM t TABLESAMPLE (10)
SELECT id FROM split(t) AS c
SELECT id FROM (SELECT id FROM t)
SELECT id FROM 't'
SELECT id
SELECT FROM t
SELECT *, id FROM t
SELECT id, * FROM t
SELECT t.* FROM t
SELECT DISTINCT id FROM t
SELECT ALL id FROM t
SELECT TOP 5 id FROM t
SELECT id * 2 FROM t
SELECT id, FROM t
SELECT (id) FROM t
SELECT count(*) FROM t
SELECT id INTO u FROM t
WITH q AS (SELECT 1) SELECT id FROM t
FROM t SELECT id
INSERT INTO t VALUES (1)
(SELECT id FROM t)
SELECT case FROM t
SELECT 'a\''b' AS y FROM t
SELECT (id) AS id FROM t
SELECT case when x then 1 end AS y FROM t
SELECT substr(x, 1, 2) AS y FROM t
SELECT id, u FROM t, UNNEST(tags) AS u
select id, u.x as x, u.y+1 as z from ns.t cross join unnest(`Tags`) u where u.x>1 and id=2
SELECT * FROM t, UNNEST("tags") AS "Item" WHERE "Item" IS NOT NULL
SELECT id FROM t, UNNEST(tags) AS u LIMIT 3
SELECT id FROM t, UNNEST(tags)
SELECT id FROM t, UNNEST(tags) AS u(x)
SELECT id FROM t, UNNEST(Tags) AS u
SELECT id FROM t, UNNEST(tags) AS Item
SELECT id FROM t, UNNEST(a.b) AS u
SELECT id FROM t, UNNEST(a, b) AS u
SELECT id FROM t, UNNEST(upper(a)) AS u
SELECT id FROM t, UNNEST([1, 2]) AS u
SELECT id FROM t, LATERAL UNNEST(tags) AS u
SELECT id FROM t, UNNEST(tags) WITH OFFSET AS u
SELECT id FROM t, UNNEST(tags) WITH ORDINALITY AS u
SELECT id FROM t, UNNEST(a) AS x, UNNEST(b) AS y
SELECT id FROM t CROSS JOIN UNNEST(a) AS x CROSS JOIN UNNEST(b) AS y
SELECT id FROM t JOIN UNNEST(a) AS x
SELECT id FROM t, u
SELECT id FROM t CROSS JOIN u
SELECT id FROM UNNEST(a) AS x
SELECT id, c.text FROM t, split_text(body, 800, 100) AS c
select id, c.text from t cross join lateral split_text(upper(body),800,- 100,'words') c where c.ordinal<3
SELECT id FROM t, LATERAL f() AS c
SELECT id FROM t, f(body)
SELECT id FROM t, ns.f(body) AS c
SELECT id FROM t, F(body) AS c
SELECT id FROM t, f(size => 5) AS c
SELECT id FROM t, f(*) AS c
SELECT id FROM t, f(body) AS c, UNNEST(x) AS u
SELECT id FROM t, f(DISTINCT body) AS c
SELECT id FROM t, f(body,) AS c
SELECT k, count(*) AS n FROM t GROUP BY k
select k, COUNT( * ) n from t where x>1 group by k
SELECT K, S AS y FROM t GROUP BY K, S
SELECT upper(s) AS y FROM t GROUP BY y
SELECT upper(s) AS y FROM t GROUP BY 1
SELECT k, count(distinct s) AS y FROM t GROUP BY k
SELECT k, count(ALL i) AS y FROM t GROUP BY k
SELECT k, "count"(*) AS y FROM t GROUP BY k
SELECT k, sum(x)filter(where i>10) AS y FROM t GROUP BY "k", `Name`,meta.title
SELECT k, array_agg(s) filter (where i is not null) y FROM t GROUP BY (k)
SELECT k, sum(x)/count(*) as "mean", k+1 AS next FROM ns.t GROUP BY k , k+1
SELECT k, CASE WHEN count(*)>1 THEN 'many' ELSE 'one' END AS y FROM t GROUP BY k;
SELECT k FROM t GROUP BY k
SELECT k FROM t GROUP BY k HAVING count(*) > 1
SELECT k FROM t GROUP BY ALL
SELECT k FROM t GROUP BY ROLLUP (k)
SELECT k FROM t GROUP BY CUBE(k)
SELECT k FROM t GROUP BY GROUPING SETS ((k))
SELECT k FROM t GROUP BY k WITH ROLLUP
SELECT * FROM t GROUP BY k
SELECT k FROM t GROUP BY k LIMIT 5
SELECT k FROM t GROUP BY k ORDER BY k
SELECT DISTINCT k FROM t GROUP BY k
SELECT k, c.x FROM t, UNNEST(xs) AS c GROUP BY k
SELECT k, count(*) FROM t GROUP BY k
SELECT count(*) AS n FROM t
SELECT max(x) AS n, upper(s) AS s FROM t WHERE count(*) > 1
SELECT k FROM t GROUP BY
SELECT k FROM t GROUP k
SELECT k FROM t GROUP BY k,
