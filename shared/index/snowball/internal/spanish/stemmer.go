// Code generated from algorithms/spanish.sbl by the Snowball compiler; DO NOT EDIT.

// Package spanish finds the stems of words; see the package snowball.
package spanish

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 6, F: nil},
	{Str: "á", A: 0, B: 1, F: nil},
	{Str: "é", A: 0, B: 2, F: nil},
	{Str: "í", A: 0, B: 3, F: nil},
	{Str: "ó", A: 0, B: 4, F: nil},
	{Str: "ú", A: 0, B: 5, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "la", A: -1, B: -1, F: nil},
	{Str: "sela", A: 0, B: -1, F: nil},
	{Str: "le", A: -1, B: -1, F: nil},
	{Str: "me", A: -1, B: -1, F: nil},
	{Str: "se", A: -1, B: -1, F: nil},
	{Str: "lo", A: -1, B: -1, F: nil},
	{Str: "selo", A: 5, B: -1, F: nil},
	{Str: "las", A: -1, B: -1, F: nil},
	{Str: "selas", A: 7, B: -1, F: nil},
	{Str: "les", A: -1, B: -1, F: nil},
	{Str: "los", A: -1, B: -1, F: nil},
	{Str: "selos", A: 10, B: -1, F: nil},
	{Str: "nos", A: -1, B: -1, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "ando", A: -1, B: 6, F: nil},
	{Str: "iendo", A: -1, B: 6, F: nil},
	{Str: "yendo", A: -1, B: 7, F: nil},
	{Str: "ándo", A: -1, B: 2, F: nil},
	{Str: "iéndo", A: -1, B: 1, F: nil},
	{Str: "ar", A: -1, B: 6, F: nil},
	{Str: "er", A: -1, B: 6, F: nil},
	{Str: "ir", A: -1, B: 6, F: nil},
	{Str: "ár", A: -1, B: 3, F: nil},
	{Str: "ér", A: -1, B: 4, F: nil},
	{Str: "ír", A: -1, B: 5, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "ic", A: -1, B: -1, F: nil},
	{Str: "ad", A: -1, B: -1, F: nil},
	{Str: "os", A: -1, B: -1, F: nil},
	{Str: "iv", A: -1, B: 1, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "able", A: -1, B: 1, F: nil},
	{Str: "ible", A: -1, B: 1, F: nil},
	{Str: "ante", A: -1, B: 1, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "ic", A: -1, B: 1, F: nil},
	{Str: "abil", A: -1, B: 1, F: nil},
	{Str: "iv", A: -1, B: 1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "ica", A: -1, B: 1, F: nil},
	{Str: "ancia", A: -1, B: 2, F: nil},
	{Str: "encia", A: -1, B: 5, F: nil},
	{Str: "adora", A: -1, B: 2, F: nil},
	{Str: "osa", A: -1, B: 1, F: nil},
	{Str: "ista", A: -1, B: 1, F: nil},
	{Str: "iva", A: -1, B: 9, F: nil},
	{Str: "anza", A: -1, B: 1, F: nil},
	{Str: "logía", A: -1, B: 3, F: nil},
	{Str: "idad", A: -1, B: 8, F: nil},
	{Str: "able", A: -1, B: 1, F: nil},
	{Str: "ible", A: -1, B: 1, F: nil},
	{Str: "ante", A: -1, B: 2, F: nil},
	{Str: "mente", A: -1, B: 7, F: nil},
	{Str: "amente", A: 13, B: 6, F: nil},
	{Str: "acion", A: -1, B: 2, F: nil},
	{Str: "ucion", A: -1, B: 4, F: nil},
	{Str: "ación", A: -1, B: 2, F: nil},
	{Str: "ución", A: -1, B: 4, F: nil},
	{Str: "ico", A: -1, B: 1, F: nil},
	{Str: "ismo", A: -1, B: 1, F: nil},
	{Str: "oso", A: -1, B: 1, F: nil},
	{Str: "amiento", A: -1, B: 1, F: nil},
	{Str: "imiento", A: -1, B: 1, F: nil},
	{Str: "ivo", A: -1, B: 9, F: nil},
	{Str: "ador", A: -1, B: 2, F: nil},
	{Str: "icas", A: -1, B: 1, F: nil},
	{Str: "ancias", A: -1, B: 2, F: nil},
	{Str: "encias", A: -1, B: 5, F: nil},
	{Str: "adoras", A: -1, B: 2, F: nil},
	{Str: "osas", A: -1, B: 1, F: nil},
	{Str: "istas", A: -1, B: 1, F: nil},
	{Str: "ivas", A: -1, B: 9, F: nil},
	{Str: "anzas", A: -1, B: 1, F: nil},
	{Str: "logías", A: -1, B: 3, F: nil},
	{Str: "idades", A: -1, B: 8, F: nil},
	{Str: "ables", A: -1, B: 1, F: nil},
	{Str: "ibles", A: -1, B: 1, F: nil},
	{Str: "aciones", A: -1, B: 2, F: nil},
	{Str: "uciones", A: -1, B: 4, F: nil},
	{Str: "adores", A: -1, B: 2, F: nil},
	{Str: "antes", A: -1, B: 2, F: nil},
	{Str: "icos", A: -1, B: 1, F: nil},
	{Str: "ismos", A: -1, B: 1, F: nil},
	{Str: "osos", A: -1, B: 1, F: nil},
	{Str: "amientos", A: -1, B: 1, F: nil},
	{Str: "imientos", A: -1, B: 1, F: nil},
	{Str: "ivos", A: -1, B: 9, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "ya", A: -1, B: 1, F: nil},
	{Str: "ye", A: -1, B: 1, F: nil},
	{Str: "yan", A: -1, B: 1, F: nil},
	{Str: "yen", A: -1, B: 1, F: nil},
	{Str: "yeron", A: -1, B: 1, F: nil},
	{Str: "yendo", A: -1, B: 1, F: nil},
	{Str: "yo", A: -1, B: 1, F: nil},
	{Str: "yas", A: -1, B: 1, F: nil},
	{Str: "yes", A: -1, B: 1, F: nil},
	{Str: "yais", A: -1, B: 1, F: nil},
	{Str: "yamos", A: -1, B: 1, F: nil},
	{Str: "yó", A: -1, B: 1, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "aba", A: -1, B: 2, F: nil},
	{Str: "ada", A: -1, B: 2, F: nil},
	{Str: "ida", A: -1, B: 2, F: nil},
	{Str: "ara", A: -1, B: 2, F: nil},
	{Str: "iera", A: -1, B: 2, F: nil},
	{Str: "ía", A: -1, B: 2, F: nil},
	{Str: "aría", A: 5, B: 2, F: nil},
	{Str: "ería", A: 5, B: 2, F: nil},
	{Str: "iría", A: 5, B: 2, F: nil},
	{Str: "ad", A: -1, B: 2, F: nil},
	{Str: "ed", A: -1, B: 2, F: nil},
	{Str: "id", A: -1, B: 2, F: nil},
	{Str: "ase", A: -1, B: 2, F: nil},
	{Str: "iese", A: -1, B: 2, F: nil},
	{Str: "aste", A: -1, B: 2, F: nil},
	{Str: "iste", A: -1, B: 2, F: nil},
	{Str: "an", A: -1, B: 2, F: nil},
	{Str: "aban", A: 16, B: 2, F: nil},
	{Str: "aran", A: 16, B: 2, F: nil},
	{Str: "ieran", A: 16, B: 2, F: nil},
	{Str: "ían", A: 16, B: 2, F: nil},
	{Str: "arían", A: 20, B: 2, F: nil},
	{Str: "erían", A: 20, B: 2, F: nil},
	{Str: "irían", A: 20, B: 2, F: nil},
	{Str: "en", A: -1, B: 1, F: nil},
	{Str: "asen", A: 24, B: 2, F: nil},
	{Str: "iesen", A: 24, B: 2, F: nil},
	{Str: "aron", A: -1, B: 2, F: nil},
	{Str: "ieron", A: -1, B: 2, F: nil},
	{Str: "arán", A: -1, B: 2, F: nil},
	{Str: "erán", A: -1, B: 2, F: nil},
	{Str: "irán", A: -1, B: 2, F: nil},
	{Str: "ado", A: -1, B: 2, F: nil},
	{Str: "ido", A: -1, B: 2, F: nil},
	{Str: "ando", A: -1, B: 2, F: nil},
	{Str: "iendo", A: -1, B: 2, F: nil},
	{Str: "ar", A: -1, B: 2, F: nil},
	{Str: "er", A: -1, B: 2, F: nil},
	{Str: "ir", A: -1, B: 2, F: nil},
	{Str: "as", A: -1, B: 2, F: nil},
	{Str: "abas", A: 39, B: 2, F: nil},
	{Str: "adas", A: 39, B: 2, F: nil},
	{Str: "idas", A: 39, B: 2, F: nil},
	{Str: "aras", A: 39, B: 2, F: nil},
	{Str: "ieras", A: 39, B: 2, F: nil},
	{Str: "ías", A: 39, B: 2, F: nil},
	{Str: "arías", A: 45, B: 2, F: nil},
	{Str: "erías", A: 45, B: 2, F: nil},
	{Str: "irías", A: 45, B: 2, F: nil},
	{Str: "es", A: -1, B: 1, F: nil},
	{Str: "ases", A: 49, B: 2, F: nil},
	{Str: "ieses", A: 49, B: 2, F: nil},
	{Str: "abais", A: -1, B: 2, F: nil},
	{Str: "arais", A: -1, B: 2, F: nil},
	{Str: "ierais", A: -1, B: 2, F: nil},
	{Str: "íais", A: -1, B: 2, F: nil},
	{Str: "aríais", A: 55, B: 2, F: nil},
	{Str: "eríais", A: 55, B: 2, F: nil},
	{Str: "iríais", A: 55, B: 2, F: nil},
	{Str: "aseis", A: -1, B: 2, F: nil},
	{Str: "ieseis", A: -1, B: 2, F: nil},
	{Str: "asteis", A: -1, B: 2, F: nil},
	{Str: "isteis", A: -1, B: 2, F: nil},
	{Str: "áis", A: -1, B: 2, F: nil},
	{Str: "éis", A: -1, B: 1, F: nil},
	{Str: "aréis", A: 64, B: 2, F: nil},
	{Str: "eréis", A: 64, B: 2, F: nil},
	{Str: "iréis", A: 64, B: 2, F: nil},
	{Str: "ados", A: -1, B: 2, F: nil},
	{Str: "idos", A: -1, B: 2, F: nil},
	{Str: "amos", A: -1, B: 2, F: nil},
	{Str: "ábamos", A: 70, B: 2, F: nil},
	{Str: "áramos", A: 70, B: 2, F: nil},
	{Str: "iéramos", A: 70, B: 2, F: nil},
	{Str: "íamos", A: 70, B: 2, F: nil},
	{Str: "aríamos", A: 74, B: 2, F: nil},
	{Str: "eríamos", A: 74, B: 2, F: nil},
	{Str: "iríamos", A: 74, B: 2, F: nil},
	{Str: "emos", A: -1, B: 1, F: nil},
	{Str: "aremos", A: 78, B: 2, F: nil},
	{Str: "eremos", A: 78, B: 2, F: nil},
	{Str: "iremos", A: 78, B: 2, F: nil},
	{Str: "ásemos", A: 78, B: 2, F: nil},
	{Str: "iésemos", A: 78, B: 2, F: nil},
	{Str: "imos", A: -1, B: 2, F: nil},
	{Str: "arás", A: -1, B: 2, F: nil},
	{Str: "erás", A: -1, B: 2, F: nil},
	{Str: "irás", A: -1, B: 2, F: nil},
	{Str: "ís", A: -1, B: 2, F: nil},
	{Str: "ará", A: -1, B: 2, F: nil},
	{Str: "erá", A: -1, B: 2, F: nil},
	{Str: "irá", A: -1, B: 2, F: nil},
	{Str: "aré", A: -1, B: 2, F: nil},
	{Str: "eré", A: -1, B: 2, F: nil},
	{Str: "iré", A: -1, B: 2, F: nil},
	{Str: "ió", A: -1, B: 2, F: nil},
}

