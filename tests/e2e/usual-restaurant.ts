/** A query whose words fit several tools alike: which of them it means is different for each user. */
export const QUERY = 'my usual restaurant, Luigi';

export const TOOLS = [
  ['place_order', 'Order food or drinks from a restaurant for delivery'],
  ['book_table', 'Reserve a table at a restaurant'],
  ['find_recipe', 'Find a recipe to cook at home'],
  ['call_contact', 'Call somebody on the phone'],
  ['get_weather', 'Tell the weather of a place'],
  ['translate_text', 'Translate a text into another language'],
].map(([name, description]) => ({ name, description, inputSchema: { type: 'object', properties: {} } }));

/** What every user has. */
export const ITEMS = [
  { id: 'luigi', text: 'Luigi, restaurant: pizza Margherita', store: 'places' },
  { id: 'door', text: 'Note: the door code of the office is 4711', store: 'notes' },
];
