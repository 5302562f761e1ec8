// Code generated from algorithms/romanian.sbl by the Snowball compiler; DO NOT EDIT.

// Package romanian finds the stems of words; see the package snowball.
package romanian

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "ş", A: -1, B: 1, F: nil},
	{Str: "ţ", A: -1, B: 2, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 3, F: nil},
	{Str: "I", A: 0, B: 1, F: nil},
	{Str: "U", A: 0, B: 2, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "ea", A: -1, B: 3, F: nil},
	{Str: "ația", A: -1, B: 7, F: nil},
	{Str: "aua", A: -1, B: 2, F: nil},
	{Str: "iua", A: -1, B: 4, F: nil},
	{Str: "ație", A: -1, B: 7, F: nil},
	{Str: "ele", A: -1, B: 3, F: nil},
	{Str: "ile", A: -1, B: 5, F: nil},
	{Str: "iile", A: 6, B: 4, F: nil},
	{Str: "iei", A: -1, B: 4, F: nil},
	{Str: "atei", A: -1, B: 6, F: nil},
	{Str: "ii", A: -1, B: 4, F: nil},
	{Str: "ului", A: -1, B: 1, F: nil},
	{Str: "ul", A: -1, B: 1, F: nil},
	{Str: "elor", A: -1, B: 3, F: nil},
	{Str: "ilor", A: -1, B: 4, F: nil},
	{Str: "iilor", A: 14, B: 4, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "icala", A: -1, B: 4, F: nil},
	{Str: "iciva", A: -1, B: 4, F: nil},
	{Str: "ativa", A: -1, B: 5, F: nil},
	{Str: "itiva", A: -1, B: 6, F: nil},
	{Str: "icale", A: -1, B: 4, F: nil},
	{Str: "ațiune", A: -1, B: 5, F: nil},
	{Str: "ițiune", A: -1, B: 6, F: nil},
	{Str: "atoare", A: -1, B: 5, F: nil},
	{Str: "itoare", A: -1, B: 6, F: nil},
	{Str: "ătoare", A: -1, B: 5, F: nil},
	{Str: "icitate", A: -1, B: 4, F: nil},
	{Str: "abilitate", A: -1, B: 1, F: nil},
	{Str: "ibilitate", A: -1, B: 2, F: nil},
	{Str: "ivitate", A: -1, B: 3, F: nil},
	{Str: "icive", A: -1, B: 4, F: nil},
	{Str: "ative", A: -1, B: 5, F: nil},
	{Str: "itive", A: -1, B: 6, F: nil},
	{Str: "icali", A: -1, B: 4, F: nil},
	{Str: "atori", A: -1, B: 5, F: nil},
	{Str: "icatori", A: 18, B: 4, F: nil},
	{Str: "itori", A: -1, B: 6, F: nil},
	{Str: "ători", A: -1, B: 5, F: nil},
	{Str: "icitati", A: -1, B: 4, F: nil},
	{Str: "abilitati", A: -1, B: 1, F: nil},
	{Str: "ivitati", A: -1, B: 3, F: nil},
	{Str: "icivi", A: -1, B: 4, F: nil},
	{Str: "ativi", A: -1, B: 5, F: nil},
	{Str: "itivi", A: -1, B: 6, F: nil},
	{Str: "icităi", A: -1, B: 4, F: nil},
	{Str: "abilităi", A: -1, B: 1, F: nil},
	{Str: "ivităi", A: -1, B: 3, F: nil},
	{Str: "icități", A: -1, B: 4, F: nil},
	{Str: "abilități", A: -1, B: 1, F: nil},
	{Str: "ivități", A: -1, B: 3, F: nil},
	{Str: "ical", A: -1, B: 4, F: nil},
	{Str: "ator", A: -1, B: 5, F: nil},
	{Str: "icator", A: 35, B: 4, F: nil},
	{Str: "itor", A: -1, B: 6, F: nil},
	{Str: "ător", A: -1, B: 5, F: nil},
	{Str: "iciv", A: -1, B: 4, F: nil},
	{Str: "ativ", A: -1, B: 5, F: nil},
	{Str: "itiv", A: -1, B: 6, F: nil},
	{Str: "icală", A: -1, B: 4, F: nil},
	{Str: "icivă", A: -1, B: 4, F: nil},
	{Str: "ativă", A: -1, B: 5, F: nil},
	{Str: "itivă", A: -1, B: 6, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "ica", A: -1, B: 1, F: nil},
	{Str: "abila", A: -1, B: 1, F: nil},
	{Str: "ibila", A: -1, B: 1, F: nil},
	{Str: "oasa", A: -1, B: 1, F: nil},
	{Str: "ata", A: -1, B: 1, F: nil},
	{Str: "ita", A: -1, B: 1, F: nil},
	{Str: "anta", A: -1, B: 1, F: nil},
	{Str: "ista", A: -1, B: 3, F: nil},
	{Str: "uta", A: -1, B: 1, F: nil},
	{Str: "iva", A: -1, B: 1, F: nil},
	{Str: "ic", A: -1, B: 1, F: nil},
	{Str: "ice", A: -1, B: 1, F: nil},
	{Str: "abile", A: -1, B: 1, F: nil},
	{Str: "ibile", A: -1, B: 1, F: nil},
	{Str: "isme", A: -1, B: 3, F: nil},
	{Str: "iune", A: -1, B: 2, F: nil},
	{Str: "oase", A: -1, B: 1, F: nil},
	{Str: "ate", A: -1, B: 1, F: nil},
	{Str: "itate", A: 17, B: 1, F: nil},
	{Str: "ite", A: -1, B: 1, F: nil},
	{Str: "ante", A: -1, B: 1, F: nil},
	{Str: "iste", A: -1, B: 3, F: nil},
	{Str: "ute", A: -1, B: 1, F: nil},
	{Str: "ive", A: -1, B: 1, F: nil},
	{Str: "ici", A: -1, B: 1, F: nil},
	{Str: "abili", A: -1, B: 1, F: nil},
	{Str: "ibili", A: -1, B: 1, F: nil},
	{Str: "iuni", A: -1, B: 2, F: nil},
	{Str: "atori", A: -1, B: 1, F: nil},
	{Str: "osi", A: -1, B: 1, F: nil},
	{Str: "ati", A: -1, B: 1, F: nil},
	{Str: "itati", A: 30, B: 1, F: nil},
	{Str: "iti", A: -1, B: 1, F: nil},
	{Str: "anti", A: -1, B: 1, F: nil},
	{Str: "isti", A: -1, B: 3, F: nil},
	{Str: "uti", A: -1, B: 1, F: nil},
	{Str: "iști", A: -1, B: 3, F: nil},
	{Str: "ivi", A: -1, B: 1, F: nil},
	{Str: "ităi", A: -1, B: 1, F: nil},
	{Str: "oși", A: -1, B: 1, F: nil},
	{Str: "ități", A: -1, B: 1, F: nil},
	{Str: "abil", A: -1, B: 1, F: nil},
	{Str: "ibil", A: -1, B: 1, F: nil},
	{Str: "ism", A: -1, B: 3, F: nil},
	{Str: "ator", A: -1, B: 1, F: nil},
	{Str: "os", A: -1, B: 1, F: nil},
	{Str: "at", A: -1, B: 1, F: nil},
	{Str: "it", A: -1, B: 1, F: nil},
	{Str: "ant", A: -1, B: 1, F: nil},
	{Str: "ist", A: -1, B: 3, F: nil},
	{Str: "ut", A: -1, B: 1, F: nil},
	{Str: "iv", A: -1, B: 1, F: nil},
	{Str: "ică", A: -1, B: 1, F: nil},
	{Str: "abilă", A: -1, B: 1, F: nil},
	{Str: "ibilă", A: -1, B: 1, F: nil},
	{Str: "oasă", A: -1, B: 1, F: nil},
	{Str: "ată", A: -1, B: 1, F: nil},
	{Str: "ită", A: -1, B: 1, F: nil},
	{Str: "antă", A: -1, B: 1, F: nil},
	{Str: "istă", A: -1, B: 3, F: nil},
	{Str: "ută", A: -1, B: 1, F: nil},
	{Str: "ivă", A: -1, B: 1, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "ea", A: -1, B: 1, F: nil},
	{Str: "ia", A: -1, B: 1, F: nil},
	{Str: "esc", A: -1, B: 1, F: nil},
	{Str: "ăsc", A: -1, B: 1, F: nil},
	{Str: "ind", A: -1, B: 1, F: nil},
	{Str: "ând", A: -1, B: 1, F: nil},
	{Str: "are", A: -1, B: 1, F: nil},
	{Str: "ere", A: -1, B: 1, F: nil},
	{Str: "ire", A: -1, B: 1, F: nil},
	{Str: "âre", A: -1, B: 1, F: nil},
	{Str: "se", A: -1, B: 2, F: nil},
	{Str: "ase", A: 10, B: 1, F: nil},
	{Str: "sese", A: 10, B: 2, F: nil},
	{Str: "ise", A: 10, B: 1, F: nil},
	{Str: "use", A: 10, B: 1, F: nil},
	{Str: "âse", A: 10, B: 1, F: nil},
	{Str: "ește", A: -1, B: 1, F: nil},
	{Str: "ăște", A: -1, B: 1, F: nil},
	{Str: "eze", A: -1, B: 1, F: nil},
	{Str: "ai", A: -1, B: 1, F: nil},
	{Str: "eai", A: 19, B: 1, F: nil},
	{Str: "iai", A: 19, B: 1, F: nil},
	{Str: "sei", A: -1, B: 2, F: nil},
	{Str: "ești", A: -1, B: 1, F: nil},
	{Str: "ăști", A: -1, B: 1, F: nil},
	{Str: "ui", A: -1, B: 1, F: nil},
	{Str: "ezi", A: -1, B: 1, F: nil},
	{Str: "ași", A: -1, B: 1, F: nil},
	{Str: "seși", A: -1, B: 2, F: nil},
	{Str: "aseși", A: 28, B: 1, F: nil},
	{Str: "seseși", A: 28, B: 2, F: nil},
	{Str: "iseși", A: 28, B: 1, F: nil},
	{Str: "useși", A: 28, B: 1, F: nil},
	{Str: "âseși", A: 28, B: 1, F: nil},
	{Str: "iși", A: -1, B: 1, F: nil},
	{Str: "uși", A: -1, B: 1, F: nil},
	{Str: "âși", A: -1, B: 1, F: nil},
	{Str: "ați", A: -1, B: 2, F: nil},
	{Str: "eați", A: 37, B: 1, F: nil},
	{Str: "iați", A: 37, B: 1, F: nil},
	{Str: "eți", A: -1, B: 2, F: nil},
	{Str: "iți", A: -1, B: 2, F: nil},
	{Str: "arăți", A: -1, B: 1, F: nil},
	{Str: "serăți", A: -1, B: 2, F: nil},
	{Str: "aserăți", A: 43, B: 1, F: nil},
	{Str: "seserăți", A: 43, B: 2, F: nil},
	{Str: "iserăți", A: 43, B: 1, F: nil},
	{Str: "userăți", A: 43, B: 1, F: nil},
	{Str: "âserăți", A: 43, B: 1, F: nil},
	{Str: "irăți", A: -1, B: 1, F: nil},
	{Str: "urăți", A: -1, B: 1, F: nil},
	{Str: "ârăți", A: -1, B: 1, F: nil},
	{Str: "âți", A: -1, B: 2, F: nil},
	{Str: "âi", A: -1, B: 1, F: nil},
	{Str: "am", A: -1, B: 1, F: nil},
	{Str: "eam", A: 54, B: 1, F: nil},
	{Str: "iam", A: 54, B: 1, F: nil},
	{Str: "em", A: -1, B: 2, F: nil},
	{Str: "asem", A: 57, B: 1, F: nil},
	{Str: "sesem", A: 57, B: 2, F: nil},
	{Str: "isem", A: 57, B: 1, F: nil},
	{Str: "usem", A: 57, B: 1, F: nil},
	{Str: "âsem", A: 57, B: 1, F: nil},
	{Str: "im", A: -1, B: 2, F: nil},
	{Str: "ăm", A: -1, B: 2, F: nil},
	{Str: "arăm", A: 64, B: 1, F: nil},
	{Str: "serăm", A: 64, B: 2, F: nil},
	{Str: "aserăm", A: 66, B: 1, F: nil},
	{Str: "seserăm", A: 66, B: 2, F: nil},
	{Str: "iserăm", A: 66, B: 1, F: nil},
	{Str: "userăm", A: 66, B: 1, F: nil},
	{Str: "âserăm", A: 66, B: 1, F: nil},
	{Str: "irăm", A: 64, B: 1, F: nil},
	{Str: "urăm", A: 64, B: 1, F: nil},
	{Str: "ârăm", A: 64, B: 1, F: nil},
	{Str: "âm", A: -1, B: 2, F: nil},
	{Str: "au", A: -1, B: 1, F: nil},
	{Str: "eau", A: 76, B: 1, F: nil},
	{Str: "iau", A: 76, B: 1, F: nil},
	{Str: "indu", A: -1, B: 1, F: nil},
	{Str: "ându", A: -1, B: 1, F: nil},
	{Str: "ez", A: -1, B: 1, F: nil},
	{Str: "ească", A: -1, B: 1, F: nil},
	{Str: "ară", A: -1, B: 1, F: nil},
	{Str: "seră", A: -1, B: 2, F: nil},
	{Str: "aseră", A: 84, B: 1, F: nil},
	{Str: "seseră", A: 84, B: 2, F: nil},
	{Str: "iseră", A: 84, B: 1, F: nil},
	{Str: "useră", A: 84, B: 1, F: nil},
	{Str: "âseră", A: 84, B: 1, F: nil},
	{Str: "iră", A: -1, B: 1, F: nil},
	{Str: "ură", A: -1, B: 1, F: nil},
	{Str: "âră", A: -1, B: 1, F: nil},
	{Str: "ează", A: -1, B: 1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "a", A: -1, B: 1, F: nil},
	{Str: "e", A: -1, B: 1, F: nil},
	{Str: "ie", A: 1, B: 1, F: nil},
	{Str: "i", A: -1, B: 1, F: nil},
	{Str: "ă", A: -1, B: 1, F: nil},
}

