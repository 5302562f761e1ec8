json_get_string(j, 'a')
json_get_string(j, 'b')
json_get_string(j, 'c')
json_get_string(j, 'd')
json_get_string(j, 'e') -- refused
json_get_string(j, 'b c')
json_get_string(j, '1')
json_get_int(j, 'a') -- refused
json_get_int(j, 'd') -- refused
json_get_int(j, 'b') -- refused
json_get_int(j, '0')
json_get_int(j, 'c') -- refused
json_get_float(j, 'a')
json_get_float(j, 'd')
json_get_bool(j, 'c')
json_get_bool(j, 'e') -- refused
json_get_bool(j, 'a') -- refused
json_get(j, 'f')
json_get(j, 'g')
json_get(j, 'a')
json_get(j, NULL)
json_get_string(json_get(j, 'g'), 'h')
json_get_int(json_get(json_get(json_get(j, 'g'), 'i'), '0'), 'k')
json_exists(j, '$.a')
json_exists(j, '$.g.h')
json_exists(j, '$[0]')
json_exists(j, '$.zz')
json_exists(j, s2) -- refused
json_extract(j, '$.a')
json_extract(j, '$.b')
json_extract(j, '$.f')
json_extract(j, '$.f[0]')
json_extract(j, '$.f[5]')
json_extract(j, '$.g.i[0].k')
json_extract(j, '$.g')
json_extract(j, '$')
json_extract(j, 'a')
json_extract(j, '$["a"]')
json_extract(j, '$["b c"]')
json_extract(j, '$.d')
json_extract(j, '$.e')
json_array_length(j, '$.f')
json_array_length(j, '$')
json_array_length(j, '$.a')
json_get_int(n, 'a') -- refused
json_get_string(bin, 'a') -- refused
json_array_contains(s, '$', '1') -- refused
json_array_contains(j, '$.f', '1')
json_array_contains(j, '$.f', 'z')
json_array_contains(j, '$.a', 'z')
json_array_contains(j, '$.nope', 'z')
json_array_contains(j, '$', '2')
json_array_contains(j, s, '2') -- refused
json_extract_with_type(j, '$.a')
json_extract_with_type(j, '$.b')
json_extract_with_type(j, '$.d')
json_extract_with_type(j, '$.e')
json_extract_with_type(j, '$')
