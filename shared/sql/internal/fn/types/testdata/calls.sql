arrow_cast(n, 'Int8')
arrow_cast(n, 'Float32')
arrow_cast(n, 'Utf8')
arrow_cast(s2, 'LargeUtf8')
arrow_cast(ts, 'Timestamp(Second, None)')
arrow_cast(ts, 'Timestamp(ms, "UTC")')
arrow_cast(ts, 'Timestamp(Millisecond, Some("Europe/Paris"))')
arrow_cast(ts, 'Timestamp(ns)')
arrow_cast(d, 'Date64')
arrow_cast(n, 'Decimal128(20, 2)')
arrow_cast(5, 'UInt16')
arrow_try_cast(s, 'Int64')
arrow_cast(n, 'Bogus') -- refused
cast_to_type(id, 'a')
cast_to_type(id, s)
try_cast_to_type(s, id)
cast_to_type(s, id) -- refused
try_cast_to_type(s, f)
cast_to_type(ts, d)
arrow_cast(n, 'Binary')
arrow_cast(i, 'LargeBinary')
arrow_cast(b, 'Binary') -- refused
arrow_cast(n, 'Duration(Second)')
arrow_cast(f, 'Duration(Millisecond)') -- refused
arrow_cast(dec, 'Duration(Millisecond)')
arrow_cast(arrow_cast(n, 'Duration(Second)'), 'Float64')
arrow_cast(arrow_cast(n, 'Duration(Second)'), 'Int8')
arrow_cast(n, 'Time64(Nanosecond)')
arrow_cast(n, 'Time32(Second)') -- refused
arrow_cast(arrow_cast(n, 'Time64(Nanosecond)'), 'Int64')
arrow_cast(arrow_cast(n, 'Int32'), 'Time32(Second)')
arrow_cast(arrow_cast(arrow_cast(n, 'Int32'), 'Time32(Second)'), 'Int64')
arrow_cast(arrow_cast(arrow_cast(n, 'Int32'), 'Time32(Second)'), 'Int32')
arrow_cast(arrow_cast(arrow_cast(n, 'Int32'), 'Time32(Second)'), 'Int16') -- refused
arrow_cast(arrow_cast(n, 'Int32'), 'Time64(Nanosecond)') -- refused
arrow_cast(n, 'List(Int32)')
arrow_cast(s, 'LargeList(Utf8)')
arrow_cast(li, 'List(List(Int64))')
arrow_cast(arrow_cast(n, 'Duration(Second)'), 'Decimal128(10, 2)')
arrow_cast(ts, 'Decimal128(38, 0)')
arrow_cast(dec, 'Timestamp(Second, None)')
arrow_cast(ts, 'Float32')
arrow_cast(NULL, 'List(Int64)')
arrow_cast(bin, 'FixedSizeBinary(2)') -- refused
arrow_cast(s, 'FixedSizeBinary(2)') -- refused
arrow_try_cast(bin, 'FixedSizeBinary(1)')
arrow_cast(NULL, 'FixedSizeBinary(1)')
arrow_cast(X'6162', 'FixedSizeBinary(2)')
arrow_cast(s, 'Utf8View')
arrow_cast(n, 'Utf8View')
arrow_cast(bin, 'BinaryView')
arrow_cast(s, 'BinaryView')
arrow_cast(dict, 'BinaryView')
arrow_cast(bin, 'Utf8View') -- refused
arrow_cast(ts, 'Utf8View')
length(arrow_cast(s, 'Utf8View'))
arrow_cast(s, 'Utf8View') = 'a'
arrow_cast(s, 'Dictionary(Int32, Utf8)') = 'a'
arrow_cast(bin, 'BinaryView') = X'61'
arrow_cast(s, 'Utf8View') || 'x'
upper(arrow_cast(s, 'Dictionary(Int32, Utf8)'))
arrow_cast(fl, 'FixedSizeList(3 x Float64)')
arrow_cast(fl, 'FixedSizeList(3, Float64)')
arrow_cast(li, 'FixedSizeList(3, Int64)') -- refused
arrow_cast(li, 'List(Int32, field: ''x'')')
arrow_cast(li, 'List(nullable Int32)')
arrow_cast(li, 'List(non-null Int32)') -- refused
arrow_cast(li, 'List(Field { name: "item", data_type: Int32, nullable: true })') -- refused
arrow_cast(m, 'Map("entries": non-null Struct("key": non-null Utf8, "value": Int32), unsorted)')
arrow_cast(m, 'Map(Utf8, Int32)') -- refused
arrow_cast(n, ' Int32 ')
arrow_cast(n, 'Int32()') -- refused
arrow_cast(n, 'utf8') -- refused
arrow_cast(s, 'FixedSizeBinary') -- refused
arrow_cast(s, 'FixedSizeBinary(-1)') -- refused
arrow_cast(s, 'Dictionary(Utf8, Utf8)') -- refused
arrow_cast(s, 'Dictionary(Int32)') -- refused
arrow_cast(ts, 'Timestamp(ms, "UTC")')
