st.a
arrow_typeof(li)
arrow_typeof(ts)
arrow_typeof(s)
arrow_typeof(st)
arrow_typeof(fl)
arrow_typeof(dec)
arrow_typeof(dur)
arrow_typeof(t)
arrow_typeof(tp)
arrow_typeof(lw)
arrow_typeof(ls)
arrow_typeof(bin)
now -- refused
`current_date` -- refused
st['a']
st['b']
st['zz'] -- refused
li['a'] -- refused
named_struct('a', id)['a']
json_extract_with_type(j, '$.a')['type_tag']
list_sum(li) -- refused
get_field(st, 'a')
get_field(st, 'zz') -- refused
get_field(named_struct('a', id, 'b', s), 'b')
get_field(struct(id), 'c0')
get_field(struct(id), 'c1') -- refused
get_field(id, 'c1') -- refused
coalesce(CASE WHEN n > 0 THEN li ELSE [9] END)
coalesce(CASE WHEN n > 0 THEN lw END)
coalesce(CAST(s2 AS timestamp)) -- refused
coalesce(date '2024-01-01')
coalesce(timestamp '2024-01-01 10:00:00')
coalesce(time '10:00:00')
id in (cardinality(range(3)), 5)
li IS NULL
ts BETWEEN '2000-01-01' AND '2024-12-31' -- refused
lw[-1] LIKE '%x%'
coalesce([n, i])
coalesce([1, 2, n])
li[1:2] -- refused
b IS TRUE
b IS NOT TRUE
b IS FALSE
b IS NOT FALSE
n IS NULL
s IS NOT NULL
n > 0 IS TRUE
n IN (1, 2, NULL)
s NOT IN ('a', 'b')
f IN (0.0, 1)
n BETWEEN i AND 5
s NOT BETWEEN 'a' AND 'b'
s LIKE '%a%'
s ILIKE 'hello%'
coalesce(CASE WHEN b THEN n WHEN n > 1 THEN 0 END)
coalesce(CASE n WHEN 1 THEN 'one' ELSE 'other' END)
CAST(f AS bigint) -- refused
CAST(s2 AS int) -- refused
CAST(n AS string)
TRY_CAST(s AS double)
n
s
'x'
1
