/**
 * Reads a JSON body the way the contract wants it: RFC 8259 and nothing else, strict UTF-8, and none of the texts that
 * two readers could understand differently (a key given twice, half a surrogate pair) or that a database would not
 * keep (NUL). `JSON.parse` can report neither, so this is a parser of its own: one pass over the decoded text,
 * no exceptions. How long a body may be is for its receiver to say; how many values it may hold is said here, since
 * values cost many times what their bytes do.
 */
import { Result } from "effect"
import { sharedResources } from "../limit/sharedResources.ts"

export type JsonValue = null | boolean | number | string | ReadonlyArray<JsonValue> | JsonObject

/** An object as it was sent. It has no prototype, so `__proto__` and `constructor` are keys like any other. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** Why a body was not read, for the developer who sent it. Repeats nothing of the body. */
export interface UnreadableJson {
  readonly code: "invalid_json" | "request_too_large"
  readonly reason: string
}

const maxDepth = 32
const mostValues = sharedResources.jsonValues.whole

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false })

/**
 * The value that a body holds. A byte order mark in front is skipped. Fails with `invalid_json` for bytes that are not
 * UTF-8, anything outside the grammar, arrays and objects nested deeper than 32 levels (the outermost is level 1), a
 * duplicate key, and a string with a lone surrogate or a NUL. Fails with `request_too_large` in front of the first
 * member beyond `jsonValues` of all arrays and objects together, and reads nothing behind it.
 */
export const parseStrictJson = (bytes: Uint8Array): Result.Result<JsonValue, UnreadableJson> => {
  const decoded = Result.try({
    try: () => decoder.decode(bytes),
    catch: (): UnreadableJson => ({ code: "invalid_json", reason: "the body is not UTF-8" }),
  })
  if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
  const reader = new Reader(decoded.success)
  const value = reader.document()
  return value === undefined ? Result.fail(reader.problem) : Result.succeed(value)
}

/**
 * One text for all spellings of a value: keys in code unit order, no white space. Two bodies that mean the same have the
 * same canonical text, which idempotency fingerprints rest on.
 */
