/** Finds by words: each that is typed begins one of a name. */

export interface Findable {
  readonly name: string
  /** Other words that lead to it, such as the names of the buttons on a page. */
  readonly also?: ReadonlyArray<string>
}

/** The better, the lower; undefined for no match. */
const rank = (name: string, wanted: string): number | undefined => {
  const text = name.toLowerCase()
  if (text.startsWith(wanted)) return 0
  const words = text.split(/[^\p{L}\p{N}]+/u)
  if (wanted.split(/\s+/).every((each) => words.some((word) => word.startsWith(each)))) return 1
  return text.includes(wanted) ? 2 : undefined
}

/** More than every rank of a name. */
const afterNames = 3

/** The best first; those as good as each other in their order. */
export const findByWords = <Item extends Findable>(
  items: ReadonlyArray<Item>,
  letters: string,
): ReadonlyArray<Item> => {
  const wanted = letters.trim().toLowerCase()
  return items
    .map((item) => {
      const others = (item.also ?? []).map((name) => rank(name, wanted) ?? Number.NaN)
      const places = [rank(item.name, wanted) ?? Number.NaN, ...others.map((at) => at + afterNames)]
      return { item, place: Math.min(...places.filter((at) => !Number.isNaN(at))) }
    })
    .filter(({ place }) => Number.isFinite(place))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