var G_v = []byte{17, 65, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 32, 0, 0, 4}

type Context struct {
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{}
	_ = context
	var among_var int32
	var b_standard_suffix_removed bool
	var i_p2 int
	var i_p1 int
	var i_pV int
lab0:
	for {
		var v_1 = env.Cursor
	lab1:
		for {
		replab2:
			for {
				var v_2 = env.Cursor
			lab3:
				for range [2]struct{}{} {
				golab4:
					for {
						var v_3 = env.Cursor
					lab5:
						for {
							env.Bra = env.Cursor
							among_var = env.FindAmong(A_0, context)
							if among_var == 0 {
								break lab5
							}
							env.Ket = env.Cursor
							switch among_var {
							case 1:
								env.SliceFrom("ș")
							case 2:
								env.SliceFrom("ț")
							}
							env.Cursor = v_3
							break golab4
						}
						env.Cursor = v_3
						if env.Cursor >= env.Limit {
							break lab3
						}
						env.NextChar()
					}
					continue replab2
				}
				env.Cursor = v_2
				break replab2
			}
			break lab1
		}
		env.Cursor = v_1
		break lab0
	}
	var v_4 = env.Cursor
lab6:
	for {
	replab7:
		for {
			var v_5 = env.Cursor
		lab8:
			for range [2]struct{}{} {
			golab9:
				for {
					var v_6 = env.Cursor
				lab10:
					for {
						if !env.InGrouping(G_v, 97, 259) {
							break lab10
						}
						env.Bra = env.Cursor
					lab11:
						for {
							var v_7 = env.Cursor
						lab12:
							for {
								if !env.EqS("u") {
									break lab12
								}
								env.Ket = env.Cursor
								if !env.InGrouping(G_v, 97, 259) {
									break lab12
								}
								env.SliceFrom("U")
								break lab11
							}
							env.Cursor = v_7
							if !env.EqS("i") {
								break lab10
							}
							env.Ket = env.Cursor
							if !env.InGrouping(G_v, 97, 259) {
								break lab10
							}
							env.SliceFrom("I")
							break lab11
						}
						env.Cursor = v_6
						break golab9
					}
					env.Cursor = v_6
					if env.Cursor >= env.Limit {
						break lab8
					}
					env.NextChar()
				}
				continue replab7
			}
			env.Cursor = v_5
			break replab7
		}
		break lab6
	}
	env.Cursor = v_4
lab13:
	for {
		i_pV = env.Limit
		i_p1 = env.Limit
		i_p2 = env.Limit
		var v_8 = env.Cursor
	lab14:
		for {
		lab15:
			for {
				var v_9 = env.Cursor
			lab16:
				for {
					if !env.InGrouping(G_v, 97, 259) {
						break lab16
					}
				lab17:
					for {
						var v_10 = env.Cursor
					lab18:
						for {
							if !env.OutGrouping(G_v, 97, 259) {
								break lab18
							}
							if !env.GoOutGrouping(G_v, 97, 259) {
								break lab18
							}
							env.NextChar()
							break lab17
						}
						env.Cursor = v_10
						if !env.InGrouping(G_v, 97, 259) {
							break lab16
						}
						if !env.GoInGrouping(G_v, 97, 259) {
							break lab16
						}
						env.NextChar()
						break lab17
					}
					break lab15
				}
				env.Cursor = v_9
				if !env.OutGrouping(G_v, 97, 259) {
					break lab14
				}
			lab19:
				for {
					var v_11 = env.Cursor
				lab20:
					for {
						if !env.OutGrouping(G_v, 97, 259) {
							break lab20
						}
						if !env.GoOutGrouping(G_v, 97, 259) {
							break lab20
						}
						env.NextChar()
						break lab19
					}
					env.Cursor = v_11
					if !env.InGrouping(G_v, 97, 259) {
						break lab14
					}
					if env.Cursor >= env.Limit {
						break lab14
					}
					env.NextChar()
					break lab19
				}
				break lab15
			}
			i_pV = env.Cursor
			break lab14
		}
		env.Cursor = v_8
		var v_12 = env.Cursor
	lab21:
		for {
			if !env.GoOutGrouping(G_v, 97, 259) {
				break lab21
			}
			env.NextChar()
			if !env.GoInGrouping(G_v, 97, 259) {
				break lab21
			}
			env.NextChar()
			i_p1 = env.Cursor
			if !env.GoOutGrouping(G_v, 97, 259) {
				break lab21
			}
			env.NextChar()
			if !env.GoInGrouping(G_v, 97, 259) {
				break lab21
			}
			env.NextChar()
			i_p2 = env.Cursor
			break lab21
		}
		env.Cursor = v_12
		break lab13
	}
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_13 = env.Limit - env.Cursor
lab22:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_2, context)
		if among_var == 0 {
			break lab22
		}
		env.Bra = env.Cursor
		if i_p1 > env.Cursor {
			break lab22
		}
		switch among_var {
		case 1:
			env.SliceDel()
		case 2:
			env.SliceFrom("a")
		case 3:
			env.SliceFrom("e")
		case 4:
			env.SliceFrom("i")
		case 5:
		lab23:
			for {
				if !env.EqSB("ab") {
					break lab23
				}
				break lab22
			}
			env.SliceFrom("i")
		case 6:
			env.SliceFrom("at")
		case 7:
			env.SliceFrom("ați")
		}
		break lab22
	}
	env.Cursor = env.Limit - v_13
	var v_14 = env.Limit - env.Cursor
