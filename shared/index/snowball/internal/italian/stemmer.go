// Code generated from algorithms/italian.sbl by the Snowball compiler; DO NOT EDIT.

// Package italian finds the stems of words; see the package snowball.
package italian

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "all'", A: -1, B: -1, F: nil},
	{Str: "d'", A: -1, B: -1, F: nil},
	{Str: "dall'", A: -1, B: -1, F: nil},
	{Str: "dell'", A: -1, B: -1, F: nil},
	{Str: "gl'", A: -1, B: -1, F: nil},
	{Str: "l'", A: -1, B: -1, F: nil},
	{Str: "m'", A: -1, B: -1, F: nil},
	{Str: "nell'", A: -1, B: -1, F: nil},
	{Str: "quell'", A: -1, B: -1, F: nil},
	{Str: "quest'", A: -1, B: -1, F: nil},
	{Str: "s'", A: -1, B: -1, F: nil},
	{Str: "sull'", A: -1, B: -1, F: nil},
	{Str: "t'", A: -1, B: -1, F: nil},
	{Str: "tutt'", A: -1, B: -1, F: nil},
	{Str: "un'", A: -1, B: -1, F: nil},
	{Str: "v'", A: -1, B: -1, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 7, F: nil},
	{Str: "qu", A: 0, B: 6, F: nil},
	{Str: "á", A: 0, B: 1, F: nil},
	{Str: "é", A: 0, B: 2, F: nil},
	{Str: "í", A: 0, B: 3, F: nil},
	{Str: "ó", A: 0, B: 4, F: nil},
	{Str: "ú", A: 0, B: 5, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 3, F: nil},
	{Str: "I", A: 0, B: 1, F: nil},
	{Str: "U", A: 0, B: 2, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "la", A: -1, B: -1, F: nil},
	{Str: "cela", A: 0, B: -1, F: nil},
	{Str: "gliela", A: 0, B: -1, F: nil},
	{Str: "mela", A: 0, B: -1, F: nil},
	{Str: "tela", A: 0, B: -1, F: nil},
	{Str: "vela", A: 0, B: -1, F: nil},
	{Str: "le", A: -1, B: -1, F: nil},
	{Str: "cele", A: 6, B: -1, F: nil},
	{Str: "gliele", A: 6, B: -1, F: nil},
	{Str: "mele", A: 6, B: -1, F: nil},
	{Str: "tele", A: 6, B: -1, F: nil},
	{Str: "vele", A: 6, B: -1, F: nil},
	{Str: "ne", A: -1, B: -1, F: nil},
	{Str: "cene", A: 12, B: -1, F: nil},
	{Str: "gliene", A: 12, B: -1, F: nil},
	{Str: "mene", A: 12, B: -1, F: nil},
	{Str: "sene", A: 12, B: -1, F: nil},
	{Str: "tene", A: 12, B: -1, F: nil},
	{Str: "vene", A: 12, B: -1, F: nil},
	{Str: "ci", A: -1, B: -1, F: nil},
	{Str: "li", A: -1, B: -1, F: nil},
	{Str: "celi", A: 20, B: -1, F: nil},
	{Str: "glieli", A: 20, B: -1, F: nil},
	{Str: "meli", A: 20, B: -1, F: nil},
	{Str: "teli", A: 20, B: -1, F: nil},
	{Str: "veli", A: 20, B: -1, F: nil},
	{Str: "gli", A: 20, B: -1, F: nil},
	{Str: "mi", A: -1, B: -1, F: nil},
	{Str: "si", A: -1, B: -1, F: nil},
	{Str: "ti", A: -1, B: -1, F: nil},
	{Str: "vi", A: -1, B: -1, F: nil},
	{Str: "lo", A: -1, B: -1, F: nil},
	{Str: "celo", A: 31, B: -1, F: nil},
	{Str: "glielo", A: 31, B: -1, F: nil},
	{Str: "melo", A: 31, B: -1, F: nil},
	{Str: "telo", A: 31, B: -1, F: nil},
	{Str: "velo", A: 31, B: -1, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "ando", A: -1, B: 1, F: nil},
	{Str: "endo", A: -1, B: 1, F: nil},
	{Str: "ar", A: -1, B: 2, F: nil},
	{Str: "er", A: -1, B: 2, F: nil},
	{Str: "ir", A: -1, B: 2, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "ic", A: -1, B: -1, F: nil},
	{Str: "abil", A: -1, B: -1, F: nil},
	{Str: "os", A: -1, B: -1, F: nil},
	{Str: "iv", A: -1, B: 1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "ic", A: -1, B: 1, F: nil},
	{Str: "abil", A: -1, B: 1, F: nil},
	{Str: "iv", A: -1, B: 1, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "ica", A: -1, B: 1, F: nil},
	{Str: "logia", A: -1, B: 3, F: nil},
	{Str: "osa", A: -1, B: 1, F: nil},
	{Str: "ista", A: -1, B: 1, F: nil},
	{Str: "iva", A: -1, B: 9, F: nil},
	{Str: "anza", A: -1, B: 1, F: nil},
	{Str: "enza", A: -1, B: 5, F: nil},
	{Str: "ice", A: -1, B: 1, F: nil},
	{Str: "atrice", A: 7, B: 1, F: nil},
	{Str: "iche", A: -1, B: 1, F: nil},
	{Str: "logie", A: -1, B: 3, F: nil},
	{Str: "abile", A: -1, B: 1, F: nil},
	{Str: "ibile", A: -1, B: 1, F: nil},
	{Str: "usione", A: -1, B: 4, F: nil},
	{Str: "azione", A: -1, B: 2, F: nil},
	{Str: "uzione", A: -1, B: 4, F: nil},
	{Str: "atore", A: -1, B: 2, F: nil},
	{Str: "ose", A: -1, B: 1, F: nil},
	{Str: "ante", A: -1, B: 1, F: nil},
	{Str: "mente", A: -1, B: 1, F: nil},
	{Str: "amente", A: 19, B: 7, F: nil},
	{Str: "iste", A: -1, B: 1, F: nil},
	{Str: "ive", A: -1, B: 9, F: nil},
	{Str: "anze", A: -1, B: 1, F: nil},
	{Str: "enze", A: -1, B: 5, F: nil},
	{Str: "ici", A: -1, B: 1, F: nil},
	{Str: "atrici", A: 25, B: 1, F: nil},
	{Str: "ichi", A: -1, B: 1, F: nil},
	{Str: "abili", A: -1, B: 1, F: nil},
	{Str: "ibili", A: -1, B: 1, F: nil},
	{Str: "ismi", A: -1, B: 1, F: nil},
	{Str: "usioni", A: -1, B: 4, F: nil},
	{Str: "azioni", A: -1, B: 2, F: nil},
	{Str: "uzioni", A: -1, B: 4, F: nil},
	{Str: "atori", A: -1, B: 2, F: nil},
	{Str: "osi", A: -1, B: 1, F: nil},
	{Str: "anti", A: -1, B: 1, F: nil},
	{Str: "amenti", A: -1, B: 6, F: nil},
	{Str: "imenti", A: -1, B: 6, F: nil},
	{Str: "isti", A: -1, B: 1, F: nil},
	{Str: "ivi", A: -1, B: 9, F: nil},
	{Str: "ico", A: -1, B: 1, F: nil},
	{Str: "ismo", A: -1, B: 1, F: nil},
	{Str: "oso", A: -1, B: 1, F: nil},
	{Str: "amento", A: -1, B: 6, F: nil},
	{Str: "imento", A: -1, B: 6, F: nil},
	{Str: "ivo", A: -1, B: 9, F: nil},
	{Str: "ità", A: -1, B: 8, F: nil},
	{Str: "istà", A: -1, B: 1, F: nil},
	{Str: "istè", A: -1, B: 1, F: nil},
	{Str: "istì", A: -1, B: 1, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "isca", A: -1, B: 1, F: nil},
	{Str: "enda", A: -1, B: 1, F: nil},
	{Str: "ata", A: -1, B: 1, F: nil},
	{Str: "ita", A: -1, B: 1, F: nil},
	{Str: "uta", A: -1, B: 1, F: nil},
	{Str: "ava", A: -1, B: 1, F: nil},
	{Str: "eva", A: -1, B: 1, F: nil},
	{Str: "iva", A: -1, B: 1, F: nil},
	{Str: "erebbe", A: -1, B: 1, F: nil},
	{Str: "irebbe", A: -1, B: 1, F: nil},
	{Str: "isce", A: -1, B: 1, F: nil},
	{Str: "ende", A: -1, B: 1, F: nil},
	{Str: "are", A: -1, B: 1, F: nil},
	{Str: "ere", A: -1, B: 1, F: nil},
	{Str: "ire", A: -1, B: 1, F: nil},
	{Str: "asse", A: -1, B: 1, F: nil},
	{Str: "ate", A: -1, B: 1, F: nil},
	{Str: "avate", A: 16, B: 1, F: nil},
	{Str: "evate", A: 16, B: 1, F: nil},
	{Str: "ivate", A: 16, B: 1, F: nil},
	{Str: "ete", A: -1, B: 1, F: nil},
	{Str: "erete", A: 20, B: 1, F: nil},
	{Str: "irete", A: 20, B: 1, F: nil},
	{Str: "ite", A: -1, B: 1, F: nil},
	{Str: "ereste", A: -1, B: 1, F: nil},
	{Str: "ireste", A: -1, B: 1, F: nil},
	{Str: "ute", A: -1, B: 1, F: nil},
	{Str: "erai", A: -1, B: 1, F: nil},
	{Str: "irai", A: -1, B: 1, F: nil},
	{Str: "isci", A: -1, B: 1, F: nil},
	{Str: "endi", A: -1, B: 1, F: nil},
	{Str: "erei", A: -1, B: 1, F: nil},
	{Str: "irei", A: -1, B: 1, F: nil},
	{Str: "assi", A: -1, B: 1, F: nil},
	{Str: "ati", A: -1, B: 1, F: nil},
	{Str: "iti", A: -1, B: 1, F: nil},
	{Str: "eresti", A: -1, B: 1, F: nil},
	{Str: "iresti", A: -1, B: 1, F: nil},
	{Str: "uti", A: -1, B: 1, F: nil},
	{Str: "avi", A: -1, B: 1, F: nil},
	{Str: "evi", A: -1, B: 1, F: nil},
	{Str: "ivi", A: -1, B: 1, F: nil},
	{Str: "isco", A: -1, B: 1, F: nil},
	{Str: "ando", A: -1, B: 1, F: nil},
	{Str: "endo", A: -1, B: 1, F: nil},
	{Str: "Yamo", A: -1, B: 1, F: nil},
	{Str: "iamo", A: -1, B: 1, F: nil},
	{Str: "avamo", A: -1, B: 1, F: nil},
	{Str: "evamo", A: -1, B: 1, F: nil},
	{Str: "ivamo", A: -1, B: 1, F: nil},
	{Str: "eremo", A: -1, B: 1, F: nil},
	{Str: "iremo", A: -1, B: 1, F: nil},
	{Str: "assimo", A: -1, B: 1, F: nil},
	{Str: "ammo", A: -1, B: 1, F: nil},
	{Str: "emmo", A: -1, B: 1, F: nil},
	{Str: "eremmo", A: 54, B: 1, F: nil},
	{Str: "iremmo", A: 54, B: 1, F: nil},
	{Str: "immo", A: -1, B: 1, F: nil},
	{Str: "ano", A: -1, B: 1, F: nil},
	{Str: "iscano", A: 58, B: 1, F: nil},
	{Str: "avano", A: 58, B: 1, F: nil},
	{Str: "evano", A: 58, B: 1, F: nil},
	{Str: "ivano", A: 58, B: 1, F: nil},
	{Str: "eranno", A: -1, B: 1, F: nil},
	{Str: "iranno", A: -1, B: 1, F: nil},
	{Str: "ono", A: -1, B: 1, F: nil},
	{Str: "iscono", A: 65, B: 1, F: nil},
	{Str: "arono", A: 65, B: 1, F: nil},
	{Str: "erono", A: 65, B: 1, F: nil},
	{Str: "irono", A: 65, B: 1, F: nil},
	{Str: "erebbero", A: -1, B: 1, F: nil},
	{Str: "irebbero", A: -1, B: 1, F: nil},
	{Str: "assero", A: -1, B: 1, F: nil},
	{Str: "essero", A: -1, B: 1, F: nil},
	{Str: "issero", A: -1, B: 1, F: nil},
	{Str: "ato", A: -1, B: 1, F: nil},
	{Str: "ito", A: -1, B: 1, F: nil},
	{Str: "uto", A: -1, B: 1, F: nil},
	{Str: "avo", A: -1, B: 1, F: nil},
	{Str: "evo", A: -1, B: 1, F: nil},
	{Str: "ivo", A: -1, B: 1, F: nil},
	{Str: "ar", A: -1, B: 1, F: nil},
	{Str: "ir", A: -1, B: 1, F: nil},
	{Str: "erà", A: -1, B: 1, F: nil},
	{Str: "irà", A: -1, B: 1, F: nil},
	{Str: "erò", A: -1, B: 1, F: nil},
	{Str: "irò", A: -1, B: 1, F: nil},
}