var A_9 = []*snowballRuntime.Among{
	{Str: "a", A: -1, B: 1, F: nil},
	{Str: "e", A: -1, B: 2, F: nil},
	{Str: "o", A: -1, B: 1, F: nil},
	{Str: "os", A: -1, B: 1, F: nil},
	{Str: "á", A: -1, B: 1, F: nil},
	{Str: "é", A: -1, B: 2, F: nil},
	{Str: "í", A: -1, B: 1, F: nil},
	{Str: "ó", A: -1, B: 1, F: nil},
}

var G_v = []byte{17, 65, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 17, 4, 10}

type Context struct {
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{}
	_ = context
	var among_var int32
	var i_p2 int
	var i_p1 int
	var i_pV int
lab0:
	for {
		i_pV = env.Limit
		i_p1 = env.Limit
		i_p2 = env.Limit
		var v_1 = env.Cursor
	lab1:
		for {
		lab2:
			for {
				var v_2 = env.Cursor
			lab3:
				for {
					if !env.InGrouping(G_v, 97, 252) {
						break lab3
					}
				lab4:
					for {
						var v_3 = env.Cursor
					lab5:
						for {
							if !env.OutGrouping(G_v, 97, 252) {
								break lab5
							}
							if !env.GoOutGrouping(G_v, 97, 252) {
								break lab5
							}
							env.NextChar()
							break lab4
						}
						env.Cursor = v_3
						if !env.InGrouping(G_v, 97, 252) {
							break lab3
						}
						if !env.GoInGrouping(G_v, 97, 252) {
							break lab3
						}
						env.NextChar()
						break lab4
					}
					break lab2
				}
				env.Cursor = v_2
				if !env.OutGrouping(G_v, 97, 252) {
					break lab1
				}
			lab6:
				for {
					var v_4 = env.Cursor
				lab7:
					for {
						if !env.OutGrouping(G_v, 97, 252) {
							break lab7
						}
						if !env.GoOutGrouping(G_v, 97, 252) {
							break lab7
						}
						env.NextChar()
						break lab6
					}
					env.Cursor = v_4
					if !env.InGrouping(G_v, 97, 252) {
						break lab1
					}
					if env.Cursor >= env.Limit {
						break lab1
					}
					env.NextChar()
					break lab6
				}
				break lab2
			}
			i_pV = env.Cursor
			break lab1
		}
		env.Cursor = v_1
		var v_5 = env.Cursor
	lab8:
		for {
			if !env.GoOutGrouping(G_v, 97, 252) {
				break lab8
			}
			env.NextChar()
			if !env.GoInGrouping(G_v, 97, 252) {
				break lab8
			}
			env.NextChar()
			i_p1 = env.Cursor
			if !env.GoOutGrouping(G_v, 97, 252) {
				break lab8
			}
			env.NextChar()
			if !env.GoInGrouping(G_v, 97, 252) {
				break lab8
			}
			env.NextChar()
			i_p2 = env.Cursor
			break lab8
		}
		env.Cursor = v_5
		break lab0
	}
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_6 = env.Limit - env.Cursor
lab9:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_1, context) == 0 {
			break lab9
		}
		env.Bra = env.Cursor
		among_var = env.FindAmongB(A_2, context)
		if among_var == 0 {
			break lab9
		}
		if i_pV > env.Cursor {
			break lab9
		}
		switch among_var {
		case 1:
			env.Bra = env.Cursor
			env.SliceFrom("iendo")
		case 2:
			env.Bra = env.Cursor
			env.SliceFrom("ando")
		case 3:
			env.Bra = env.Cursor
			env.SliceFrom("ar")
		case 4:
			env.Bra = env.Cursor
			env.SliceFrom("er")
		case 5:
			env.Bra = env.Cursor
			env.SliceFrom("ir")
		case 6:
			env.SliceDel()
		case 7:
			if !env.EqSB("u") {
				break lab9
			}
			env.SliceDel()
		}
		break lab9
	}
	env.Cursor = env.Limit - v_6
	var v_7 = env.Limit - env.Cursor
