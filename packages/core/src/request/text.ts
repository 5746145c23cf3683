/**
 * How texts are measured (contract: JSON and text). Loads nothing, so that an import of it costs nothing
 * else.
 */

/** The length of a text in code points. A surrogate pair counts once, a lone surrogate too. */
export const codePointLength = (text: string): number => {
  let pairs = 0
  for (let at = 0; at < text.length - 1; at++) {
    if (isHighSurrogate(text.charCodeAt(at)) && isLowSurrogate(text.charCodeAt(at + 1))) pairs++
  }
  return text.length - pairs
}

/**
 * Whether a text is empty or consists of characters with the Unicode property White_Space alone. That is
 * neither what `\s` matches nor what `trim` removes: both take U+FEFF, which has not the property, and miss
 * U+0085, which has it.
 */
export const isBlank = (text: string): boolean => !/\P{White_Space}/u.test(text)

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff
