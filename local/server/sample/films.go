package sample

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	filmCount  = 1200
	dimensions = 64

	firstYear, lastYear = 1960, 2025
)

// A genre has the words of its films, and the colour of their posters.
type genre struct {
	name                      string
	colour                    color.RGBA
	who, does, thing, ending  []string
	adjectives, nouns, places []string
}

var genres = []genre{
	{
		name: "drama", colour: color.RGBA{0x8c, 0x3b, 0x4a, 0xff},
		who:        []string{"a young doctor", "a retired teacher", "a widowed baker", "two estranged sisters", "an ambitious lawyer"},
		does:       []string{"returns to", "must leave", "inherits a house in", "starts again in", "keeps a secret from"},
		thing:      []string{"a family that never forgave", "an old letter that changes everything", "a trial that divides the town", "a love that came too late"},
		ending:     []string{"Forgiveness has its price.", "In the end only the truth remains.", "A quiet story about loss and hope."},
		adjectives: []string{"Quiet", "Broken", "Last", "Long"}, nouns: []string{"Letter", "Winter", "Promise", "House"},
		places: []string{"a fishing village", "a small mountain town", "a city by the river"},
	},
	{
		name: "comedy", colour: color.RGBA{0xe0, 0xa1, 0x2b, 0xff},
		who:        []string{"a clumsy waiter", "a wedding planner", "three lazy students", "a nervous magician", "a talkative taxi driver"},
		does:       []string{"accidentally buys", "gets lost in", "pretends to own", "throws a party in", "has to save"},
		thing:      []string{"a case of mistaken identity", "a parrot that repeats every secret", "a wedding with two brides", "a recipe that nobody can cook"},
		ending:     []string{"Nothing goes as planned, and everyone laughs.", "The misunderstandings pile up until the cake falls.", "A cheerful farce about friendship."},
		adjectives: []string{"Merry", "Wrong", "Lucky", "Second"}, nouns: []string{"Wedding", "Waiter", "Holiday", "Parrot"},
		places: []string{"a grand hotel", "a seaside resort", "a restaurant in Naples"},
	},
	{
		name: "thriller", colour: color.RGBA{0x2f, 0x4b, 0x3c, 0xff},
		who:        []string{"a tired detective", "a wanted spy", "a bank clerk", "an undercover journalist", "a blind witness"},
		does:       []string{"is hunted through", "follows a killer into", "hides stolen money in", "finds a body in", "must escape from"},
		thing:      []string{"a conspiracy that reaches the ministry", "a murder without a motive", "a ransom that nobody will pay", "a password worth millions"},
		ending:     []string{"Nobody can be trusted.", "The clock runs until midnight.", "Each clue makes the suspect less likely."},
		adjectives: []string{"Silent", "Cold", "Hidden", "Final"}, nouns: []string{"Witness", "Cipher", "Alibi", "Ransom"},
		places: []string{"a harbour at night", "a night train to Vienna", "an abandoned factory"},
	},
	{
		name: "science fiction", colour: color.RGBA{0x2a, 0x5c, 0x9e, 0xff},
		who:        []string{"a lonely astronaut", "a ship's engineer", "an android", "a colony of miners", "the last botanist"},
		does:       []string{"wakes up on", "sends a signal from", "discovers life on", "repairs a reactor on", "is stranded on"},
		thing:      []string{"a message from the future", "an alien machine beneath the ice", "a computer that dreams", "a planet that remembers its visitors"},
		ending:     []string{"Between the stars, time is the enemy.", "What it means to be human is no longer certain.", "A voyage to the edge of the galaxy."},
		adjectives: []string{"Distant", "Frozen", "Electric", "Infinite"}, nouns: []string{"Orbit", "Signal", "Planet", "Machine"},
		places: []string{"a moon of Saturn", "a drifting space station", "a starship between galaxies"},
	},
	{
		name: "documentary", colour: color.RGBA{0x7a, 0x6a, 0x53, 0xff},
		who:        []string{"a marine biologist", "a team of archaeologists", "four beekeepers", "a railway historian", "a choir of farmers"},
		does:       []string{"spends a year in", "measures the past of", "films the daily work in", "maps the rivers of", "records the songs of"},
		thing:      []string{"a species that was thought extinct", "a ruin under the desert", "an instrument that only one man can build", "the archive of a lost newspaper"},
		ending:     []string{"Interviews and old footage tell the story.", "The camera waits, and nature answers.", "A patient look at a changing world."},
		adjectives: []string{"Real", "Forgotten", "Wild", "Open"}, nouns: []string{"River", "Archive", "Harvest", "Reef"},
		places: []string{"a coral reef", "the delta of the Danube", "a valley in the Andes"},
	},
	{
		name: "animation", colour: color.RGBA{0x57, 0xa6, 0x73, 0xff},
		who:        []string{"a brave little fox", "a dragon who fears fire", "a girl with a paper boat", "a robot made of tin", "a family of hedgehogs"},
		does:       []string{"flies to", "builds a bridge to", "finds a door into", "looks for its mother in", "learns to sing in"},
		thing:      []string{"a kingdom made of clouds", "a map painted by the moon", "a wizard who lost his hat", "a forest where the trees talk"},
		ending:     []string{"Courage comes in small sizes.", "Children and their grandparents will hum the songs.", "A magical tale of friendship."},
		adjectives: []string{"Little", "Magic", "Brave", "Golden"}, nouns: []string{"Fox", "Dragon", "Lantern", "Forest"},
		places: []string{"an enchanted forest", "a castle above the clouds", "an island of toys"},
	},
	{
		name: "horror", colour: color.RGBA{0x3a, 0x24, 0x3f, 0xff},
		who:        []string{"a sleepless nurse", "a family of five", "an organ tuner", "a group of campers", "a priest in doubt"},
		does:       []string{"spends the night in", "opens a grave near", "hears voices in", "buys a mirror from", "cannot leave"},
		thing:      []string{"a curse that passes by touch", "a child who casts no shadow", "a ghost that knows their names", "a creature in the cellar"},
		ending:     []string{"The door was never locked.", "Whoever listens will be next.", "Terror grows in the dark."},
		adjectives: []string{"Hollow", "Pale", "Crooked", "Black"}, nouns: []string{"Mirror", "Cellar", "Shadow", "Chapel"},
		places: []string{"a haunted manor", "a deserted asylum", "a chapel in the swamp"},
	},
	{
		name: "adventure", colour: color.RGBA{0xb8, 0x5c, 0x2e, 0xff},
		who:        []string{"a fearless pilot", "a runaway prince", "a treasure hunter", "two rival captains", "a mapmaker's daughter"},
		does:       []string{"sails to", "crosses", "is shipwrecked near", "races a rival across", "digs for gold in"},
		thing:      []string{"a treasure that was never buried", "a compass that points to danger", "a lost city of gold", "a storm that lasts a month"},
		ending:     []string{"The jungle keeps what it takes.", "Swords, sails and a narrow escape.", "The journey matters more than the gold."},
		adjectives: []string{"Lost", "Burning", "Seven", "Hidden"}, nouns: []string{"Compass", "Treasure", "Captain", "Island"},
		places: []string{"the Sahara", "an uncharted island", "the pass of Samarkand"},
	},
}

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "title", Type: arrow.BinaryTypes.String},
	{Name: "year", Type: arrow.PrimitiveTypes.Int32},
	{Name: "genre", Type: arrow.BinaryTypes.String},
	{Name: "rating", Type: arrow.PrimitiveTypes.Float64},
	{Name: "summary", Type: arrow.BinaryTypes.String},
	{Name: "poster", Type: arrow.BinaryTypes.Binary},
	{Name: "vector", Type: arrow.FixedSizeListOfNonNullable(dimensions, arrow.PrimitiveTypes.Float32)},
}, nil)

