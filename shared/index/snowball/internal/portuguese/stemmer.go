// Code generated from algorithms/portuguese.sbl by the Snowball compiler; DO NOT EDIT.

// Package portuguese finds the stems of words; see the package snowball.
package portuguese

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 3, F: nil},
	{Str: "ã", A: 0, B: 1, F: nil},
	{Str: "õ", A: 0, B: 2, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 3, F: nil},
	{Str: "a~", A: 0, B: 1, F: nil},
	{Str: "o~", A: 0, B: 2, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "ic", A: -1, B: -1, F: nil},
	{Str: "ad", A: -1, B: -1, F: nil},
	{Str: "os", A: -1, B: -1, F: nil},
	{Str: "iv", A: -1, B: 1, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "ante", A: -1, B: 1, F: nil},
	{Str: "avel", A: -1, B: 1, F: nil},
	{Str: "ível", A: -1, B: 1, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "ic", A: -1, B: 1, F: nil},
	{Str: "abil", A: -1, B: 1, F: nil},
	{Str: "iv", A: -1, B: 1, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "ica", A: -1, B: 1, F: nil},
	{Str: "ância", A: -1, B: 1, F: nil},
	{Str: "ência", A: -1, B: 4, F: nil},
	{Str: "logia", A: -1, B: 2, F: nil},
	{Str: "ira", A: -1, B: 9, F: nil},
	{Str: "adora", A: -1, B: 1, F: nil},
	{Str: "osa", A: -1, B: 1, F: nil},
	{Str: "ista", A: -1, B: 1, F: nil},
	{Str: "iva", A: -1, B: 8, F: nil},
	{Str: "eza", A: -1, B: 1, F: nil},
	{Str: "idade", A: -1, B: 7, F: nil},
	{Str: "ante", A: -1, B: 1, F: nil},
	{Str: "mente", A: -1, B: 6, F: nil},
	{Str: "amente", A: 12, B: 5, F: nil},
	{Str: "ável", A: -1, B: 1, F: nil},
	{Str: "ível", A: -1, B: 1, F: nil},
	{Str: "ico", A: -1, B: 1, F: nil},
	{Str: "ismo", A: -1, B: 1, F: nil},
	{Str: "oso", A: -1, B: 1, F: nil},
	{Str: "amento", A: -1, B: 1, F: nil},
	{Str: "imento", A: -1, B: 1, F: nil},
	{Str: "ivo", A: -1, B: 8, F: nil},
	{Str: "aça~o", A: -1, B: 1, F: nil},
	{Str: "uça~o", A: -1, B: 3, F: nil},
	{Str: "ador", A: -1, B: 1, F: nil},
	{Str: "icas", A: -1, B: 1, F: nil},
	{Str: "ências", A: -1, B: 4, F: nil},
	{Str: "logias", A: -1, B: 2, F: nil},
	{Str: "iras", A: -1, B: 9, F: nil},
	{Str: "adoras", A: -1, B: 1, F: nil},
	{Str: "osas", A: -1, B: 1, F: nil},
	{Str: "istas", A: -1, B: 1, F: nil},
	{Str: "ivas", A: -1, B: 8, F: nil},
	{Str: "ezas", A: -1, B: 1, F: nil},
	{Str: "idades", A: -1, B: 7, F: nil},
	{Str: "adores", A: -1, B: 1, F: nil},
	{Str: "antes", A: -1, B: 1, F: nil},
	{Str: "aço~es", A: -1, B: 1, F: nil},
	{Str: "uço~es", A: -1, B: 3, F: nil},
	{Str: "icos", A: -1, B: 1, F: nil},
	{Str: "ismos", A: -1, B: 1, F: nil},
	{Str: "osos", A: -1, B: 1, F: nil},
	{Str: "amentos", A: -1, B: 1, F: nil},
	{Str: "imentos", A: -1, B: 1, F: nil},
	{Str: "ivos", A: -1, B: 8, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "ada", A: -1, B: 1, F: nil},
	{Str: "ida", A: -1, B: 1, F: nil},
	{Str: "ia", A: -1, B: 1, F: nil},
	{Str: "aria", A: 2, B: 1, F: nil},
	{Str: "eria", A: 2, B: 1, F: nil},
	{Str: "iria", A: 2, B: 1, F: nil},
	{Str: "ara", A: -1, B: 1, F: nil},
	{Str: "era", A: -1, B: 1, F: nil},
	{Str: "ira", A: -1, B: 1, F: nil},
	{Str: "ava", A: -1, B: 1, F: nil},
	{Str: "asse", A: -1, B: 1, F: nil},
	{Str: "esse", A: -1, B: 1, F: nil},
	{Str: "isse", A: -1, B: 1, F: nil},
	{Str: "aste", A: -1, B: 1, F: nil},
	{Str: "este", A: -1, B: 1, F: nil},
	{Str: "iste", A: -1, B: 1, F: nil},
	{Str: "ei", A: -1, B: 1, F: nil},
	{Str: "arei", A: 16, B: 1, F: nil},
	{Str: "erei", A: 16, B: 1, F: nil},
	{Str: "irei", A: 16, B: 1, F: nil},
	{Str: "am", A: -1, B: 1, F: nil},
	{Str: "iam", A: 20, B: 1, F: nil},
	{Str: "ariam", A: 21, B: 1, F: nil},
	{Str: "eriam", A: 21, B: 1, F: nil},
	{Str: "iriam", A: 21, B: 1, F: nil},
	{Str: "aram", A: 20, B: 1, F: nil},
	{Str: "eram", A: 20, B: 1, F: nil},
	{Str: "iram", A: 20, B: 1, F: nil},
	{Str: "avam", A: 20, B: 1, F: nil},
	{Str: "em", A: -1, B: 1, F: nil},
	{Str: "arem", A: 29, B: 1, F: nil},
	{Str: "erem", A: 29, B: 1, F: nil},
	{Str: "irem", A: 29, B: 1, F: nil},
	{Str: "assem", A: 29, B: 1, F: nil},
	{Str: "essem", A: 29, B: 1, F: nil},
	{Str: "issem", A: 29, B: 1, F: nil},
	{Str: "ado", A: -1, B: 1, F: nil},
	{Str: "ido", A: -1, B: 1, F: nil},
	{Str: "ando", A: -1, B: 1, F: nil},
	{Str: "endo", A: -1, B: 1, F: nil},
	{Str: "indo", A: -1, B: 1, F: nil},
	{Str: "ara~o", A: -1, B: 1, F: nil},
	{Str: "era~o", A: -1, B: 1, F: nil},
	{Str: "ira~o", A: -1, B: 1, F: nil},
	{Str: "ar", A: -1, B: 1, F: nil},
	{Str: "er", A: -1, B: 1, F: nil},
	{Str: "ir", A: -1, B: 1, F: nil},
	{Str: "as", A: -1, B: 1, F: nil},
	{Str: "adas", A: 47, B: 1, F: nil},
	{Str: "idas", A: 47, B: 1, F: nil},
	{Str: "ias", A: 47, B: 1, F: nil},
	{Str: "arias", A: 50, B: 1, F: nil},
	{Str: "erias", A: 50, B: 1, F: nil},
	{Str: "irias", A: 50, B: 1, F: nil},
	{Str: "aras", A: 47, B: 1, F: nil},
	{Str: "eras", A: 47, B: 1, F: nil},
	{Str: "iras", A: 47, B: 1, F: nil},
	{Str: "avas", A: 47, B: 1, F: nil},
	{Str: "es", A: -1, B: 1, F: nil},
	{Str: "ardes", A: 58, B: 1, F: nil},
	{Str: "erdes", A: 58, B: 1, F: nil},
	{Str: "irdes", A: 58, B: 1, F: nil},
	{Str: "ares", A: 58, B: 1, F: nil},
	{Str: "eres", A: 58, B: 1, F: nil},
	{Str: "ires", A: 58, B: 1, F: nil},
	{Str: "asses", A: 58, B: 1, F: nil},
	{Str: "esses", A: 58, B: 1, F: nil},
	{Str: "isses", A: 58, B: 1, F: nil},
	{Str: "astes", A: 58, B: 1, F: nil},
	{Str: "estes", A: 58, B: 1, F: nil},
	{Str: "istes", A: 58, B: 1, F: nil},
	{Str: "is", A: -1, B: 1, F: nil},
	{Str: "ais", A: 71, B: 1, F: nil},
	{Str: "eis", A: 71, B: 1, F: nil},
	{Str: "areis", A: 73, B: 1, F: nil},
	{Str: "ereis", A: 73, B: 1, F: nil},
	{Str: "ireis", A: 73, B: 1, F: nil},
	{Str: "áreis", A: 73, B: 1, F: nil},
	{Str: "éreis", A: 73, B: 1, F: nil},
	{Str: "íreis", A: 73, B: 1, F: nil},
	{Str: "ásseis", A: 73, B: 1, F: nil},
	{Str: "ésseis", A: 73, B: 1, F: nil},
	{Str: "ísseis", A: 73, B: 1, F: nil},
	{Str: "áveis", A: 73, B: 1, F: nil},
	{Str: "íeis", A: 73, B: 1, F: nil},
	{Str: "aríeis", A: 84, B: 1, F: nil},
	{Str: "eríeis", A: 84, B: 1, F: nil},
	{Str: "iríeis", A: 84, B: 1, F: nil},
	{Str: "ados", A: -1, B: 1, F: nil},
	{Str: "idos", A: -1, B: 1, F: nil},
	{Str: "amos", A: -1, B: 1, F: nil},
	{Str: "áramos", A: 90, B: 1, F: nil},
	{Str: "éramos", A: 90, B: 1, F: nil},
	{Str: "íramos", A: 90, B: 1, F: nil},
	{Str: "ávamos", A: 90, B: 1, F: nil},
	{Str: "íamos", A: 90, B: 1, F: nil},
	{Str: "aríamos", A: 95, B: 1, F: nil},
	{Str: "eríamos", A: 95, B: 1, F: nil},
	{Str: "iríamos", A: 95, B: 1, F: nil},
	{Str: "emos", A: -1, B: 1, F: nil},
	{Str: "aremos", A: 99, B: 1, F: nil},
	{Str: "eremos", A: 99, B: 1, F: nil},
	{Str: "iremos", A: 99, B: 1, F: nil},
	{Str: "ássemos", A: 99, B: 1, F: nil},
	{Str: "êssemos", A: 99, B: 1, F: nil},
	{Str: "íssemos", A: 99, B: 1, F: nil},
	{Str: "imos", A: -1, B: 1, F: nil},
	{Str: "armos", A: -1, B: 1, F: nil},
	{Str: "ermos", A: -1, B: 1, F: nil},
	{Str: "irmos", A: -1, B: 1, F: nil},
	{Str: "ámos", A: -1, B: 1, F: nil},
	{Str: "arás", A: -1, B: 1, F: nil},
	{Str: "erás", A: -1, B: 1, F: nil},
	{Str: "irás", A: -1, B: 1, F: nil},
	{Str: "eu", A: -1, B: 1, F: nil},
	{Str: "iu", A: -1, B: 1, F: nil},
	{Str: "ou", A: -1, B: 1, F: nil},
	{Str: "ará", A: -1, B: 1, F: nil},
	{Str: "erá", A: -1, B: 1, F: nil},
	{Str: "irá", A: -1, B: 1, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "a", A: -1, B: 1, F: nil},
	{Str: "i", A: -1, B: 1, F: nil},
	{Str: "o", A: -1, B: 1, F: nil},
	{Str: "os", A: -1, B: 1, F: nil},
	{Str: "á", A: -1, B: 1, F: nil},
	{Str: "í", A: -1, B: 1, F: nil},
	{Str: "ó", A: -1, B: 1, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "e", A: -1, B: 1, F: nil},
	{Str: "ç", A: -1, B: 2, F: nil},
	{Str: "é", A: -1, B: 1, F: nil},
	{Str: "ê", A: -1, B: 1, F: nil},
}

