id
`id`
"id"
ID
name
Name
"Name"
`Name`
(Name)
missing
meta
meta.title
meta.n
meta['title']
get_field(meta, 'title')
meta.missing
v
tags
tags[1]
bin
order
"order"
`order`
"a b"
`a b` + 1
id + 1
id+n*2
f / 2
n = 1
b
not b
b is true
b and n>1
id is null
id in (1,2,3)
n between 1 and 2
Name like 'a%'
upper("Name")
upper('Name')
length(Name)
lower(name)
cast(id as string)
id::double
coalesce(case when b THEN 1 else 2 end, 0)
coalesce(n, 0)
1
'text'
NULL
true
ts
ts > timestamp '2024-01-01'
abs(extract(year from ts))
date_trunc('day', ts)
now()
now() > ts
current_date
current_timestamp
random()
random() > 0.5
uuid()
version()
arrow_typeof(id)
arrow_typeof(id) = 'Int64'
arrow_field(id)
arrow_metadata(id)
regexp_match(Name, 'a')
regexp_like(Name, 'a')
array_length(tags)
struct(id, n)
named_struct('a', id)
count(id)
sum(n) > 1
id > 
id; n
(select 1)
_rowid
_rowid > 1
__source_row_id
(id) + 1
abs((id))
