/**
 * Phone numbers in E.164: `+`, country calling code, subscriber number. A number is held against the list of
 * assigned calling codes and no further: national numbering plans change faster than any copy of them, and
 * numbers reserved for tests belong to none.
 */
import type { Brand } from "effect"
import type { Described } from "../request/Described.ts"

/** `+` and 7 to 15 digits, the first of them an assigned country calling code. */
export type Phone = string & Brand.Brand<"Phone">

/**
 * The phone that a text stands for, once its spaces and dashes are taken out; `undefined` for what is refused
 * as `invalid_phone` (contract: Recipients). No country code is ever guessed: a leading 0 is none.
 */
export const parsePhone = (text: string): Phone | undefined => {
  // First the spelling, so that of a long text no more than 17 runs are taken out.
  if (!spelling.test(text)) return undefined
  const compact = text.replaceAll(/[ -]+/g, "")
  return isPhone(compact) ? compact : undefined
}

const spelling = /^[ -]*\+[ -]*[1-9](?:[ -]*[0-9]){6,14}[ -]*$/

/** What the document says of a phone in a request. */
export const phoneDescribed: Described = {
  description: "E.164 with a leading +; spaces and dashes are taken out.",
  pattern: spelling.source,
  examples: ["+15550001234"],
}

/** The digits alone, country code included: the form that numbers show in `phone`. */
export const phoneDigits = (phone: Phone): string => phone.slice(1)

/** Of a text that is spelled like a phone. */
const isPhone = (text: string): text is Phone =>
  callingCodes.has(text.slice(1, 2)) ||
  callingCodes.has(text.slice(1, 3)) ||
  callingCodes.has(text.slice(1, 4))

/**
 * The assigned calling codes, of countries and of none (satellite, freephone, …). A copy, because the
 * metadata of `libphonenumber-js` weighs 80 KB and says much more; a test holds the copy against it.
 */
export const callingCodes: ReadonlySet<string> = new Set(
  `
1 20 211 212 213 216 218 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237
238 239 240 241 242 243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 260 261 262
263 264 265 266 267 268 269 27 290 291 297 298 299 30 31 32 33 34 350 351 352 353 354 355 356 357
358 359 36 370 371 372 373 374 375 376 377 378 380 381 382 383 385 386 387 389 39 40 41 420 421
423 43 44 45 46 47 48 49 500 501 502 503 504 505 506 507 508 509 51 52 53 54 55 56 57 58 590 591
592 593 594 595 596 597 598 599 60 61 62 63 64 65 66 670 672 673 674 675 676 677 678 679 680 681
682 683 685 686 687 688 689 690 691 692 7 800 808 81 82 84 850 852 853 855 856 86 870 878 880 881
882 883 886 888 90 91 92 93 94 95 960 961 962 963 964 965 966 967 968 970 971 972 973 974 975 976
977 979 98 992 993 994 995 996 998
`
    .trim()
    .split(/\s/),
)