var G_v = []byte{17, 65, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 19, 12, 2}

type Context struct {
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{}
	_ = context
	var among_var int32
	var i_p2 int
	var i_p1 int
	var i_pV int
	var v_1 = env.Cursor
lab0:
	for {
	replab1:
		for {
			var v_2 = env.Cursor
		lab2:
			for range [2]struct{}{} {
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_0, context)
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					env.SliceFrom("a~")
				case 2:
					env.SliceFrom("o~")
				case 3:
					if env.Cursor >= env.Limit {
						break lab2
					}
					env.NextChar()
				}
				continue replab1
			}
			env.Cursor = v_2
			break replab1
		}
		break lab0
	}
	env.Cursor = v_1
lab3:
	for {
		i_pV = env.Limit
		i_p1 = env.Limit
		i_p2 = env.Limit
		var v_3 = env.Cursor
	lab4:
		for {
		lab5:
			for {
				var v_4 = env.Cursor
			lab6:
				for {
					if !env.InGrouping(G_v, 97, 250) {
						break lab6
					}
				lab7:
					for {
						var v_5 = env.Cursor
					lab8:
						for {
							if !env.OutGrouping(G_v, 97, 250) {
								break lab8
							}
							if !env.GoOutGrouping(G_v, 97, 250) {
								break lab8
							}
							env.NextChar()
							break lab7
						}
						env.Cursor = v_5
						if !env.InGrouping(G_v, 97, 250) {
							break lab6
						}
						if !env.GoInGrouping(G_v, 97, 250) {
							break lab6
						}
						env.NextChar()
						break lab7
					}
					break lab5
				}
				env.Cursor = v_4
				if !env.OutGrouping(G_v, 97, 250) {
					break lab4
				}
			lab9:
				for {
					var v_6 = env.Cursor
				lab10:
					for {
						if !env.OutGrouping(G_v, 97, 250) {
							break lab10
						}
						if !env.GoOutGrouping(G_v, 97, 250) {
							break lab10
						}
						env.NextChar()
						break lab9
					}
					env.Cursor = v_6
					if !env.InGrouping(G_v, 97, 250) {
						break lab4
					}
					if env.Cursor >= env.Limit {
						break lab4
					}
					env.NextChar()
					break lab9
				}
				break lab5
			}
			i_pV = env.Cursor
			break lab4
		}
		env.Cursor = v_3
		var v_7 = env.Cursor
	lab11:
		for {
			if !env.GoOutGrouping(G_v, 97, 250) {
				break lab11
			}
			env.NextChar()
			if !env.GoInGrouping(G_v, 97, 250) {
				break lab11
			}
			env.NextChar()
			i_p1 = env.Cursor
			if !env.GoOutGrouping(G_v, 97, 250) {
				break lab11
			}
			env.NextChar()
			if !env.GoInGrouping(G_v, 97, 250) {
				break lab11
			}
			env.NextChar()
			i_p2 = env.Cursor
			break lab11
		}
		env.Cursor = v_7
		break lab3
	}
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_8 = env.Limit - env.Cursor
lab12:
	for {
	lab13:
		for {
			var v_9 = env.Limit - env.Cursor
		lab14:
			for {
				var v_10 = env.Limit - env.Cursor
			lab15:
				for {
					var v_11 = env.Limit - env.Cursor
				lab16:
					for {
						env.Ket = env.Cursor
						among_var = env.FindAmongB(A_5, context)
						if among_var == 0 {
							break lab16
						}
						env.Bra = env.Cursor
						switch among_var {
						case 1:
							if i_p2 > env.Cursor {
								break lab16
							}
							env.SliceDel()
						case 2:
							if i_p2 > env.Cursor {
								break lab16
							}
							env.SliceFrom("log")
						case 3:
							if i_p2 > env.Cursor {
								break lab16
							}
							env.SliceFrom("u")
						case 4:
							if i_p2 > env.Cursor {
								break lab16
							}
							env.SliceFrom("ente")
						case 5:
							if i_p1 > env.Cursor {
								break lab16
							}
							env.SliceDel()
							var v_12 = env.Limit - env.Cursor
						lab17:
							for {
								env.Ket = env.Cursor
								among_var = env.FindAmongB(A_2, context)
								if among_var == 0 {
									env.Cursor = env.Limit - v_12
									break lab17
								}
								env.Bra = env.Cursor
								if i_p2 > env.Cursor {
									env.Cursor = env.Limit - v_12
									break lab17
								}
								env.SliceDel()
								switch among_var {
								case 1:
									env.Ket = env.Cursor
									if !env.EqSB("at") {
										env.Cursor = env.Limit - v_12
										break lab17
									}
									env.Bra = env.Cursor
									if i_p2 > env.Cursor {
										env.Cursor = env.Limit - v_12
										break lab17
									}
									env.SliceDel()
								}
								break lab17
							}
						case 6:
							if i_p2 > env.Cursor {
								break lab16
							}
							env.SliceDel()
							var v_13 = env.Limit - env.Cursor
						lab18:
							for {
								env.Ket = env.Cursor
								if env.FindAmongB(A_3, context) == 0 {
									env.Cursor = env.Limit - v_13
									break lab18
								}
								env.Bra = env.Cursor
								if i_p2 > env.Cursor {
									env.Cursor = env.Limit - v_13
									break lab18
								}
								env.SliceDel()
								break lab18
							}
						case 7:
							if i_p2 > env.Cursor {
								break lab16
							}
							env.SliceDel()
							var v_14 = env.Limit - env.Cursor
						lab19:
							for {
								env.Ket = env.Cursor
								if env.FindAmongB(A_4, context) == 0 {
									env.Cursor = env.Limit - v_14
									break lab19
								}
								env.Bra = env.Cursor
								if i_p2 > env.Cursor {
									env.Cursor = env.Limit - v_14
									break lab19
								}
								env.SliceDel()
								break lab19
							}
						case 8:
							if i_p2 > env.Cursor {
								break lab16
							}
							env.SliceDel()
							var v_15 = env.Limit - env.Cursor
						lab20:
							for {
								env.Ket = env.Cursor
								if !env.EqSB("at") {
									env.Cursor = env.Limit - v_15
									break lab20
								}
								env.Bra = env.Cursor
								if i_p2 > env.Cursor {
									env.Cursor = env.Limit - v_15
									break lab20
								}
								env.SliceDel()
								break lab20
							}
						case 9:
							if i_pV > env.Cursor {
								break lab16
							}
							if !env.EqSB("e") {
								break lab16
							}
							env.SliceFrom("ir")
						}
						break lab15
					}
					env.Cursor = env.Limit - v_11
					if env.Cursor < i_pV {
						break lab14
					}
					var v_16 = env.LimitBackward
					env.LimitBackward = i_pV
					env.Ket = env.Cursor
					if env.FindAmongB(A_6, context) == 0 {
						env.LimitBackward = v_16
						break lab14
					}
					env.Bra = env.Cursor
					env.SliceDel()
					env.LimitBackward = v_16
					break lab15
				}
				env.Cursor = env.Limit - v_10
				var v_17 = env.Limit - env.Cursor
			lab21:
				for {
					env.Ket = env.Cursor
					if !env.EqSB("i") {
						break lab21
					}
					env.Bra = env.Cursor
					var v_18 = env.Limit - env.Cursor
					if !env.EqSB("c") {
						break lab21
					}
					env.Cursor = env.Limit - v_18
					if i_pV > env.Cursor {
						break lab21
					}
					env.SliceDel()
					break lab21
				}
				env.Cursor = env.Limit - v_17
				break lab13
			}
			env.Cursor = env.Limit - v_9
			env.Ket = env.Cursor
			if env.FindAmongB(A_7, context) == 0 {
				break lab12
			}
			env.Bra = env.Cursor
			if i_pV > env.Cursor {
				break lab12
			}
			env.SliceDel()
			break lab13
		}
		break lab12
	}
	env.Cursor = env.Limit - v_8
	var v_19 = env.Limit - env.Cursor
