i32 > 3.5
NOT (i32 > 3.5)
u8 = -1
u8 != -1
NOT (u8 = -1)
s = 10
s > 5
NOT (s > 5)
i32 = '5'
NOT (i32 = '5')
d32 > '2024-01-05'
d32 > date '2024-01-05'
d32 > "2024-01-05"
ts_us > '2024-01-02'
NOT (ts_us > '2024-01-02')
ts_us > timestamp '2024-01-02 00:00:00'
ts_s > timestamp '2024-01-02 00:00:00.5'
ts_s >= timestamp '2024-01-02 16:00:00.5'
ts_utc > timestamp '2024-01-02 00:00:00'
ts_par > timestamp '2024-01-02 00:00:00'
f64 > 1
f64 = f64
f64 != f64
f64 = 0
f64 < 0
f64 <= 0
f64 > 0
f32 = 0.1
NOT (f32 = 0.1)
f32 = 0.1 IS TRUE
f16 = 0.1
(f32 = 0.1) = true
i32 + 1 > 5
i32 + 1 < 0
i64 / 0 > 1
i64 / i64 = 1
f64 / 0 > 1
i32 % 2 = 1
-i32 > 0
i8 + 200 > 0
s || 'x' = 'ax'
s || 1 = 'a1'
coalesce(i32, 5) = 5
coalesce(CASE WHEN i32 > 3 THEN 1 ELSE 0 END, 2) = 1
i32 IS UNKNOWN
b IS UNKNOWN
b IS TRUE
i32 IS TRUE
b
NOT b
i32
i32 AND b
upper(s) = 'ABC'
upper(S) = 'ABC'
S = 'abc'
UPPER(s) = 'ABC'
Upper(s) = 'ABC'
`S` = 'abc'
`s` = 'abc'
upper("abc") = 'ABC'
upper(`s`) = 'ABC'
st.a > 3
ST.a > 3
st.A > 3
st.`B b` = 'x1'
st['B b'] = 'x1'
st.in.Deep > 1
st.in.deep > 1
abs(st.a) > 3
abs(st.in.Deep) > 1
`a.b` = 3
a.b = 3
case = 3
CASE = 3
cAsE2 = 3
user = 'u1'
date = '2024-01-01'
date > date '2023-01-01'
`with space` > 10
i32 in (1,2,NULL)
i32 not in (1,2,NULL)
i32 in (1.5, 2)
NOT(i32 in (1.5, 2))
i32 in ('1','2')
s in ('a', 1)
i32 in ()
i32 between 1 and 3
i32 between 1 and 3.5
i32 not between 1 and 3
s like 'a%'
s like 'a\%b'
s like 'a!%b' escape '!'
s like 'a\%b' escape '\'
s ilike 'ABC'
s like '%'
not (s like '%')
s not like 'a_c'
s like '_'
i32 like '1'
bin = X'61'
bin = x'61'
bin = 'a'
bin > X'61'
bin like 'a%'
dec > 2.49
dec = 2.5
dec = 3
dec in (1.5, 3)
dec256 > 5
NOT (dec > 2.49)
array_has(li, 1)
array_has(lss, 'a')
array_has_any(lss, ['b','c'])
array_has_all(lss, ['b','a'])
array_contains(li, 1)
list_has(li, 1)
starts_with(s,'a')
ends_with(s,'c')
contains(s,'b')
regexp_match(s,'^a')
regexp_like(s,'^a')
NOT regexp_match(s,'^a')
regexp_like(s,'^A','i')
length(s) = 3
char_length(s) = 1
character_length(s) = 1
octet_length(s)=2
abs(i32) > 3
abs(i8) > 3
dict = 'x'
dict in ('x','y')
NOT (dict = 'x')
nul = 1
nul IS NULL
nul IS NOT NULL
i32 = NULL
NULL
true
false
1
1 = 1
1 = 2
'a' = 'a'
t32 > '02:00:00'
t32 > 7200
dur > 5
dur = dur
date '2024-01-01' = date
string 'a' = s
s = string 'a'
int '5' = i32
i32 = int '5'
f32 = cast(0.1 as double)
f32 = cast(0.5 as double)
f32 = cast(0.1 as float)
cast(i32 as string) = '5'
cast(i64 as int) = 5
cast(i64 as int) > 5
cast(i64 as int) + 0 > 5
cast(dec as int) = 2
cast(dec as int) + 0 = 2
cast(f64 as int) = 0
cast(f64 as bigint) > 0
try_cast(f64 as bigint) >= 0
cast(s as int) > 5
try_cast(s as int) > 5
cast(f64 as string) = '0.1'
cast(f64 as string) = '1e300'
cast(f64 as string) = '1e+300'
cast(f64 as string) = '-inf'
cast(f64 as string) = 'inf'
cast(f64 as string) = 'NaN'
cast(f64 as string) = '-0.0'
cast(f64 as string) = '1.0'
cast(f32 as string) = '1e30'
cast(f32 as string) = '0.1'
cast(dec as string) = '-0.01'
cast(dec as string) = '1.50'
cast(b as string) = 'true'
cast(d32 as string) = '2024-01-02'
cast(d64 as string) like '2024-01-02%'
cast(d64 as string) = '2024-01-02T00:00:00'
cast(ts_us as string) = '2024-01-01T12:00:00'
cast(ts_us as string) like '2024-01-01T19:00:00.5%'
cast(ts_us as string) = '2024-01-01T19:00:00.500'
cast(ts_utc as string) = '2024-01-01T12:00:00Z'
cast(ts_par as string) = '2024-01-01T13:00:00+01:00'
cast(t32 as string) = '01:00:00'
cast(ts_us as date) = date '2024-01-02'
cast(ts_par as date) = date '2024-01-02'
cast(d32 as timestamp) > timestamp '2024-01-05'
cast(s as boolean)
cast(i32 as boolean)
cast(b as int) = 1
cast(bin as string) = 'a'
cast(s as binary) = X'61'
cast(i32 as timestamp) > timestamp '1970-01-01'
cast('x' as int) = 5
i32 = cast('5' as int)
i32 = '5'::int
i32::bigint = 5
i32::int8 = 5
cast(i32 as decimal(10,2)) = 5
cast(f64 as decimal(10,2)) = 0.1
dec + 1 > 3
dec * 2 = 3
dec / 2 = 0.75
dec - dec256 = 0
dec + 0.5 > 3
dec > f64
dec > i32
u64 > i64
u64 = i64
u64 + i64 > 0
i32 + u32 > 0
u8 - 1 < 0
u8 - 1 >= 0
u8 + i8 > 0
i8 + 1 = -128
NOT (i8 + 1 = -128)
i32 * 2 > 0
i32 / 2 = 0
i32 % -2 = -1
i64 / -1 < 0
i64 % -1 = 0
i16 / 0 = 1
f64 % 2 = 1
1 / 0 = 1
1 / 0 = 1 AND i32 > 5
i32 > 5 AND 1/0 = 1
i32 > 1000000 AND i64 / 0 = 1
i32 = 5 AND i64 / 0 = 1
i32 IS NULL OR 10 / i64 = 2
false AND 10 / i64 = 2
10 / i64 = 2 AND false
ts_us - ts_us > 0
d32 > 5
NOT (d32 > 5)
d32 = d64
d32 < ts_us
d64 < ts_s
ts_us < ts_ms
ts_us = ts_par
ts_us = ts_utc
ts_par = ts_utc
NOT (d32 = '2024-01-02')
NOT (d32 = 'abc')
NOT (t32 > '02:00:00')
NOT (t32 > 7200)
NOT (t64 > '02:00:00.5')
NOT (dur > 5)
b = 1
NOT (b = 1)
b = 'true'
NOT (b = 'true')
b > false
b = true
b != true
b in (true, null)
b is not distinct from null
i32 is distinct from null
i32 is not distinct from 5
f64 is not distinct from 0
f64 is distinct from 0
f64 is distinct from f32
i32 IS DISTINCT FROM 5 AND b
li IS NULL
st IS NULL
st.a IS NULL
st.in IS NULL
bin || 'a' = 'x'
bin || X'61' = X'6161'
ls || s = 'aa'
ls = s
s < ls
i32 || s = '5'
i32 || i32 = '55'
s || NULL = 'a'
s || f64 = 'a-inf'
s || b = 'atrue'
s || d32 = 'a2024-01-01'
s || ts_us like '%a'
s ~ 'a'
s SIMILAR TO 'a'
i32 // 2 = 2
(1,2) = (1,2)
i32 in (select 1)
exists (select 1)
i32 between 5 and 1
i32 not between 5 and 1
NOT i32 between 1 and 3
f64 between 0 and 1
f64 not between 0 and 1
f64 between -0.0 and 0.0
f64 in (0, 0.1)
f64 not in (0, 0.1)
0 in (f64, f32)
NOT (f64 > 0)
NOT (f64 < 0)
-f64 = 0
-f64 < 0
f64 = -f64
f64 >= -0.0
f64 = 1e400
f64 > 1e308
f64 = cast('nan' as double)
f64 = cast('inf' as double)
f64 >= cast('nan' as double)
f64 in (cast('nan' as double), 1)
x = 1
i32 = x
i32 > 3 -- comment
i32 /* c */ > 3
i32 NOT NULL
i32 > +3
+i32 > 3
- -3 < i32
i32 > -(-3)
i64 = -9223372036854775808
i64 = 9223372036854775807
u64 = 18446744073709551615
u64 > 9223372036854775808
i64 < 9223372036854775808
abs(i64) = 5 OR false
true OR 10/i64 = 1
1L = i32
i32 > 5.
i32 > .5
f64 > .05
0x05 = bin
X'6' = bin
upper(i32) = 'A'
upper(dict) = 'X'
upper(ls) = 'ABC'
lower(NULL) IS NULL
length(bin) = 1
length(dict) = 1
length(i32) = 1
length(ls) = 3
abs(s) = 3
abs(NULL) IS NULL
abs(dec) = 1.5
abs(f16) = 1
abs(u8) = 1
contains(ls, s)
starts_with(s, ls)
contains(i32, '1')
starts_with(s, NULL)
regexp_like(s, NULL)
regexp_like(s, ls)
regexp_like(dict, 'x')
regexp_match(s, ls)
regexp_match(dict, 'x')
regexp_match(s, 'A', 'i')
regexp_match(s, 'A', 'g')
regexp_like(s, '(')
coalesce(s, 'zz') = 'zz'
coalesce(i32, 1.5) = 1.5
coalesce(i32, s) = '5'
coalesce(NULL, i32) = 5
coalesce(i8, u8) = 5
coalesce(b, false)
coalesce(d32, ts_us) > timestamp '2024-01-05'
array_has(li, '1')
array_has(li, 1.0)
array_has(li, i32)
array_has(li, NULL)
array_has([1,2,3], i32)
array_has_any(li, [1, NULL])
array_has_all(li, [1])
array_has_all(li, [])
array_has_any(li, li)
array_has_any(lss, NULL)
array_has(st, 1)
array_has_any(li, [1.0])
array_has_any(li, [1.5, 2])
is_valid(i32)
IS_VALID(i32)
is_valid(i32 > 3.5)
nosuch(i32) = 1
length(s, s) = 1
length() = 1
s in ('a')
s not in ('a')
s in ('a', s)
i32 in (i64, 5)
i32 in (i8 + 1)
dict || 'a' = 'xa'
dict = ls
dict like 'x%'
dict ilike 'X'
nul = nul
nul = i32
i32 = nul
nul > 5 OR true
nul
NOT nul
nul IS TRUE
nul AND b
NULL AND b
NULL = NULL
i32 = NULL OR i32 = 5
NOT (i32 = NULL)
i32 > NULL
i32 + NULL > 5
NULL + NULL IS NULL
s LIKE NULL
s LIKE ls
s LIKE 'A' || '%'
s LIKE '%%'
s LIKE '%b'
s LIKE 'foo_bar'
s LIKE 'foo%r'
ls LIKE 'foo\\bar'
ls LIKE 'foo\bar'
ls LIKE '%\'
ls ILIKE 'FOO%'
s ILIKE 'SS'
s ILIKE 'ẞ'
s LIKE '' 
NOT (i32 > 3.5) AND NOT (u8 = -1)
f16 / 2 > 0.5
f16 * f16 > 1
f16 + 1 > 1
f16 % 2 = 1
cast(f64 as float) > 0
cast(i64 as float) = 100
cast(u64 as double) > 1e19
cast(f32 as double) = 0.1
cast(0.1 as float) = f32
f32 % 2 = 1
f64 % 0 = 1
f64 % 0 > 1
f64 % 0 < 1
f64 - f64 = 0
f64 - f64 < 0
f64 - f64 > 0
f64 / f64 < 0
f64 / f64 > 1
0.0 / 0.0 > 1
0.0 / 0.0 < 1
0.0 = -0.0
-1.0 * 0.0 < 0
(-1.0 * 0.0) = f64
f64 = 1.0 - 1.0
f64 < (1.0 - 1.0)
NOT (f64 = 0.0)
f64 IN (0.0)
f64 NOT IN (0.0, 1)
abs(f64) = 0
coalesce(f64, 0.0) = 0
CAST(0 AS double) = f64
f64 = CAST('0' AS double)
f64 IS DISTINCT FROM 0.0
f64 IS NOT DISTINCT FROM -0.0
i32 > 2 IS TRUE
i32 = 5 IS NOT FALSE
NOT i32 = 5 IS NULL
i32 IN (1, 2) = true
i32 + 1 * 2 = 7
(i32 + 1) * 2 = 12
i32 - 1 - 1 = 3
i32 = 5 = true
i32 > 3 = b
- i32 + 5 = 0
-i32::bigint = -5
i32 BETWEEN 1 AND 5 AND b
NOT b AND i32 > 0
NOT b OR i32 > 100
NOT NOT b
b = NOT b
s = 'a' || 'bc'
s || 'x' || 'y' = 'axy'
s LIKE 'a' || 'bc'
s LIKE 'a%' AND s NOT LIKE 'abc'
s LIKE 'a%' ESCAPE '\' AND b
`i32` = 5
`st`.`a` = 5
`ST`.a = 5
St.`a` = 5
st['a'] = 5
(st).a = 5
st.in['Deep'] = 2.5
st['in'].Deep = 2.5
ts_us = '2024-01-01 12:00:00'::timestamp
ts_us > cast('2024-01-02' as timestamp)
ts_us > cast('2024-01-02' as date)
ts_us > '2024-01-02'::date
d32 = '2024-01-02'::date
d32 in (date '2024-01-02', date '2024-01-03')
d32 in ('2024-01-02')
ts_us in (timestamp '2024-01-01 12:00:00')
ts_us between timestamp '2024-01-01' and timestamp '2024-01-02'
ts_us between '2024-01-01' and '2024-01-02'
d32 between date '2024-01-02' and date '2024-01-04'
NOT (d32 between '2024-01-02' and '2024-01-04')
NOT (ts_us in ('2024-01-01 12:00:00'))
NOT (ts_par > '2024-01-02')
NOT (ts_utc > '2024-01-02T00:00:00+05:00')
ts_par > timestamp '2024-07-01'
timestamp '2024-01-02' < ts_us
date '2024-01-02' < d32
3 < i32
3.5 < f64
'a' < s
NULL IS NULL
NULL = i32
NOT NULL
NULL OR b
true AND b
b OR NULL
i32 IN (NULL)
i32 NOT IN (NULL)
NULL IN (1,2)
i32 IN (1) OR NULL
i32 = 5 OR i32 = 7 OR i32 = 100
i32 = 5 OR i32 = 7 OR i32 IS NULL
i32 != 5 AND i32 != 7
i32 >= 5 AND i32 <= 5
i8 = 5 AND i8 != 7
s = 'abc' AND s != 'x'
i32 IN (i32)
1 IN (i32, i8)
'a' IN (s, ls)
NULL IN (i32)
dict = s
dict < 'y'
upper(dict) || 'z' = 'Xz'
coalesce(dict, 'n') = 'n'
dict IS NULL
dict IN ('x', NULL)
dict NOT LIKE 'x'
length(dict) + 1 = 2
CAST(dict AS string) = 'x'
TRY_CAST(dict AS int) IS NULL
li IS NOT NULL
st IS NOT NULL
li = NULL
array_has(li, 5) AND b
NOT array_has(li, 1)
array_has(li, 1) IS NULL
array_has_any(li, [NULL])
array_has_all(li, [NULL])
array_has_any(li, []) IS NULL
array_has_any(lss, ['a']) = true
array_has([1, NULL], i32)
array_has([1, NULL], i32) IS NULL
NOT array_has([1, NULL], i32)
array_has(['a','abc'], s)
array_has_all([1,2,5], li)
array_has_any([1,2,5], li)
contains('abc', s)
starts_with('abc', s)
ends_with(ls, 'bar')
regexp_like('abc', s)
regexp_like(s, 'A', NULL)
regexp_like(s, '^(?i)a')
regexp_like(s, '(?i)^ABC$')
regexp_like(s, '\d+')
regexp_like(s, '[\d_]')
regexp_like(s, '[[:alpha:]]+')
regexp_like(s, 'a{1}')
regexp_like(s, 'a{')
regexp_like(s, '\p{L}+')
regexp_like(s, '^.$')
regexp_like(s, '(?s)foo.bar')
regexp_like(s, 'foo.bar')
regexp_like(s, 'foo\nbar')
regexp_like(s, '(?m)^bar$')
regexp_like(s, 'bar$')
regexp_like(s, '')
regexp_match(s, '')
regexp_match(s, 'z') IS NULL
regexp_match(s, '(a)|(b)') IS NOT NULL
NOT (regexp_match(s, 'a') IS NULL)
lower(s) = 'ß'
upper(s) = 'SS'
upper('ß') = 'SS'
lower('İ') = 'i̇'
lower('ΑΣ') = 'ας'
upper('ŉ') = 'ʼN'
character_length('日本') = 2
octet_length('日本') = 6
length('') = 0
length(s || ls) > 3
abs(-5) = 5
abs(-5.5) = 5.5
abs(i32 + 1) = 6
abs(CAST(i32 AS bigint)) > 1000000
abs(-dec) = 1.5
coalesce(i32, i64, 5) = 5
coalesce(NULL, NULL, i32) = 5
coalesce(s, ls, 'x') = 'x'
coalesce(i32) = 5
coalesce(b, i32 > 3)
coalesce(CASE WHEN b THEN i32 ELSE i8 END, 0) = 5
coalesce(CASE i32 WHEN 5 THEN 'five' WHEN 7 THEN 'seven' END, 'none') = 'none'
coalesce(CASE WHEN i32 > 3 THEN 'a' ELSE 1 END, 'x') = '1'
coalesce(CASE f64 WHEN 0.0 THEN 1 ELSE 2 END, 0) = 1
coalesce(CASE WHEN NULL THEN 1 END, 7) = 7
coalesce(CASE WHEN b THEN 10 / i64 ELSE 0 END, 0) = 2
coalesce(CAST(ts_us AS timestamp), timestamp '2024-01-01') = timestamp '2024-01-01 12:00:00'
coalesce(CAST('5' AS int8), 1) = 5
coalesce(CAST(i32 AS varchar), 'n') = 'n'
coalesce(CAST(i32 AS text), 'n') = '5'
coalesce(i32 > 3.5, false)
coalesce(i32 IN (1.5, 5), false)
coalesce(I32, 1) = 1
upper(S) = 'A'
abs(-9223372036854775808) > 0
coalesce(i64 = -9223372036854775808, false)
i32 > 1e2
i64 = 100.0
i64 = 1e2
NOT (i64 = 1e2)
u8 > 255
u8 > 256
i8 < 128
dec = 1.5
dec = CAST(1.5 AS decimal(7,2))
dec > CAST('1.499' AS decimal(7,3))
CAST(1.5 AS decimal(7,2)) = dec
dec IN (CAST(1.5 AS decimal(7,2)))
dec % 1 = 0
dec / 3 > 0.5
dec * dec > 6
dec + i8 > 5
dec - 1.5 = 0
-dec > 1
dec256 * 2 = 10
dec256 / 3 > 1
CAST(dec AS float) > 2.4
CAST(dec AS double) = 2.49
CAST(dec256 AS bigint) = 4
CAST(u64 AS decimal(20,0)) > 5
dec > dec256
dec BETWEEN 1 AND 2
dec BETWEEN 1.2 AND 2
dec IS NULL
t32 = 3600
t32 > t64
t32 IN (3600, 7200)
t64 > 3600
NOT (t32 = '01:00:00')
NOT (t64 BETWEEN '01:00:00' AND '02:30')
CAST('01:30:00' AS string) = '01:30:00'
bin IN (X'61', X'62')
bin IN ('a')
bin IS NULL
CAST('a' AS binary) = bin
bin < X'62' AND bin >= X''
bin = X'' 
i32 = 5 -- trailing
/* lead */ i32 = 5
i32	=
i32 === 5
i32 = = 5
i32 == 5
i32 <> 5
i32 !=5
i32>=5and b
i32 = 5 AND
AND i32 = 5
i32 = (5
i32 5
'abc
`i32
i32 = 5 OR OR b
i32 IN 5
i32 BETWEEN 5
i32 LIKE
i32 IS
i32 IS NOT
CAST(i32 AS)
CAST(i32)
i32::
@x = 5
#x = 5
i32 = 0x05
f64 > 1e400
f64 < -1e400
f64 = 0.1e1
CAST(0.00001 AS string) = '0.00001'
CAST(0.00001 AS string) = '1e-5'
CAST(0.000001 AS string) = '1e-6'
CAST(0.000012 AS string) = '0.000012'
CAST(0.0000012 AS string) = '1.2e-6'
CAST(CAST(0.000001 AS float) AS string) = '0.000001'
CAST(CAST(0.0000001 AS float) AS string) = '1e-7'
CAST(1e15 AS string) = '1000000000000000.0'
CAST(1e16 AS string) = '1e16'
CAST(123456789012345680.0 AS string) = '1.2345678901234568e17'
CAST(CAST(1e12 AS float) AS string) = '1000000000000.0'
CAST(CAST(1e13 AS float) AS string) = '10000000000000.0'
CAST(CAST(1e13 AS float) AS string) = '1e13'
CAST('' AS decimal(10,2)) = dec