lab10:
	for {
	lab11:
		for {
			var v_8 = env.Limit - env.Cursor
		lab12:
			for {
				env.Ket = env.Cursor
				among_var = env.FindAmongB(A_6, context)
				if among_var == 0 {
					break lab12
				}
				env.Bra = env.Cursor
				switch among_var {
				case 1:
					if i_p2 > env.Cursor {
						break lab12
					}
					env.SliceDel()
				case 2:
					if i_p2 > env.Cursor {
						break lab12
					}
					env.SliceDel()
					var v_9 = env.Limit - env.Cursor
				lab13:
					for {
						env.Ket = env.Cursor
						if !env.EqSB("ic") {
							env.Cursor = env.Limit - v_9
							break lab13
						}
						env.Bra = env.Cursor
						if i_p2 > env.Cursor {
							env.Cursor = env.Limit - v_9
							break lab13
						}
						env.SliceDel()
						break lab13
					}
				case 3:
					if i_p2 > env.Cursor {
						break lab12
					}
					env.SliceFrom("log")
				case 4:
					if i_p2 > env.Cursor {
						break lab12
					}
					env.SliceFrom("u")
				case 5:
					if i_p2 > env.Cursor {
						break lab12
					}
					env.SliceFrom("ente")
				case 6:
					if i_p1 > env.Cursor {
						break lab12
					}
					env.SliceDel()
					var v_10 = env.Limit - env.Cursor
				lab14:
					for {
						env.Ket = env.Cursor
						among_var = env.FindAmongB(A_3, context)
						if among_var == 0 {
							env.Cursor = env.Limit - v_10
							break lab14
						}
						env.Bra = env.Cursor
						if i_p2 > env.Cursor {
							env.Cursor = env.Limit - v_10
							break lab14
						}
						env.SliceDel()
						switch among_var {
						case 1:
							env.Ket = env.Cursor
							if !env.EqSB("at") {
								env.Cursor = env.Limit - v_10
								break lab14
							}
							env.Bra = env.Cursor
							if i_p2 > env.Cursor {
								env.Cursor = env.Limit - v_10
								break lab14
							}
							env.SliceDel()
						}
						break lab14
					}
				case 7:
					if i_p2 > env.Cursor {
						break lab12
					}
					env.SliceDel()
					var v_11 = env.Limit - env.Cursor
				lab15:
					for {
						env.Ket = env.Cursor
						if env.FindAmongB(A_4, context) == 0 {
							env.Cursor = env.Limit - v_11
							break lab15
						}
						env.Bra = env.Cursor
						if i_p2 > env.Cursor {
							env.Cursor = env.Limit - v_11
							break lab15
						}
						env.SliceDel()
						break lab15
					}
				case 8:
					if i_p2 > env.Cursor {
						break lab12
					}
					env.SliceDel()
					var v_12 = env.Limit - env.Cursor
				lab16:
					for {
						env.Ket = env.Cursor
						if env.FindAmongB(A_5, context) == 0 {
							env.Cursor = env.Limit - v_12
							break lab16
						}
						env.Bra = env.Cursor
						if i_p2 > env.Cursor {
							env.Cursor = env.Limit - v_12
							break lab16
						}
						env.SliceDel()
						break lab16
					}
				case 9:
					if i_p2 > env.Cursor {
						break lab12
					}
					env.SliceDel()
					var v_13 = env.Limit - env.Cursor
				lab17:
					for {
						env.Ket = env.Cursor
						if !env.EqSB("at") {
							env.Cursor = env.Limit - v_13
							break lab17
						}
						env.Bra = env.Cursor
						if i_p2 > env.Cursor {
							env.Cursor = env.Limit - v_13
							break lab17
						}
						env.SliceDel()
						break lab17
					}
				}
				break lab11
			}
			env.Cursor = env.Limit - v_8
		lab18:
			for {
				if env.Cursor < i_pV {
					break lab18
				}
				var v_14 = env.LimitBackward
				env.LimitBackward = i_pV
				env.Ket = env.Cursor
				if env.FindAmongB(A_7, context) == 0 {
					env.LimitBackward = v_14
					break lab18
				}
				env.Bra = env.Cursor
				env.LimitBackward = v_14
				if !env.EqSB("u") {
					break lab18
				}
				env.SliceDel()
				break lab11
			}
			env.Cursor = env.Limit - v_8
			if env.Cursor < i_pV {
				break lab10
			}
			var v_15 = env.LimitBackward
			env.LimitBackward = i_pV
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_8, context)
			if among_var == 0 {
				env.LimitBackward = v_15
				break lab10
			}
			env.Bra = env.Cursor
			env.LimitBackward = v_15
			switch among_var {
			case 1:
				var v_16 = env.Limit - env.Cursor
			lab19:
				for {
					if !env.EqSB("u") {
						env.Cursor = env.Limit - v_16
						break lab19
					}
					var v_17 = env.Limit - env.Cursor
					if !env.EqSB("g") {
						env.Cursor = env.Limit - v_16
						break lab19
					}
					env.Cursor = env.Limit - v_17
					break lab19
				}
				env.Bra = env.Cursor
				env.SliceDel()
			case 2:
				env.SliceDel()
			}
			break lab11
		}
		break lab10
	}
	env.Cursor = env.Limit - v_7
	var v_18 = env.Limit - env.Cursor