lab22:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_8, context)
		if among_var == 0 {
			break lab22
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
			if i_pV > env.Cursor {
				break lab22
			}
			env.SliceDel()
			env.Ket = env.Cursor
		lab23:
			for {
				var v_20 = env.Limit - env.Cursor
			lab24:
				for {
					if !env.EqSB("u") {
						break lab24
					}
					env.Bra = env.Cursor
					var v_21 = env.Limit - env.Cursor
					if !env.EqSB("g") {
						break lab24
					}
					env.Cursor = env.Limit - v_21
					break lab23
				}
				env.Cursor = env.Limit - v_20
				if !env.EqSB("i") {
					break lab22
				}
				env.Bra = env.Cursor
				var v_22 = env.Limit - env.Cursor
				if !env.EqSB("c") {
					break lab22
				}
				env.Cursor = env.Limit - v_22
				break lab23
			}
			if i_pV > env.Cursor {
				break lab22
			}
			env.SliceDel()
		case 2:
			env.SliceFrom("c")
		}
		break lab22
	}
	env.Cursor = env.Limit - v_19
	env.Cursor = env.LimitBackward
	var v_23 = env.Cursor
lab25:
	for {
	replab26:
		for {
			var v_24 = env.Cursor
		lab27:
			for range [2]struct{}{} {
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_1, context)
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					env.SliceFrom("ã")
				case 2:
					env.SliceFrom("õ")
				case 3:
					if env.Cursor >= env.Limit {
						break lab27
					}
					env.NextChar()
				}
				continue replab26
			}
			env.Cursor = v_24
			break replab26
		}
		break lab25
	}
	env.Cursor = v_23
	return true
}
