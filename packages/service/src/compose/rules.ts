/**
 * What settings must be, whether they come as variables or as options: each rule once, in the words
 * that follow "must be".
 */

/** Live numbers that one process may be told to take. */
export const mostNumbers = 100_000

/** Shorter ones could be guessed; one that is generated at random has as many in hexadecimal. */
const shortestToken = 32

export const operatorTokenRule = `at least ${shortestToken} printable ASCII characters`

/** Whether it is long enough, and a header can carry it as it stands. */
export const isOperatorToken = (text: string): boolean =>
  text.length >= shortestToken && /^[!-~](?:[ -~]*[!-~])$/.test(text)

export const originRule = "an origin such as https://messages.example.com"

/** An origin, with or without the slash behind it. Undefined for any other text. */
export const parseOrigin = (text: string): string | undefined => {
  if (!URL.canParse(text)) return undefined
  const { href, origin, protocol } = new URL(text)
  return /^https?:$/.test(protocol) && href === `${origin}/` ? origin : undefined
}