lab20:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_9, context)
		if among_var == 0 {
			break lab20
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
			if i_pV > env.Cursor {
				break lab20
			}
			env.SliceDel()
		case 2:
			if i_pV > env.Cursor {
				break lab20
			}
			env.SliceDel()
			var v_19 = env.Limit - env.Cursor
		lab21:
			for {
				env.Ket = env.Cursor
				if !env.EqSB("u") {
					env.Cursor = env.Limit - v_19
					break lab21
				}
				env.Bra = env.Cursor
				var v_20 = env.Limit - env.Cursor
				if !env.EqSB("g") {
					env.Cursor = env.Limit - v_19
					break lab21
				}
				env.Cursor = env.Limit - v_20
				if i_pV > env.Cursor {
					env.Cursor = env.Limit - v_19
					break lab21
				}
				env.SliceDel()
				break lab21
			}
		}
		break lab20
	}
	env.Cursor = env.Limit - v_18
	env.Cursor = env.LimitBackward
	var v_21 = env.Cursor
lab22:
	for {
	replab23:
		for {
			var v_22 = env.Cursor
		lab24:
			for range [2]struct{}{} {
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_0, context)
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					env.SliceFrom("a")
				case 2:
					env.SliceFrom("e")
				case 3:
					env.SliceFrom("i")
				case 4:
					env.SliceFrom("o")
				case 5:
					env.SliceFrom("u")
				case 6:
					if env.Cursor >= env.Limit {
						break lab24
					}
					env.NextChar()
				}
				continue replab23
			}
			env.Cursor = v_22
			break replab23
		}
		break lab22
	}
	env.Cursor = v_21
	return true
}