var G_v = []byte{17, 65, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 128, 8, 2, 1}

var G_AEIO = []byte{17, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 128, 8, 2}

var G_CG = []byte{17}

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
		env.Bra = env.Cursor
		if env.FindAmong(A_0, context) == 0 {
			break lab0
		}
		env.Ket = env.Cursor
		if env.Cursor >= env.Limit {
			break lab0
		}
		env.SliceDel()
		break lab0
	}
	env.Cursor = v_1
	var v_2 = env.Cursor
lab1:
	for {
		var v_3 = env.Cursor
	replab2:
		for {
			var v_4 = env.Cursor
		lab3:
			for range [2]struct{}{} {
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_1, context)
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					env.SliceFrom("à")
				case 2:
					env.SliceFrom("è")
				case 3:
					env.SliceFrom("ì")
				case 4:
					env.SliceFrom("ò")
				case 5:
					env.SliceFrom("ù")
				case 6:
					env.SliceFrom("qU")
				case 7:
					if env.Cursor >= env.Limit {
						break lab3
					}
					env.NextChar()
				}
				continue replab2
			}
			env.Cursor = v_4
			break replab2
		}
		env.Cursor = v_3
	replab4:
		for {
			var v_5 = env.Cursor
		lab5:
			for range [2]struct{}{} {
			golab6:
				for {
					var v_6 = env.Cursor
				lab7:
					for {
						if !env.InGrouping(G_v, 97, 249) {
							break lab7
						}
						env.Bra = env.Cursor
					lab8:
						for {
							var v_7 = env.Cursor
						lab9:
							for {
								if !env.EqS("u") {
									break lab9
								}
								env.Ket = env.Cursor
								if !env.InGrouping(G_v, 97, 249) {
									break lab9
								}
								env.SliceFrom("U")
								break lab8
							}
							env.Cursor = v_7
							if !env.EqS("i") {
								break lab7
							}
							env.Ket = env.Cursor
							if !env.InGrouping(G_v, 97, 249) {
								break lab7
							}
							env.SliceFrom("I")
							break lab8
						}
						env.Cursor = v_6
						break golab6
					}
					env.Cursor = v_6
					if env.Cursor >= env.Limit {
						break lab5
					}
					env.NextChar()
				}
				continue replab4
			}
			env.Cursor = v_5
			break replab4
		}
		break lab1
	}
	env.Cursor = v_2
