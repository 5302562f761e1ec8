// Code generated from algorithms/russian.sbl by the Snowball compiler; DO NOT EDIT.

// Package russian finds the stems of words; see the package snowball.
package russian

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "вшись", A: -1, B: 1, F: nil},
	{Str: "ывшись", A: 0, B: 2, F: nil},
	{Str: "ившись", A: 0, B: 2, F: nil},
	{Str: "в", A: -1, B: 1, F: nil},
	{Str: "ыв", A: 3, B: 2, F: nil},
	{Str: "ив", A: 3, B: 2, F: nil},
	{Str: "вши", A: -1, B: 1, F: nil},
	{Str: "ывши", A: 6, B: 2, F: nil},
	{Str: "ивши", A: 6, B: 2, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "ему", A: -1, B: 1, F: nil},
	{Str: "ому", A: -1, B: 1, F: nil},
	{Str: "ых", A: -1, B: 1, F: nil},
	{Str: "их", A: -1, B: 1, F: nil},
	{Str: "ую", A: -1, B: 1, F: nil},
	{Str: "юю", A: -1, B: 1, F: nil},
	{Str: "ею", A: -1, B: 1, F: nil},
	{Str: "ою", A: -1, B: 1, F: nil},
	{Str: "яя", A: -1, B: 1, F: nil},
	{Str: "ая", A: -1, B: 1, F: nil},
	{Str: "ые", A: -1, B: 1, F: nil},
	{Str: "ее", A: -1, B: 1, F: nil},
	{Str: "ие", A: -1, B: 1, F: nil},
	{Str: "ое", A: -1, B: 1, F: nil},
	{Str: "ыми", A: -1, B: 1, F: nil},
	{Str: "ими", A: -1, B: 1, F: nil},
	{Str: "ый", A: -1, B: 1, F: nil},
	{Str: "ей", A: -1, B: 1, F: nil},
	{Str: "ий", A: -1, B: 1, F: nil},
	{Str: "ой", A: -1, B: 1, F: nil},
	{Str: "ым", A: -1, B: 1, F: nil},
	{Str: "ем", A: -1, B: 1, F: nil},
	{Str: "им", A: -1, B: 1, F: nil},
	{Str: "ом", A: -1, B: 1, F: nil},
	{Str: "его", A: -1, B: 1, F: nil},
	{Str: "ого", A: -1, B: 1, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "вш", A: -1, B: 1, F: nil},
	{Str: "ывш", A: 0, B: 2, F: nil},
	{Str: "ивш", A: 0, B: 2, F: nil},
	{Str: "щ", A: -1, B: 1, F: nil},
	{Str: "ющ", A: 3, B: 1, F: nil},
	{Str: "ующ", A: 4, B: 2, F: nil},
	{Str: "ем", A: -1, B: 1, F: nil},
	{Str: "нн", A: -1, B: 1, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "сь", A: -1, B: 1, F: nil},
	{Str: "ся", A: -1, B: 1, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "ыт", A: -1, B: 2, F: nil},
	{Str: "ют", A: -1, B: 1, F: nil},
	{Str: "уют", A: 1, B: 2, F: nil},
	{Str: "ят", A: -1, B: 2, F: nil},
	{Str: "ет", A: -1, B: 1, F: nil},
	{Str: "ует", A: 4, B: 2, F: nil},
	{Str: "ит", A: -1, B: 2, F: nil},
	{Str: "ны", A: -1, B: 1, F: nil},
	{Str: "ены", A: 7, B: 2, F: nil},
	{Str: "ть", A: -1, B: 1, F: nil},
	{Str: "ыть", A: 9, B: 2, F: nil},
	{Str: "ить", A: 9, B: 2, F: nil},
	{Str: "ешь", A: -1, B: 1, F: nil},
	{Str: "ишь", A: -1, B: 2, F: nil},
	{Str: "ю", A: -1, B: 2, F: nil},
	{Str: "ую", A: 14, B: 2, F: nil},
	{Str: "ла", A: -1, B: 1, F: nil},
	{Str: "ыла", A: 16, B: 2, F: nil},
	{Str: "ила", A: 16, B: 2, F: nil},
	{Str: "на", A: -1, B: 1, F: nil},
	{Str: "ена", A: 19, B: 2, F: nil},
	{Str: "ете", A: -1, B: 1, F: nil},
	{Str: "ите", A: -1, B: 2, F: nil},
	{Str: "йте", A: -1, B: 1, F: nil},
	{Str: "уйте", A: 23, B: 2, F: nil},
	{Str: "ейте", A: 23, B: 2, F: nil},
	{Str: "ли", A: -1, B: 1, F: nil},
	{Str: "ыли", A: 26, B: 2, F: nil},
	{Str: "или", A: 26, B: 2, F: nil},
	{Str: "й", A: -1, B: 1, F: nil},
	{Str: "уй", A: 29, B: 2, F: nil},
	{Str: "ей", A: 29, B: 2, F: nil},
	{Str: "л", A: -1, B: 1, F: nil},
	{Str: "ыл", A: 32, B: 2, F: nil},
	{Str: "ил", A: 32, B: 2, F: nil},
	{Str: "ым", A: -1, B: 2, F: nil},
	{Str: "ем", A: -1, B: 1, F: nil},
	{Str: "им", A: -1, B: 2, F: nil},
	{Str: "н", A: -1, B: 1, F: nil},
	{Str: "ен", A: 38, B: 2, F: nil},
	{Str: "ло", A: -1, B: 1, F: nil},
	{Str: "ыло", A: 40, B: 2, F: nil},
	{Str: "ило", A: 40, B: 2, F: nil},
	{Str: "но", A: -1, B: 1, F: nil},
	{Str: "ено", A: 43, B: 2, F: nil},
	{Str: "нно", A: 43, B: 1, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "у", A: -1, B: 1, F: nil},
	{Str: "ях", A: -1, B: 1, F: nil},
	{Str: "иях", A: 1, B: 1, F: nil},
	{Str: "ах", A: -1, B: 1, F: nil},
	{Str: "ы", A: -1, B: 1, F: nil},
	{Str: "ь", A: -1, B: 1, F: nil},
	{Str: "ю", A: -1, B: 1, F: nil},
	{Str: "ью", A: 6, B: 1, F: nil},
	{Str: "ию", A: 6, B: 1, F: nil},
	{Str: "я", A: -1, B: 1, F: nil},
	{Str: "ья", A: 9, B: 1, F: nil},
	{Str: "ия", A: 9, B: 1, F: nil},
	{Str: "а", A: -1, B: 1, F: nil},
	{Str: "ев", A: -1, B: 1, F: nil},
	{Str: "ов", A: -1, B: 1, F: nil},
	{Str: "е", A: -1, B: 1, F: nil},
	{Str: "ье", A: 15, B: 1, F: nil},
	{Str: "ие", A: 15, B: 1, F: nil},
	{Str: "и", A: -1, B: 1, F: nil},
	{Str: "еи", A: 18, B: 1, F: nil},
	{Str: "ии", A: 18, B: 1, F: nil},
	{Str: "ями", A: 18, B: 1, F: nil},
	{Str: "иями", A: 21, B: 1, F: nil},
	{Str: "ами", A: 18, B: 1, F: nil},
	{Str: "й", A: -1, B: 1, F: nil},
	{Str: "ей", A: 24, B: 1, F: nil},
	{Str: "ией", A: 25, B: 1, F: nil},
	{Str: "ий", A: 24, B: 1, F: nil},
	{Str: "ой", A: 24, B: 1, F: nil},
	{Str: "ям", A: -1, B: 1, F: nil},
	{Str: "иям", A: 29, B: 1, F: nil},
	{Str: "ам", A: -1, B: 1, F: nil},
	{Str: "ем", A: -1, B: 1, F: nil},
	{Str: "ием", A: 32, B: 1, F: nil},
	{Str: "ом", A: -1, B: 1, F: nil},
	{Str: "о", A: -1, B: 1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "ост", A: -1, B: 1, F: nil},
	{Str: "ость", A: -1, B: 1, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "ейш", A: -1, B: 1, F: nil},
	{Str: "ь", A: -1, B: 3, F: nil},
	{Str: "ейше", A: -1, B: 1, F: nil},
	{Str: "н", A: -1, B: 2, F: nil},
}

