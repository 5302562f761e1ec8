d + 1 -- refused
d - 1 -- refused
d - d
ts - ts
ts - d
tns - ts
abs(1) + 1
coalesce(ts - ts)
coalesce(d - d)
coalesce(d + 1)
coalesce(ts - d)
ts > '2000-01-01' -- refused
d = '1970-01-01' -- refused
ts = d
coalesce(d + interval '1 month')
coalesce(d - interval '1 year')
coalesce(d + interval '1 day')
coalesce(d + interval '36 hours')
coalesce(d - interval '36 hours')
coalesce(ts + interval '1 hour')
coalesce(ts + interval '1 year 2 months 3 days 4 hours 5 minutes 6.5 seconds')
coalesce(ts - interval '1 month 2 days')
coalesce(ts + interval '1' month)
coalesce(ts + interval 1 day)
coalesce(ts + interval '1.5 hours')
coalesce(ts - interval '-1 day')
coalesce(tp + interval '1 day')
coalesce(tp + interval '12 hours')
coalesce(tz - interval '1 hour')
coalesce(tz - interval '13 months')
coalesce(tss + interval '1 hour')
coalesce(tms + interval '1 millisecond')
coalesce(tss + interval '1 millisecond')
coalesce(interval '1 day' + d)
coalesce(ts > timestamp '2000-01-01' - interval '1 day')
coalesce(d + i)
coalesce(d - 1)
coalesce(dur + dur)
coalesce(dur - dur)
coalesce(ts - dur)
coalesce(ts + dur)
coalesce(tms - ts)
coalesce(tz - tz)
coalesce(d + interval '1 fortnight') -- refused
ts - ts > dur
li = [1, 2, 3]
li = li
li[1] = 1
li[1] > 2 AND n > 0
li[n] = 1
st.a > 3
st['a'] = 5
lw = ['a', 'b']
coalesce(li = [1, 2, 3])
coalesce(li = make_array(1, 2, 3))
fl = [0.0, 1.0, 2.0]
coalesce(li = lf)
li != [5]
li IS DISTINCT FROM [5]
lw = make_array('a', 'b')
coalesce(lf = lf)
lw[1] = 'a'
abs(li[2]) + 1
n << 2
n >> 1
u << 1
i << n
coalesce(n & 3 = 1)
n << 1 = 2
n << 64
n << -1
i >> 33
i >> 1
u >> 1
coalesce(u64 & n) -- refused
coalesce(b & b) -- refused
coalesce(s & 1) -- refused
coalesce(u64 << 1)
u64 >> 1
coalesce(tss + dur)
coalesce(ts - tss = dur)
ts < now()
ts < current_timestamp
tz < now()
d < current_date
d < current_date()
now() = now() and id > 0
to_time('12-34','%H-%M') < t -- refused
st.a + 1
to_char(date '2024-01-01', '%Y') = s
get_field(named_struct('a', 7, 'b', s), 'a') + id
tss > now()
d < now()
ts > current_date()
now() > timestamp '2020-01-01' and id > 3
current_date > date '2020-01-01' and id > 3
to_local_time(tp) = ts
get_field(json_extract_with_type(j, '$.a'), 'type_tag') = 2
NOT (li = [5])
n + i
n + u
n - u64
u + u
i * 1000000000
n * f
g + i
g * g
dec + n
dec * dec
dec - 1
dec / 3
dec % 2
n / 3
i / 2
n % 3
i % 4
f / 0.0
f % 2.0
u / 2
n / n -- refused
10 / n -- refused
n % u -- refused
9223372036854775807 + n
u - 1
-n
-i
-f
-dec
-u -- refused
-s -- refused
n = i
n != u64
n < f
f = f
f <= 0.0
f > g
g = 0.0
dec > n
dec = 1.5 -- refused
dec <= f -- refused
s < s2
s = ls
ls >= s2
s = dict
dict != 'x'
b = true
b < true
b = b
bin = X'61'
bin > X'61'
d < ts
d = date '2000-12-31'
ts = tns
tss <= tms
tz = tp
t > '12:00:00' -- refused
dur > dur
n IS DISTINCT FROM i
f IS DISTINCT FROM f
s IS NOT DISTINCT FROM s2
n IS NOT DISTINCT FROM NULL
NULL = n
NULL IS DISTINCT FROM NULL
s || s2
s || ls
ls || dict
s || NULL
s || n
bin || bin
li || [7] -- refused
coalesce(n & i)
coalesce(n | 3)
coalesce(n ^ i)
coalesce(u & 3)
coalesce(u64 | 1)
coalesce(n & NULL)
i << 2
b AND n > 0
b OR n > 0
b AND NULL
b OR NULL
b OR true
n > 0 AND NULL
NOT b
NOT (n > 0)
NOT NULL
s + 1 -- refused
n + s -- refused
b + 1 -- refused
d + d -- refused
f BETWEEN g AND 3
j = j
bin || NULL
NULL || bin
bin || s -- refused
s || lw
li || s
lw || ls
s || fl -- refused
dur || s
ls || dur
CAST(dur AS string)
CAST(lw AS string)
CAST(li AS string)
[[n, 1], [i]] || s -- refused
st = named_struct('a', CAST(id AS int), 'b', s)
st = named_struct('b', 'x1', 'a', CAST(1 AS int))
st <> named_struct('a', i, 'b', 'x1')
st = named_struct('a', i, 'b', s2)
st IS DISTINCT FROM named_struct('a', i, 'b', 'x2')
st IS NOT DISTINCT FROM st
named_struct('f', f, 'l', lw) = named_struct('f', f, 'l', lw)
named_struct('f', f) = named_struct('f', -f)
named_struct('f', n, 's', st) = named_struct('f', i, 's', st)
