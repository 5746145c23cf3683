/**
 * Reads a JSON body strictly (contract: JSON and text): only RFC 8259 and strict UTF-8, and no text
 * that two readers could understand differently (a duplicate key, half a surrogate pair) or that a
 * database would not store (NUL). `JSON.parse` can report neither, so this is a parser: one pass
 * over the decoded text, no exceptions. The receiver limits the length of a body. The number of
 * values is limited here, since values cost many times their bytes.
 */
import { sharedLimits } from "@messaging-service/core"
import { Result } from "effect"

export type JsonValue = null | boolean | number | string | ReadonlyArray<JsonValue> | JsonObject

/** An object as sent. It has no prototype, so `__proto__` and `constructor` are keys like any other. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** Why a body was not read, for the developer who sent it. Repeats nothing of the body. */
interface UnreadableJson {
  readonly code: "invalid_json" | "request_too_large"
  readonly reason: string
}

const maxDepth = 32
const maxValues = sharedLimits.jsonValues.whole

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false })

/**
 * The value of a body, after an optional byte order mark. Fails with `invalid_json` for bytes that are not
 * UTF-8, anything outside the grammar, arrays and objects nested deeper than 32 levels (the outermost is
 * level 1), a duplicate key, and a string with a lone surrogate or a NUL. Fails with `request_too_large` at
 * the first member beyond `jsonValues` of all arrays and objects together, and reads no further.
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

const Tab = 0x09
const LineFeed = 0x0a
const CarriageReturn = 0x0d
const Space = 0x20
const Quote = 0x22
const Comma = 0x2c
const Dot = 0x2e
const Zero = 0x30
const Colon = 0x3a
const UpperE = 0x45
const OpenBracket = 0x5b
const Backslash = 0x5c
const CloseBracket = 0x5d
const LowerE = 0x65
const LowerF = 0x66
const LowerN = 0x6e
const LowerT = 0x74
const OpenBrace = 0x7b
const CloseBrace = 0x7d

const numberForm = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const escapeForm = /u[\da-fA-F]{4}/y

/** What may follow a backslash, besides `u`. */
const escapedCharacters = '"\\/bfnrt'

/** Integers of so many digits stay exact while they are added up digit by digit. */
const exactDigits = 15

/** Walks the text once. A method that returns `undefined` has set `problem`; no JSON value is `undefined`. */
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

  /** Counts a member before it is read; false for one too many. */
  private counted(): boolean {
    if (++this.values <= maxValues) return true
    this.problem = { code: "request_too_large", reason: `more than ${maxValues} values` }
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

  /** Skips a pattern; false when the text here does not match it. */
  private passes(form: RegExp): boolean {
    form.lastIndex = this.at
    if (!form.test(this.text)) return false
    this.at = form.lastIndex
    return true
  }

  /** Enters a list or an object; true when it ends at once. */
  private isEmpty(close: number): boolean {
    this.at++
    this.skipSpace()
    if (this.text.charCodeAt(this.at) !== close) return false
    this.at++
    return true
  }

  /** Skips what follows a member: true for a comma, false for the end. */
  private goesOn(close: number): boolean | undefined {
    this.skipSpace()
    const code = this.text.charCodeAt(this.at)
    if (code !== Comma && code !== close) return this.unexpected()
    this.at++
    if (code === close) return false
    this.skipSpace()
    return true
  }

  private array(depth: number): ReadonlyArray<JsonValue> | undefined {
    const items: Array<JsonValue> = []
    if (this.isEmpty(CloseBracket)) return items
    for (;;) {
      if (!this.counted()) return undefined
      const item = this.value(depth + 1)
      if (item === undefined) return undefined
      items.push(item)
      const more = this.goesOn(CloseBracket)
      if (more !== true) return more === false ? items : undefined
    }
  }

  private object(depth: number): JsonObject | undefined {
    const members: Record<string, JsonValue> = Object.create(null)
    if (this.isEmpty(CloseBrace)) return members
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
      const more = this.goesOn(CloseBrace)
      if (more !== true) return more === false ? members : undefined
    }
  }

  private number(): number | undefined {
    const { at: start, text } = this
    let whole = 0
    let at = start
    for (; at < text.length; at++) {
      const digit = text.charCodeAt(at) - Zero
      if (digit < 0 || digit > 9) break
      whole = whole * 10 + digit
    }
    const isExact = at > start && at - start <= exactDigits && text.charCodeAt(start) !== Zero
    const next = text.charCodeAt(at)
    // Ids and the like, which a body may hold a thousand of: the pattern is slower for them.
    if (isExact && next !== Dot && next !== LowerE && next !== UpperE) {
      this.at = at
      return whole
    }
    return this.passes(numberForm) ? Number(text.slice(start, this.at)) : this.unexpected()
  }

  /** Starts at the opening quote; leaves `at` after the closing one. */
  private string(): string | undefined {
    const { text } = this
    const quote = this.at
    let escapes = false
    for (let at = quote + 1; at < text.length;) {
      const code = text.charCodeAt(at)
      if (code === Quote) {
        this.at = at + 1
        return escapes ? this.unescaped(quote) : text.slice(quote + 1, at)
      }
      if (code === Backslash) {
        escapes = true
        this.at = at + 1
        if (escapedCharacters.includes(text.charAt(this.at))) this.at++
        else if (!this.passes(escapeForm)) return this.unexpected()
        at = this.at
      } else if (code < Space) {
        this.at = at
        return this.unexpected()
      } else at++
    }
    this.at = text.length
    return this.unexpected()
  }

  /** Checked text is decoded natively: joining characters one by one takes ten times as long. */
  private unescaped(quote: number): string | undefined {
    const text = JSON.parse(this.text.slice(quote, this.at)) as string
    if (text.includes("\0")) return this.fail("NUL character")
    return text.isWellFormed() ? text : this.fail("lone surrogate")
  }
}
