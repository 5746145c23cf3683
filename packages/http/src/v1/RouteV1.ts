/** What the table of version 1 says about an operation, and what its handler is given. */
import type { Caller, Refusal, SpooledContent, StoreUnavailable } from "@messaging-service/core"
import type { Effect, Scope } from "effect"
import { Schema } from "effect"
import { routeAt } from "../route/RouteTable.ts"
import type { MethodAndPath, Route } from "../route/RouteTable.ts"
import type { ErrorPageV1, FailureV1, OtherTexts } from "./FailureV1.ts"
import { readFields } from "./FieldsV1.ts"
import type { BodyV1, ExampleV1, FieldsV1, ReadFieldsV1 } from "./FieldsV1.ts"

interface EntryV1<Fields extends FieldsV1, Answer extends Schema.Top> {
  readonly summary: string
  /**
   * Takes the bearer token alone; else `client_id` and `api_key` are among the fields, the key also as
   * a bearer token.
   */
  readonly bearerOnly?: true
  /** Beside the credentials; a GET has them in its query, a POST in its body. */
  readonly fields: Fields
  /** A body for the document to show, beside the credentials. */
  readonly example?: ExampleV1<NoInfer<Fields>>
  /** Where it refuses with other texts than the rest. */
  readonly texts?: OtherTexts
  /** The body of success, which is always answered with 200. */
  readonly answer: Answer
}

export interface InputV1 {
  readonly caller: Caller
  readonly body: BodyV1
  /** The file in one of the operation's file parts. It goes with the request, unless it is kept. */
  readonly file: UploadV1 | null
  /** The segment of the path under that name. */
  readonly parameter: (name: string) => string
}

export interface UploadV1 {
  /** Null when the client gave no name, or none that can be one. */
  readonly fileName: string | null
  readonly content: SpooledContent
}

type OutcomeV1<Body> = Effect.Effect<
  Body,
  FailureV1 | ErrorPageV1 | Refusal | StoreUnavailable,
  Scope.Scope
>

export interface RouteV1 extends Route, EntryV1<FieldsV1, Schema.Top> {
  /** Answers with the body of success. */
  readonly handler: (input: InputV1) => OutcomeV1<unknown>
}

/** Binds the handler to the fields that it takes and to what it answers. */
export const routeV1 = <Fields extends FieldsV1, Answer extends Schema.Top>(
  at: MethodAndPath,
  entry: EntryV1<Fields, Answer> & {
    readonly handler: (
      input: InputV1 & { readonly fields: ReadFieldsV1<Fields> },
    ) => OutcomeV1<Answer["Type"]>
  },
): RouteV1 => ({
  ...routeAt(at),
  ...entry,
  handler: (input) => entry.handler({ ...input, fields: readFields(entry.fields, input.body) }),
})

/** The names of the parts in which an operation takes a file. */
export const filePartsOf = ({ fields }: Pick<RouteV1, "fields">): ReadonlyArray<string> =>
  Object.entries(fields).flatMap(([name, { type }]) => (type === "file" ? name : []))

/** `status` in the body of success. */
export const succeeded = 1 as const

/** The body of success with those fields. */
export const successV1 = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct({ status: Schema.Literal(succeeded), ...fields })

export const DateTime = Schema.String.annotate({ format: "date-time" })

export const DoneAnswer = successV1({ message: Schema.String })

export const done = (message: string): typeof DoneAnswer.Type => ({
  status: succeeded,
  message,
})