// films returns the rows of the sample. They are the same each time.
func films() (arrow.RecordBatch, error) {
	random := rand.New(rand.NewPCG(1895, 12))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	vectors := b.Field(7).(*array.FixedSizeListBuilder)
	words, encoder := directions{}, new(encoderPool)
	for id := range int64(filmCount) {
		g := genres[random.IntN(len(genres))]
		summary := g.summary(random)
		poster, err := g.poster(random, encoder)
		if err != nil {
			return nil, err
		}
		b.Field(0).(*array.Int64Builder).Append(id + 1)
		b.Field(1).(*array.StringBuilder).Append("The " + pick(random, g.adjectives) + " " + pick(random, g.nouns))
		b.Field(2).(*array.Int32Builder).Append(int32(firstYear + random.IntN(lastYear-firstYear+1)))
		b.Field(3).(*array.StringBuilder).Append(g.name)
		b.Field(4).(*array.Float64Builder).Append(math.Round(10*min(9.8, max(1.5, 6.3+1.4*random.NormFloat64()))) / 10)
		b.Field(5).(*array.StringBuilder).Append(summary)
		b.Field(6).(*array.BinaryBuilder).Append(poster)
		vectors.Append(true)
		vectors.ValueBuilder().(*array.Float32Builder).AppendValues(words.embed(g.name+" "+summary), nil)
	}
	return b.NewRecordBatch(), nil
}