lab24:
	for {
		b_standard_suffix_removed = false
	replab25:
		for {
			var v_15 = env.Limit - env.Cursor
		lab26:
			for range [2]struct{}{} {
				var v_16 = env.Limit - env.Cursor
				env.Ket = env.Cursor
				among_var = env.FindAmongB(A_3, context)
				if among_var == 0 {
					break lab26
				}
				env.Bra = env.Cursor
				if i_p1 > env.Cursor {
					break lab26
				}
				switch among_var {
				case 1:
					env.SliceFrom("abil")
				case 2:
					env.SliceFrom("ibil")
				case 3:
					env.SliceFrom("iv")
				case 4:
					env.SliceFrom("ic")
				case 5:
					env.SliceFrom("at")
				case 6:
					env.SliceFrom("it")
				}
				b_standard_suffix_removed = true
				env.Cursor = env.Limit - v_16
				continue replab25
			}
			env.Cursor = env.Limit - v_15
			break replab25
		}
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_4, context)
		if among_var == 0 {
			break lab24
		}
		env.Bra = env.Cursor
		if i_p2 > env.Cursor {
			break lab24
		}
		switch among_var {
		case 1:
			env.SliceDel()
		case 2:
			if !env.EqSB("ț") {
				break lab24
			}
			env.Bra = env.Cursor
			env.SliceFrom("t")
		case 3:
			env.SliceFrom("ist")
		}
		b_standard_suffix_removed = true
		break lab24
	}
	env.Cursor = env.Limit - v_14
	var v_17 = env.Limit - env.Cursor