var G_v = []byte{33, 65, 8, 232}

type Context struct {
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{}
	_ = context
	var among_var int32
	var i_p2 int
	var i_pV int
	var v_1 = env.Cursor
lab0:
	for {
	replab1:
		for {
			var v_2 = env.Cursor
		lab2:
			for range [2]struct{}{} {
			golab3:
				for {
					var v_3 = env.Cursor
				lab4:
					for {
						env.Bra = env.Cursor
						if !env.EqS("ё") {
							break lab4
						}
						env.Ket = env.Cursor
						env.Cursor = v_3
						break golab3
					}
					env.Cursor = v_3
					if env.Cursor >= env.Limit {
						break lab2
					}
					env.NextChar()
				}
				env.SliceFrom("е")
				continue replab1
			}
			env.Cursor = v_2
			break replab1
		}
		break lab0
	}
	env.Cursor = v_1
lab5:
	for {
		i_pV = env.Limit
		i_p2 = env.Limit
		var v_4 = env.Cursor
	lab6:
		for {
			if !env.GoOutGrouping(G_v, 1072, 1103) {
				break lab6
			}
			env.NextChar()
			i_pV = env.Cursor
			if !env.GoInGrouping(G_v, 1072, 1103) {
				break lab6
			}
			env.NextChar()
			if !env.GoOutGrouping(G_v, 1072, 1103) {
				break lab6
			}
			env.NextChar()
			if !env.GoInGrouping(G_v, 1072, 1103) {
				break lab6
			}
			env.NextChar()
			i_p2 = env.Cursor
			break lab6
		}
		env.Cursor = v_4
		break lab5
	}
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	if env.Cursor < i_pV {
		return false
	}
	var v_5 = env.LimitBackward
	env.LimitBackward = i_pV
	var v_6 = env.Limit - env.Cursor
lab7:
	for {
	lab8:
		for {
			var v_7 = env.Limit - env.Cursor
		lab9:
			for {
				env.Ket = env.Cursor
				among_var = env.FindAmongB(A_0, context)
				if among_var == 0 {
					break lab9
				}
				env.Bra = env.Cursor
				switch among_var {
				case 1:
				lab10:
					for {
					lab11:
						for {
							if !env.EqSB("а") {
								break lab11
							}
							break lab10
						}
						if !env.EqSB("я") {
							break lab9
						}
						break lab10
					}
					env.SliceDel()
				case 2:
					env.SliceDel()
				}
				break lab8
			}
			env.Cursor = env.Limit - v_7
			var v_8 = env.Limit - env.Cursor
		lab12:
			for {
				env.Ket = env.Cursor
				if env.FindAmongB(A_3, context) == 0 {
					env.Cursor = env.Limit - v_8
					break lab12
				}
				env.Bra = env.Cursor
				env.SliceDel()
				break lab12
			}
		lab13:
			for {
				var v_9 = env.Limit - env.Cursor
			lab14:
				for {
					env.Ket = env.Cursor
					if env.FindAmongB(A_1, context) == 0 {
						break lab14
					}
					env.Bra = env.Cursor
					env.SliceDel()
					var v_10 = env.Limit - env.Cursor
				lab15:
					for {
						env.Ket = env.Cursor
						among_var = env.FindAmongB(A_2, context)
						if among_var == 0 {
							env.Cursor = env.Limit - v_10
							break lab15
						}
						env.Bra = env.Cursor
						switch among_var {
						case 1:
						lab16:
							for {
							lab17:
								for {
									if !env.EqSB("а") {
										break lab17
									}
									break lab16
								}
								if !env.EqSB("я") {
									env.Cursor = env.Limit - v_10
									break lab15
								}
								break lab16
							}
							env.SliceDel()
						case 2:
							env.SliceDel()
						}
						break lab15
					}
					break lab13
				}
				env.Cursor = env.Limit - v_9
			lab18:
				for {
					env.Ket = env.Cursor
					among_var = env.FindAmongB(A_4, context)
					if among_var == 0 {
						break lab18
					}
					env.Bra = env.Cursor
					switch among_var {
					case 1:
					lab19:
						for {
						lab20:
							for {
								if !env.EqSB("а") {
									break lab20
								}
								break lab19
							}
							if !env.EqSB("я") {
								break lab18
							}
							break lab19
						}
						env.SliceDel()
					case 2:
						env.SliceDel()
					}
					break lab13
				}
				env.Cursor = env.Limit - v_9
				env.Ket = env.Cursor
				if env.FindAmongB(A_5, context) == 0 {
					break lab7
				}
				env.Bra = env.Cursor
				env.SliceDel()
				break lab13
			}
			break lab8
		}
		break lab7
	}
	env.Cursor = env.Limit - v_6
	var v_11 = env.Limit - env.Cursor
lab21:
	for {
		env.Ket = env.Cursor
		if !env.EqSB("и") {
			env.Cursor = env.Limit - v_11
			break lab21
		}
		env.Bra = env.Cursor
		env.SliceDel()
		break lab21
	}
	var v_12 = env.Limit - env.Cursor
lab22:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_6, context) == 0 {
			break lab22
		}
		env.Bra = env.Cursor
		if i_p2 > env.Cursor {
			break lab22
		}
		env.SliceDel()
		break lab22
	}
	env.Cursor = env.Limit - v_12
	var v_13 = env.Limit - env.Cursor
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
			env.SliceDel()
			env.Ket = env.Cursor
			if !env.EqSB("н") {
				break lab23
			}
			env.Bra = env.Cursor
			if !env.EqSB("н") {
				break lab23
			}
			env.SliceDel()
		case 2:
			if !env.EqSB("н") {
				break lab23
			}
			env.SliceDel()
		case 3:
			env.SliceDel()
		}
		break lab23
	}
	env.Cursor = env.Limit - v_13
	env.LimitBackward = v_5
	env.Cursor = env.LimitBackward
	return true
}
