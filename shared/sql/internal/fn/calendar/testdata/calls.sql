coalesce(extract(year from ts))
coalesce(extract(MONTH FROM d))
coalesce(extract(dow FROM d))
coalesce(extract(epoch FROM ts))
date_trunc('year', ts)
date_trunc('quarter', ts)
date_trunc('month', ts)
date_trunc('week', ts)
date_trunc('day', ts)
date_trunc('hour', ts)
date_trunc('minute', ts)
date_trunc('second', ts)
date_trunc('millisecond', ts)
date_trunc('microsecond', ts)
date_trunc('decade', ts) -- refused
date_trunc('DAY', tms)
date_trunc('day', d)
date_trunc('month', d)
date_trunc('day', tp)
date_trunc('hour', tp)
date_trunc('month', tp)
date_trunc('day', tz)
date_trunc('day', tns)
date_trunc('day', tss)
date_trunc('hour', '2024-01-01T05:06:07')
date_trunc('day', s) -- refused
date_trunc(s2, ts) -- refused
date_part('year', ts)
date_part('quarter', ts)
date_part('month', ts)
date_part('week', ts)
date_part('day', ts)
date_part('hour', ts)
date_part('minute', ts)
date_part('second', ts)
date_part('millisecond', ts)
date_part('microsecond', ts)
date_part('nanosecond', ts)
date_part('dow', ts)
date_part('doy', ts)
date_part('isodow', ts)
date_part('isoyear', ts)
date_part('epoch', ts)
date_part('century', ts) -- refused
date_part('year', d)
date_part('dow', d)
date_part('week', d)
date_part('epoch', d)
date_part('hour', d)
date_part('hour', tp)
date_part('day', tp)
date_part('epoch', tp)
date_part('hour', tz)
date_part('second', tns)
date_part('millisecond', tms)
date_part('epoch', tns)
date_part('hour', t)
date_part('epoch', t)
date_part('year', '2024-05-06')
date_part('YEAR', ts)
to_timestamp(s) -- refused
to_timestamp(n)
to_timestamp(f)
to_timestamp('2024-01-02 03:04:05')
to_timestamp('2024-01-02T03:04:05.123456789Z')
to_timestamp('2024-01-02')
to_timestamp(ts)
to_timestamp(d) -- refused
to_timestamp(tp)
to_timestamp_seconds(n)
to_timestamp_seconds('2024-01-02 03:04:05.9')
to_timestamp_seconds(ts)
to_timestamp_millis(n)
to_timestamp_millis('2024-01-02 03:04:05.9876')
to_timestamp_micros(n)
to_timestamp_micros(tns)
to_timestamp_nanos(n)
to_timestamp_nanos(ts)
to_timestamp(NULL)
to_date('2024-05-06')
to_date(n)
to_date(ts)
to_date(NULL)
to_date(s) -- refused
to_date(f) -- refused
make_date(2024, 2, 29)
make_date(2024, i, 1) -- refused
make_date(n, 1, 1)
make_date('2024', '1', '1')
make_date(2023, 2, 29) -- refused
make_date(NULL, 1, 1)
to_unixtime(ts)
to_unixtime('2024-01-01')
to_unixtime(d)
from_unixtime(n)
date_trunc('day', timestamp '2024-05-06 07:08:09')
date_part('hour', timestamp '2024-05-06 07:08:09')
date_part('years', ts)
date_part('qtr', d)
date_part('ms', ts)
date_part('min', t)
date_part('month', t) -- refused
date_part(s2, ts) -- refused
date_part('hour', s) -- refused
date_trunc('month', date '2024-05-06')
date_trunc('bogus', d) -- refused
make_date(2024, u, 1) -- refused
make_date(2024, 1, id + 1)
make_date(s, 1, 1) -- refused
to_date('2024-13-01') -- refused
to_timestamp('bogus') -- refused
datepart('year', d)
datetrunc('year', ts)
from_unixtime(u)
from_unixtime(f) -- refused
to_unixtime(n)
to_unixtime(tp)
to_timestamp_seconds(s) -- refused
to_timestamp_millis(u)
coalesce(date_part('day', d + interval '1 month'))
to_char(ts, '%Y-%m-%d')
date_format(d, '%d/%m/%Y %H')
to_local_time(tz)
to_local_time(ts)
to_local_time(tp)
to_time(s) -- refused
to_time(ts)
date_bin(interval '1 day', ts)
date_bin(interval '15 minutes', ts, timestamp '2000-01-01 00:01:00')
date_bin('1 day', ts)
date_bin(interval '1 hour', t)
date_bin(interval '1 day', d)
make_time(id, 2, 3)
to_time(concat('12:34:5', cast(id as string)))
to_timestamp(concat('2024/03/0', cast(id as string), ' 10:20'), '%Y/%m/%d %H:%M') -- refused
to_timestamp_millis(concat('0', cast(id+1 as string), 'Jan99 10.20.30.5'), '%d%b%y %H.%M.%S%.f') -- refused
to_timestamp_seconds(concat('2024-01-0', cast(id+1 as string)), '%Y', '%Y-%m-%d') -- refused
to_timestamp(concat('2024-01-0', cast(id+1 as string), 'T01:02:03+0200'), '%Y-%m-%dT%H:%M:%S%z') -- refused
to_timestamp(concat('2024-01-0', cast(id+1 as string), 'T01:02:03 Europe/Paris'), '%Y-%m-%dT%H:%M:%S %Z') -- refused
to_date(concat('1/', cast(id+1 as string), '/2024'), '%d/%m/%Y')
to_unixtime(concat('2024-01-0', cast(id as string), ' 03PM'), '%Y-%m-%d %I%p') -- refused
to_unixtime(concat('2024-01-1', cast(id as string), ' 03:04PM'), '%Y-%m-%d %I:%M%p')
to_char(ts, '%c %j %U %W %V %G %u %w %a %A %b %B %e %k %I %l %p %P %f %.f %3f %.3f %.6f %9f')
to_char(tms, '%s %y %C %D %F %T %R %x %X %r %v %-d %_d %0e %%')
to_char(tns, '%H:%M:%S%.9f')
to_char(tz, '%Y %Z %z %:z')
to_char(tp, '%Y-%m-%d %H:%M:%S %Z %z %:z %s')
to_char(ts, '%z') -- refused
to_char(t, '%H-%M-%S')
to_char(t, '%Y') -- refused
to_char(d, '%Y %q')
to_char(ts, s)
to_char(ts, null)
to_char(s, '%Y') -- refused
to_char(id, '%Y') -- refused
date_bin(interval '7 days', ts, timestamp '2001-01-01')
date_bin(interval '1 day', tz)
date_bin(interval '90 seconds', tss)
date_bin(interval '0 seconds', tss) -- refused
to_local_time(id) -- refused
to_local_time(s) -- refused
make_time(id, i, 0) -- refused
make_time('1', 2, id)
to_time(tp)
to_time(t) -- refused
to_time(d) -- refused