export const canonicalJson = (value: JsonValue): string => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value)
    // Not JSON.stringify: it writes the infinity that 1e400 is read as like null.
    case "number":
    case "boolean":
      return String(value)
  }
  if (value === null) return "null"
  if (isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  const members = Object.keys(value)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`)
  return `{${members.join(",")}}`
}

// Array.isArray does not narrow a readonly array out of a union.
const isArray = (value: object): value is ReadonlyArray<JsonValue> => Array.isArray(value)

const Tab = 0x09
const LineFeed = 0x0a
const CarriageReturn = 0x0d
const Space = 0x20
const Quote = 0x22
const Plus = 0x2b
const Comma = 0x2c
const Minus = 0x2d
const Dot = 0x2e
const Slash = 0x2f
const Zero = 0x30
const Nine = 0x39
const Colon = 0x3a
const UpperE = 0x45
const OpenBracket = 0x5b
const Backslash = 0x5c
const CloseBracket = 0x5d
const LowerB = 0x62
const LowerE = 0x65
const LowerF = 0x66
const LowerN = 0x6e
const LowerR = 0x72
const LowerT = 0x74
const LowerU = 0x75
const OpenBrace = 0x7b
const CloseBrace = 0x7d

// Integers of so many digits are exact while they are added up digit by digit.
const exactDigits = 15

/** What may stand behind a backslash, `u` aside. */
const isEscaped = (code: number): boolean => {
  switch (code) {
    case Quote:
    case Slash:
    case Backslash:
    case LowerB:
    case LowerF:
    case LowerN:
    case LowerR:
    case LowerT:
      return true
    default:
      return false
  }
}

const hexDigit = (code: number): number => {
  if (code >= Zero && code <= Nine) return code - Zero
  const lower = code | 0x20
  return lower >= 0x61 && lower <= LowerF ? lower - 0x61 + 10 : -1
}

/** Walks the text once. A method that gives `undefined` has set `problem`; no JSON value is `undefined`. */
class Reader {
  private readonly text: string
  private at = 0
  private values = 0
  problem: UnreadableJson = { code: "invalid_json", reason: "" }

  constructor(text: string) {
    this.text = text
  }

  document(): JsonValue | undefined {
    this.skipSpace()
    const value = this.value(1)
    if (value === undefined) return undefined
    this.skipSpace()
    return this.at === this.text.length ? value : this.unexpected()
  }

  private fail(reason: string): undefined {
    this.problem = { code: "invalid_json", reason: `${reason} at position ${this.at}` }
    return undefined
  }

  /** Counts a member before anything of it is read; false for one too many. */
  private counted(): boolean {
    if (++this.values <= mostValues) return true
    this.problem = { code: "request_too_large", reason: `more than ${mostValues} values` }
    return false
  }

  private unexpected(): undefined {
    return this.fail(this.at < this.text.length ? "unexpected character" : "unexpected end")
  }

  private skipSpace(): void {
    const text = this.text
    let at = this.at
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code > Space) break
      if (code !== Space && code !== LineFeed && code !== CarriageReturn && code !== Tab) break
    }
    this.at = at
  }

  private value(depth: number): JsonValue | undefined {
    switch (this.text.charCodeAt(this.at)) {
      case Quote:
        return this.string()
      case OpenBrace:
        return depth > maxDepth ? this.tooDeep() : this.object(depth)
      case OpenBracket:
        return depth > maxDepth ? this.tooDeep() : this.array(depth)
      case LowerT:
        return this.word("true", true)
      case LowerF:
        return this.word("false", false)
      case LowerN:
        return this.word("null", null)
      default:
        return this.number()
    }
  }

  private tooDeep(): undefined {
    return this.fail(`nested deeper than ${maxDepth} levels`)
  }

  private word<A extends JsonValue>(spelling: string, value: A): A | undefined {
    if (!this.text.startsWith(spelling, this.at)) return this.unexpected()
    this.at += spelling.length
    return value
  }

  private array(depth: number): ReadonlyArray<JsonValue> | undefined {
    const items: Array<JsonValue> = []
    this.at++
    this.skipSpace()
    if (this.text.charCodeAt(this.at) === CloseBracket) {
      this.at++
      return items
    }
    for (;;) {
      if (!this.counted()) return undefined
      const item = this.value(depth + 1)
      if (item === undefined) return undefined
      items.push(item)
      this.skipSpace()
      const code = this.text.charCodeAt(this.at)
      if (code !== Comma && code !== CloseBracket) return this.unexpected()
      this.at++
      if (code === CloseBracket) return items
      this.skipSpace()
    }
  }

  private object(depth: number): JsonObject | undefined {
    const members: Record<string, JsonValue> = Object.create(null)
    this.at++
    this.skipSpace()
    if (this.text.charCodeAt(this.at) === CloseBrace) {
      this.at++
      return members
    }
    for (;;) {
      if (!this.counted()) return undefined
      if (this.text.charCodeAt(this.at) !== Quote) return this.unexpected()
      const key = this.string()
      if (key === undefined) return undefined
      if (members[key] !== undefined) return this.fail("duplicate key")
      this.skipSpace()
      if (this.text.charCodeAt(this.at) !== Colon) return this.unexpected()
      this.at++
      this.skipSpace()
      const value = this.value(depth + 1)
      if (value === undefined) return undefined
      members[key] = value
      this.skipSpace()
      const code = this.text.charCodeAt(this.at)
      if (code !== Comma && code !== CloseBrace) return this.unexpected()
      this.at++
      if (code === CloseBrace) return members
      this.skipSpace()
    }
  }

  private number(): number | undefined {
    const text = this.text
    const start = this.at
    const negative = text.charCodeAt(start) === Minus
    const first = negative ? start + 1 : start
    let whole = 0
    let at = first
    for (; at < text.length; at++) {
      const digit = text.charCodeAt(at) - Zero
      if (digit < 0 || digit > 9) break
      whole = whole * 10 + digit
    }
    this.at = at
    if (at === first) return this.unexpected()
    if (at > first + 1 && text.charCodeAt(first) === Zero) {
      this.at = first + 1
      return this.unexpected()
    }
    let integer = at - first <= exactDigits
    if (text.charCodeAt(this.at) === Dot) {
      integer = false
      this.at++
      if (!this.digits()) return this.unexpected()
    }
    const exponent = text.charCodeAt(this.at)
    if (exponent === LowerE || exponent === UpperE) {
      integer = false
      this.at++
      const sign = text.charCodeAt(this.at)
      if (sign === Plus || sign === Minus) this.at++
      if (!this.digits()) return this.unexpected()
    }
    if (!integer) return Number(text.slice(start, this.at))
    return negative ? -whole : whole
  }

  private digits(): boolean {
    const start = this.at
    for (; this.at < this.text.length; this.at++) {
      const code = this.text.charCodeAt(this.at)
      if (code < Zero || code > Nine) break
    }
    return this.at > start
  }

  /** From the opening quote; leaves `at` behind the closing one. */
  private string(): string | undefined {
    const text = this.text
    const quote = this.at
    let escapes = false
    for (let at = quote + 1; at < text.length;) {
      const code = text.charCodeAt(at)
      if (code === Quote) {
        this.at = at + 1
        // What was checked here is decoded natively: joining characters one by one takes ten times as long.
        return escapes
          ? (JSON.parse(text.slice(quote, this.at)) as string)
          : text.slice(quote + 1, at)
      }
      if (code === Backslash) {
        escapes = true
        this.at = at + 1
        if (!this.escape()) return undefined
        at = this.at
      } else if (code < Space) {
        this.at = at
        return this.unexpected()
      } else at++
    }
    this.at = text.length
    return this.unexpected()
  }

  /** One escape, from behind its backslash. The halves of a surrogate pair come together or not at all. */
  private escape(): true | undefined {
    const code = this.text.charCodeAt(this.at)
    if (code !== LowerU) {
      if (!isEscaped(code)) return this.unexpected()
      this.at++
      return true
    }
    const unit = this.hexUnit()
    if (unit === undefined) return undefined
    if (unit === 0) return this.fail("NUL character")
    if (unit < 0xd800 || unit > 0xdfff) return true
    if (unit > 0xdbff || !this.text.startsWith("\\u", this.at)) return this.fail("lone surrogate")
    this.at++
    const low = this.hexUnit()
    if (low === undefined) return undefined
    return low < 0xdc00 || low > 0xdfff ? this.fail("lone surrogate") : true
  }

  /** The code unit of `uXXXX`, from its `u`. */
  private hexUnit(): number | undefined {
    let unit = 0
    for (let index = 0; index < 4; index++) {
      this.at++
      const digit = hexDigit(this.text.charCodeAt(this.at))
      if (digit < 0) return this.unexpected()
      unit = unit * 16 + digit
    }
    this.at++
    return unit
  }
}
