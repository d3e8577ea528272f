/** What slots of facets are filled with: names that say nothing about what they are used for. */
const FIRST =
  'Emma Liam Noah Ava Mia Lucas Ella Leo Zoe Ivan Nina Omar Lena Jonas Clara Felix Maya Hugo Alma Theo Rosa Emil Yara Finn Sofia Karim Greta Anton Wanda Pavel Aisha Bruno Carla David Edith Farid Gloria Henrik Iris Julian'.split(
    ' ',
  );
const LAST =
  'Rossi Keller Novak Haddad Berg Silva Moreau Tanaka Olsen Weber Kovacs Duarte Fischer Lindt Marek Okafor Petit Quist Romero Sand Thorn Ueda Vogel Wirth Yilmaz Zimmer Abbott Brandt Cole Doyle'.split(
    ' ',
  );

function lines(text: string): readonly string[] {
  return text.split(',').map((word) => word.trim());
}

export const WORDS: Readonly<Record<string, readonly string[]>> = {
  person: FIRST.flatMap((first) => LAST.map((last) => `${first} ${last}`)),
  name: FIRST,
  restaurant: lines(
    'Gino, Lotus Garden, El Camino, Bistro Nord, The Copper Pot, Saigon 21, Mama Adele, Kumpir Haus, Blue Door, Anatolia, Rice & Smoke, Trattoria Luna, Pho 88, The Anchor, Chez Margot, Tandoor Palace',
  ),
  dish: lines(
    'margherita, pad thai, lentil curry, ramen, falafel plate, lasagne, bibimbap, tacos, goulash, poke bowl, shakshuka, dumplings, risotto, burrito, moussaka, gnocchi',
  ),
  project: lines(
    'Falcon, Orchid, Northstar, Mercury, Granite, Bluebird, Atlas, Lighthouse, Juniper, Cobalt, Meridian, Quartz, Heron, Saffron, Delta, Summit',
  ),
  course: lines(
    'Guitar, Spanish, Piano, Pottery, Ballroom, Sketching, Drums, Italian, Violin, Sign Language, Watercolour, Singing, Chess, Mandarin, Cello, Photography',
  ),
  shop: lines(
    'Rewe, Coop, Tesco, Lidl, Aldi, Migros, Spar, Carrefour, Whole Foods, Trader Joe’s, Billa, Edeka',
  ),
  gym: lines(
    'Iron Hall, FitBox, Studio 9, City Pool, Boulder Loft, Northside Track, McFit, The Yard, Tower Sports, Club Arena',
  ),
  diet: lines(
    'Intermittent Fasting, Keto, Low Carb, Mediterranean, Paleo, 5:2, High Protein, Whole30, Plant Based, Low FODMAP',
  ),
  medicine: lines(
    'Ibuprofen, Cetirizine, Metformin, Vitamin D, Amoxicillin, Levothyroxine, Iron 50, Omeprazole, Folic acid, Ramipril',
  ),
  podcast: lines(
    'Daily Brief, Odd Histories, Night Science, Money Loop, Two Left Feet, The Long Table, Crime Yard, Hard Questions, Slow News, Byte by Byte',
  ),
  band: lines(
    'The Velvet Foxes, Paper Tigers, Luna Park, Golden Hours, Neon Harbour, Mild West, Sister Static, Kites, Ola Bergen, Dust & Diamonds, Hotel Sunday, Silver Pines',
  ),
  city: lines(
    'Lisbon, Oslo, Kyoto, Porto, Vienna, Tallinn, Seville, Quebec, Marrakesh, Dublin, Naples, Helsinki, Cusco, Ghent',
  ),
  airline: lines('SkyNord, Iberfly, AeroLink, WestJetty, Pacifica, Alpwings, Transoceana, Delfin Air'),
  book: lines(
    'The Glass Orchard, A Winter Ledger, Seven Rivers, The Clockmaker, Salt Roads, The Quiet Fleet, Ashes of May, Borrowed Light, Inland, The Ninth Key',
  ),
  pet: lines('Bello, Luna, Rocky, Bruno, Nala, Milo, Charly, Daisy, Oskar, Sam'),
  car: lines('Golf, Fiesta, Yaris, Corsa, Octavia, Civic, Clio, Panda, i20, Model 3'),
  garage: lines('Autohaus Brand, Kwik Service, Reifen Roth, Motor Meier, Garage Central, Pit Stop Nord'),
  series: lines(
    'Dark Harbour, The Office Party, Winterland, Crown of Sand, Night Shift, Lost Signal, Sugar & Salt, The Bridgekeepers',
  ),
  amount: lines('48.20, 112.00, 23.90, 310.50, 75.00, 19.99, 260.00, 84.10'),
  company: lines('Nordwind, Acmetric, Helio, Brightloop, Fjordbank, Kernwerk, Ostara, Datamill, Papaya Labs'),
  plant: lines(
    'monstera, tomatoes, basil, lemon tree, hydrangea, roses, ficus, lavender, orchid, strawberries',
  ),
  club: lines('Rovers, United, Real Norte, Dynamo, Eintracht, Athletic, Wanderers, Olimpia'),
  topic: lines(
    'urban heat, medieval trade, coral reefs, gig work, dark matter, sleep cycles, language loss, soil carbon, game theory, rail history',
  ),
};
