/**
 * A refusal: an error that callers are told of, as a value (contract: Errors). Every rule refuses with one of
 * these; adapters turn it into their form of answer.
 */
import { Data, Effect } from "effect"
import { catalogue } from "./Catalogue.ts"
import type { Code } from "./Catalogue.ts"
import type { StoreUnavailable } from "./StoreUnavailable.ts"

/**
 * How many problems `errors` tells of at most. A row of `sharedResources`, but kept here: every rule that
 * refuses is bundled with this file, and would bring that table along.
 */
export const maximumErrors = 50

/**
 * Code units of a message, and of a field's path, which may hold names that the caller made up. With
 * these an answer stays within `refusalBytes` however its text must be escaped.
 */
const maximumMessage = 500
const maximumField = 120

/** Cuts a text that a caller may have made longer than an answer may repeat it. */
const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`

/** One problem of a request that has several. */
export interface Problem {
  readonly code: Code
  /** Path of the field, such as `to[3].phone`; null when the whole request is meant. */
  readonly field: string | null
  readonly message: string
}

export class Refusal
  extends /*#__PURE__*/ Data.TaggedError("Refusal")<{
    readonly code: Code
    readonly status: number
    readonly message: string
    readonly field: string | null
    /** The other problems of the same request. */
    readonly errors: ReadonlyArray<Problem>
    /** The code's extra fields, by their names in the answer. */
    readonly details: Readonly<Record<string, string | number | boolean | null>>
    /** Seconds; goes into `Retry-After`. */
    readonly retryAfter: number | null
  }> {}

/** Why an operation of the service fails: it is refused, or the store does not answer. */
export type Failure = Refusal | StoreUnavailable

interface Options {
  readonly message?: string
  readonly field?: string | null
  readonly errors?: ReadonlyArray<Problem>
  readonly details?: Readonly<Record<string, string | number | boolean | null>>
  readonly retryAfter?: number
  /** The missing thing was addressed in the path: 404 instead of 422. */
  readonly inPath?: boolean
}

/** Makes the refusal with the catalogue's status and text. */
export const refuse = (code: Code, options: Options = {}): Refusal => {
  const entry = catalogue[code]
  return new Refusal({
    code,
    status: options.inPath === true ? (entry.pathStatus ?? entry.status) : entry.status,
    message: cut(options.message ?? entry.message, maximumMessage),
    field: options.field == null ? null : cut(options.field, maximumField),
    errors: options.errors?.slice(0, maximumErrors) ?? [],
    details: options.details ?? {},
    retryAfter: options.retryAfter ?? null,
  })
}

/** What is found under an id, or that refusal; the id is undefined when it could not be read. */
export const findOrRefuse = <Id, A, E>(
  code: Code,
  id: Id | undefined,
  find: (id: Id) => Effect.Effect<A | null, E>,
): Effect.Effect<A, E | Refusal> =>
  Effect.filterOrFail(
    id === undefined ? Effect.succeed(null) : find(id),
    (found): found is A => found !== null,
    () => refuse(code),
  )

/**
 * What callers are told of a store that did not answer: one that is well but has no room at the moment says
 * when to come back, all else is a fault.
 */
export const refusalOfStore = ({ retryAfter }: StoreUnavailable): Refusal =>
  retryAfter === undefined
    ? refuse("internal_error")
    : refuse("service_unavailable", { retryAfter })

/** The refusal with more details. */
export const detailed = (refusal: Refusal, more: Refusal["details"]): Refusal => {
  const { code, status, message, field, errors, details, retryAfter } = refusal
  const all = { ...details, ...more }
  return new Refusal({ code, status, message, field, errors, details: all, retryAfter })
}

export const problem = (code: Code, field: string | null, message?: string): Problem => ({
  code,
  field: field === null ? null : cut(field, maximumField),
  message: cut(message ?? catalogue[code].message, maximumMessage),
})

/**
 * The first problem is the error, the rest go to `errors` (contract: JSON and text), as many as may
 * be told.
 */
export const refuseAll = ({ code, ...first }: Problem, errors: ReadonlyArray<Problem>): Refusal =>
  refuse(code, { ...first, errors })

/** Every problem of a refused request, the error itself first. */
export const problemsOf = (refusal: Refusal): ReadonlyArray<Problem> => [
  problem(refusal.code, refusal.field, refusal.message),
  ...refusal.errors,
]