lab10:
	for {
		i_pV = env.Limit
		i_p1 = env.Limit
		i_p2 = env.Limit
		var v_8 = env.Cursor
	lab11:
		for {
		lab12:
			for {
				var v_9 = env.Cursor
			lab13:
				for {
					if !env.InGrouping(G_v, 97, 249) {
						break lab13
					}
				lab14:
					for {
						var v_10 = env.Cursor
					lab15:
						for {
							if !env.OutGrouping(G_v, 97, 249) {
								break lab15
							}
							if !env.GoOutGrouping(G_v, 97, 249) {
								break lab15
							}
							env.NextChar()
							break lab14
						}
						env.Cursor = v_10
						if !env.InGrouping(G_v, 97, 249) {
							break lab13
						}
						if !env.GoInGrouping(G_v, 97, 249) {
							break lab13
						}
						env.NextChar()
						break lab14
					}
					break lab12
				}
				env.Cursor = v_9
			lab16:
				for {
					if !env.EqS("divan") {
						break lab16
					}
					break lab12
				}
				env.Cursor = v_9
				if !env.OutGrouping(G_v, 97, 249) {
					break lab11
				}
			lab17:
				for {
					var v_11 = env.Cursor
				lab18:
					for {
						if !env.OutGrouping(G_v, 97, 249) {
							break lab18
						}
						if !env.GoOutGrouping(G_v, 97, 249) {
							break lab18
						}
						env.NextChar()
						break lab17
					}
					env.Cursor = v_11
					if !env.InGrouping(G_v, 97, 249) {
						break lab11
					}
					if env.Cursor >= env.Limit {
						break lab11
					}
					env.NextChar()
					break lab17
				}
				break lab12
			}
			i_pV = env.Cursor
			break lab11
		}
		env.Cursor = v_8
		var v_12 = env.Cursor
	lab19:
		for {
			if !env.GoOutGrouping(G_v, 97, 249) {
				break lab19
			}
			env.NextChar()
			if !env.GoInGrouping(G_v, 97, 249) {
				break lab19
			}
			env.NextChar()
			i_p1 = env.Cursor
			if !env.GoOutGrouping(G_v, 97, 249) {
				break lab19
			}
			env.NextChar()
			if !env.GoInGrouping(G_v, 97, 249) {
				break lab19
			}
			env.NextChar()
			i_p2 = env.Cursor
			break lab19
		}
		env.Cursor = v_12
		break lab10
	}
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_13 = env.Limit - env.Cursor
lab20:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_3, context) == 0 {
			break lab20
		}
		env.Bra = env.Cursor
		among_var = env.FindAmongB(A_4, context)
		if among_var == 0 {
			break lab20
		}
		if i_pV > env.Cursor {
			break lab20
		}
		switch among_var {
		case 1:
			env.SliceDel()
		case 2:
			env.SliceFrom("e")
		}
		break lab20
	}
	env.Cursor = env.Limit - v_13
	var v_14 = env.Limit - env.Cursor
