/** Finds by words: each that is typed begins one of a name. */

export interface Findable {
  readonly name: string
  /** Other words that lead to it, such as the names of the buttons on a page. */
  readonly also?: ReadonlyArray<string>
}

/** The better, the lower; undefined for no match. */
const rank = (name: string, query: string): number | undefined => {
  const text = name.toLowerCase()
  if (text.startsWith(query)) return 0
  const labels = text.split(/[^\p{L}\p{N}]+/u)
  if (query.split(/\s+/).every((each) => labels.some((label) => label.startsWith(each)))) return 1
  return text.includes(query) ? 2 : undefined
}

/** More than every rank of a name. */
const afterNames = 3

/** The best first; those as good as each other in their order. */
export const findByLabels = <Item extends Findable>(
  items: ReadonlyArray<Item>,
  letters: string,
): ReadonlyArray<Item> => {
  const query = letters.trim().toLowerCase()
  return items
    .map((item) => {
      const others = (item.also ?? []).map((name) => rank(name, query) ?? Number.NaN)
      const matches = [rank(item.name, query) ?? Number.NaN, ...others.map((at) => at + afterNames)]
      return { item, place: Math.min(...matches.filter((at) => !Number.isNaN(at))) }
    })
    .filter(({ place }) => Number.isFinite(place))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