func pick(random *rand.Rand, texts []string) string { return texts[random.IntN(len(texts))] }

// summary returns two or three sentences.
func (g *genre) summary(random *rand.Rand) string {
	who := pick(random, g.who)
	return fmt.Sprintf("%s %s %s: %s. %s", strings.ToUpper(who[:1])+who[1:], pick(random, g.does), pick(random, g.places), pick(random, g.thing), pick(random, g.ending))
}

// directions are the random directions of words, by word.
type directions map[string][]float64

// of returns the direction of a word, which is the same each time.
func (d directions) of(word string) []float64 {
	direction, ok := d[word]
	if !ok {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(word)) // never returns an error
		random := rand.New(rand.NewPCG(hash.Sum64(), 0))
		direction = make([]float64, dimensions)
		for i := range direction {
			direction[i] = random.NormFloat64()
		}
		d[word] = direction
	}
	return direction
}

// embed returns a vector of length 1 for a text: the sum of the directions of its words. Texts with the same words are near
// each other. Words of less than four letters do not count.
func (d directions) embed(text string) []float32 {
	var sum [dimensions]float64
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if len(word) < 4 {
			continue
		}
		for i, x := range d.of(word) {
			sum[i] += x
		}
	}
	var square float64
	for _, x := range sum {
		square += x * x
	}
	vector := make([]float32, dimensions)
	for i, x := range sum {
		vector[i] = float32(x / max(math.Sqrt(square), math.SmallestNonzeroFloat32))
	}
	return vector
}

// encoderPool keeps the buffers of one encoder of pictures.
type encoderPool struct{ buffer *png.EncoderBuffer }

// Get implements png.EncoderBufferPool.
func (p *encoderPool) Get() *png.EncoderBuffer { return p.buffer }

// Put implements png.EncoderBufferPool.
func (p *encoderPool) Put(buffer *png.EncoderBuffer) { p.buffer = buffer }

// poster returns a PNG image in shades of the genre's colour: a sky, a sun or moon, and hills.
func (g *genre) poster(random *rand.Rand, encoders png.EncoderBufferPool) ([]byte, error) {
	const width, height, shades = 64, 96, 16
	palette := make(color.Palette, shades)
	for i := range palette {
		light := 0.35 + 1.3*float64(i)/(shades-1)
		channel := func(c uint8) uint8 { return uint8(min(255, light*float64(c)+float64(4*i))) }
		palette[i] = color.RGBA{channel(g.colour.R), channel(g.colour.G), channel(g.colour.B), 0xff}
	}
	picture := image.NewPaletted(image.Rect(0, 0, width, height), palette)
	x0, y0, radius := 12+random.Float64()*40, 14+random.Float64()*30, 6+random.Float64()*10
	phase, waves, ground := random.Float64()*6, 0.05+random.Float64()*0.15, 58+random.Float64()*16
	for y := range height {
		for x := range width {
			shade := 4 + 8*y/height
			if math.Hypot(float64(x)-x0, float64(y)-y0) < radius {
				shade = shades - 1
			}
			if hill := ground + 7*math.Sin(phase+waves*float64(x)); float64(y) > hill {
				shade = max(0, 3-(y-int(hill))/10)
			}
			picture.SetColorIndex(x, y, uint8(shade))
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed, BufferPool: encoders}
	err := encoder.Encode(&out, picture)
	return out.Bytes(), err
}