lab21:
	for {
	lab22:
		for {
			var v_15 = env.Limit - env.Cursor
		lab23:
			for {
				env.Ket = env.Cursor
				among_var = env.FindAmongB(A_7, context)
				if among_var == 0 {
					break lab23
				}
				env.Bra = env.Cursor
				switch among_var {
				case 1:
					if i_p2 > env.Cursor {
						break lab23
					}
					env.SliceDel()
				case 2:
					if i_p2 > env.Cursor {
						break lab23
					}
					env.SliceDel()
					var v_16 = env.Limit - env.Cursor
				lab24:
					for {
						env.Ket = env.Cursor
						if !env.EqSB("ic") {
							env.Cursor = env.Limit - v_16
							break lab24
						}
						env.Bra = env.Cursor
						if i_p2 > env.Cursor {
							env.Cursor = env.Limit - v_16
							break lab24
						}
						env.SliceDel()
						break lab24
					}
				case 3:
					if i_p2 > env.Cursor {
						break lab23
					}
					env.SliceFrom("log")
				case 4:
					if i_p2 > env.Cursor {
						break lab23
					}
					env.SliceFrom("u")
				case 5:
					if i_p2 > env.Cursor {
						break lab23
					}
					env.SliceFrom("ente")
				case 6:
					if i_pV > env.Cursor {
						break lab23
					}
					env.SliceDel()
				case 7:
					if i_p1 > env.Cursor {
						break lab23
					}
					env.SliceDel()
					var v_17 = env.Limit - env.Cursor
				lab25:
					for {
						env.Ket = env.Cursor
						among_var = env.FindAmongB(A_5, context)
						if among_var == 0 {
							env.Cursor = env.Limit - v_17
							break lab25
						}
						env.Bra = env.Cursor
						if i_p2 > env.Cursor {
							env.Cursor = env.Limit - v_17
							break lab25
						}
						env.SliceDel()
						switch among_var {
						case 1:
							env.Ket = env.Cursor
							if !env.EqSB("at") {
								env.Cursor = env.Limit - v_17
								break lab25
							}
							env.Bra = env.Cursor
							if i_p2 > env.Cursor {
								env.Cursor = env.Limit - v_17
								break lab25
							}
							env.SliceDel()
						}
						break lab25
					}
				case 8:
					if i_p2 > env.Cursor {
						break lab23
					}
					env.SliceDel()
					var v_18 = env.Limit - env.Cursor
				lab26:
					for {
						env.Ket = env.Cursor
						if env.FindAmongB(A_6, context) == 0 {
							env.Cursor = env.Limit - v_18
							break lab26
						}
						env.Bra = env.Cursor
						if i_p2 > env.Cursor {
							env.Cursor = env.Limit - v_18
							break lab26
						}
						env.SliceDel()
						break lab26
					}
				case 9:
					if i_p2 > env.Cursor {
						break lab23
					}
					env.SliceDel()
					var v_19 = env.Limit - env.Cursor
				lab27:
					for {
						env.Ket = env.Cursor
						if !env.EqSB("at") {
							env.Cursor = env.Limit - v_19
							break lab27
						}
						env.Bra = env.Cursor
						if i_p2 > env.Cursor {
							env.Cursor = env.Limit - v_19
							break lab27
						}
						env.SliceDel()
						env.Ket = env.Cursor
						if !env.EqSB("ic") {
							env.Cursor = env.Limit - v_19
							break lab27
						}
						env.Bra = env.Cursor
						if i_p2 > env.Cursor {
							env.Cursor = env.Limit - v_19
							break lab27
						}
						env.SliceDel()
						break lab27
					}
				}
				break lab22
			}
			env.Cursor = env.Limit - v_15
			if env.Cursor < i_pV {
				break lab21
			}
			var v_20 = env.LimitBackward
			env.LimitBackward = i_pV
			env.Ket = env.Cursor
			if env.FindAmongB(A_8, context) == 0 {
				env.LimitBackward = v_20
				break lab21
			}
			env.Bra = env.Cursor
			env.SliceDel()
			env.LimitBackward = v_20
			break lab22
		}
		break lab21
	}
	env.Cursor = env.Limit - v_14
	var v_21 = env.Limit - env.Cursor