lab27:
	for {
	lab28:
		for {
		lab29:
			for {
				if !b_standard_suffix_removed {
					break lab29
				}
				break lab28
			}
			if env.Cursor < i_pV {
				break lab27
			}
			var v_18 = env.LimitBackward
			env.LimitBackward = i_pV
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_5, context)
			if among_var == 0 {
				env.LimitBackward = v_18
				break lab27
			}
			env.Bra = env.Cursor
			switch among_var {
			case 1:
			lab30:
				for {
				lab31:
					for {
						if !env.OutGroupingB(G_v, 97, 259) {
							break lab31
						}
						break lab30
					}
					if !env.EqSB("u") {
						env.LimitBackward = v_18
						break lab27
					}
					break lab30
				}
				env.SliceDel()
			case 2:
				env.SliceDel()
			}
			env.LimitBackward = v_18
			break lab28
		}
		break lab27
	}
	env.Cursor = env.Limit - v_17
	var v_19 = env.Limit - env.Cursor
lab32:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_6, context) == 0 {
			break lab32
		}
		env.Bra = env.Cursor
		if i_pV > env.Cursor {
			break lab32
		}
		env.SliceDel()
		break lab32
	}
	env.Cursor = env.Limit - v_19
	env.Cursor = env.LimitBackward
	var v_20 = env.Cursor
lab33:
	for {
	replab34:
		for {
			var v_21 = env.Cursor
		lab35:
			for range [2]struct{}{} {
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_1, context)
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					env.SliceFrom("i")
				case 2:
					env.SliceFrom("u")
				case 3:
					if env.Cursor >= env.Limit {
						break lab35
					}
					env.NextChar()
				}
				continue replab34
			}
			env.Cursor = v_21
			break replab34
		}
		break lab33
	}
	env.Cursor = v_20
	return true
}
