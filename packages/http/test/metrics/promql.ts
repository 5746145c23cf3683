/**
 * The metrics in a PromQL query: their names, the labels that it selects, groups and joins by, and
 * the functions around each. It reads what the documentation uses and refuses all else.
 */

/** A condition on a metric's label. */
export interface Matcher {
  readonly label: string
  readonly operator: "=" | "!=" | "=~"
  readonly value: string
}

/** A metric in a query. */
export interface Selected {
  readonly metric: string
  readonly matchers: ReadonlyArray<Matcher>
  /** Whether it has a range, as in `[5m]`. */
  readonly overTime: boolean
  /** The functions and aggregations around it, the innermost first. */
  readonly within: ReadonlyArray<string>
  /** The labels that those group by, in the same order; null for one that does not. */
  readonly groupedBy: ReadonlyArray<ReadonlyArray<string> | null>
}

const token =
  /\s*(?:([a-z_]+)|(\d+(?:\.\d+)?)|"([^"\\]*)"|(\[\d+[smhd]\])|(>=|<=|==|!=|=~|[(){},=<>*/+-]))/y

type Token =
  | { readonly kind: "name" | "text"; readonly text: string }
  | { readonly kind: "number" | "time" | "sign"; readonly text: string }

const tokenize = (query: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  const text = query.trimEnd()
  token.lastIndex = 0
  while (token.lastIndex < text.length) {
    const from = token.lastIndex
    const found = token.exec(text)
    if (found === null) throw new Error(`not understood: ${text.slice(from)}`)
    const [, name, number, quoted, time, sign] = found
    if (name !== undefined) tokens.push({ kind: "name", text: name })
    else if (number !== undefined) tokens.push({ kind: "number", text: number })
    else if (quoted !== undefined) tokens.push({ kind: "text", text: quoted })
    else if (time !== undefined) tokens.push({ kind: "time", text: time })
    else tokens.push({ kind: "sign", text: sign ?? "" })
  }
  return tokens
}

const aggregations: ReadonlyArray<string> = ["sum", "min", "max"]
const functions: ReadonlyArray<string> = ["rate", "max_over_time", "histogram_quantile", "absent"]
const operators: ReadonlyArray<string> = ["and", "or", "*", "/", "+", "-", ">", "<", "==", "!="]

interface Around {
  readonly name: string
  readonly by: ReadonlyArray<string> | null
}

/** Every metric of a query; throws when it cannot be parsed. */
export const findMetrics = (query: string): ReadonlyArray<Selected> => {
  const tokens = tokenize(query)
  const found: Array<Selected> = []
  let at = 0
  const is = (text: string) => tokens[at]?.kind !== "text" && tokens[at]?.text === text
  const next = (kind: Token["kind"]): string => {
    const here = tokens[at]
    if (here?.kind !== kind) throw new Error(`no ${kind} at ${at} of ${query}`)
    at++
    return here.text
  }
  const sign = (text: string) => {
    if (!is(text)) throw new Error(`no ${text} at ${at} of ${query}`)
    at++
  }
  /** The comma-separated list between two signs. */
  const listed = <A>(open: string, close: string, one: () => A): ReadonlyArray<A> => {
    const all: Array<A> = []
    sign(open)
    while (!is(close)) {
      if (all.length > 0) sign(",")
      all.push(one())
    }
    sign(close)
    return all
  }
  const matcher = (): Matcher => {
    const label = next("name")
    const operator = next("sign")
    if (operator !== "=" && operator !== "!=" && operator !== "=~") {
      throw new Error(`${operator} matches nothing`)
    }
    return { label, operator, value: next("text") }
  }
  const operand = (around: ReadonlyArray<Around>): void => {
    if (is("(")) {
      sign("(")
      expression(around)
      return sign(")")
    }
    if (tokens[at]?.kind === "number") return void next("number")
    const name = next("name")
    if (!aggregations.includes(name) && !functions.includes(name)) {
      const matchers = is("{") ? listed("{", "}", matcher) : []
      const overTime = tokens[at]?.kind === "time"
      if (overTime) next("time")
      const within = around.map((each) => each.name)
      const groupedBy = around.map(({ by }) => by)
      found.push({ metric: name, matchers, overTime, within, groupedBy })
      return
    }
    let by: ReadonlyArray<string> | null = null
    if (aggregations.includes(name) && is("by")) {
      next("name")
      by = listed("(", ")", () => next("name"))
    }
    listed("(", ")", () => expression([{ name, by }, ...around]))
  }
  const expression = (around: ReadonlyArray<Around>): void => {
    operand(around)
    while (operators.some(is)) {
      at++
      // Without a label to join by, each side is one series.
      if (is("on")) {
        next("name")
        listed("(", ")", () => next("name"))
      }
      operand(around)
    }
  }
  expression([])
  if (at < tokens.length) throw new Error(`more than a query: ${query}`)
  return found
}