lab28:
	for {
		var v_22 = env.Limit - env.Cursor
	lab29:
		for {
			env.Ket = env.Cursor
			if !env.InGroupingB(G_AEIO, 97, 242) {
				env.Cursor = env.Limit - v_22
				break lab29
			}
			env.Bra = env.Cursor
			if i_pV > env.Cursor {
				env.Cursor = env.Limit - v_22
				break lab29
			}
			env.SliceDel()
			env.Ket = env.Cursor
			if !env.EqSB("i") {
				env.Cursor = env.Limit - v_22
				break lab29
			}
			env.Bra = env.Cursor
			if i_pV > env.Cursor {
				env.Cursor = env.Limit - v_22
				break lab29
			}
			env.SliceDel()
			break lab29
		}
		var v_23 = env.Limit - env.Cursor
	lab30:
		for {
			env.Ket = env.Cursor
			if !env.EqSB("h") {
				env.Cursor = env.Limit - v_23
				break lab30
			}
			env.Bra = env.Cursor
			if !env.InGroupingB(G_CG, 99, 103) {
				env.Cursor = env.Limit - v_23
				break lab30
			}
			if i_pV > env.Cursor {
				env.Cursor = env.Limit - v_23
				break lab30
			}
			env.SliceDel()
			break lab30
		}
		break lab28
	}
	env.Cursor = env.Limit - v_21
	env.Cursor = env.LimitBackward
	var v_24 = env.Cursor
lab31:
	for {
	replab32:
		for {
			var v_25 = env.Cursor
		lab33:
			for range [2]struct{}{} {
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_2, context)
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					env.SliceFrom("i")
				case 2:
					env.SliceFrom("u")
				case 3:
					if env.Cursor >= env.Limit {
						break lab33
					}
					env.NextChar()
				}
				continue replab32
			}
			env.Cursor = v_25
			break replab32
		}
		break lab31
	}
	env.Cursor = v_24
	return true
}
